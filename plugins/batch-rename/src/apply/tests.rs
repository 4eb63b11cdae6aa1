use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use super::*;
use crate::params::{Case, Params};
use crate::rules::Rules;

/// A session's directory; each file in it holds its first name.
struct Session(tempfile::TempDir);

impl Session {
    fn new(files: &[&str]) -> Self {
        let session = Self(tempfile::tempdir().unwrap());
        for file in files {
            session.write(file, file);
        }
        session
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn plan(&self, files: &[&str], find: &str, replace: &str) -> Plan {
        let params = Params { find: Some(find.to_owned()), replace: Some(replace.to_owned()), ..Params::default() };
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        Plan::new(self.0.path(), &files, &Rules::new(&params).unwrap()).unwrap()
    }

    /// `abc` becomes `bca`, `bca` becomes `cab`, `cab` becomes `abc`.
    fn rotation(&self, files: &[&str]) -> Plan {
        self.plan(files, "(.)(.*)", "$2$1")
    }

    /// Each file and its content, as `name=content`; a temporary name as `*`.
    fn content(&self) -> String {
        let entries = fs::read_dir(self.0.path()).unwrap().map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let name = if name.starts_with(".toolhost-rename-") { "*".to_owned() } else { name };
            (name, fs::read_to_string(path).unwrap_or_default())
        });
        let entries: BTreeMap<String, String> = entries.collect();
        entries.iter().map(|(name, content)| format!("{name}={content}")).collect::<Vec<_>>().join(" ")
    }
}

fn quiet(_: usize, _: &Hop) {}

fn apply_quietly(plan: &Plan) -> Result<(), String> {
    apply(plan).map_err(|e| e.to_string())
}

fn without_support(_: &OwnedFd, _: &str, _: &OwnedFd, _: &str) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Fails like a read-only file system as soon as `stop` is to move.
fn stopping(from_dir: &OwnedFd, from: &str, to_dir: &OwnedFd, to: &str) -> Result<(), Errno> {
    if from == "stop" { Err(Errno::ROFS) } else { noreplace(from_dir, from, to_dir, to) }
}

/// What a stale plan says after its heading.
fn staleness(plan: &Plan) -> Vec<String> {
    match apply_by(noreplace, plan, |_, _| panic!("nothing may be done")) {
        Err(ApplyError::Stale(differences)) => differences.iter().map(ToString::to_string).collect(),
        other => panic!("not stale: {other:?}"),
    }
}

#[test]
fn names_of_all_kinds_are_renamed() {
    let session = Session::new(&["x a b", "-x", "xé日本", "x\ny", "x -> y", "other"]);
    apply_quietly(&session.plan(&["x a b", "-x", "xé日本", "x\ny", "x -> y", "other"], "x", "z")).unwrap();
    assert_eq!(session.content(), "-z=-x other=other z\ny=x\ny z -> y=x -> y z a b=x a b zé日本=xé日本");
}

#[test]
fn chains_swaps_and_cycles_end_where_they_should_both_ways() {
    for atomic in [noreplace as AtomicRename, without_support] {
        let session = Session::new(&["ab", "ba", "xyz", "yzx", "zxy", "klm", "lmk", "one"]);
        let files = ["klm", "ab", "xyz", "ba", "lmk", "zxy", "yzx"];
        apply_by(atomic, &session.rotation(&files), quiet).unwrap();
        assert_eq!(session.content(), "ab=ba ba=ab lmk=klm mkl=lmk one=one xyz=zxy yzx=xyz zxy=yzx");
    }
}

#[test]
fn two_files_swap_across_directories() {
    let session = Session::new(&[]);
    for (directory, file) in [("1", "1/2-1"), ("2", "2/1-2")] {
        fs::create_dir(session.path(directory)).unwrap();
        session.write(file, file);
    }
    apply_quietly(&session.plan(&["1/2-1", "2/1-2"], "(.)-(.)", "../$1/$2-$1")).unwrap();
    assert_eq!(fs::read_to_string(session.path("1/2-1")).unwrap(), "2/1-2");
    assert_eq!(fs::read_to_string(session.path("2/1-2")).unwrap(), "1/2-1");
    assert_eq!(fs::read_dir(session.path("1")).unwrap().count(), 1);
}

