//! From a service's name and JSON to the program's answer.

use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::future::{Either, select};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use toolhost_protocol::Failure;
use toolhost_protocol::service::{
    EXEC, PANICKED_SERVICE, SESSION_ABORT, SESSION_STATE, UI_CONFIRM, UI_INPUT, UI_NOTIFY, UI_SELECT, UI_SET_STATUS,
};

use super::{Caller, HostServices, UserInterface};
use crate::catch::{caught, panicked};
use crate::{BoxFuture, Session, WeakSession};

/// What a service answers, as JSON.
type Answer = Result<Vec<u8>, Failure>;

impl WeakSession {
    /// Asks the program for a service, on behalf of a plugin. `call` is the id of the tool call that asks, 0 for none;
    /// `parameters` and the answer are JSON.
    ///
    /// What needs no answer, such as a notice, is done before this returns. The rest runs on the session's runtime, and
    /// stops where the future is dropped.
    ///
    /// # Errors
    ///
    /// What the program answers; a service that it does not know, parameters that cannot be read, a session that is
    /// gone, and a call of another session.
    pub fn serve(&self, plugin: &str, call: u64, service: &str, parameters: &[u8]) -> BoxFuture<Answer> {
        let served = self
            .upgrade()
            .ok_or_else(|| Failure::new(format!("the session is gone, so `{service}` cannot be asked for")))
            .and_then(|session| session.serve(plugin, call, service, parameters));
        served.unwrap_or_else(|failure| Box::pin(ready(Err(failure))))
    }
}

impl Session {
    fn serve(&self, plugin: &str, call: u64, service: &str, json: &[u8]) -> Result<BoxFuture<Answer>, Failure> {
        let caller = self.caller(plugin, call)?;
        let request = Request { session: self, caller, service, json };
        let answer = match service {
            EXEC => request.exec()?,
            UI_SELECT | UI_CONFIRM | UI_INPUT => request.question()?,
            UI_NOTIFY | UI_SET_STATUS => request.notice()?,
            SESSION_STATE => {
                let state = request.at_once(|services, caller| services.session_state(caller, self.state()))?;
                Box::pin(ready(encode(&state)))
            }
            SESSION_ABORT => {
                self.abort_calls();
                request.at_once(|services, caller| services.abort(caller))?;
                Box::pin(ready(encode(&())))
            }
            _ => request.custom()?,
        };
        Ok(answer)
    }
}

struct Request<'a> {
    session: &'a Session,
    caller: Caller,
    service: &'a str,
    json: &'a [u8],
}

impl Request<'_> {
    fn exec(self) -> Result<BoxFuture<Answer>, Failure> {
        let program = self.read()?;
        Ok(self.run(move |services, caller| services.exec(caller, program)))
    }

    fn custom(self) -> Result<BoxFuture<Answer>, Failure> {
        let (parameters, name) = (self.read()?, self.service.to_owned());
        Ok(self.run(move |services, caller| services.call(caller, &name, parameters)))
    }

    /// Without a person to ask, and where the asking call is cancelled, the answer is that of nobody.
    fn question(self) -> Result<BoxFuture<Answer>, Failure> {
        let ui = self.ui()?;
        Ok(match self.service {
            UI_SELECT => {
                let question = self.read()?;
                self.ask(ui, |ui, caller| ui.select(caller, question))
            }
            UI_CONFIRM => {
                let question = self.read()?;
                self.ask(ui, |ui, caller| ui.confirm(caller, question))
            }
            _ => {
                let question = self.read()?;
                self.ask(ui, |ui, caller| ui.input(caller, question))
            }
        })
    }

    fn ask<T, F>(self, ui: Option<Arc<dyn UserInterface>>, question: F) -> BoxFuture<Answer>
    where
        T: Serialize + Default + Send + 'static,
        F: FnOnce(&dyn UserInterface, Caller) -> BoxFuture<T> + Send + 'static,
    {
        let Some(ui) = ui else {
            return Box::pin(ready(encode(&T::default())));
        };
        self.run(move |_services, caller| {
            let taken_back = Box::pin(caller.cancellation.cancelled());
            let asking = question(&*ui, caller);
            Box::pin(async move {
                match select(asking, taken_back).await {
                    Either::Left((answer, _)) => Ok(answer),
                    Either::Right(_) => Ok(T::default()),
                }
            })
        })
    }

    fn notice(self) -> Result<BoxFuture<Answer>, Failure> {
        if let Some(ui) = self.ui()? {
            if self.service == UI_NOTIFY {
                let notice = self.read()?;
                self.at_once(|_services, caller| ui.notify(caller, notice))?;
            } else {
                let status = self.read()?;
                self.at_once(|_services, caller| ui.set_status(caller, status))?;
            }
        }
        Ok(Box::pin(ready(encode(&()))))
    }

    fn ui(&self) -> Result<Option<Arc<dyn UserInterface>>, Failure> {
        self.at_once(|services, caller| services.ui(&caller.session))
    }

    fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(self.json).map_err(|error| {
            Failure::new(format!("what is asked of the service `{}` cannot be read: {error}", self.service))
        })
    }

    /// Runs what does not wait. The program's code may panic.
    fn at_once<R>(&self, work: impl FnOnce(&dyn HostServices, &Caller) -> R) -> Result<R, Failure> {
        let services = self.session.services();
        let _entered = self.session.runtime().enter();
        catch_unwind(AssertUnwindSafe(|| work(&**services, &self.caller)))
            .map_err(|payload| of_service(self.service, panicked(payload)))
    }

    /// Runs what waits, on the session's runtime: a plugin polls on threads of its own.
    fn run<T, F>(self, work: F) -> BoxFuture<Answer>
    where
        T: Serialize + Send + 'static,
        F: FnOnce(&dyn HostServices, Caller) -> BoxFuture<Result<T, Failure>> + Send + 'static,
    {
        let (services, name) = (self.session.services().clone(), self.service.to_owned());
        let caller = self.caller;
        let over = Box::pin(self.session.over());
        let working = async move {
            let working = Box::pin(caught(|| work(&*services, caller)));
            let answer = match select(working, over).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => Err(Failure::new(format!("the session has ended, and `{name}` with it"))),
            };
            answer.map_err(|failure| of_service(&name, failure)).and_then(|answer| encode(&answer))
        };
        Box::pin(Spawned::new(self.session.runtime(), working).join())
    }
}

/// Names the service in what its panic says; other failures are its own. The code is another one, since a tool that
/// passes the failure on has not panicked itself.
fn of_service(service: &str, failure: Failure) -> Failure {
    match failure.code.as_deref() {
        Some("panic") => {
            Failure::new(format!("the host's service `{service}` {}", failure.message)).with_code(PANICKED_SERVICE)
        }
        _ => failure,
    }
}

fn encode(answer: &impl Serialize) -> Answer {
    serde_json::to_vec(answer).map_err(|error| Failure::new(format!("the host's answer is no JSON: {error}")))
}

/// A task that stops where nobody waits for it any more.
struct Spawned(JoinHandle<Answer>);

impl Spawned {
    fn new(runtime: &Handle, work: impl Future<Output = Answer> + Send + 'static) -> Self {
        Self(runtime.spawn(work))
    }

    async fn join(mut self) -> Answer {
        (&mut self.0).await.unwrap_or_else(|_| Err(Failure::new("the host's runtime is gone")))
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        self.0.abort();
    }
}
