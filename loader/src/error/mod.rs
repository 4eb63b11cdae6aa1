//! Why a plugin is not there: a stable code, the path, the cause, what was found, and what to do.

mod code;
mod kind;
mod stage;

pub use kind::{Ending, LoadErrorKind, UntrustedPlugin};
pub use stage::Stage;

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::ser::SerializeStruct;

/// How much evidence the text of a report has at most, so that it has at most ten lines.
const MOST_EVIDENCE: usize = 7;

/// Why a plugin, or one tool of it, is not there. The others are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadError {
    /// The plugin's file, as it was found.
    pub path: PathBuf,
    /// What went wrong.
    pub kind: LoadErrorKind,
    /// The [`fingerprint`](crate::PluginInfo::fingerprint) of the plugin, where it got far enough to have one.
    pub fingerprint: Option<String>,
    /// What was found, each in one line: what the file is, which plugin it holds.
    pub evidence: Vec<String>,
}

impl LoadError {
    pub(crate) fn new(path: &Path, kind: LoadErrorKind) -> Self {
        Self { path: path.to_owned(), kind, fingerprint: None, evidence: Vec::new() }
    }

    pub(crate) fn with_fingerprint(mut self, fingerprint: &str) -> Self {
        self.fingerprint = Some(fingerprint.to_owned());
        self
    }

    pub(crate) fn with_evidence(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// The stable code of the kind.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// The stage that ended with it.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.kind.stage()
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> Cow<'static, str> {
        self.kind.fix()
    }

    /// All of it as text of at most ten lines, the last without a line's end.
    #[must_use]
    pub fn report(&self) -> Report<'_> {
        Report(self)
    }
}

/// One line: path, cause, fix and code.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {} ({})", self.path.display(), self.kind, self.fix(), self.code())
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.kind)
    }
}

/// An object with `code`, `stage`, `path`, `cause`, `evidence` and `fix`.
impl Serialize for LoadError {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("LoadError", 6)?;
        object.serialize_field("code", self.code())?;
        object.serialize_field("stage", self.stage().name())?;
        object.serialize_field("path", &self.path.to_string_lossy())?;
        object.serialize_field("cause", &self.kind.to_string())?;
        object.serialize_field("evidence", &self.evidence)?;
        object.serialize_field("fix", &self.fix())?;
        object.end()
    }
}

/// A load error as text of several lines; see [`LoadError::report`].
#[derive(Debug, Clone, Copy)]
pub struct Report<'a>(&'a LoadError);

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.0;
        writeln!(f, "{} ({}): {}", error.code(), error.stage(), one_line(&error.path.to_string_lossy()))?;
        writeln!(f, "  cause: {}", one_line(&error.kind.to_string()))?;
        for found in error.evidence.iter().take(MOST_EVIDENCE) {
            writeln!(f, "  found: {}", one_line(found))?;
        }
        write!(f, "  fix:   {}", one_line(&error.fix()))
    }
}

/// A plugin's own message may have lines; the report's are counted.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn failed() -> LoadError {
        let kind = LoadErrorKind::FactoryFailed {
            plugin: "p".to_owned(),
            code: Some("config".to_owned()),
            reason: "no\n  licence".to_owned(),
        };
        LoadError::new(Path::new("/p/libp.so"), kind).with_evidence((1..20).map(|number| format!("fact {number}")))
    }

    #[test]
    fn a_report_has_at_most_ten_lines_whatever_a_plugin_says() {
        let report = failed().report().to_string();
        let facts: String = (1..8).map(|number| format!("  found: fact {number}\n")).collect();
        let cause = "  cause: the factory of `p` failed: no / licence\n";
        let fix = "  fix:   correct the plugin's settings: --config p=JSON, or `[plugins.p]` in toolhost.toml (`HostBuilder::config`)";
        assert_eq!(report, format!("TH0701 (create): /p/libp.so\n{cause}{facts}{fix}"));
        assert_eq!(report.lines().count(), 10);
    }

    #[test]
    fn a_program_gets_every_part_by_its_name() {
        let mut error = failed();
        error.evidence.truncate(1);
        assert_eq!(
            serde_json::to_value(error).unwrap(),
            json!({
                "code": "TH0701",
                "stage": "create",
                "path": "/p/libp.so",
                "cause": "the factory of `p` failed: no\n  licence",
                "evidence": ["fact 1"],
                "fix": "correct the plugin's settings: --config p=JSON, or `[plugins.p]` in toolhost.toml (`HostBuilder::config`)",
            })
        );
    }
}
