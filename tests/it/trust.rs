//! Which plugins are loaded: by who owns them, by a record of trust, and never where they are blocked.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;
use toolhost_loader::{Host, HostBuilder, LoadError, Trust, TrustStore, UnopenedPlugin};
use toolhost_tests::Fixture;

use crate::support::{plugin, settled, texts};

mod blocks;

/// A directory that belongs to this user alone, with files that are loaded from it, and what is decided about them.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(place.path("plugins")).unwrap();
        mode(&place.path("plugins"), 0o755);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// A copy of this fixture.
    pub(crate) fn copy(&self, fixture: Fixture) -> PathBuf {
        let path = self.path("plugins").join(format!("{}.so", fixture.name()));
        put(fixture, &path);
        path
    }

    pub(crate) fn builder(&self) -> HostBuilder {
        Host::builder().cache_dir(self.path("cache")).trust_from(self.path("trust.json"))
    }

    /// A host of this file or directory alone, if this trust loads it.
    pub(crate) async fn host(&self, path: &Path, trust: Trust) -> Host {
        self.builder().plugin_trusted(path, trust).build().await.unwrap()
    }

    pub(crate) fn trust(&self, file: &Path) -> String {
        let store = TrustStore::new(self.path("trust.json"));
        store.trust(UnopenedPlugin::read(file).unwrap().plugin()).unwrap().hash
    }
}

