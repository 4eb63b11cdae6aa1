use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonPath;

/// The version of the JSON that crosses; it grows, and each side ignores what it does not know.
pub const PROTOCOL_VERSION: u32 = 1;

/// What a plugin's factory is told about the session that it creates its tools for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct CreateRequest {
    /// The host's [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The services that the host offers through `call`, such as [`UI`](crate::service::UI).
    pub services: Vec<String>,
    /// The session's id.
    pub session_id: String,
    /// The session's working directory, absolute.
    pub cwd: JsonPath,
    /// The directory in which the plugin's file was found, absolute.
    pub plugin_dir: JsonPath,
    /// The plugin's own settings; null where there are none.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub config: Value,
}
