//! What is said of each kind of error beside its message: code, stage, what to do.

use std::borrow::Cow;
use std::path::Path;

use toolhost_protocol::CONFIG;

use super::{LoadErrorKind, Stage};
use crate::{BlockList, BlockTarget};

impl LoadErrorKind {
    /// A stable code, `TH` and four digits, of which the first two say the stage.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "TH0101",
            Self::Unreadable { .. } => "TH0102",
            Self::EmptyDirectory { .. } => "TH0103",
            Self::NotALibrary { .. } => "TH0201",
            Self::OtherPlatform { .. } => "TH0202",
            Self::Damaged { .. } => "TH0203",
            Self::NotAPlugin { .. } => "TH0204",
            Self::BadNote { .. } => "TH0205",
            Self::NewerNote { .. } => "TH0206",
            Self::OtherFamily { .. } => "TH0207",
            Self::PanicAborts { .. } => "TH0208",
            Self::NoEntry { .. } => "TH0209",
            Self::MissingLibrary { .. } => "TH0210",
            Self::NewerLibc { .. } => "TH0211",
            Self::OtherLibc { .. } => "TH0212",
            Self::NotTrusted { .. } => "TH0301",
            Self::ChangedSinceTrusted { .. } => "TH0302",
            Self::UnsafePlace { .. } => "TH0303",
            Self::Blocked { .. } => "TH0304",
            Self::Undecided { .. } => "TH0305",
            Self::Quarantined { .. } => "TH0306",
            Self::NotStaged { .. } => "TH0401",
            Self::SiblingClash { .. } => "TH0402",
            Self::OpenedInPlace { .. } => "TH0403",
            Self::NameTaken { .. } => "TH0404",
            Self::ChangedMeanwhile => "TH0405",
            Self::NotOpened { .. } => "TH0501",
            Self::EndsProcess { .. } => "TH0502",
            Self::NotLookedAt { .. } => "TH0503",
            Self::OtherVersion { .. } => "TH0601",
            Self::OtherLayout { .. } => "TH0602",
            Self::FactoryFailed { .. } => "TH0701",
            Self::FactoryTimedOut { .. } => "TH0702",
            Self::BadDefinition { .. } => "TH0703",
            Self::TooManyTools { .. } => "TH0704",
            Self::DefinitionTooLarge { .. } => "TH0705",
            Self::ToolRefused { .. } => "TH0801",
        }
    }

    /// The stage that ended with it.
    #[must_use]
    pub fn stage(&self) -> Stage {
        Stage::of(self.code())
    }

    /// What to do about it, in one sentence without a full stop.
    #[must_use]
    pub fn fix(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::NotFound => "check the path; a plugin's package needs `crate-type = [\"cdylib\"]` to make its file",
            Self::Unreadable { .. } => "give this user the right to read it",
            Self::EmptyDirectory { .. } => {
                "name the plugin's file, or its directory; its package needs `crate-type = [\"cdylib\"]` to make one"
            }
            Self::NotALibrary { .. } => "name the shared library that building the plugin makes",
            Self::OtherPlatform { .. } => "build the plugin for this platform",
            Self::Damaged { .. } => "copy or build the file again",
            Self::NotAPlugin { .. } => "export the plugin with `export_plugin!` of toolhost-plugin-sdk",
            Self::BadNote { .. } | Self::NoEntry { .. } => {
                "build the plugin with an unmodified toolhost-plugin-sdk, and keep its exported symbol when stripping"
            }
            Self::NewerNote { .. } | Self::OtherFamily { .. } => {
                "update this host, or build the plugin with an older toolhost-plugin-sdk"
            }
            Self::PanicAborts { .. } => "build it with `panic = \"unwind\"`, the default, in its profile",
            Self::MissingLibrary { .. } => {
                "install that library, or put it beside the plugin and link with `-rpath,$ORIGIN`"
            }
            Self::NewerLibc { .. } => "build the plugin on a system no newer than this one",
            Self::OtherLibc { .. } => "build the plugin for this host's C library",
            Self::NotTrusted { plugin } | Self::ChangedSinceTrusted { plugin, .. } => {
                return Cow::Owned(trust_fix(&plugin.path, &plugin.fingerprint));
            }
            Self::UnsafePlace { place, problem } => return Cow::Owned(problem.fix(place)),
            Self::Blocked { block, list, .. } => return Cow::Owned(blocked_fix(&block.target, list.as_deref())),
            Self::Undecided { error } => return Cow::Owned(error.fix()),
            Self::Quarantined { hash, .. } => {
                let lift = format!("toolhost quarantine --lift {hash}");
                let fix =
                    format!("ask the plugin's author; to load it nevertheless: `{lift}` (`HostBuilder::quarantined`)");
                return Cow::Owned(fix);
            }
            Self::NotStaged { .. } => {
                "make it a directory of this user alone, or choose another with --cache-dir (`HostBuilder::cache_dir`)"
            }
            Self::ChangedMeanwhile => "start the host again",
            Self::OpenedInPlace { .. } => "put the library beside the plugin and link with `-rpath,$ORIGIN`",
            Self::NameTaken { .. } => "load the plugins in separate hosts, or link the library statically into both",
            Self::SiblingClash { .. } => "link the library into the plugin statically, or give it a name of its own",
            Self::NotLookedAt { .. } => "name a program that can be run (`HostBuilder::first_sight`)",
            Self::EndsProcess { .. } => "ask the plugin's author; it would have ended this host in the same way",
            Self::NotOpened { .. } => "install the library that is missing, or build the plugin on this system",
            Self::OtherVersion { .. } => "build the plugin with the toolhost-plugin-sdk of this host's version",
            Self::OtherLayout { .. } => "build the plugin again with a released toolhost-plugin-sdk",
            Self::FactoryFailed { plugin, code, reason } => return factory_fix(plugin, code.as_deref(), reason),
            Self::FactoryTimedOut { .. } => "mend what the message names, or ask the plugin's author",
            Self::TooManyTools { .. } => {
                "raise the limit: `tools` under `[limits]` in toolhost.toml (`LoadLimits::tools`), or give the plugin fewer"
            }
            Self::DefinitionTooLarge { .. } => {
                "shorten it, or raise the limit: `definition-bytes` under `[limits]` in toolhost.toml \
                 (`LoadLimits::definition_bytes`)"
            }
            Self::BadDefinition { .. } | Self::ToolRefused { .. } => "change the tool, or ask the plugin's author to",
        })
    }
}

