//! Whether a plugin's idea of the interface is laid out as ours.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use toolhost_abi::ABI_VERSION;
use toolhost_abi::abi_stable::StableAbi;
use toolhost_abi::abi_stable::abi_stability::abi_checking::{
    AbiInstabilityErrors, CheckingGlobals, check_layout_compatibility_with_globals,
};
use toolhost_abi::abi_stable::library::LibHeader;
use toolhost_abi::abi_stable::type_layout::{TLFieldOrFunction, TypeLayout};
use toolhost_abi::note::Metadata;
use toolhost_abi::root::PluginRootRef;

use crate::LoadErrorKind;

/// Longer descriptions of a type are cut.
const LONGEST: usize = 160;

/// Checks the version, then the layout.
pub(crate) fn check(header: &LibHeader, metadata: &Metadata) -> Result<(), LoadErrorKind> {
    let ours = <PluginRootRef as StableAbi>::LAYOUT;
    let theirs = header.layout().ok_or_else(|| differs(metadata, "it describes no layout"))?;
    major_agrees(header, metadata)?;
    agree(ours, theirs).map_err(|difference| differs(metadata, &difference))
}

/// Checks both ways, since each side alone accepts only what is newer than itself: a plugin that is older than this
/// host fails the first check alone; a real difference fails both.
fn agree(ours: &'static TypeLayout, theirs: &'static TypeLayout) -> Result<(), String> {
    fits(ours, theirs).or_else(|difference| fits(theirs, ours).map_err(|_| difference))
}

fn major_agrees(header: &LibHeader, metadata: &Metadata) -> Result<(), LoadErrorKind> {
    let found = header.version_strings().version.as_str();
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    if major(found) == major(ABI_VERSION) {
        return Ok(());
    }
    Err(LoadErrorKind::OtherVersion { plugin: metadata.name.clone(), found: found.to_owned(), host: ABI_VERSION })
}

/// A fresh memory for each check: a shared one would remember other plugins and refuse by the order of loading.
fn fits(interface: &'static TypeLayout, implementation: &'static TypeLayout) -> Result<(), String> {
    let check = || check_layout_compatibility_with_globals(interface, implementation, &CheckingGlobals::new());
    match catch_unwind(AssertUnwindSafe(check)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(errors)) => Err(difference(&errors)),
        Err(_) => Err("its description of itself cannot be followed".to_owned()),
    }
}

/// The innermost difference, in one line.
fn difference(errors: &AbiInstabilityErrors) -> String {
    let Some(innermost) = errors.errors.iter().max_by_key(|error| error.stack_trace.len()) else {
        return "the layouts differ".to_owned();
    };
    let path: Vec<String> = innermost.stack_trace.iter().map(|step| name(&step.expected)).collect();
    let what = innermost.errs.first().map(|error| first_line(&format!("{error:?}"))).unwrap_or_default();
    match path.is_empty() {
        true => what,
        false => format!("at {}: {what}", path.join(".")),
    }
}

fn name(step: &TLFieldOrFunction) -> String {
    match step {
        TLFieldOrFunction::Field(field) => field.name().to_owned(),
        TLFieldOrFunction::Function(function) => function.name.to_string(),
    }
}

pub(crate) fn differs(metadata: &Metadata, difference: &str) -> LoadErrorKind {
    LoadErrorKind::OtherLayout {
        plugin: metadata.name.clone(),
        found: metadata.abi_version.clone(),
        host: ABI_VERSION,
        difference: difference.to_owned(),
    }
}

/// The text in one line, cut where it is long.
pub(crate) fn first_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(at);
        line.push_str(" ...");
    }
    line
}
