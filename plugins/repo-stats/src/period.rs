//! The days whose commits count.

use std::fmt;

use jiff::civil::Date;
use toolhost_plugin_sdk::ToolError;

/// From a first day to a last, both of which may be open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Period {
    since: Option<Date>,
    until: Option<Date>,
}

impl Period {
    pub(crate) fn new(since: Option<Date>, until: Option<Date>) -> Result<Self, ToolError> {
        match (since, until) {
            (Some(since), Some(until)) if since > until => {
                Err(format!("the period ends before it begins: since {since}, until {until}").into())
            }
            _ => Ok(Self { since, until }),
        }
    }

    /// The period as git takes it. A day without a time would be that day at the present time.
    pub(crate) fn arguments(&self) -> Vec<String> {
        // Unlike `--since`, it does not end the search at the first commit that is older.
        let since = self.since.map(|day| format!("--since-as-filter={day}T00:00:00Z"));
        let until = self.until.map(|day| format!("--until={day}T23:59:59Z"));
        since.into_iter().chain(until).collect()
    }
}

/// What follows a count of commits; nothing where all of them count.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.since, self.until) {
            (Some(since), Some(until)) => write!(f, " from {since} to {until}"),
            (Some(since), None) => write!(f, " since {since}"),
            (None, Some(until)) => write!(f, " until {until}"),
            (None, None) => Ok(()),
        }
    }
}
