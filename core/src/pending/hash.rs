use std::collections::BTreeMap;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolhost_protocol::Effect;

use super::{Pending, PendingAction};

/// What a preview was made from; null where a task of the tool's own pushed it.
#[derive(Clone, Copy)]
pub(crate) struct Preview<'a> {
    pub(crate) tool: Option<&'a str>,
    pub(crate) parameters: &'a Value,
    pub(crate) plugin: Option<&'a str>,
    pub(crate) effect: Effect,
    pub(crate) turn: Option<u64>,
}

impl Preview<'_> {
    pub(crate) const UNKNOWN: Preview<'static> =
        Preview { tool: None, parameters: &Value::Null, plugin: None, effect: Effect::Changes, turn: None };

    pub(super) fn hash(&self, action: &PendingAction) -> String {
        let shown = action.details.as_ref().map(|details| details.get("changes").unwrap_or(details));
        hash_of(&(
            self.tool,
            Canonical(self.parameters),
            self.plugin,
            &action.label,
            &action.source_tool_name,
            shown.map(Canonical),
            &action.depends_on,
        ))
    }
}

/// One hash for everything that a call staged, in the order in which it was pushed: the action's own
/// [`Pending::preview_hash`] where there is one, a hash of them all where there are several.
#[must_use]
pub fn preview_hash(actions: &[&Pending]) -> Option<String> {
    match actions {
        [] => None,
        [one] => Some(one.preview_hash().to_owned()),
        several => Some(hash_of(&several.iter().map(|action| action.preview_hash()).collect::<Vec<_>>())),
    }
}

fn hash_of(value: &impl Serialize) -> String {
    // Values, strings and their tuples can always be written.
    let json = serde_json::to_vec(value).unwrap_or_default();
    hex::encode(Sha256::digest(&json))
}

/// Writes objects by key, whatever order serde_json was built to keep.
struct Canonical<'a>(&'a Value);

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let sorted: BTreeMap<_, _> = fields.iter().collect();
                let mut map = serializer.serialize_map(Some(sorted.len()))?;
                for (key, value) in sorted {
                    map.serialize_entry(key, &Canonical(value))?;
                }
                map.end()
            }
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Canonical(item))?;
                }
                list.end()
            }
            plain => plain.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn action(label: &str, details: Value) -> PendingAction {
        PendingAction::new(label, |_| async { Ok("".into()) }).details(details)
    }

    fn hash(parameters: &Value, label: &str, details: Value) -> String {
        Preview { tool: Some("t"), parameters, plugin: Some("p"), ..Preview::UNKNOWN }.hash(&action(label, details))
    }

    #[test]
    fn the_hash_tells_previews_apart_by_what_they_show() {
        let base = hash(&json!({"a": 1}), "l", json!({"changes": [1], "tookMs": 5}));
        assert_eq!(base.len(), 64);
        assert_eq!(base, hash(&json!({"a": 1}), "l", json!({"tookMs": 9, "changes": [1]})));
        assert_ne!(base, hash(&json!({"a": 2}), "l", json!({"changes": [1]})));
        assert_ne!(base, hash(&json!({"a": 1}), "m", json!({"changes": [1]})));
        assert_ne!(base, hash(&json!({"a": 1}), "l", json!({"changes": [2]})));
        assert_ne!(base, Preview::UNKNOWN.hash(&action("l", json!({"changes": [1]}))));
    }

    #[test]
    fn details_without_changes_count_as_a_whole_in_any_order() {
        let one: Value = serde_json::from_str(r#"{"b": {"d": 1, "c": [2]}, "a": 0}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"a": 0, "b": {"c": [2], "d": 1}}"#).unwrap();
        assert_eq!(hash(&Value::Null, "l", one), hash(&Value::Null, "l", other.clone()));
        assert_ne!(hash(&Value::Null, "l", json!({"a": 0})), hash(&Value::Null, "l", other));
    }
}
