//! `toolhost install` and `toolhost remove`.

use std::path::{Path, PathBuf};

use serde_json::json;
use toolhost_loader::{InstallError, Occupant, PluginDirectory, TrustTarget, UnopenedPlugin};

use crate::args::{Install, Remove};
use crate::error::{CliError, FAILED, OK, TRUST, USAGE};
use crate::output::Output;
use crate::places;
use crate::plain::plain_line;
use crate::signals::Signals;
use crate::trust::card;
use crate::trust::consent::{Unasked, consent, word};
use crate::trust::refused;

pub(crate) async fn run(install: &Install, output: &Output, signals: &Signals) -> Result<u8, CliError> {
    let (plugins, trust) = (places::plugins()?, places::trust()?);
    let inspection = card::inspect(&install.file)?;
    let plugin = inspection.plugin();
    if let Err(error) = inspection.check_blocks(&places::all_blocks()) {
        let message = format!("{}: {} ({})", error.path.display(), error.kind, error.code());
        return Err(CliError { exit: TRUST, code: "blocked", message, fix: error.fix().into_owned() });
    }
    let path = plugins.path_of(&inspection)?;
    let before = replaced(&plugins, &path, &inspection, install.replace)?;
    if !output.is_json() {
        let to = format!("\n  {:<10}  {}", "to", plain_line(&path.to_string_lossy()));
        let before = before.as_ref().map(|before| format!("\n  {:<10}  {}", "replaces", plain_line(before)));
        output.print(&format!("{}{to}{}", card::text(&inspection), before.unwrap_or_default()));
    }
    let unasked = Unasked::Hash { given: install.yes.as_deref(), right: &plugin.fingerprint };
    let again = format!("toolhost install {} --yes {}", word(&install.file), plugin.fingerprint);
    match consent("Install it?", unasked, &again, output, signals).await {
        Ok(true) => {}
        Ok(false) => {
            output.note("It is not installed.");
            return Ok(FAILED);
        }
        Err(error) if output.is_json() => return Ok(refused(&inspection, "installed", &error, output)),
        Err(error) => return Err(error),
    }
    let done = plugins.install(&inspection, install.replace)?;
    // At its new place, by what was looked at: another file there by now is not trusted.
    let mut installed = plugin.clone();
    installed.path.clone_from(&done.path);
    trust.trust(&installed)?;
    if output.is_json() {
        output.print_json(&json!({
            "plugin": card::as_json(&inspection),
            "installed": true,
            "path": done.path.to_string_lossy(),
            "replaced": before,
        }));
    } else {
        let path = plain_line(&done.path.to_string_lossy());
        output.print(&format!("Installed: {} {} ({path})", plugin.name, plugin.version));
    }
    Ok(OK)
}

/// What an installation would replace, in a few words.
fn replaced(
    plugins: &PluginDirectory,
    path: &Path,
    plugin: &UnopenedPlugin,
    replace: bool,
) -> Result<Option<String>, CliError> {
    let name = &plugin.plugin().name;
    match plugins.occupant(path, plugin) {
        Occupant::Same { hash, version } if hash == plugin.plugin().fingerprint => {
            Ok(Some(format!("{name} {version}, which is the same")))
        }
        Occupant::Same { version, .. } => Ok(Some(format!("{name} {version}"))),
        Occupant::Other(by) if replace => Ok(Some(by)),
        Occupant::Other(by) => Err(InstallError::taken(path.to_owned(), by).into()),
        // Another version may have been installed under another file's name.
        _ => {
            let installed = plugins.installed()?;
            let other = installed.iter().find(|other| other.name == *name);
            Ok(other.map(|other| format!("{name} {}", other.version)))
        }
    }
}

pub(crate) async fn remove(remove: &Remove, output: &Output, signals: &Signals) -> Result<u8, CliError> {
    let (plugins, trust) = (places::plugins()?, places::trust()?);
    let installed = plugins.installed()?;
    let Some(plugin) = installed.iter().find(|plugin| plugin.name == remove.name) else {
        return Err(plugins
            .remove(&remove.name)
            .err()
            .map_or_else(|| CliError::failed("remove", "it is gone"), Into::into));
    };
    let title = format!("{} {}", plain_line(&plugin.name), plain_line(&plugin.version));
    let question = format!("Remove {title}?");
    let again = format!("toolhost remove {} --yes", word(Path::new(&remove.name)));
    if !consent(&question, Unasked::Flag(remove.yes), &again, output, signals).await? {
        output.note("It is not removed.");
        return Ok(FAILED);
    }
    let done = plugins.remove(&remove.name)?;
    trust.untrust(&[TrustTarget::Path(done.path)])?;
    let texts = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>();
    let (removed, left) = (texts(&done.removed), texts(&done.left));
    if output.is_json() {
        let (name, version) = (&done.plugin.name, &done.plugin.version);
        output.print_json(&json!({"plugin": name, "version": version, "removed": removed, "left": left}));
        return Ok(OK);
    }
    let removed = removed.iter().map(|path| format!("\n  {}", plain_line(path)));
    output.print(&format!("Removed: {title}{}", removed.collect::<String>()));
    for path in left {
        output.warn(&format!("{path} stays: it is not what was installed, or another plugin has it, too"));
    }
    Ok(OK)
}

impl From<InstallError> for CliError {
    fn from(error: InstallError) -> Self {
        let (exit, code) = match &error {
            InstallError::State(_) => (FAILED, "state"),
            InstallError::Taken { .. } => (USAGE, "taken"),
            InstallError::Name { .. } => (USAGE, "file-name"),
            InstallError::NotInstalled { .. } => (USAGE, "not-installed"),
            InstallError::Place { .. } => (TRUST, "unsafe-place"),
            _ => (FAILED, "install"),
        };
        Self { exit, code, message: error.to_string(), fix: error.fix() }
    }
}
