use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The last millisecond that RFC 3339 can name, that of the year 9999.
const LAST: u64 = 253_402_300_799_999;

/// A point in time, to the millisecond. As text, and in JSON, it is RFC 3339 in UTC: `2026-11-03T10:11:12.123Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The time now.
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().into()
    }
}

impl From<SystemTime> for Timestamp {
    /// What lies outside of the years 1970 to 9999 becomes the nearest time inside.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Self(u64::try_from(since).unwrap_or(LAST).min(LAST))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        UNIX_EPOCH + Duration::from_millis(timestamp.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_millis((*self).into()).fmt(f)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map(Self::from).map_err(D::Error::custom)
    }
}

#[cfg(test)]
impl From<&str> for Timestamp {
    fn from(text: &str) -> Self {
        humantime::parse_rfc3339(text).unwrap().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_rfc_3339_with_milliseconds() {
        let time = Timestamp::from(UNIX_EPOCH + Duration::new(1_793_700_672, 123_999_999));
        assert_eq!(time.to_string(), "2026-11-03T10:11:12.123Z");
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, "\"2026-11-03T10:11:12.123Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), time);
        assert_eq!(Timestamp::from(SystemTime::from(time)), time);
    }

    #[test]
    fn a_clock_that_is_far_off_does_no_harm() {
        let early = Timestamp::from(UNIX_EPOCH - Duration::from_secs(1));
        assert_eq!(early.to_string(), "1970-01-01T00:00:00.000Z");
        let late = Timestamp::from(UNIX_EPOCH + Duration::from_secs(1 << 60));
        assert_eq!(late.to_string(), "9999-12-31T23:59:59.999Z");
    }
}
