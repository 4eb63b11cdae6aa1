//! What the tool makes of git's answers, scripted; and that git answers like that.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use toolhost_plugin_testkit::{CallError, ExecReply, TestKit, TestKitBuilder};

use super::*;

/// A test in which git answers like this, in this order.
fn git_answers(replies: impl IntoIterator<Item = ExecReply>) -> TestKitBuilder {
    TestKit::builder().execs("git", replies)
}

async fn start(kit: TestKitBuilder) -> TestKit {
    kit.start(|pi| RepoStats { pi }).await.unwrap()
}

fn out(bytes: impl Into<Vec<u8>>) -> ExecReply {
    ExecReply::stdout(bytes)
}

const ROOT: &str = "\n";
const HEAD: &str = "c2\n";
const LOG: &str = "git log --stdin --no-walk=unsorted -z --name-only --relative --no-renames --no-follow \
                   --no-show-signature --no-notes --encoding=UTF-8 --format=/%aN%x00%aE --";

#[tokio::test]
async fn counts_what_git_answers() {
    let log = b"/Ann\0ann@x\0\nsrc/a b.rs\0caf\xe9\0/Ben\0ben@x\0/Ann\0ann@x\0\nsrc/a b.rs\0";
    let kit = start(git_answers([out(ROOT), out(HEAD), out("c2\nc1\nc0\n"), out(log)])).await;
    let parameters = json!({"since": "2026-01-01", "until": "2026-01-31"});
    let result = kit.call("repo_stats", parameters).await.unwrap();

    let text = "3 commits by 2 authors from 2026-01-01 to 2026-01-31, 2 files changed\n\
                \nAuthors, by commits:\n2 Ann <ann@x>\n1 Ben <ben@x>\n\
                \nFiles, by commits that changed them:\n2 src/a b.rs\n1 \"caf\\351\"";
    let details = json!({
        "commits": 3,
        "authorCount": 2,
        "fileCount": 2,
        "authors": [
            {"name": "Ann", "email": "ann@x", "commits": 2},
            {"name": "Ben", "email": "ben@x", "commits": 1},
        ],
        "files": [{"path": "src/a b.rs", "commits": 2}, {"path": "\"caf\\351\"", "commits": 1}],
    });
    assert_eq!(result, AgentToolResult::text(text).with_details(details));
    assert_eq!(kit.update_texts(), ["looking for commits", "3 of 3 commits"]);
    assert_eq!(
        kit.exec_lines(),
        [
            "git rev-parse --show-prefix",
            "git rev-parse --verify --quiet HEAD",
            "git rev-list --full-history --max-count=200001 --since-as-filter=2026-01-01T00:00:00Z --until=2026-01-31T23:59:59Z HEAD --",
            LOG,
        ]
    );
    let calls = kit.exec_calls();
    assert_eq!(calls[3].stdin.as_deref(), Some(&b"c2\nc1\nc0"[..]));
    for call in calls {
        assert_eq!(call.cwd, Some(kit.cwd().canonicalize().unwrap()));
        assert_eq!(call.env["LC_ALL"].as_deref(), Some("C"));
    }
}

#[tokio::test]
async fn below_the_root_only_what_is_there_counts() {
    let kit = start(git_answers([out("src/\n"), out(HEAD), out("c0\n"), out("/Ann\0ann@x\0\na\0")])).await;
    fs::create_dir(kit.cwd().join("src")).unwrap();
    let text = kit.call_text("repo_stats", json!({"path": "src"})).await;
    assert!(text.starts_with("1 commit by 1 author, 1 file changed\n"), "{text}");
    assert_eq!(kit.exec_lines()[2], "git rev-list --full-history --max-count=200001 HEAD -- .");
    assert_eq!(kit.exec_lines()[3], format!("{LOG} ."));
    assert_eq!(kit.exec_calls()[3].cwd, Some(kit.cwd().canonicalize().unwrap().join("src")));
}