#[test]
fn a_swap_goes_by_way_of_a_hidden_name_that_cannot_be_foreseen() {
    let session = Session::new(&["ab", "ba"]);
    let mut seen = Vec::new();
    apply_by(noreplace, &session.rotation(&["ab", "ba"]), |done, hop| {
        assert!(hop.from.path().exists() && !hop.to.path().exists());
        seen.push((done, hop.from.name.clone(), hop.to.name.clone()));
    })
    .unwrap();
    let temporary = seen[0].2.clone();
    assert!(temporary.starts_with(".toolhost-rename-") && temporary.len() == 49, "{temporary}");
    assert_ne!(temporary, temporary_name());
    let row = |done: usize, from: &str, to: &str| (done, from.to_owned(), to.to_owned());
    assert_eq!(seen, [row(0, "ab", &temporary), row(1, "ba", "ab"), row(2, &temporary, "ba")]);
}

#[test]
fn where_case_does_not_count_a_name_changes_its_case_by_way_of_another() {
    let session = Session::new(&["A.TXT", "B.txt"]);
    let params = Params { case: Some(Case::Lower), extension_case: Some(Case::Lower), ..Params::default() };
    let files = ["A.TXT".to_owned(), "B.txt".to_owned()];
    let plan = Plan::with_case_probe(session.0.path(), &files, &Rules::new(&params).unwrap(), |_| true).unwrap();
    let mut hops = 0;
    apply_by(noreplace, &plan, |_, _| hops += 1).unwrap();
    assert_eq!((session.content().as_str(), hops), ("a.txt=A.TXT b.txt=B.txt", 4));
}

#[test]
fn a_symlink_is_renamed_and_not_followed() {
    let session = Session::new(&["target"]);
    symlink("target", session.path("link")).unwrap();
    symlink("nowhere", session.path("link2")).unwrap();
    apply_quietly(&session.plan(&["link", "link2"], "link", "l")).unwrap();
    assert_eq!(fs::read_link(session.path("l")).unwrap(), Path::new("target"));
    assert_eq!(fs::read_link(session.path("l2")).unwrap(), Path::new("nowhere"));
    assert!(session.path("target").exists());
}

#[test]
fn a_directory_is_renamed_with_all_that_is_in_it() {
    let session = Session::new(&[]);
    fs::create_dir(session.path("d")).unwrap();
    session.write("d/file", "x");
    let plan = session.plan(&["d"], "d", "e");
    assert_eq!(
        apply_by(without_support, &plan, quiet).unwrap_err().to_string(),
        "d -> e: this file system cannot rename a directory without the risk of overwriting something; nothing was \
         renamed; remove the cause and apply again"
    );
    apply_quietly(&plan).unwrap();
    assert_eq!(fs::read_to_string(session.path("e/file")).unwrap(), "x");
}

#[test]
fn a_file_moves_into_another_directory() {
    let session = Session::new(&["a"]);
    fs::create_dir(session.path("sub")).unwrap();
    apply_quietly(&session.plan(&["a"], "^", "sub/")).unwrap();
    assert_eq!(fs::read_to_string(session.path("sub/a")).unwrap(), "a");
}

#[test]
fn a_target_that_appears_under_way_is_kept_and_everything_is_put_back() {
    for atomic in [noreplace as AtomicRename, without_support] {
        let session = Session::new(&["a1", "a2", "a3"]);
        let plan = session.plan(&["a1", "a2", "a3"], "a", "b");
        let failed = apply_by(atomic, &plan, |done, _| {
            if done == 2 {
                session.write("b3", "theirs");
            }
        });
        assert_eq!(
            failed.unwrap_err().to_string(),
            "a3 -> b3: the name is taken; 2 renames before it were undone, so every file has its old name; remove the \
             cause and apply again"
        );
        assert_eq!(session.content(), "a1=a1 a2=a2 a3=a3 b3=theirs");
        fs::remove_file(session.path("b3")).unwrap();
        apply_by(atomic, &plan, quiet).unwrap();
        assert_eq!(session.content(), "b1=a1 b2=a2 b3=a3");
    }
}

#[test]
fn a_failure_inside_a_cycle_puts_the_temporary_name_back_too() {
    let session = Session::new(&["psto", "stop", "tops", "opst"]);
    assert_eq!(
        apply_by(stopping, &session.rotation(&["psto", "stop", "tops", "opst"]), quiet).unwrap_err().to_string(),
        "stop -> tops: Read-only file system (os error 30); 3 renames before it were undone, so every file has its old \
         name; remove the cause and apply again"
    );
    assert_eq!(session.content(), "opst=opst psto=psto stop=stop tops=tops");
}

thread_local! {
    static UNTIL_FAILURE: Cell<usize> = const { Cell::new(0) };
}

