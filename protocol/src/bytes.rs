use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes in JSON: a string where they are UTF-8, `{"bytes": "<base64>"}` where they are not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct JsonBytes(pub Vec<u8>);

impl JsonBytes {
    /// The bytes as the system's text.
    #[must_use]
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// The bytes as the system's text.
    #[must_use]
    pub fn into_os_string(self) -> OsString {
        OsString::from_vec(self.0)
    }
}

impl From<Vec<u8>> for JsonBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&OsStr> for JsonBytes {
    fn from(text: &OsStr) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<&str> for JsonBytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Shape {
    Text(String),
    Bytes { bytes: String },
}

impl Serialize for JsonBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Shape::Bytes { bytes: encode(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for JsonBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Shape::deserialize(deserializer)? {
            Shape::Text(text) => Ok(Self(text.into_bytes())),
            Shape::Bytes { bytes } => decode(&bytes).map(Self).map_err(D::Error::custom),
        }
    }
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn decode(base64: &str) -> Result<Vec<u8>, base64::DecodeError> {
    STANDARD.decode(base64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_stays_text_and_other_bytes_survive() {
        assert_eq!(serde_json::to_value(JsonBytes::from("é\0")).unwrap(), json!("é\0"));
        let raw = JsonBytes(vec![b'/', 0xff]);
        assert_eq!(serde_json::to_value(&raw).unwrap(), json!({"bytes": "L/8="}));
        assert_eq!(serde_json::from_value::<JsonBytes>(json!({"bytes": "L/8="})).unwrap(), raw);
        assert!(serde_json::from_value::<JsonBytes>(json!({"bytes": "!"})).is_err());
    }
}
