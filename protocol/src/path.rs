use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path in JSON: a string, or `{"bytes": "<base64>"}` where it is not UTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct JsonPath(pub PathBuf);

impl From<PathBuf> for JsonPath {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl From<&Path> for JsonPath {
    fn from(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Shape {
    Text(String),
    Bytes { bytes: String },
}

impl Serialize for JsonPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => Shape::Bytes { bytes: encode(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for JsonPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Shape::deserialize(deserializer)? {
            Shape::Text(text) => Ok(Self(text.into())),
            Shape::Bytes { bytes } => decode(&bytes).map(Self).map_err(D::Error::custom),
        }
    }
}

pub(crate) fn encode(path: &Path) -> String {
    STANDARD.encode(path.as_os_str().as_bytes())
}

pub(crate) fn decode(bytes: &str) -> Result<PathBuf, base64::DecodeError> {
    Ok(OsString::from_vec(STANDARD.decode(bytes)?).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_stays_text_and_bytes_survive() {
        let cyrillic = JsonPath("/tmp/файл a".into());
        assert_eq!(serde_json::to_value(&cyrillic).unwrap(), json!("/tmp/файл a"));
        let raw = JsonPath(OsString::from_vec(vec![b'/', 0xff]).into());
        let value = serde_json::to_value(&raw).unwrap();
        assert_eq!(value, json!({"bytes": "L/8="}));
        assert_eq!(serde_json::from_value::<JsonPath>(value).unwrap(), raw);
    }
}
