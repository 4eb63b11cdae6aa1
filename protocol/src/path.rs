use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bytes::{self, JsonBytes};

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

impl Serialize for JsonPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonBytes::from(self.0.as_os_str()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(JsonBytes::deserialize(deserializer)?.into_os_string().into()))
    }
}

pub(crate) fn encode(path: &Path) -> String {
    bytes::encode(path.as_os_str().as_bytes())
}

pub(crate) fn decode(base64: &str) -> Result<PathBuf, base64::DecodeError> {
    Ok(OsString::from_vec(bytes::decode(base64)?).into())
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
