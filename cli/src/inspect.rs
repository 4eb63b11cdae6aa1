//! `toolhost inspect`: what a file is, and whether it can be loaded.

use std::path::{Path, PathBuf};

use serde_json::json;
use toolhost_loader::{Inspection, LibcFlavour, LibraryStatus, LoadErrorKind, NeededLibrary, PluginMetadata};

use crate::error::{CliError, FAILED, OK, USAGE};
use crate::output::{BOLD, Output};
use crate::plain::plain_line;

pub(crate) fn run(file: &Path, output: &Output) -> u8 {
    let inspection = toolhost_loader::inspect(file);
    let error = inspection.error.as_ref();
    let absent = error.is_some_and(|error| matches!(error.kind, LoadErrorKind::NotFound));
    if output.is_json() {
        output.print_json(&json!(inspection));
    } else if let Some(error) = error.filter(|_| absent) {
        let message = format!("{}: {}", file.display(), error.kind);
        return output.fail(&CliError::usage(error.code(), message, error.fix()));
    } else {
        output.print(&as_text(&inspection));
    }
    match error {
        None => OK,
        Some(_) if absent => USAGE,
        Some(_) => FAILED,
    }
}

/// Aligned facts, then the verdict.
fn as_text(inspection: &Inspection) -> String {
    let facts = facts(inspection);
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, value) in &facts {
        let value = plain_line(value);
        let line = format!("{BOLD}{name:width$}{BOLD:#}  {value}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(&format!("\n{}", verdict(inspection)));
    text
}

fn verdict(inspection: &Inspection) -> String {
    match &inspection.error {
        None => "It can be loaded.".to_owned(),
        Some(error) => {
            let (cause, fix) = (plain_line(&error.kind.to_string()), plain_line(&error.fix()));
            format!("It cannot be loaded: {cause}; {fix} ({}).", error.code())
        }
    }
}

/// What is known, in order. A name that stands before several lines is given once.
fn facts(inspection: &Inspection) -> Vec<(&'static str, String)> {
    let mut facts = vec![("file", inspection.path.to_string_lossy().into_owned())];
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("kind", inspection.kind.clone());
    add("size", inspection.size.map(|size| format!("{size} bytes")));
    add("sha256", inspection.sha256.clone());
    add("fingerprint", inspection.fingerprint.clone().filter(|own| Some(own) != inspection.sha256.as_ref()));
    add("system", inspection.system.clone());
    add("machine", inspection.machine.clone());
    add("libc", libc(inspection));
    add("parts", inspection.segments.map(|segments| parts(segments, inspection.sections)));
    add("soname", inspection.soname.clone());
    if let Some(plugin) = &inspection.plugin {
        facts.extend(of_plugin(inspection, plugin));
    }
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("entry", inspection.exports_entry.map(|there| if there { "exported" } else { "not exported" }.to_owned()));
    add("constructors", inspection.constructors.map(constructors));
    add("static TLS", inspection.static_tls.map(static_tls));
    let names = std::iter::once("needs").chain(std::iter::repeat(""));
    facts.extend(names.zip(inspection.needed.iter().map(|library| needed(library, &inspection.path))));
    facts
}

fn libc(inspection: &Inspection) -> Option<String> {
    let flavour = inspection.libc?;
    let host = match (&inspection.host.libc, &inspection.host.glibc) {
        (Some(LibcFlavour::Gnu), Some(version)) => format!("glibc {version}"),
        (Some(flavour), _) => flavour.to_string(),
        (None, _) => return Some(flavour.to_string()),
    };
    Some(match &inspection.glibc_needed {
        Some(needed) => format!("{flavour}, at least {needed} (this system has {host})"),
        None => format!("{flavour} (this system has {host})"),
    })
}

fn parts(segments: usize, sections: Option<usize>) -> String {
    match sections {
        Some(0) => format!("{segments} segments within the file, no sections"),
        Some(sections) => format!("{segments} segments and {sections} sections within the file"),
        None => format!("{segments} segments within the file"),
    }
}

fn of_plugin(inspection: &Inspection, plugin: &PluginMetadata) -> Vec<(&'static str, String)> {
    let host = &inspection.host;
    let built = [&plugin.sdk_version, &plugin.rustc, &plugin.target];
    let names = ["SDK", "compiler", "target"];
    let mut facts = vec![("plugin", format!("{} {}", plugin.name, plugin.version))];
    if !plugin.description.is_empty() {
        facts.push(("description", plugin.description.clone()));
    }
    let interface = format!("{} {}", plugin.abi_family, plugin.abi_version);
    facts.push(("interface", format!("{interface} (this host has {} {})", host.abi_family, host.abi_version)));
    facts.extend(
        names.into_iter().zip(built).filter(|(_, value)| !value.is_empty()).map(|(n, value)| (n, value.clone())),
    );
    facts.push(("panic", if plugin.panic.is_empty() { "not said".to_owned() } else { plugin.panic.clone() }));
    let names = plugin.tools.join(", ");
    let tools = match (plugin.dynamic, names.is_empty()) {
        (true, true) => "decided as it runs".to_owned(),
        (true, false) => format!("{names}, and what is decided as it runs"),
        (false, true) => "fixed".to_owned(),
        (false, false) => names,
    };
    facts.push(("tools", tools));
    facts
}

fn constructors(count: u64) -> String {
    match count {
        0 => "none".to_owned(),
        1 => "1 function runs as it is opened".to_owned(),
        count => format!("{count} functions run as it is opened"),
    }
}

fn static_tls(wanted: bool) -> String {
    if wanted { "wanted; the room that a process has for it may be used up" } else { "not wanted" }.to_owned()
}

/// A library that is needed; by whom, where it is not the file itself that needs it.
fn needed(library: &NeededLibrary, file: &Path) -> String {
    let place = || library.path.as_deref().map(Path::display).map(|path| path.to_string()).unwrap_or_default();
    let place = match library.status {
        LibraryStatus::Brought => format!("{}, brought along", place()),
        LibraryStatus::Found => place(),
        LibraryStatus::Loaded => "loaded already".to_owned(),
        LibraryStatus::Missing => "MISSING".to_owned(),
        _ => "somewhere".to_owned(),
    };
    let own = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
    let by = match library.needed_by.first() {
        Some(first) if !library.needed_by.contains(&own) => format!(" (needed by {})", first.display()),
        _ => String::new(),
    };
    format!("{}: {place}{by}", library.name)
}
