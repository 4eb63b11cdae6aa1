use std::fs;

use toolhost_plugin_testkit::{CallError, TestKit};

use super::*;

async fn kit() -> TestKit {
    TestKit::start(|pi| WordCount { pi }).await.unwrap()
}

#[tokio::test]
async fn counts_a_text() {
    let kit = kit().await;
    let result = kit.call("word_count", json!({"text": "Zürich, im Mai\n  um drei\n"})).await.unwrap();
    let details = json!({"lines": 2, "words": 5, "characters": 25});
    assert_eq!(result, AgentToolResult::text("2 lines, 5 words, 25 characters").with_details(details));
}

#[tokio::test]
async fn a_last_line_needs_no_line_feed_and_nothing_has_no_lines() {
    let kit = kit().await;
    for (text, counts) in [
        ("", "0 lines, 0 words, 0 characters"),
        ("a", "1 line, 1 word, 1 character"),
        ("\n", "1 line, 0 words, 1 character"),
        ("a\n\nb", "3 lines, 2 words, 4 characters"),
    ] {
        assert_eq!(kit.call_text("word_count", json!({"text": text})).await, counts, "{text:?}");
    }
}

#[tokio::test]
async fn counts_a_file_relative_to_the_session_or_absolute() {
    let kit = kit().await;
    let file = kit.cwd().join("a b.txt");
    fs::write(&file, "one two\n").unwrap();
    let counts = "1 line, 2 words, 8 characters";
    assert_eq!(kit.call_text("word_count", json!({"path": "a b.txt"})).await, counts);
    assert_eq!(kit.call_text("word_count", json!({"path": file})).await, counts);
}

#[tokio::test]
async fn what_cannot_be_counted_says_why() {
    let kit = kit().await;
    fs::write(kit.cwd().join("picture.png"), b"\x89PNG").unwrap();
    fs::File::create(kit.cwd().join("huge")).unwrap().set_len(MOST_BYTES + 1).unwrap();
    for (parameters, error) in [
        (json!({}), "give either `path` or `text`"),
        (json!({"path": "a", "text": "b"}), "give either `path` or `text`"),
        (
            json!({"path": "absent"}),
            &format!("absent: not found; it was looked for at {}", kit.cwd().join("absent").display()),
        ),
        (json!({"path": "."}), ".: is no file of at most 67108864 bytes"),
        (json!({"path": "huge"}), "huge: is no file of at most 67108864 bytes"),
        (
            json!({"path": "picture.png"}),
            "picture.png: is no UTF-8 text: invalid utf-8 sequence of 1 bytes from index 0",
        ),
    ] {
        assert_eq!(kit.call_error("word_count", parameters).await, error);
    }
}

#[tokio::test]
async fn a_parameter_that_there_is_not_is_refused() {
    let refused = kit().await.call("word_count", json!({"file": "a"})).await;
    assert!(matches!(refused, Err(CallError::InvalidParameters(_))), "{refused:?}");
}

#[tokio::test]
async fn a_host_is_told_that_it_only_reads() {
    let definition = kit().await.definition("word_count").unwrap();
    assert_eq!((definition.effect, definition.parallel, definition.deferrable), (Effect::ReadOnly, true, false));
    let described = &definition.parameters["properties"];
    assert_eq!(described["text"]["description"], "The text itself.");
    assert_eq!(
        described["path"]["description"],
        "A file of UTF-8 text, relative to the session's directory or absolute."
    );
}
