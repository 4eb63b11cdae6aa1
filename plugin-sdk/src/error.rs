use std::error::Error;
use std::fmt;
use std::iter::successors;

use serde_json::Value;
use toolhost_protocol::{AgentToolResult, Failure, STALE};

/// What a tool, an apply or a reject returns.
pub type ToolResult = Result<AgentToolResult, ToolError>;

/// Why a tool, an apply or a reject failed.
///
/// Every error converts into it, so `?` works on whatever fails inside a tool; the message then holds the whole chain
/// of sources. It is deliberately no [`Error`] itself, since that is what makes the conversion possible.
#[derive(Clone, PartialEq)]
pub struct ToolError {
    failure: Box<Failure>,
}

impl ToolError {
    /// A failure with this message, for the model and for people.
    pub fn new(message: impl Into<String>) -> Self {
        Failure::new(message).into_tool_error()
    }

    /// What an apply returns that found the world changed since its preview and did nothing; its code is
    /// [`STALE`](crate::code::STALE).
    pub fn stale(message: impl Into<String>) -> Self {
        Failure::new(message).with_code(STALE).into_tool_error()
    }

    /// The same failure with a stable code, for programs: one of [`code`](crate::code), or the plugin's own.
    ///
    /// A host passes on the code of an apply that failed. Of a call that failed its caller sees the text and the
    /// details; the one code that makes a difference there is [`PARAMETERS`](crate::code::PARAMETERS).
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.failure.code = Some(code.into());
        self
    }

    /// The same failure with details, for programs.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.failure.details = Some(details);
        self
    }

    /// The same failure, whose message begins with what it is about, such as a path: `notes.txt: permission denied`.
    ///
    /// ```
    /// # use std::{fs, path::Path};
    /// # use toolhost_plugin_sdk::ToolError;
    /// fn read(path: &Path) -> Result<String, ToolError> {
    ///     fs::read_to_string(path).map_err(|error| ToolError::from(error).context(path.display()))
    /// }
    /// # assert!(read(Path::new("absent")).unwrap_err().message().starts_with("absent: "));
    /// ```
    #[must_use]
    pub fn context(mut self, what: impl fmt::Display) -> Self {
        self.failure.message = format!("{what}: {}", self.failure.message);
        self
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.failure.message
    }

    /// The code, where there is one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.failure.code.as_deref()
    }

    /// The details, where there are any.
    #[must_use]
    pub fn details(&self) -> Option<&Value> {
        self.failure.details.as_ref()
    }

    pub(crate) fn into_failure(self) -> Failure {
        *self.failure
    }
}

trait IntoToolError {
    fn into_tool_error(self) -> ToolError;
}

impl IntoToolError for Failure {
    fn into_tool_error(self) -> ToolError {
        ToolError { failure: Box::new(self) }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        let error = error.into();
        match error.downcast::<Failure>() {
            Ok(failure) => Self { failure },
            Err(error) => Self::new(chain(error.as_ref())),
        }
    }
}

/// How many sources of an error are read: nothing keeps an author's error from being its own source.
const MOST_SOURCES: usize = 64;

/// The message and those of its sources that it does not repeat already.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    for cause in successors(error.source(), |cause| Error::source(*cause)).take(MOST_SOURCES) {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
    }
    text
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.failure, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(std::io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot read the list")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    fn fails() -> ToolResult {
        Err(Outer(std::io::Error::other("disk on fire")))?
    }

    #[test]
    fn the_question_mark_takes_any_error_with_its_sources() {
        assert_eq!(fails().unwrap_err().message(), "cannot read the list: disk on fire");
        assert_eq!(ToolError::from("plain").message(), "plain");
    }

    #[derive(Debug)]
    struct Circle(&'static str, &'static Circle);

    static EGG: Circle = Circle("egg", &HEN);
    static HEN: Circle = Circle("hen", &EGG);

    impl fmt::Display for Circle {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Circle {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self.1)
        }
    }

    #[test]
    fn sources_that_go_round_in_a_circle_come_to_an_end() {
        let text = chain(&HEN);
        assert!(text.starts_with("hen: egg: hen: "), "{text}");
        assert_eq!(text.split(": ").count(), 1 + MOST_SOURCES);
    }

    #[test]
    fn a_failure_keeps_its_code() {
        let error = ToolError::from(Failure::new("moved").with_code(STALE));
        assert_eq!((error.message(), error.code()), ("moved", Some(STALE)));
        assert_eq!(ToolError::stale("moved"), error);
    }

    #[test]
    fn what_a_failure_is_about_stands_before_its_message() {
        let error = ToolError::stale("is gone").context("a.txt");
        assert_eq!((error.message(), error.code()), ("a.txt: is gone", Some(STALE)));
    }
}
