//! What plugins may ask of this program: to run programs, the person at the terminal, to stop.

mod person;

use std::future::ready;
use std::sync::Arc;

use tokio::sync::watch;
use toolhost_core::service::{ExecRequest, ExecResult, REFUSED_SERVICE};
use toolhost_core::{BoxFuture, Caller, Failure, HostServices, LocalExec, UserInterface};

use crate::keyboard::Keyboard;
use crate::plain::plain_line;
use person::Person;

/// Clones are the same services.
#[derive(Clone)]
pub(crate) struct Services {
    exec: Option<LocalExec>,
    person: Option<Arc<Person>>,
    /// Who asked to stop, once somebody has.
    aborted: watch::Sender<Option<String>>,
}

impl Services {
    /// With the rights that a plugin has anyway it may run programs, unless it is told otherwise. Nobody is asked.
    pub(crate) fn new(exec: bool) -> Self {
        Self { exec: exec.then(LocalExec::new), person: None, aborted: watch::Sender::new(None) }
    }

    /// The same, with a person at this keyboard.
    pub(crate) fn with_person(mut self, keyboard: Keyboard) -> Self {
        self.person = Some(Arc::new(Person::new(keyboard)));
        self
    }

    /// Who asked to stop, if anybody did.
    pub(crate) fn aborted_by(&self) -> Option<String> {
        self.aborted.borrow().clone()
    }

    /// Ends when somebody asks to stop, at once where somebody has.
    pub(crate) async fn aborted(&self) {
        let mut aborted = self.aborted.subscribe();
        // The sender is there as long as this is.
        let _ = aborted.wait_for(Option::is_some).await;
    }
}

impl HostServices for Services {
    fn exec(&self, caller: Caller, request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
        match &self.exec {
            Some(exec) => exec.run(caller, request),
            None => Box::pin(ready(Err(refused(&caller, &request)))),
        }
    }

    fn ui(&self, _session: &str) -> Option<Arc<dyn UserInterface>> {
        self.person.clone().map(|person| person as Arc<dyn UserInterface>)
    }

    fn abort(&self, caller: &Caller) {
        let who = match &caller.tool {
            Some(tool) => format!("the tool `{}` of the plugin `{}`", plain_line(tool), plain_line(&caller.plugin)),
            None => format!("the plugin `{}`", plain_line(&caller.plugin)),
        };
        self.aborted.send_if_modified(|aborted| {
            let first = aborted.is_none();
            aborted.get_or_insert(who);
            first
        });
    }
}

fn refused(caller: &Caller, request: &ExecRequest) -> Failure {
    let program = request.command.as_os_str().to_string_lossy();
    let text = format!("`{program}` was not run for the plugin `{}`, since --no-exec was given", caller.plugin);
    Failure::new(text).with_code(REFUSED_SERVICE)
}
