//! What crosses between a host and the process that looks at a plugin for it. Both are the same program.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhost_abi::note::Metadata;
use toolhost_core::ToolDefinition;
use toolhost_protocol::JsonPath;

/// The format of the request.
pub(super) const FORMAT: u32 = 1;

/// On the process's standard input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) format: u32,
    /// The process that asks. With it, the answer would be for nobody.
    pub(super) parent: i32,
    /// What to open.
    pub(super) copy: JsonPath,
    /// Where the plugin was found.
    pub(super) file: JsonPath,
    pub(super) fingerprint: String,
    pub(super) metadata: Metadata,
    pub(super) config: Value,
    /// Where the answer goes: standard output is the plugin's to spoil.
    pub(super) answer: JsonPath,
    pub(super) factory_ms: u64,
    /// How many tools count, and how large their definitions may be.
    pub(super) tools: usize,
    pub(super) definition_bytes: usize,
    /// The largest address space, in bytes.
    pub(super) memory: u64,
}

/// That the process came to its end, and what it saw.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Answer {
    /// What the tools say of themselves.
    Tools(Vec<ToolDefinition>),
    /// The plugin made no tools, or one of them cannot say what it is. The host says why when it opens the plugin itself.
    Refused,
    /// The factory did not end in time.
    TimedOut,
}
