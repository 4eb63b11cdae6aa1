use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a plugin hands over for the host's log; its level travels beside it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct LogRecord {
    /// What it says.
    #[serde(skip_serializing_if = "LogKind::is_event")]
    pub kind: LogKind,
    /// The span that it is about, where it is no event. The plugin's own number of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<u64>,
    /// The span that it stands in, by the plugin's own number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// A span's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The part of the plugin that it comes from, such as a module's path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// An event's text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What else it says, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(String, Value)>,
    /// The fields that a span has and that have no value yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<String>,
    /// The source file that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The tool call that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
}

/// What a [`LogRecord`] says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum LogKind {
    /// Something happened.
    #[default]
    Event,
    /// A span begins.
    Span,
    /// A span has values for more of its fields.
    Record,
    /// A span is over.
    Close,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

impl LogKind {
    // serde's `skip_serializing_if` passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_event(&self) -> bool {
        *self == Self::Event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_is_an_event() {
        let record: LogRecord = serde_json::from_value(json!({"message": "hi", "later still": 1})).unwrap();
        assert_eq!((record.kind, record.message.as_str()), (LogKind::Event, "hi"));
        assert_eq!(serde_json::to_value(record).unwrap(), json!({"message": "hi"}));
    }

    #[test]
    fn fields_keep_their_order_and_kinds() {
        let fields = vec![("z".to_owned(), json!(1)), ("a".to_owned(), json!(true))];
        let record = LogRecord { kind: LogKind::Span, span: Some(1), fields, ..LogRecord::default() };
        let value = json!({"kind": "span", "span": 1, "fields": [["z", 1], ["a", true]]});
        assert_eq!(serde_json::to_value(&record).unwrap(), value);
        assert_eq!(serde_json::from_value::<LogRecord>(value).unwrap(), record);
        assert_eq!(serde_json::from_value::<LogKind>(json!("link")).unwrap(), LogKind::Other);
    }
}
