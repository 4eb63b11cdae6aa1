use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use toolhost_protocol::{AgentToolResult, Failure, RESOLVE, RenderRequest, SessionStep, ToolDefinition};

use crate::render::Renders;
use crate::validate::Validator;
use crate::{BoxFuture, CallContext, InvalidParameters, WeakSession, wording};

/// What running a tool ends with.
pub type ToolOutcome = Result<AgentToolResult, Failure>;

/// Something that a model can call by name.
///
/// Implementations are other people's code to a session: a panic inside is caught and reported as a failure.
pub trait Tool: Send + Sync + 'static {
    /// What the tool says of itself. Read once, when it is registered.
    fn definition(&self) -> &ToolDefinition;

    /// Why it must not be run any more, as a sentence without a full stop; asked before each call.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// Runs the tool; its parameters are in `call` and satisfy the definition's schema.
    ///
    /// Dropping the future stops it where it is. Calls may overlap.
    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome>;

    /// Whether it wants to hear of steps in its session's life; asked at each.
    fn watches_session(&self) -> bool {
        false
    }

    /// Hears of a step in its session's life, where [`watches_session`](Self::watches_session) says so. A failure is
    /// logged.
    fn on_session(&self, step: SessionStep) -> BoxFuture<Result<(), Failure>> {
        let _ = step;
        Box::pin(std::future::ready(Ok(())))
    }

    /// Lines that show a call or a result to a person; `None` leaves it to the host. Runs on a thread that it may block
    /// for [`Limits::render`](crate::Limits::render), then its answer is not waited for.
    ///
    /// # Errors
    ///
    /// A failure is logged, and the host renders instead.
    fn render(&self, request: &RenderRequest) -> Result<Option<Vec<String>>, Failure> {
        let _ = request;
        Ok(None)
    }

    /// Where the tool comes from; `None` for one of the host's own.
    fn origin(&self) -> Option<&ToolOrigin> {
        None
    }
}

/// The plugin that a tool comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOrigin {
    /// The plugin's name.
    pub plugin: String,
    /// The plugin's version.
    pub version: String,
    /// What identifies the plugin's content, such as a hash of its bytes.
    pub fingerprint: String,
}

impl ToolOrigin {
    /// An origin of these three.
    pub fn new(plugin: impl Into<String>, version: impl Into<String>, fingerprint: impl Into<String>) -> Self {
        Self { plugin: plugin.into(), version: version.into(), fingerprint: fingerprint.into() }
    }
}

impl fmt::Display for ToolOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.plugin, self.version)
    }
}

/// Why a tool was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name is empty, too long, or has other characters than a model's provider takes.
    #[error("the tool name {name:?} is not allowed: use 1 to 64 of a-z, A-Z, 0-9, `_` and `-`")]
    Name {
        /// The name.
        name: String,
    },
    /// The name is the host's own.
    #[error("the tool name `{name}` is reserved for the host")]
    Reserved {
        /// The name.
        name: String,
    },
    /// Another tool has the name already.
    #[error("the tool name `{name}` is taken by {}", owner.as_deref().unwrap_or("a tool of the host"))]
    Taken {
        /// The name.
        name: String,
        /// The plugin whose tool has it; `None` for one of the host's own.
        owner: Option<String>,
    },
    /// The parameters' schema cannot be used.
    #[error("the parameters of tool `{name}` have no usable schema: {reason}")]
    Schema {
        /// The tool's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The schema of its results' details cannot be used.
    #[error("the details of tool `{name}` have no usable schema: {reason}")]
    OutputSchema {
        /// The tool's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A text of its definition is too long, or has characters that steer whoever shows it.
    #[error("the {part} of tool `{name}` {problem}")]
    Text {
        /// The tool's name.
        name: String,
        /// Which text, such as `description`.
        part: String,
        /// What is wrong with it.
        problem: String,
    },
}

pub(crate) struct Registered {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) fingerprint: Option<Arc<str>>,
    pub(crate) validator: Validator,
    /// Held by the call that runs, where calls wait for each other.
    pub(crate) turnstile: Option<Arc<tokio::sync::Mutex<()>>>,
    /// A poll of it has held up a thread; from then on it is polled where that does not matter.
    pub(crate) blocks: AtomicBool,
    pub(crate) renders: Renders,
}

impl Registered {
    /// Asks the tool for its definition and checks that.
    pub(crate) fn new(tool: Arc<dyn Tool>) -> Result<Self, RegisterError> {
        let definition = tool.definition().clone();
        let name = &definition.name;
        if !is_tool_name(name) {
            return Err(RegisterError::Name { name: name.clone() });
        }
        if name == RESOLVE {
            return Err(RegisterError::Reserved { name: name.clone() });
        }
        let validator = Validator::new(&definition.parameters)
            .map_err(|reason| RegisterError::Schema { name: name.clone(), reason })?;
        if let Some(schema) = &definition.output_schema {
            Validator::new(schema).map_err(|reason| RegisterError::OutputSchema { name: name.clone(), reason })?;
        }
        wording::check(&definition)?;
        let fingerprint = tool.origin().map(|origin| origin.fingerprint.as_str().into());
        let turnstile = (!definition.parallel).then(Arc::default);
        let definition = Arc::new(definition);
        let (blocks, renders) = (AtomicBool::new(false), Renders::default());
        Ok(Self { tool, definition, fingerprint, validator, turnstile, blocks, renders })
    }
}

impl Registered {
    /// The plugin that it comes from.
    pub(crate) fn plugin(&self) -> Option<&str> {
        self.tool.origin().map(|origin| origin.plugin.as_str())
    }
}

/// Tools in the order in which they were registered.
#[derive(Clone, Default)]
pub(crate) struct ToolList {
    tools: Vec<Arc<Registered>>,
    by_name: HashMap<String, usize>,
}

