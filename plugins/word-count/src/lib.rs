//! Counts the lines, words and characters of a file or of a text: the smallest plugin that is of use.
//!
//! ```text
//! $ toolhost call word_count --plugin libword_count.so text='so far, so good'
//! 1 line, 4 words, 15 characters
//! ```

#[cfg(test)]
mod tests;

use std::io::ErrorKind;
use std::path::PathBuf;

use toolhost_plugin_sdk::prelude::*;

export_plugin!(|pi: CustomToolApi| WordCount { pi });

struct WordCount {
    pi: CustomToolApi,
}

/// Either `path` or `text`.
#[derive(Deserialize, JsonSchema)]
struct Params {
    /// A file of UTF-8 text, relative to the session's directory or absolute.
    path: Option<PathBuf>,
    /// The text itself.
    text: Option<String>,
}

/// The largest file that is read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

impl CustomTool for WordCount {
    const NAME: &'static str = "word_count";
    const LABEL: &'static str = "Word Count";
    const DESCRIPTION: &'static str = "Counts the lines, words and characters of a file or of a text.\n\
        A last line counts without a line feed, too. Words are what whitespace separates, characters are Unicode's.";
    const EFFECT: Effect = Effect::ReadOnly;
    const PARALLEL: bool = true;
    type Params = Params;

    async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
        let text = match (params.path, params.text) {
            (Some(path), None) => self.read(path).await?,
            (None, Some(text)) => text,
            _ => return Err("give either `path` or `text`".into()),
        };
        let (lines, words, characters) = (text.lines().count(), text.split_whitespace().count(), text.chars().count());
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let said = [count(lines, "line"), count(words, "word"), count(characters, "character")].join(", ");
        let details = json!({"lines": lines, "words": words, "characters": characters});
        Ok(AgentToolResult::text(said).with_details(details))
    }
}

impl WordCount {
    async fn read(&self, path: PathBuf) -> Result<String, ToolError> {
        let failed = |why: String| ToolError::new(format!("{}: {why}", path.display()));
        let file = self.pi.cwd().join(&path);
        let metadata = tokio::fs::metadata(&file).await.map_err(|error| match error.kind() {
            // Whoever reads it may not know from where a relative path starts.
            ErrorKind::NotFound => failed(format!("not found; it was looked for at {}", file.display())),
            _ => failed(error.to_string()),
        })?;
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            return Err(failed(format!("is no file of at most {MOST_BYTES} bytes")));
        }
        let bytes = tokio::fs::read(&file).await.map_err(|error| failed(error.to_string()))?;
        String::from_utf8(bytes).map_err(|error| failed(format!("is no UTF-8 text: {}", error.utf8_error())))
    }
}