/// Fails once, when the countdown is over.
fn counting(from_dir: &OwnedFd, from: &str, to_dir: &OwnedFd, to: &str) -> Result<(), Errno> {
    let left = UNTIL_FAILURE.get();
    UNTIL_FAILURE.set(left.wrapping_sub(1));
    if left == 0 { Err(Errno::IO) } else { noreplace(from_dir, from, to_dir, to) }
}

#[test]
fn a_failure_at_any_step_is_undone_and_the_plan_still_applies() {
    let files = ["klm", "ab", "xyz", "ba", "lmk", "zxy", "yzx"];
    let session = Session::new(&files);
    let plan = session.rotation(&files);
    let before = session.content();
    for step in 0..plan.steps().len() {
        UNTIL_FAILURE.set(step);
        let failed = apply_by(counting, &plan, quiet).unwrap_err().to_string();
        assert!(failed.contains(": Input/output error (os error 5); "), "{failed}");
        assert!(failed.ends_with("remove the cause and apply again"), "{failed}");
        assert_eq!(session.content(), before);
    }
    apply_quietly(&plan).unwrap();
    assert_eq!(session.content(), "ab=ba ba=ab lmk=klm mkl=lmk xyz=zxy yzx=xyz zxy=yzx");
}

#[test]
fn a_cycle_whose_undo_is_blocked_names_the_temporary_name() {
    let session = Session::new(&["abc", "bca", "cab"]);
    let mut temporary = String::new();
    let failed = apply_by(noreplace, &session.rotation(&["abc", "bca", "cab"]), |done, hop| {
        if done == 3 {
            temporary = hop.from.name.clone();
            session.write("bca", "theirs");
        }
    });
    assert_eq!(
        failed.unwrap_err().to_string(),
        format!(
            "{temporary} -> bca: the name is taken; 3 files could not be put back, rename by hand what you need:\n\
             - abc is now {temporary}: its old name is taken\n\
             - bca is now cab: its old name is taken\n\
             - cab is now abc: its old name is taken"
        )
    );
    assert_eq!(session.content(), "*=abc abc=cab bca=theirs cab=bca");
}

#[test]
fn a_failure_that_root_meets_too_is_undone() {
    let session = Session::new(&["a", "stop", "z"]);
    let plan = session.plan(&["a", "stop", "z"], "$", "2");
    assert_eq!(
        apply_by(stopping, &plan, quiet).unwrap_err().to_string(),
        "stop -> stop2: Read-only file system (os error 30); 1 rename before it was undone, so every file has its old \
         name; remove the cause and apply again"
    );
    assert_eq!(session.content(), "a=a stop=stop z=z");
}

#[test]
fn a_source_that_vanishes_under_way_is_a_failure() {
    let session = Session::new(&["a1", "a2"]);
    let plan = session.plan(&["a1", "a2"], "a", "b");
    let failed = apply_by(noreplace, &plan, |done, _| {
        if done == 1 {
            fs::remove_file(session.path("a2")).unwrap();
        }
    });
    assert_eq!(
        failed.unwrap_err().to_string(),
        "a2 -> b2: the file is gone or was replaced; 1 rename before it was undone, so every file has its old name; \
         remove the cause and apply again"
    );
    assert_eq!(staleness(&plan), ["a2: is gone"]);
}

#[test]
fn a_directory_that_moves_away_under_way_is_a_failure() {
    let session = Session::new(&[]);
    for directory in ["1", "2"] {
        fs::create_dir(session.path(directory)).unwrap();
        session.write(&format!("{directory}/a"), "");
    }
    let failed = apply_by(noreplace, &session.plan(&["1/a", "2/a"], "a", "b"), |done, _| {
        if done == 1 {
            fs::rename(session.path("2"), session.path("3")).unwrap();
        }
    });
    assert_eq!(
        failed.unwrap_err().to_string(),
        "2/a -> 2/b: its directory is gone or was replaced; 1 rename before it was undone, so every file has its old \
         name; remove the cause and apply again"
    );
    assert!(session.path("1/a").exists() && session.path("3/a").exists());
}

#[test]
fn an_undo_that_is_blocked_says_where_each_file_is() {
    let session = Session::new(&["a1", "a2", "a3"]);
    let plan = session.plan(&["a1", "a2", "a3"], "a", "b");
    let failed = apply_by(noreplace, &plan, |done, _| {
        if done == 2 {
            session.write("b3", "theirs");
            session.write("a1", "theirs");
            fs::remove_file(session.path("b2")).unwrap();
        }
    });
    assert_eq!(
        failed.unwrap_err().to_string(),
        "a3 -> b3: the name is taken; 2 files could not be put back, rename by hand what you need:\n\
         - a1 is now b1: its old name is taken\n\
         - a2 was renamed to b2, and since then removed or replaced there"
    );
    assert_eq!(session.content(), "a1=theirs a3=a3 b1=a1 b3=theirs");
}

