//! `toolhost trust` and `toolhost untrust`.

pub(crate) mod card;
pub(crate) mod consent;

use std::path::Path;

use serde_json::json;
use toolhost_loader::{TrustTarget, TrustedPlugin, UnopenedPlugin};

use crate::args::{Trust, Untrust};
use crate::error::{CliError, FAILED, OK};
use crate::output::{BOLD, Output};
use crate::places;
use crate::plain::plain_line;
use crate::signals::Signals;
use consent::{Unasked, consent, word};

pub(crate) async fn run(trust: &Trust, output: &Output, signals: &Signals) -> Result<u8, CliError> {
    let store = places::trust()?;
    let trusted = store.trusted()?;
    let Some(file) = &trust.file else {
        list(&trusted, output);
        return Ok(OK);
    };
    let inspection = card::inspect(file)?;
    let plugin = inspection.plugin();
    if !output.is_json() {
        output.print(&card::text(&inspection));
    }
    if let Err(error) = inspection.check_blocks(&places::all_blocks()) {
        output.warn(&format!("{}; trust does not change that", error.kind));
    }
    let differs = trust.yes.as_ref().is_some_and(|given| *given != plugin.fingerprint);
    let same = |known: &&TrustedPlugin| known.hash == plugin.fingerprint && is_at(known, file);
    if let Some(known) = trusted.iter().find(same).filter(|_| !differs) {
        report(&inspection, &format!("It is trusted already, since {}.", known.trusted_at), output);
        return Ok(OK);
    }
    if let Some(before) = trusted.iter().find(|known| is_at(known, file) && known.hash != plugin.fingerprint)
        && !output.is_json()
    {
        output.print(&format!("  {:<10}  {} since {}", "trusted", before.hash, before.trusted_at));
    }
    let unasked = Unasked::Hash { given: trust.yes.as_deref(), right: &plugin.fingerprint };
    let again = format!("toolhost trust {} --yes {}", word(file), plugin.fingerprint);
    match consent("Trust it?", unasked, &again, output, signals).await {
        Ok(true) => {}
        Ok(false) => {
            output.note("It is not trusted.");
            return Ok(FAILED);
        }
        Err(error) if output.is_json() => return Ok(refused(&inspection, "trusted", &error, output)),
        Err(error) => return Err(error),
    }
    store.trust(plugin)?;
    report(&inspection, &format!("Trusted: {} {}", plugin.name, plugin.version), output);
    Ok(OK)
}

fn report(inspection: &UnopenedPlugin, text: &str, output: &Output) {
    if output.is_json() {
        output.print_json(&json!({"plugin": card::as_json(inspection), "trusted": true}));
    } else {
        output.print(text);
    }
}

/// Tells a program what was looked at, and why nothing came of it.
pub(crate) fn refused(inspection: &UnopenedPlugin, what: &str, error: &CliError, output: &Output) -> u8 {
    let mut object = error.as_json();
    object["plugin"] = card::as_json(inspection);
    object[what] = json!(false);
    output.print_json(&object);
    error.exit
}

/// Whether this was trusted at this path.
fn is_at(trusted: &TrustedPlugin, file: &Path) -> bool {
    file.canonicalize().is_ok_and(|file| file == trusted.path.0)
}

fn list(trusted: &[TrustedPlugin], output: &Output) {
    if output.is_json() {
        output.print_json(&json!({"trusted": trusted}));
    } else if trusted.is_empty() {
        output.note("Nothing is trusted by its hash.");
    } else {
        output.print(&trusted.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
}

fn line(trusted: &TrustedPlugin) -> String {
    let [name, version, hash] = [&trusted.name, &trusted.version, &trusted.hash].map(|text| plain_line(text));
    let path = plain_line(&trusted.path.0.to_string_lossy());
    format!("{BOLD}{name} {version}{BOLD:#}  {path}\n  {hash} since {}", trusted.trusted_at)
}

pub(crate) fn untrust(untrust: &Untrust, output: &Output) -> Result<u8, CliError> {
    let gone = places::trust()?.untrust(&targets(&untrust.target))?;
    if gone.is_empty() {
        let message = format!("nothing is trusted as `{}`", untrust.target.display());
        return Err(CliError::usage("not-trusted", message, "`toolhost trust --list` shows what is"));
    }
    if output.is_json() {
        output.print_json(&json!({"untrusted": gone}));
    } else {
        let lines: Vec<_> = gone.iter().map(|gone| format!("Not trusted any more: {}", line(gone))).collect();
        output.print(&lines.join("\n"));
    }
    Ok(OK)
}

/// What is meant by a file, a hash or a name. A file is trusted by its content: that loses its trust wherever it is.
fn targets(target: &Path) -> Vec<TrustTarget> {
    let text = target.to_string_lossy();
    if target.components().count() == 1 && !target.is_file() {
        return match text.parse() {
            Ok(toolhost_loader::BlockTarget::Hash(hash)) => vec![TrustTarget::Hash(hash)],
            _ => vec![TrustTarget::Name(text.into_owned())],
        };
    }
    let content =
        UnopenedPlugin::read(target).map(|inspection| TrustTarget::Hash(inspection.plugin().fingerprint.clone()));
    [TrustTarget::Path(target.to_owned())].into_iter().chain(content).collect()
}
