//! What programs are given and what they say.

use super::*;

#[tokio::test]
async fn both_outputs_and_the_code_are_returned() {
    assert_eq!(ended(sh("printf out; printf err >&2; exit 3")).await, ended_with(3, "out", "err"));
    assert_eq!(ended(request("true", [])).await, ended_with(0, "", ""));
}

#[tokio::test]
async fn bytes_that_are_no_text_survive_both_ways() {
    let mut asked = request("sh", ["-c", r#"printf %s "$1"; cat >&2"#, "sh"]);
    asked.args.push(vec![b'a', 0xff].into());
    asked.stdin = Some(vec![0, 0xfe, b'\n'].into());
    let result = run(&LocalExec::new(), asked).await.unwrap();
    assert_eq!((result.stdout.0, result.stderr.0), (vec![b'a', 0xff], vec![0, 0xfe, b'\n']));
}

#[tokio::test]
async fn standard_input_is_empty_or_what_is_given() {
    assert_eq!(ended(request("cat", [])).await, ended_with(0, "", ""));
    assert_eq!(ended(sh("test /dev/stdin -ef /dev/null")).await, ended_with(0, "", ""));
    let mut asked = request("cat", []);
    asked.stdin = Some("".into());
    assert_eq!(ended(asked.clone()).await, ended_with(0, "", ""));
    // More than a pipe holds, both ways at once.
    let long = "0123456789abcdef".repeat(64 * 1024);
    asked.stdin = Some(long.as_str().into());
    assert_eq!(ended(asked).await, ended_with(0, &long, ""));
}

#[tokio::test]
async fn a_program_need_not_read_what_it_is_given() {
    let mut asked = sh("exec <&-; printf done");
    asked.stdin = Some(vec![b'x'; 1024 * 1024].into());
    assert_eq!(ended(asked).await, ended_with(0, "done", ""));
}

#[tokio::test]
async fn output_beyond_the_limit_is_dropped_and_nobody_waits_for_it() {
    let limited = |limit: Option<u64>, script: &str| {
        let mut asked = sh(script);
        asked.output_bytes = limit;
        asked
    };
    let kept = |result: ExecResult| (result.stdout.0, result.stderr.0, result.truncated, result.code);
    let exec = LocalExec::new().output_bytes(5);

    let exact = run(&exec, limited(None, "printf 12345; printf 678 >&2")).await.unwrap();
    assert_eq!(kept(exact), (b"12345".to_vec(), b"678".to_vec(), false, 0));
    let more = run(&exec, limited(Some(100), "printf 123456; printf 678 >&2")).await.unwrap();
    assert_eq!(kept(more), (b"12345".to_vec(), b"678".to_vec(), true, 0));
    let less = run(&exec, limited(Some(2), "printf 1; printf 678 >&2")).await.unwrap();
    assert_eq!(kept(less), (b"1".to_vec(), b"67".to_vec(), true, 0));
    let none = run(&exec, limited(Some(0), "head -c 1000000 /dev/zero; exit 4")).await.unwrap();
    assert_eq!(kept(none), (Vec::new(), Vec::new(), true, 4));
}

#[tokio::test]
async fn ten_mebibytes_of_output_are_kept_by_default() {
    let result = run(&LocalExec::new(), sh("head -c 10485761 /dev/zero")).await.unwrap();
    assert_eq!((result.stdout.0.len(), result.truncated), (10 * 1024 * 1024, true));
}

#[tokio::test]
async fn both_outputs_may_be_long() {
    let long = "head -c 500000 /dev/zero";
    let result = run(&LocalExec::new(), sh(format!("{long}; {long} >&2; {long}"))).await.unwrap();
    assert_eq!((result.stdout.0.len(), result.stderr.0.len()), (1_000_000, 500_000));
}

#[tokio::test]
async fn the_environment_is_what_is_passed_on_and_what_is_asked_for() {
    let names = async |exec: LocalExec, env: &[(&str, Option<&str>)]| {
        let mut asked = request("/usr/bin/env", []);
        asked.env = env.iter().map(|(name, value)| ((*name).to_owned(), value.map(JsonBytes::from))).collect();
        let output = String::from_utf8(run(&exec, asked).await.unwrap().stdout.0).unwrap();
        output.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // Cargo sets this one for every test.
    let cargos = format!("CARGO_MANIFEST_DIR={}", env!("CARGO_MANIFEST_DIR"));
    let path = format!("PATH={}", std::env::var("PATH").unwrap());

    let few = names(LocalExec::new(), &[("OPENAI_API_KEY", Some("the plugin's own"))]).await;
    assert!(few.contains(&path) && few.contains(&"OPENAI_API_KEY=the plugin's own".to_owned()), "{few:?}");
    assert!(!few.iter().any(|line| line.starts_with("CARGO")), "{few:?}");
    let more = names(LocalExec::new().inherit("CARGO_MANIFEST_DIR"), &[("PATH", None)]).await;
    assert!(more.contains(&cargos) && !more.contains(&path), "{more:?}");
}

#[tokio::test]
async fn the_value_of_a_variable_need_not_be_text() {
    let mut asked = sh(r#"printf %s "$A""#);
    asked.env.insert("A".to_owned(), Some(vec![0xff].into()));
    assert_eq!(run(&LocalExec::new(), asked).await.unwrap().stdout.0, [0xff]);
}

#[tokio::test]
async fn descriptors_of_the_process_stay_closed_to_it() {
    use std::os::fd::AsRawFd;
    let open = File::open("/dev/null").unwrap();
    let is_open = |descriptor: i32| sh(format!("test -e /dev/fd/{descriptor}"));
    assert_eq!(ended(is_open(2)).await, ended_with(0, "", ""));
    assert_eq!(ended(is_open(open.as_raw_fd())).await, ended_with(1, "", ""));
}
