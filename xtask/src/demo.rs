//! `cargo xtask demo`: a rename of real files, previewed, applied, and a second one discarded.
//!
//! Every step prints the command that it runs, its output and the files, and checks what must hold afterwards.

mod photos;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::build::{Build, Profile, metadata};
use crate::plugins;
use crate::shell::command_line;
use photos::Photos;

const PLUGIN: &str = "batch-rename";
const TOOL: &str = "batch_rename_preview";

/// Builds the host and the plugin, and plays the demo. `keep` leaves its files there.
///
/// # Errors
///
/// When something cannot be built or run, or does not do what the demo promises.
pub fn run(out: &mut dyn Write, keep: bool) -> Result<()> {
    let manifest_path = crate::workspace_manifest();
    let target_dir = metadata(&manifest_path)?.target_directory.into_std_path_buf();
    eprintln!("Building the host and a plugin; the first time this takes some minutes ...");
    let host = Build::new(&manifest_path).package("toolhost").target_dir(&target_dir).profile(Profile::Dev).locked();
    let host = host.bin("toolhost")?;
    let built = plugins::build(&manifest_path, &target_dir, &[PLUGIN])?.plugins;
    let plugin = built.into_iter().next().context("nothing was built")?.path;
    play(out, host, plugin, keep)
}

/// The demo itself, with what it needs already built.
fn play(out: &mut dyn Write, host: PathBuf, plugin: PathBuf, keep: bool) -> Result<()> {
    let photos = Photos::create(keep)?;
    let mut demo = Demo { out, host, plugin, photos };
    let outcome = demo.steps();
    if keep {
        writeln!(demo.out, "\nThe files are kept in {}", demo.photos.path().display())?;
    }
    let hint = if keep { "" } else { "; run it with --keep to look at its files" };
    outcome.with_context(|| format!("the demo failed, at the last step above{hint}"))?;
    if !keep {
        demo.photos.remove()?;
    }
    writeln!(demo.out, "\nAll four steps did what they promise.")?;
    Ok(())
}

struct Demo<'a> {
    out: &'a mut dyn Write,
    host: PathBuf,
    plugin: PathBuf,
    photos: Photos,
}

/// What the host printed.
struct Printed {
    stdout: String,
    stderr: String,
}

impl Demo<'_> {
    fn steps(&mut self) -> Result<()> {
        self.list()?;
        let hash = self.preview()?;
        self.apply(&hash)?;
        self.discard()
    }

    fn list(&mut self) -> Result<()> {
        self.heading("1. Which tools does the plugin offer?")?;
        let printed = self.toolhost(&["list".into(), "--plugin".into(), self.plugin.clone().into()])?;
        ensure!(printed.stdout.contains(TOOL), "the list does not name {TOOL}");
        Ok(())
    }

    /// Returns the hash of the preview.
    fn preview(&mut self) -> Result<String> {
        self.heading("2. Preview a rename; without a decision nothing changes")?;
        let before = self.photos.read()?;
        let printed = self.call("IMG", "trip", &[])?;
        ensure!(self.photos.read()? == before, "the preview changed files");
        ensure!(printed.stdout.contains("trip 1.JPG"), "the preview does not show the new names");
        ensure!(
            printed.stderr.to_lowercase().contains("discard"),
            "stderr does not say that the preview was discarded"
        );
        let hash = preview_hash(&printed.stdout).context("the preview prints no line `Preview hash: HEX`")?;
        self.checked("nothing has changed")?;
        Ok(hash.to_owned())
    }

    fn apply(&mut self, hash: &str) -> Result<()> {
        self.heading("3. Apply it, if the preview is still the one that was looked at")?;
        let printed = self.call("IMG", "trip", &["--apply", "looks right", "--expect", hash])?;
        ensure!(self.photos.read()? == photos::renamed(), "the files are not renamed as the preview said");
        ensure!(printed.stdout.contains("Applied: "), "stdout does not say what was applied");
        self.checked("every file has its new name and its old content; notes.txt was left alone")
    }

    fn discard(&mut self) -> Result<()> {
        self.heading("4. Preview a second rename and discard it")?;
        let before = self.photos.read()?;
        let printed = self.call("trip", "holiday", &["--discard", "the first names were better"])?;
        ensure!(self.photos.read()? == before, "the discarded rename changed files");
        ensure!(printed.stdout.contains("Discarded: "), "stdout does not say what was discarded");
        self.checked("nothing has changed")
    }

    /// Calls the tool for every photo, with the decision's arguments.
    fn call(&mut self, find: &str, replace: &str, decision: &[&str]) -> Result<Printed> {
        let files = self.photos.names()?;
        let files: Vec<_> = files.into_iter().filter(|name| name.ends_with(".JPG")).collect();
        let params = json!({"files": files, "find": find, "replace": replace}).to_string();
        let mut args: Vec<OsString> = vec!["call".into(), TOOL.into()];
        args.extend(["--plugin".into(), self.plugin.clone().into()]);
        args.extend(["--cwd".into(), self.photos.path().into()]);
        args.extend(["--params".into(), params.into()]);
        args.extend(decision.iter().map(OsString::from));
        self.toolhost(&args)
    }

    /// Runs the host without a terminal to ask on, and prints the command, the output and the files.
    fn toolhost(&mut self, args: &[OsString]) -> Result<Printed> {
        let mut command = Command::new(&self.host);
        command.args(args).stdin(Stdio::null());
        writeln!(self.out, "$ {}\n", command_line(&command))?;
        self.out.flush()?;
        let output = command.output().with_context(|| format!("could not run {}", self.host.display()))?;

        let text = |bytes: Vec<u8>| String::from_utf8(bytes).context("the host printed something that is not UTF-8");
        let printed = Printed { stdout: text(output.stdout)?, stderr: text(output.stderr)? };
        printed.stdout.lines().try_for_each(|line| writeln!(self.out, "{line}"))?;
        printed.stderr.lines().try_for_each(|line| writeln!(self.out, "[stderr] {line}"))?;
        writeln!(self.out, "\nFiles in {}:", self.photos.path().display())?;
        self.photos.names()?.iter().try_for_each(|name| writeln!(self.out, "  {name}"))?;
        ensure!(output.status.success(), "toolhost failed ({})", output.status);
        Ok(printed)
    }

    fn heading(&mut self, text: &str) -> Result<()> {
        Ok(writeln!(self.out, "\n== {text}\n")?)
    }

    fn checked(&mut self, what: &str) -> Result<()> {
        Ok(writeln!(self.out, "\nChecked: {what}.")?)
    }
}