fn trust_fix(path: &Path, fingerprint: &str) -> String {
    let path = path.to_string_lossy();
    let file = shlex::try_quote(&path).unwrap_or_default();
    format!(
        "look at it with `toolhost trust {file}`, which asks; without a terminal, allow it with `toolhost trust {file} \
         --yes {fingerprint}` (`TrustStore::trust`)"
    )
}

fn blocked_fix(target: &BlockTarget, list: Option<&Path>) -> String {
    let Some(list) = list else {
        return "use another version; this program blocks this one by itself (`HostBuilder::block`)".to_owned();
    };
    let system = if list == Path::new(BlockList::SYSTEM) { " --system" } else { "" };
    format!(
        "use another version; to use this one all the same, `toolhost unblock {target}{system}` (`BlockList::unblock`)"
    )
}

fn factory_fix(plugin: &str, code: Option<&str>, reason: &str) -> Cow<'static, str> {
    if code == Some(CONFIG) {
        let fix = format!(
            "correct the plugin's settings: --config {plugin}=JSON, or `[plugins.{plugin}]` in toolhost.toml \
             (`HostBuilder::config`)"
        );
        return Cow::Owned(fix);
    }
    // What tokio says where its time, files or network are used outside of a runtime.
    if reason.contains("there is no reactor running") {
        return Cow::Borrowed("make the factory `async`: only then it runs within the plugin's own tokio runtime");
    }
    Cow::Borrowed("mend what the message names, or ask the plugin's author")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    fn codes(text: &str) -> BTreeSet<&str> {
        let is_code = |part: &&str| part.len() == 6 && part[2..].bytes().all(|byte| byte.is_ascii_digit());
        text.match_indices("TH").filter_map(|(at, _)| text.get(at..at + 6)).filter(is_code).collect()
    }

    #[test]
    fn every_code_has_a_paragraph_and_every_paragraph_a_code() {
        let source = include_str!("code.rs");
        let docs = include_str!("../../../docs/errors.md");
        let headings: Vec<_> = docs.lines().filter_map(|line| line.strip_prefix("### ")).collect();
        let documented: BTreeSet<_> = headings.iter().map(|heading| &heading[..6]).collect();
        assert_eq!(documented, codes(source.split("#[cfg(test)]").next().unwrap()));
        assert_eq!(documented.len(), headings.len(), "a code has two paragraphs");
    }
}