#[tokio::test]
async fn a_period_without_commits_is_no_failure() {
    let kit = start(git_answers([out(ROOT), out(HEAD), out("")])).await;
    let result = kit.call("repo_stats", json!({"since": "2030-01-01"})).await.unwrap();
    assert_eq!((result.to_text().as_str(), result.is_error), ("No commits since 2030-01-01.", false));
}

#[tokio::test]
async fn only_the_first_are_named() {
    let log = "/a\0a@x\0\nx\0/b\0b@x\0\ny\0/b\0b@x\0\ny\0z\0";
    let kit = start(git_answers([out(ROOT), out(HEAD), out("c2\nc1\nc0\n"), out(log)])).await;
    let text = kit.call_text("repo_stats", json!({"top": 1})).await;
    let expected = "3 commits by 2 authors, 3 files changed\n\
                    \nAuthors, by commits:\n2 b <b@x>\nand 1 more\n\
                    \nFiles, by commits that changed them:\n2 y\nand 2 more";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn many_commits_are_counted_in_portions_and_an_answer_too_long_in_halves() {
    let names: String = (0..1_002).map(|n| format!("c{n}\n")).collect();
    let one = |n: usize| out("/a\0a@x\0\nf\0".repeat(n));
    let replies = [out(ROOT), out(HEAD), out(names), one(2), one(7).truncated(), one(500), one(500)];
    let kit = start(git_answers(replies)).await;
    let text = kit.call_text("repo_stats", json!({})).await;
    assert!(text.starts_with("1002 commits by 1 author, 1 file changed\n"), "{text}");
    let updates = ["looking for commits", "2 of 1002 commits", "502 of 1002 commits", "1002 of 1002 commits"];
    assert_eq!(kit.update_texts(), updates);
    let given: Vec<String> =
        kit.exec_calls()[3..].iter().map(|call| String::from_utf8(call.stdin.clone().unwrap()).unwrap()).collect();
    let ends: Vec<_> =
        given.iter().map(|names| (names.lines().next().unwrap(), names.lines().last().unwrap())).collect();
    assert_eq!(ends, [("c0", "c1"), ("c2", "c1001"), ("c2", "c501"), ("c502", "c1001")]);
}

#[tokio::test]
async fn one_commit_that_is_too_long_counts_as_far_as_it_is_known() {
    let log = out("/a\0a@x\0\nf\0hal").truncated();
    let kit = start(git_answers([out(ROOT), out(HEAD), out("c0\n"), log])).await;
    let text = kit.call_text("repo_stats", json!({})).await;
    assert!(text.ends_with("Files, by commits that changed them:\n1 f"), "{text}");
}

#[tokio::test]
async fn what_git_cannot_answer_says_why() {
    let no_repository = "fatal: not a git repository (or any of the parent directories): .git\n";
    let dubious = "fatal: detected dubious ownership in repository at '/r'\n";
    let refused = "this host runs no programs for plugins, so `git` was not run for `repo-stats`";
    let absent = "`git` was not run: it is in none of the directories of PATH, which is \"/bin\"; install it, or give \
                  its path";
    let killed = "`git rev-list` was killed, as it is after 60 s; ask for a shorter period".to_owned();
    let here = "{}";
    for (replies, error) in [
        (vec![ExecReply::refused(refused)], format!("repo_stats asks git: {refused}")),
        (vec![ExecReply::not_started(absent)], format!("repo_stats asks git: {absent}")),
        (vec![ExecReply::failure(128, no_repository)], format!("{here}: is in no git repository")),
        (
            vec![ExecReply::failure(128, dubious)],
            format!("`git rev-parse` ended with code 128: {}", dubious.trim_end()),
        ),
        (vec![out(ROOT), ExecReply::failure(1, "")], format!("{here}: its repository has no commits yet")),
        (
            vec![out(ROOT), ExecReply::failure(128, "fatal: bad object HEAD")],
            "`git rev-parse` ended with code 128: fatal: bad object HEAD".to_owned(),
        ),
        (vec![out(ROOT), out(HEAD), ExecReply::killed()], killed),
        (
            vec![out(ROOT), out(HEAD), out("c\n".repeat(200_001))],
            "there are more than 200000 commits; ask for a shorter period".to_owned(),
        ),
        (
            vec![out(ROOT), out(HEAD), out("c0\n"), out("c0")],
            "git's answer ends in \"c0\", which this plugin cannot read".to_owned(),
        ),
    ] {
        let kit = start(git_answers(replies)).await;
        let directory = kit.cwd().canonicalize().unwrap().display().to_string();
        assert_eq!(kit.call_error("repo_stats", json!({})).await, error.replace(here, &directory));
    }
}

#[tokio::test]
async fn what_cannot_be_asked_for_asks_no_git() {
    let kit = start(TestKit::builder()).await;
    fs::write(kit.cwd().join("file"), "").unwrap();
    for (parameters, error) in [
        (json!({"path": "absent"}), "absent: No such file or directory (os error 2)"),
        (json!({"path": "file"}), "file: is no directory"),
        (json!({"path": ".."}), "..: is outside of the session's directory"),
        (json!({"path": "/"}), "/: is outside of the session's directory"),
        (
            json!({"since": "2026-02-01", "until": "2026-01-31"}),
            "the period ends before it begins: since 2026-02-01, until 2026-01-31",
        ),
    ] {
        assert_eq!(kit.call_error("repo_stats", parameters).await, error);
    }
    for (since, error) in [
        ("2026-02-30", "the parameter `since`: parsed date is not valid: "),
        ("last week", "/since: \"last week\" does not match "),
    ] {
        let refused = kit.call("repo_stats", json!({"since": since})).await.unwrap_err().to_string();
        assert!(refused.contains(error), "{refused}");
    }
    assert_eq!(kit.exec_lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cancelled_call_ends_with_its_git() {
    let kit = start(git_answers([out(ROOT), out(HEAD), ExecReply::hangs()])).await;
    let mut call = kit.begin("repo_stats", json!({}));
    assert_eq!(call.next_update().await.unwrap().to_text(), "looking for commits");
    call.cancel();
    assert_eq!(call.outcome().await, Err(CallError::Cancelled { tool: "repo_stats".to_owned() }));
    assert_eq!(kit.exec_lines().len(), 3);
}

#[tokio::test]
async fn a_model_is_told_what_each_parameter_is() {
    let definition = start(TestKit::builder()).await.definition("repo_stats").unwrap();
    assert_eq!(definition.effect, Effect::ReadOnly);
    let parameters = &definition.parameters;
    assert_eq!(parameters.get("required"), None);
    assert_eq!(parameters["examples"], json!([{"since": "2026-01-01", "until": "2026-03-31"}]));
    let properties = &parameters["properties"];
    assert_eq!(properties["since"]["pattern"], DAY);
    assert_eq!(properties["until"]["description"], "The last day, which counts too. Left out: until now.");
    assert_eq!((&properties["top"]["default"], &properties["top"]["maximum"]), (&json!(10), &json!(1000)));
    let output = definition.output_schema.unwrap();
    assert_eq!(output["properties"]["files"]["items"]["required"], json!(["path", "commits"]));
}

/// Makes a repository of what `git fast-import` takes.
fn repository(root: &Path, history: &str) {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(root).args(arguments).env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::null());
        git.spawn().expect("this test needs git")
    };
    assert!(git(&["init", "--quiet"]).wait().unwrap().success());
    assert!(git(&["symbolic-ref", "HEAD", "refs/heads/main"]).wait().unwrap().success());
    let mut import = git(&["fast-import", "--quiet"]);
    import.stdin.take().unwrap().write_all(history.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
}

/// Noon of a day of January 2026 (UTC), as git writes it.
fn noon(day: u64) -> String {
    format!("{} +0000", 1_767_225_600 + (day - 1) * 86_400 + 43_200)
}

/// A commit for `git fast-import`: its mark, author and day, its parents, the files that it writes.
fn commit(mark: u32, author: &str, day: u64, parents: &[u32], files: &[&str]) -> String {
    let when = noon(day);
    let mut text = format!("commit refs/heads/main\nmark :{mark}\nauthor {author} {when}\ncommitter {author} {when}\n");
    text.push_str("data 1\nx\n");
    for (place, parent) in parents.iter().enumerate() {
        text.push_str(&format!("{} :{parent}\n", if place == 0 { "from" } else { "merge" }));
    }
    for file in files {
        text.push_str(&format!("M 100644 inline {file}\ndata {}\n{mark}\n", mark.to_string().len()));
    }
    text
}

const ANN: &str = "Ann Ä <ann@x>";
const BEN: &str = "Ben <ben@x>";

/// A branch and a merge that takes nothing of it, a commit without changes, and names that want care.
fn history() -> String {
    [
        commit(1, ANN, 1, &[], &["a.txt", "d/b.txt"]),
        commit(2, BEN, 10, &[1], &[r#""caf\351""#, "d/b.txt"]),
        commit(3, ANN, 11, &[1], &[r#""two\nlines""#, r#""\nfirst""#]),
        commit(4, ANN, 12, &[3, 2], &[]),
        commit(5, "Ben <ben@old>", 31, &[4], &["d/b.txt", "x"]),
        commit(6, BEN, 31, &[5], &[]),
    ]
    .concat()
}

#[tokio::test]
async fn git_answers_as_it_is_scripted_here() {
    let kit = start(TestKit::builder().runs_programs()).await;
    repository(kit.cwd(), &history());
    fs::write(kit.cwd().join(".mailmap"), "<ben@x> <ben@old>\n").unwrap();
    fs::create_dir(kit.cwd().join("d")).unwrap();
    let said = async |parameters: Value| kit.call_text("repo_stats", parameters).await;
    let all = "6 commits by 2 authors, 6 files changed\n\
               \nAuthors, by commits:\n3 Ann Ä <ann@x>\n3 Ben <ben@x>\n\
               \nFiles, by commits that changed them:\n3 d/b.txt\n1 \"\\nfirst\"\n1 a.txt\n1 \"caf\\351\"\n\
               1 \"two\\nlines\"\n1 x";
    assert_eq!(said(json!({})).await, all);
    let some = "3 commits by 2 authors from 2026-01-10 to 2026-01-12, 4 files changed\n\
                \nAuthors, by commits:\n2 Ann Ä <ann@x>\n1 Ben <ben@x>\n\
                \nFiles, by commits that changed them:\n1 \"\\nfirst\"\n1 \"caf\\351\"\n1 d/b.txt\n1 \"two\\nlines\"";
    assert_eq!(said(json!({"since": "2026-01-10", "until": "2026-01-12"})).await, some);
    let below = "3 commits by 2 authors, 1 file changed\n\
                 \nAuthors, by commits:\n2 Ben <ben@x>\n1 Ann Ä <ann@x>\n\
                 \nFiles, by commits that changed them:\n3 b.txt";
    assert_eq!(said(json!({"path": "d"})).await, below);
    assert_eq!(said(json!({"since": "2026-02-01"})).await, "No commits since 2026-02-01.");
}

#[tokio::test]
async fn git_says_what_is_no_repository_and_what_is_empty() {
    let kit = start(TestKit::builder().runs_programs()).await;
    let directory = kit.cwd().canonicalize().unwrap().display().to_string();
    assert_eq!(kit.call_error("repo_stats", json!({})).await, format!("{directory}: is in no git repository"));
    repository(kit.cwd(), "");
    assert_eq!(
        kit.call_error("repo_stats", json!({})).await,
        format!("{directory}: its repository has no commits yet")
    );
}