#[test]
fn a_chain_whose_undo_is_blocked_stays_where_it_got_to() {
    let session = Session::new(&["klm", "lmk", "z"]);
    let plan = session.rotation(&["klm", "lmk", "z"]);
    assert_eq!(plan.len(), 2);
    let failed = apply_by(noreplace, &plan, |done, _| {
        if done == 1 {
            session.write("lmk", "theirs");
        }
    });
    assert_eq!(
        failed.unwrap_err().to_string(),
        "klm -> lmk: the name is taken; 1 file could not be put back, rename by hand what you need:\n\
         - lmk is now mkl: its old name is taken"
    );
    assert_eq!(session.content(), "klm=klm lmk=theirs mkl=lmk z=z");
}

#[test]
fn a_plan_is_stale_when_a_file_was_modified() {
    let session = Session::new(&["a1", "a2", "a3", "other"]);
    let plan = session.plan(&["a1", "a2", "a3", "other"], "a", "b");
    let time = SystemTime::UNIX_EPOCH + Duration::new(1, 1);
    let touch = |name: &str| fs::File::options().write(true).open(session.path(name)).unwrap().set_modified(time);
    touch("a1").unwrap();
    session.write("a2", "longer");
    touch("other").unwrap();
    assert_eq!(staleness(&plan), ["a1: was modified", "a2: was modified"]);
    assert_eq!(
        apply_quietly(&plan).unwrap_err(),
        "the files changed since the preview, so nothing was renamed; discard it and preview again:\n\
         - a1: was modified\n- a2: was modified"
    );
}

#[test]
fn a_nanosecond_is_enough_to_be_stale() {
    let session = Session::new(&["a"]);
    let set = |nanos| {
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, nanos);
        fs::File::options().write(true).open(session.path("a")).unwrap().set_modified(time).unwrap();
    };
    set(1);
    let plan = session.plan(&["a"], "a", "b");
    set(2);
    assert_eq!(staleness(&plan), ["a: was modified"]);
    set(1);
    apply_quietly(&plan).unwrap();
}

#[test]
fn a_plan_is_stale_when_a_file_was_replaced_removed_or_its_target_made() {
    let session = Session::new(&["a1", "a2", "a3", "a4", "new"]);
    let plan = session.plan(&["a1", "a2", "a3", "a4"], "a", "b");
    let modified = fs::metadata(session.path("a1")).unwrap().modified().unwrap();
    session.write("new", "a1");
    fs::File::options().write(true).open(session.path("new")).unwrap().set_modified(modified).unwrap();
    fs::rename(session.path("new"), session.path("a1")).unwrap();
    fs::remove_file(session.path("a2")).unwrap();
    fs::remove_file(session.path("a3")).unwrap();
    symlink("a1", session.path("a3")).unwrap();
    symlink("nowhere", session.path("b4")).unwrap();
    assert_eq!(
        staleness(&plan),
        ["a1: is another file now", "a2: is gone", "a3: is another file now", "b4: exists now"]
    );
}

#[test]
fn a_plan_is_stale_when_a_directory_on_the_way_is_another() {
    let session = Session::new(&[]);
    for directory in ["d", "d2"] {
        fs::create_dir(session.path(directory)).unwrap();
        session.write(&format!("{directory}/a"), "");
    }
    symlink("d", session.path("link")).unwrap();
    let plan = session.plan(&["link/a"], "a", "b");
    fs::remove_file(session.path("link")).unwrap();
    symlink("d2", session.path("link")).unwrap();
    assert_eq!(staleness(&plan), ["link: is not the same directory any more"]);
    fs::remove_file(session.path("link")).unwrap();
    symlink("d", session.path("link")).unwrap();
    apply_quietly(&plan).unwrap();
}

#[test]
fn a_plan_that_was_applied_is_stale() {
    let session = Session::new(&["a"]);
    let plan = session.plan(&["a"], "a", "b");
    apply_quietly(&plan).unwrap();
    assert_eq!(staleness(&plan), ["a: is gone", "b: exists now"]);
    fs::rename(session.path("b"), session.path("a")).unwrap();
    apply_quietly(&plan).unwrap();
}
