use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::params::{Case, Number, Params};
use crate::text::preview;

fn rules(find: &str, replace: &str) -> Rules {
    let params = Params { find: Some(find.to_owned()), replace: Some(replace.to_owned()), ..Params::default() };
    Rules::new(&params).unwrap()
}

fn lower() -> Rules {
    Rules::new(&Params { case: Some(Case::Lower), ..Params::default() }).unwrap()
}

/// A session's directory with empty files in it; a name that ends in `/` is a directory.
fn session(names: &[&str]) -> tempfile::TempDir {
    let tmp = tempfile::tempdir().unwrap();
    for name in names {
        let path = tmp.path().join(name);
        if name.ends_with('/') { fs::create_dir(path) } else { fs::write(path, name) }.unwrap();
    }
    tmp
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn plan(root: &Path, files: &[&str], rules: &Rules) -> Result<Plan, Refusal> {
    Plan::new(root, &strings(files), rules)
}

/// The problems, without the heading.
fn problems(result: Result<Plan, Refusal>) -> Vec<String> {
    result.unwrap_err().problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_preview_lists_each_rename_relative_to_the_session() {
    let tmp = session(&["IMG 1.JPG", "notes.txt", "sub/", "sub/IMG é.JPG", "-IMG", "IMG\nx -> y"]);
    let root = tmp.path().canonicalize().unwrap();
    let absolute = root.join("sub/IMG é.JPG");
    let files = ["./IMG 1.JPG", "notes.txt", absolute.to_str().unwrap(), "-IMG", "IMG\nx -> y"];
    let plan = plan(&root, &files, &rules("IMG", "trip")).unwrap();
    assert_eq!(
        preview(&plan),
        "4 files to rename, 1 unchanged:\n\
         IMG 1.JPG -> trip 1.JPG\n\
         sub/IMG é.JPG -> sub/trip é.JPG\n\
         -IMG -> -trip\n\
         \"IMG\\nx -> y\" -> \"trip\\nx -> y\""
    );
    assert_eq!(plan.renames().next().unwrap(), (root.join("IMG 1.JPG"), root.join("trip 1.JPG")));
}

#[test]
fn nothing_to_change_is_said_and_no_error() {
    let tmp = session(&["a", "b"]);
    let plan = plan(tmp.path(), &["a", "b"], &rules("x", "y")).unwrap();
    assert!(plan.is_empty());
    assert_eq!(preview(&plan), "Nothing would change: 2 files would keep the same name.");
}

#[test]
fn sources_that_cannot_be_renamed_are_all_named() {
    let tmp = session(&["root/", "root/a", "root/sub/", "root/in", "outside"]);
    symlink("..", tmp.path().join("root/up")).unwrap();
    let root = tmp.path().join("root");
    let files = ["none", "a/x", "nodir/x", "../outside", "up/outside", "", ".", "..", "sub/..", "/", "a\0b"];
    assert_eq!(
        problems(plan(&root, &files, &rules("a", "b"))),
        [
            "none: does not exist; check the path, which is relative to the session's directory unless absolute",
            "a/x: does not exist; check the path, which is relative to the session's directory unless absolute",
            "nodir/x: does not exist; check the path, which is relative to the session's directory unless absolute",
            "../outside: is outside the session's directory; leave it out",
            "up/outside: is outside the session's directory; leave it out",
            "\"\": does not name a file; end the path with the name to change",
            ".: is outside the session's directory; leave it out",
            "..: does not name a file; end the path with the name to change",
            "sub/..: does not name a file; end the path with the name to change",
            "/: does not name a file; end the path with the name to change",
            "\"a\\0b\": cannot be looked at; correct the path or leave it out: Invalid argument (os error 22)",
        ]
    );
}

#[test]
fn a_refusal_has_a_heading_and_a_line_for_each_problem() {
    let tmp = session(&["a", "b"]);
    let refusal = plan(tmp.path(), &["a", "b", "none"], &rules("[ab]", "")).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "3 problems, nothing was staged:\n\
         - none: does not exist; check the path, which is relative to the session's directory unless absolute\n\
         - a -> \"\": the new name is empty; change the rules so that something is left\n\
         - b -> \"\": the new name is empty; change the rules so that something is left"
    );
    assert_eq!(problems(plan(tmp.path(), &[], &lower())), ["no files given; list at least one path in `files`"]);
    let gone = problems(plan(&tmp.path().join("gone"), &["a"], &lower())).remove(0);
    assert!(gone.ends_with(
        "/gone: the session's directory cannot be used; check that it exists: No such file or \
                            directory (os error 2)"
    ));
}

#[test]
fn one_file_twice_is_refused_in_any_spelling() {
    let tmp = session(&["d/", "d/a"]);
    symlink("d", tmp.path().join("link")).unwrap();
    let absolute = tmp.path().join("d/a");
    let files = ["d/a", "./d/a", "d/../link/a", "d//a/", absolute.to_str().unwrap()];
    let found = problems(plan(tmp.path(), &files, &rules("x", "y")));
    assert_eq!(found.len(), 4);
    assert_eq!(found[0], "./d/a: is the same file as d/a; give it once");
    assert_eq!(found[1], "d/../link/a: is the same file as d/a; give it once");
}

#[test]
fn unusable_new_names_are_refused() {
    let tmp = session(&["a", "b", "c"]);
    let new_name = |new: &str| problems(plan(tmp.path(), &["a"], &rules("^a$", new))).remove(0);
    assert_eq!(new_name("."), "a -> .: the new name means a directory itself; choose another name");
    assert_eq!(new_name(".."), "a -> ..: the new name means a directory itself; choose another name");
    assert_eq!(new_name("b/"), "a -> b/: the new name is empty; change the rules so that something is left");
    assert_eq!(new_name("x\0"), "a -> \"x\\0\": the new name holds a NUL character; take it out of `replace`");
    let long = "é".repeat(128);
    assert_eq!(
        new_name(&long),
        format!("a -> {long}: the new name has 256 bytes, and 255 is the limit; make it shorter")
    );
    assert_eq!(plan(tmp.path(), &["a"], &rules("a", &"x".repeat(255))).unwrap().len(), 1);
}

#[test]
fn a_new_directory_must_exist_inside_the_session() {
    let tmp = session(&["root/", "root/a", "root/sub/", "root/file", "other/"]);
    symlink("../other", tmp.path().join("root/out")).unwrap();
    let root = tmp.path().canonicalize().unwrap().join("root");
    let into = |directory: &str| plan(&root, &["a"], &rules("^", directory));
    let target = |directory: &str| into(directory).unwrap().renames().next().unwrap().1;
    assert_eq!(target("sub/"), root.join("sub/a"));
    assert_eq!(target("sub/../sub//"), root.join("sub/a"));
    assert_eq!(target(&format!("{}/sub/", root.display())), root.join("sub/a"));
    assert!(into("./").unwrap().is_empty());
    assert_eq!(problems(into("new/")), ["a -> new/a: the new directory does not exist; create it first"]);
    assert_eq!(problems(into("file/")), ["a -> file/a: the new directory does not exist; create it first"]);
    let outside = "the new directory is outside the session's directory; choose one inside it";
    assert_eq!(problems(into("../")), [format!("a -> ../a: {outside}")]);
    assert_eq!(problems(into("out/")), [format!("a -> out/a: {outside}")]);
    assert_eq!(problems(into("/")), [format!("a -> /a: {outside}")]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_target_on_another_file_system_is_refused() {
    let tmp = session(&["a"]);
    let file = tmp.path().canonicalize().unwrap().join("a");
    let shown = file.strip_prefix("/").unwrap().display();
    assert_eq!(
        problems(plan(Path::new("/"), &[file.to_str().unwrap()], &rules("^", "/proc/"))),
        [format!("{shown} -> proc/a: the new directory is on another file system; copy the file there instead")]
    );
}

#[test]
fn several_files_for_one_name_are_refused_together() {
    let tmp = session(&["a1", "a2", "b1", "a3"]);
    assert_eq!(
        problems(plan(tmp.path(), &["a1", "b1", "a2", "a3"], &rules(r"\d", ""))),
        ["a1, a2, a3 -> a: several files would get one name; make the names differ, for example with `number`"]
    );
}

#[test]
fn a_name_that_is_taken_and_stays_is_refused() {
    let tmp = session(&["a", "x", "c"]);
    symlink("nowhere", tmp.path().join("b")).unwrap();
    let taken = |replace: &str, files: &[&str]| problems(plan(tmp.path(), files, &rules("^a", replace)));
    assert_eq!(taken("x", &["a"]), ["a -> x: the new name is taken; choose another name"]);
    // Given too, but unchanged.
    assert_eq!(taken("x", &["a", "x"]), ["a -> x: the new name is taken; choose another name"]);
    // A symlink that leads nowhere is there all the same.
    assert_eq!(taken("b", &["a"]), ["a -> b: the new name is taken; choose another name"]);
}

#[test]
fn a_hard_link_of_the_source_is_a_collision_like_any_file() {
    let tmp = session(&["a.txt"]);
    fs::hard_link(tmp.path().join("a.txt"), tmp.path().join("b.txt")).unwrap();
    assert_eq!(
        problems(plan(tmp.path(), &["a.txt"], &rules("a", "b"))),
        ["a.txt -> b.txt: the new name is taken; choose another name"]
    );
}

#[test]
fn two_hard_links_are_two_files() {
    let tmp = session(&["ab"]);
    fs::hard_link(tmp.path().join("ab"), tmp.path().join("ba")).unwrap();
    assert_eq!(plan(tmp.path(), &["ab", "ba"], &rules("(.)(.)", "$2$1")).unwrap().len(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_hard_link_in_another_case_is_a_collision_where_case_counts() {
    let tmp = session(&["A.txt"]);
    fs::hard_link(tmp.path().join("A.txt"), tmp.path().join("a.txt")).unwrap();
    assert_eq!(
        problems(plan(tmp.path(), &["A.txt"], &lower())),
        ["A.txt -> a.txt: the new name is taken; choose another name"]
    );
}

#[test]
fn where_case_does_not_count_a_file_is_not_in_its_own_way() {
    let tmp = session(&["A.txt", "B.txt"]);
    let plan = |files: &[&str], rules: &Rules| Plan::with_case_probe(tmp.path(), &strings(files), rules, |_| true);
    assert_eq!(preview(&plan(&["A.txt"], &lower()).unwrap()), "1 file to rename:\nA.txt -> a.txt");
    // The directory's spelling counts, not the one given.
    assert!(plan(&["A.TXT"], &rules("txt", "txt")).unwrap().is_empty());
    assert_eq!(problems(plan(&["A.txt", "a.txt"], &lower())), ["a.txt: is the same file as A.txt; give it once"]);
    assert_eq!(
        problems(plan(&["A.txt", "B.txt"], &rules("^B", "a"))),
        ["B.txt -> a.txt: the new name is taken; choose another name"]
    );
    let number = Rules::new(&Params { number: Some(Number::default()), ..Params::default() }).unwrap();
    assert_eq!(plan(&["A.txt", "B.txt"], &number).unwrap().len(), 2);
}

#[test]
fn renames_inside_a_directory_that_is_renamed_are_refused() {
    let tmp = session(&["d/", "d/d1", "e/", "d2"]);
    assert_eq!(
        problems(plan(tmp.path(), &["d", "d/d1"], &rules("d", "x"))),
        ["d/d1: is or would be inside d, which is renamed too; rename one of them in a later call"]
    );
    assert_eq!(
        problems(plan(tmp.path(), &["d"], &rules("d", "d/x"))),
        ["d: is or would be inside d, which is renamed too; rename one of them in a later call"]
    );
    assert_eq!(plan(tmp.path(), &["d", "d2"], &rules("d", "x")).unwrap().len(), 2);
}

#[test]
fn a_symlink_is_a_source_of_its_own() {
    let tmp = session(&["root/", "outside"]);
    symlink("../outside", tmp.path().join("root/link")).unwrap();
    let plan = plan(&tmp.path().join("root"), &["link"], &rules("link", "l")).unwrap();
    assert_eq!(preview(&plan), "1 file to rename:\nlink -> l");
}

#[test]
fn ten_thousand_files_are_one_chain() {
    let names: Vec<String> = (1..=10_000).map(|n| format!("f-{n:05}")).collect();
    let tmp = session(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let number = Number { start: 2, width: Some(5), ..Number::default() };
    let params = Params {
        find: Some(r"-\d+".to_owned()),
        replace: Some(String::new()),
        number: Some(number),
        ..Params::default()
    };
    let plan = Plan::new(tmp.path(), &names, &Rules::new(&params).unwrap()).unwrap();
    assert_eq!(plan.len(), 10_000);
    let order: Vec<usize> = plan.steps().iter().map(|step| step.entry).collect();
    assert!(order.iter().copied().eq((0..10_000).rev()));
}