/// Puts a copy of this fixture at this path, which nobody but its owner may write.
fn put(fixture: Fixture, path: &Path) {
    let new = path.with_extension("new");
    fs::copy(plugin(fixture), &new).unwrap();
    mode(&new, 0o644);
    fs::rename(&new, path).unwrap();
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn give_away(path: &Path) {
    std::os::unix::fs::lchown(path, Some(12345), Some(12345))
        .expect("this test gives a file to another user, which only root can: run the tests as root");
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The errors' codes; none where the plugin is loaded.
pub(crate) fn codes(host: &Host) -> Vec<&'static str> {
    assert_eq!(host.plugins().count() + host.load_errors().len(), 1);
    host.load_errors().iter().map(LoadError::code).collect()
}

pub(crate) const LOADED: [&str; 0] = [];

#[tokio::test]
async fn nothing_of_a_plugin_runs_before_its_content_is_trusted() {
    let place = Place::new();
    let file = place.copy(Fixture::Constructor);
    let refused = place.host(&file, Trust::Recorded).await;
    let hash = UnopenedPlugin::read(&file).unwrap().plugin().fingerprint.clone();
    let path = file.display();
    let text = format!(
        "{path}: `constructor` 0.1.0 is not trusted; look at it with `toolhost trust {path}`, which asks; without a \
         terminal, allow it with `toolhost trust {path} --yes {hash}` (`TrustStore::trust`) (TH0301)"
    );
    assert_eq!(texts(refused.load_errors()), [text]);
    let report = refused.load_errors()[0].report().to_string();
    assert!(report.contains(&format!("found: SHA-256 {hash}")), "{report}");
    assert!(!place.path("cache").exists(), "it was copied, to be opened");
    assert_eq!(place.trust(&file), hash);
    assert_eq!(codes(&place.host(&file, Trust::Recorded).await), LOADED);
    // Its constructor leaves a file beside the copy.
    let copies = place.path("cache").join(&hash);
    assert!(copies.join("constructor.so.opened").exists());
}

#[tokio::test]
async fn a_changed_file_must_be_trusted_again_and_trusted_content_may_move() {
    let place = Place::new();
    let file = place.copy(Fixture::Second);
    let trusted = place.trust(&file);
    let moved = place.path("moved.so");
    fs::copy(&file, &moved).unwrap();
    assert_eq!(codes(&place.host(&moved, Trust::Recorded).await), LOADED);
    put(Fixture::Empty, &file);
    let refused = place.host(&file, Trust::Recorded).await;
    assert_eq!(codes(&refused), ["TH0302"]);
    let text = format!("`empty` 0.1.0 has changed since it was trusted, when its hash was {trusted}");
    assert_eq!(refused.load_errors()[0].kind.to_string(), text);
    place.trust(&file);
    assert_eq!(codes(&place.host(&file, Trust::Recorded).await), LOADED);
    // What was there before is not trusted any more, wherever it is.
    assert_eq!(codes(&place.host(&moved, Trust::Recorded).await), ["TH0301"]);
}

#[tokio::test]
async fn a_record_that_cannot_be_used_trusts_nothing_and_stays() {
    let place = Place::new();
    let file = place.copy(Fixture::Second);
    place.trust(&file);
    let record = place.path("trust.json");
    let good = fs::read_to_string(&record).unwrap();
    for (bad, what) in [
        (good.replace("\"format\": 1", "\"format\": 2"), "has format 2, and this program knows formats up to 1"),
        (good.replace(']', ""), "is damaged: expected `,` or `]` at line 12 column 1"),
    ] {
        fs::write(&record, &bad).unwrap();
        let refused = place.host(&file, Trust::Recorded).await;
        assert_eq!(codes(&refused), ["TH0305"]);
        let text =
            format!("whether it may be loaded cannot be decided: the record of trust {} {what}", record.display());
        assert_eq!(refused.load_errors()[0].kind.to_string(), text);
        assert!(TrustStore::new(&record).trust(UnopenedPlugin::read(&file).unwrap().plugin()).is_err());
        assert_eq!(fs::read_to_string(&record).unwrap(), bad);
        // Nobody needs the record for what is trusted otherwise.
        assert_eq!(codes(&place.host(&file, Trust::Owned).await), LOADED);
    }
    fs::write(&record, good).unwrap();
    mode(&record, 0o666);
    assert_eq!(codes(&place.host(&file, Trust::Recorded).await), ["TH0305"]);
}

#[tokio::test]
async fn one_path_to_a_file_may_trust_what_another_does_not() {
    let place = Place::new();
    let file = place.copy(Fixture::Second);
    let link = place.path("link.so");
    symlink(&file, &link).unwrap();
    let builder = place.builder().plugin_trusted(&file, Trust::Recorded).plugin_trusted(&link, Trust::Recorded);
    let host = builder.plugin(&link).plugin_trusted(&file, Trust::Owned).build().await.unwrap();
    assert_eq!(host.plugins().map(|plugin| plugin.path.clone()).collect::<Vec<_>>(), [link]);
    assert_eq!(host.load_errors().iter().map(LoadError::code).collect::<Vec<_>>(), ["TH0301"]);
}

/// Loads a file as one that is trusted by who owns it; what is said where it is refused.
async fn refused(place: &Place, file: &Path, unsafe_place: &Path, problem: &str) {
    let host = place.host(file, Trust::Owned).await;
    assert_eq!(codes(&host), ["TH0303"]);
    let text = format!("its place is not safe: {} {problem}", unsafe_place.display());
    assert_eq!(host.load_errors()[0].kind.to_string(), text);
    assert!(!place.path("cache").exists());
    // By the act of naming it, it is loaded all the same.
    assert_eq!(codes(&place.host(file, Trust::Given).await), LOADED);
    fs::remove_dir_all(place.path("cache")).unwrap();
}

fn writable(mode: u32) -> String {
    format!("can be written by others than its owner, user {} (mode {mode:04o})", me())
}

fn foreign() -> String {
    format!("belongs to user 12345, and neither to this user ({}) nor to root", me())
}

#[tokio::test]
async fn what_others_may_write_is_not_loaded() {
    let place = Place::new();
    let file = place.copy(Fixture::Second);
    assert_eq!(codes(&place.host(&file, Trust::Owned).await), LOADED);
    fs::remove_dir_all(place.path("cache")).unwrap();
    mode(&file, 0o646);
    refused(&place, &file, &file, &writable(0o646)).await;
    mode(&file, 0o644);
    let plugins = place.path("plugins");
    mode(&plugins, 0o757);
    refused(&place, &file, &plugins, &writable(0o757)).await;
    mode(&plugins, 0o1777);
    refused(&place, &file, &plugins, &writable(0o1777)).await;
    mode(&plugins, 0o755);
    let above = plugins.parent().unwrap();
    mode(above, 0o722);
    refused(&place, &file, above, &writable(0o722)).await;
    mode(above, 0o700);
}

#[tokio::test]
async fn what_belongs_to_somebody_else_is_not_loaded() {
    let place = Place::new();
    let file = place.copy(Fixture::Second);
    give_away(&file);
    refused(&place, &file, &file, &foreign()).await;
    let other = place.copy(Fixture::Empty);
    give_away(&place.path("plugins"));
    refused(&place, &other, &place.path("plugins"), &foreign()).await;
}

#[tokio::test]
async fn where_a_link_leads_has_to_be_as_safe() {
    let place = Place::new();
    fs::create_dir(place.path("open")).unwrap();
    put(Fixture::Second, &place.path("open/second.so"));
    let link = place.path("plugins/link.so");
    symlink("../open/second.so", &link).unwrap();
    mode(&place.path("open"), 0o755);
    assert_eq!(codes(&place.host(&place.path("plugins"), Trust::Owned).await), LOADED);
    fs::remove_dir_all(place.path("cache")).unwrap();
    mode(&place.path("open"), 0o777);
    refused(&place, &link, &place.path("open"), &writable(0o777)).await;
    mode(&place.path("open"), 0o755);
    give_away(&place.path("open/second.so"));
    refused(&place, &link, &link, &foreign()).await;
}

#[tokio::test]
async fn a_place_that_has_become_unsafe_since_an_earlier_start_is_refused() {
    let place = Place::new();
    let file = settled(place.copy(Fixture::Second));
    let codes = async || codes(&place.host(&file, Trust::Owned).await);
    assert_eq!(codes().await, LOADED);
    let index = fs::read_to_string(place.path("cache/index.json")).unwrap();
    assert!(index.contains(file.to_str().unwrap()), "an earlier start knows nothing of it");
    assert_eq!(codes().await, LOADED);
    mode(&place.path("plugins"), 0o757);
    assert_eq!(codes().await, ["TH0303"]);
    mode(&place.path("plugins"), 0o755);
    assert_eq!(codes().await, LOADED);
    give_away(&file);
    assert_eq!(codes().await, ["TH0303"]);
}

/// Puts one file and another in a path's place, over and over, while `work` is done as often as it takes.
async fn swapping(path: &Path, one: &Path, other: &Path, work: impl AsyncFn()) {
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, path) = (stop.clone(), path.to_owned());
    let files = [one.to_owned(), other.to_owned()];
    let swapper = std::thread::spawn(move || {
        let spare = path.with_extension("spare");
        while !stopped.load(Ordering::Relaxed) {
            for file in &files {
                fs::hard_link(file, &spare).unwrap();
                fs::rename(&spare, &path).unwrap();
                // Where both are the same file already, nothing is renamed.
                let _ = fs::remove_file(&spare);
            }
        }
    });
    for _ in 0..60 {
        work().await;
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
}

/// A file that is swapped all the time is refused, or it is the one that was checked.
#[tokio::test]
async fn a_file_that_is_swapped_between_check_and_open_is_refused_or_the_one_that_was_checked() {
    let place = Place::new();
    let (good, bad) = (place.path("good"), place.path("bad"));
    put(Fixture::Second, &good);
    put(Fixture::Constructor, &bad);
    let evil = UnopenedPlugin::read(&bad).unwrap().plugin().fingerprint.clone();
    give_away(&bad);
    place.trust(&good);
    let path = place.path("plugins/p.so");
    put(Fixture::Second, &path);
    for trust in [Trust::Owned, Trust::Recorded] {
        swapping(&path, &good, &bad, async || {
            let host = place.host(&path, trust).await;
            for plugin in host.plugins() {
                assert_eq!(plugin.name, "second");
            }
            for error in host.load_errors() {
                assert!(["TH0301", "TH0302", "TH0303"].contains(&error.code()), "{error}");
            }
        })
        .await;
    }
    assert!(!place.path("cache").join(evil).exists(), "it was opened");
}