fn preview_hash(stdout: &str) -> Option<&str> {
    let hash = stdout.lines().find_map(|line| line.strip_prefix("Preview hash:"))?.trim();
    (!hash.is_empty() && hash.chars().all(|c| c.is_ascii_hexdigit())).then_some(hash)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn finds_the_hash_in_a_preview() {
        assert_eq!(preview_hash("IMG -> trip\nPreview hash: 0a1bF\n"), Some("0a1bF"));
        assert_eq!(preview_hash(" Preview hash: 66\nPreview hash:  77 \n"), Some("77"));
        assert_eq!(preview_hash("Preview hash: none\n"), None);
        assert_eq!(preview_hash("Preview hash:\n"), None);
        assert_eq!(preview_hash("nothing"), None);
    }

    /// Plays the demo with a shell script for a host.
    fn play_with(script: &str) -> (Result<()>, String) {
        let home = tempfile::tempdir().unwrap();
        let (text, host) = (home.path().join("text"), home.path().join("the host"));
        fs::write(&text, format!("#!/bin/sh\n{script}")).unwrap();
        // A file that this process had open for writing may be busy: another test's child could still hold it.
        let copied = Command::new("sh").args(["-c", r#"cp "$0" "$1" && chmod +x "$1""#]).arg(&text).arg(&host).status();
        assert!(copied.unwrap().success());
        let mut out = Vec::new();
        let outcome = play(&mut out, host, home.path().join("plugin.so"), false);
        (outcome, String::from_utf8(out).unwrap())
    }

    const HOST: &str = r#"
[ "$1" = list ] && { echo batch_rename_preview; exit; }
case "$9" in
--apply) cd "$6"; for f in IMG*; do mv "$f" "trip${f#IMG}"; done; echo "Applied: 3 renames (x)" ;;
--discard) echo "Discarded: 3 renames (x)" ;;
*) echo "IMG 1.JPG -> trip 1.JPG"; echo "Preview hash: 00ff"; echo "discarded: no decision" >&2 ;;
esac"#;

    #[test]
    fn plays_all_steps_and_cleans_up() {
        let (outcome, printed) = play_with(HOST);
        outcome.unwrap();
        assert!(
            printed.contains(r#"--params '{"files":["IMG 1.JPG","IMG_2 (Zürich).JPG","IMG_3 東京.JPG"]"#),
            "{printed}"
        );
        assert!(printed.contains("--apply 'looks right' --expect 00ff\n"), "{printed}");
        assert!(printed.contains("[stderr] discarded: no decision\n"), "{printed}");
        let directory = printed.lines().find_map(|line| line.strip_prefix("Files in ")).unwrap().trim_end_matches(':');
        assert!(!PathBuf::from(directory).exists());
    }

    #[test]
    fn fails_when_the_host_breaks_a_promise() {
        for (from, to, message) in [
            ("list ] && { echo batch_rename_preview", "list ] && { echo nothing", "does not name"),
            ("mv \"$f\"", "true", "not renamed"),
            ("*) echo", "*) cd \"$6\"; rm IMG*; echo", "the preview changed files"),
            ("echo \"Discarded", "touch \"$6/new\"; echo \"Discarded", "the discarded rename changed files"),
            ("Preview hash: 00ff", "", "prints no line `Preview hash: HEX`"),
            ("*) echo", "*) exit 3; echo", "toolhost failed (exit status: 3)"),
        ] {
            assert!(HOST.contains(from), "{from}");
            let (outcome, printed) = play_with(&HOST.replace(from, to));
            let error = format!("{:#}", outcome.unwrap_err());
            assert!(error.contains(message), "{error}\n{printed}");
        }
    }
}
