//! The codes that failures have from the SDK and from a host, to tell them apart without reading their text.
//!
//! ```
//! use toolhost_plugin_sdk::{code, prelude::*};
//!
//! # async fn describe(pi: CustomToolApi) -> Result<String, ToolError> {
//! let described = match pi.exec("git", ["describe"], ExecOptions::new()).await {
//!     Ok(output) => output.require_success()?,
//!     Err(error) if error.code() == Some(code::EXEC) => return Ok("there is no git here".to_owned()),
//!     Err(error) => return Err(error),
//! };
//! # Ok(described.stdout_text().into_owned()) }
//! ```
//!
//! A plugin may have codes of its own beside these; see [`ToolError::with_code`](crate::ToolError::with_code).

use toolhost_protocol::service;

/// An apply found the world changed since its preview, and did nothing: [`ToolError::stale`](crate::ToolError::stale).
pub const STALE: &str = toolhost_protocol::STALE;

/// The parameters satisfy the schema and still do not fit. Where `execute` returns it, the host reports the call as one
/// with wrong parameters, which did nothing, and tells the model to correct them.
pub const PARAMETERS: &str = toolhost_protocol::PARAMETERS;

/// A setting of the plugin is wrong: what [`CustomToolApi::config`](crate::CustomToolApi::config) fails with.
pub const CONFIG: &str = toolhost_protocol::CONFIG;

/// A program could not be started, or not be waited for: from [`CustomToolApi::exec`](crate::CustomToolApi::exec).
pub const EXEC: &str = service::EXEC;

/// The host knows what it is asked for and does not grant it, such as to run programs.
pub const REFUSED_SERVICE: &str = service::REFUSED_SERVICE;

/// The host is too old to know what it is asked for.
pub const UNKNOWN_SERVICE: &str = service::UNKNOWN_SERVICE;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_part_of_the_interface() {
        assert_eq!(
            [STALE, PARAMETERS, CONFIG, EXEC, REFUSED_SERVICE, UNKNOWN_SERVICE],
            ["stale", "parameters", "config", "exec", "refused-service", "unknown-service"]
        );
    }
}