impl ToolList {
    /// Whether this tool's name is free.
    pub(crate) fn takes(&self, tool: &Registered) -> Result<(), RegisterError> {
        let name = &tool.definition.name;
        match self.get(name) {
            Some(taken) => {
                Err(RegisterError::Taken { name: name.clone(), owner: taken.tool.origin().map(ToString::to_string) })
            }
            None => Ok(()),
        }
    }

    /// Adds a tool whose name is free.
    pub(crate) fn add(&mut self, tool: Arc<Registered>) {
        self.by_name.insert(tool.definition.name.clone(), self.tools.len());
        self.tools.push(tool);
    }

    fn get(&self, name: &str) -> Option<&Arc<Registered>> {
        self.by_name.get(name).map(|&at| &self.tools[at])
    }
}

/// A session's tools at one moment, in the order in which they were registered. It never changes; a call made from it
/// runs the tools that it shows.
#[derive(Clone)]
pub struct ToolSet {
    list: Arc<ToolList>,
    session: WeakSession,
}

impl ToolSet {
    pub(crate) fn new(list: Arc<ToolList>, session: WeakSession) -> Self {
        Self { list, session }
    }

    pub(crate) fn session(&self) -> &WeakSession {
        &self.session
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Registered>> {
        self.list.get(name)
    }

    pub(crate) fn registered(&self) -> impl Iterator<Item = &Arc<Registered>> {
        self.list.tools.iter()
    }

    /// The definition of the tool with this name, hidden or not.
    #[must_use]
    pub fn definition(&self, name: &str) -> Option<&ToolDefinition> {
        self.get(name).map(|registered| &*registered.definition)
    }

    /// Where the tool with this name comes from; `None` also for one of the host's own.
    #[must_use]
    pub fn origin(&self, name: &str) -> Option<&ToolOrigin> {
        self.get(name).and_then(|registered| registered.tool.origin())
    }

    /// The definitions that a person sees, in order: all but the hidden ones.
    pub fn visible(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.all().filter(|definition| !definition.hidden)
    }

    /// All definitions, in order.
    pub fn all(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.registered().map(|registered| &*registered.definition)
    }

    /// How many tools there are, the hidden ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.tools.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.tools.is_empty()
    }

    /// Checks parameters as a call does, without calling.
    ///
    /// # Errors
    ///
    /// Every way in which they do not satisfy the tool's schema; none for a tool that is not here.
    pub fn check(&self, name: &str, parameters: &Value) -> Result<(), InvalidParameters> {
        self.get(name).map_or(Ok(()), |registered| registered.validator.check(name, parameters))
    }

    /// Up to three names that resemble this one, the nearest first.
    #[must_use]
    pub fn similar_names(&self, name: &str) -> Vec<String> {
        let mut near: Vec<(f64, &str)> = self
            .visible()
            .map(|definition| (strsim::jaro_winkler(name, &definition.name), definition.name.as_str()))
            .filter(|(likeness, _)| *likeness > 0.75)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        near.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().map(|definition| &definition.name)).finish()
    }
}

fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Named(ToolDefinition);

    impl Tool for Named {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        fn execute(&self, _call: CallContext) -> BoxFuture<ToolOutcome> {
            Box::pin(async { Ok("".into()) })
        }
    }

    fn registered(definition: ToolDefinition) -> Result<Arc<Registered>, RegisterError> {
        Registered::new(Arc::new(Named(definition))).map(Arc::new)
    }

    fn named(name: &str) -> Result<Arc<Registered>, RegisterError> {
        registered(ToolDefinition::new(name))
    }

    fn refused(name: &str) -> RegisterError {
        named(name).err().unwrap()
    }

    #[test]
    fn names_are_those_that_every_provider_takes() {
        for name in ["", "a b", "ä", &"x".repeat(65), "a.b"] {
            assert_eq!(refused(name), RegisterError::Name { name: name.into() });
        }
        assert!(named(&"x".repeat(64)).is_ok());
        assert_eq!(refused("resolve"), RegisterError::Reserved { name: "resolve".into() });
    }

    #[test]
    fn the_first_tool_of_a_name_stays() {
        let mut set = ToolList::default();
        set.add(named("a").unwrap());
        assert_eq!(
            set.takes(&named("a").unwrap()).unwrap_err().to_string(),
            "the tool name `a` is taken by a tool of the host"
        );
        assert_eq!(set.tools.len(), 1);
    }

    #[test]
    fn a_schema_has_to_be_one_of_an_object() {
        let mut definition = ToolDefinition::new("a");
        for (schema, reason) in [
            (json!({"type": "string"}), "its type has to be `object`"),
            (json!(true), "its type has to be `object`"),
            (json!({"type": "object", "properties": {"a": {"type": "strin"}}}), "strin"),
        ] {
            definition.parameters = schema;
            let error = registered(definition.clone()).err().unwrap().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_schema_of_details_has_to_be_one_of_an_object_too() {
        let mut definition = ToolDefinition::new("a");
        definition.output_schema = Some(json!({"type": "array"}));
        assert_eq!(
            registered(definition).err().unwrap().to_string(),
            "the details of tool `a` have no usable schema: its type has to be `object`"
        );
    }

    #[test]
    fn similar_names_are_offered() {
        let mut list = ToolList::default();
        list.add(named("batch_rename_preview").unwrap());
        list.add(named("word_count").unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let session = crate::Session::new(crate::SessionOptions::new("test"), runtime.handle().clone());
        let set = ToolSet::new(Arc::new(list), session.downgrade());
        assert_eq!(set.similar_names("batch_rename"), ["batch_rename_preview"]);
        assert_eq!(set.similar_names("zzz"), Vec::<String>::new());
    }
}
