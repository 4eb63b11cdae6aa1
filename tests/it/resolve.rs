//! What `resolve` says, row by row: with a plugin's tool, and with one of the host's own.

use serde_json::{Value, json};
use toolhost_core::{ResolveStatus, Session};
use toolhost_loader::ResolveRequest;
use toolhost_tests::Fixture;

use crate::in_process::sessions;
use crate::support::{
    apply, discard, fail, failed, labels, place, resolve, said, session_of, stage, stage_one, store, text, top,
};

/// The details of a resolve of the action that is labelled and staged as the tests below do it.
fn details(action: &str, reason: &str, id: &str) -> Value {
    json!({"action": action, "reason": reason, "sourceToolName": "stage", "label": "Paint it", "id": id})
}

fn with_source(mut details: Value, source: Value) -> Value {
    details["sourceResultDetails"] = source;
    details
}

fn paint(fields: Value) -> Value {
    let mut action = json!({"label": "Paint it", "source": "stage"});
    action.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    action
}

#[tokio::test(flavor = "multi_thread")]
async fn with_nothing_pending_it_says_so() {
    for session in sessions().await {
        let text = "No pending action to resolve. Nothing to apply or discard.";
        for action in ["apply", "discard"] {
            let result = resolve(&session, json!({"action": action, "reason": "why"})).await;
            assert_eq!(result, failed(text, json!({"action": action, "reason": "why"})));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_returns_what_the_action_returns() {
    for session in sessions().await {
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let result =
            json!({"content": [{"type": "text", "text": "Painted: {reason}"}, image], "details": {"coats": 2}});
        let id = stage_one(&session, paint(json!({"apply": [{"end": {"result": result}}]}))).await;
        let expected = json!({
            "content": [{"type": "text", "text": "Painted: it is grey"}, image],
            "details": with_source(details("apply", "it is grey", &id), json!({"coats": 2})),
        });
        assert_eq!(apply(&session, "it is grey").await, expected);
        assert!(!store(&session).has_pending());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_without_content_is_said_to_be_applied() {
    for session in sessions().await {
        let id = stage_one(&session, paint(json!({}))).await;
        assert_eq!(apply(&session, "why").await, said("Applied: Paint it.", details("apply", "why", &id)));

        let with_details = json!({"apply": [{"end": {"result": {"content": [], "details": [1]}}}]});
        let id = stage_one(&session, paint(with_details)).await;
        let expected = with_source(details("apply", "why", &id), json!([1]));
        assert_eq!(apply(&session, "why").await, said("Applied: Paint it.", expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discard_returns_what_reject_returns() {
    for session in sessions().await {
        let result =
            json!({"content": [{"type": "text", "text": "Put the paint away: {reason}"}], "details": {"left": 1}});
        let id = stage_one(&session, paint(json!({"reject": {"end": {"result": result}}}))).await;
        let expected = with_source(details("discard", "no", &id), json!({"left": 1}));
        assert_eq!(discard(&session, "no").await, said("Put the paint away: no", expected));
        assert!(!store(&session).has_pending());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discard_without_reject_or_word_from_it_gives_the_reason() {
    for session in sessions().await {
        // A result without content counts as nothing, whatever details it has.
        let empty = json!({"end": {"result": {"content": []}}});
        let only_details = json!({"end": {"result": {"content": [], "details": {"left": 1}}}});
        let rejects = [Value::Null, json!({}), json!({"end": "nothing"}), empty, only_details];
        for reject in rejects {
            let id = stage_one(&session, paint(json!({"reject": reject}))).await;
            let expected = said("Discarded: Paint it. Reason: too loud", details("discard", "too loud", &id));
            assert_eq!(discard(&session, "too loud").await, expected, "{reject}");
        }
    }
}

/// Each way to fail: the script, the message, the details that come with it.
fn failures(session: &Session) -> Vec<(Value, String, Option<Value>)> {
    let is_error =
        |content: Value| json!({"end": {"result": {"content": content, "isError": true, "details": {"n": 1}}}});
    let two = json!([{"type": "text", "text": "no"}, {"type": "text", "text": "brush"}]);
    let error = json!({"end": {"fail": {"message": "no brush: {reason}", "code": "brush", "details": {"n": 2}}}});
    let place = place("stage/src/script.rs", "End::Panic(message) => panic!");
    let panicked = match session.tools().origin("stage") {
        Some(_) => format!("plugin `stage` panicked at {place}: ladder fell"),
        None => "panicked: ladder fell".to_owned(),
    };
    vec![
        (fail("no brush"), "no brush".to_owned(), None),
        (error, "no brush: why".to_owned(), Some(json!({"n": 2}))),
        (json!({"end": {"panic": "ladder fell"}}), panicked, None),
        (is_error(two), "no\nbrush".to_owned(), Some(json!({"n": 1}))),
        (is_error(json!([])), "no message was given".to_owned(), Some(json!({"n": 1}))),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_fails_leaves_the_action_in_its_place() {
    for session in sessions().await {
        for (script, message, source) in failures(&session) {
            let below = stage_one(&session, json!({"label": "below"})).await;
            let id = stage_one(&session, paint(json!({"apply": [script, text("Painted")]}))).await;
            let mut expected = details("apply", "why", &id);
            if let Some(source) = source {
                expected = with_source(expected, source);
            }
            assert_eq!(apply(&session, "why").await, failed(&format!("Apply failed: {message}"), expected));
            let back = top(&session);
            assert_eq!((back.id(), back.attempts()), (id.as_str(), 1), "{message}");
            assert_eq!(store(&session).list()[1].id(), below);

            assert_eq!(apply(&session, "why").await, said("Painted", details("apply", "why", &id)), "{message}");
            assert_eq!(back.attempts(), 1);
            assert_eq!(top(&session).id(), below);
            assert_eq!(store(&session).pop().unwrap().id(), below);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reject_that_fails_still_discards() {
    for session in sessions().await {
        for (script, message, source) in failures(&session) {
            let id = stage_one(&session, paint(json!({"reject": script}))).await;
            let mut expected = details("discard", "why", &id);
            if let Some(source) = source {
                expected = with_source(expected, source);
            }
            let text = format!("Discarded: Paint it. Cleanup failed: {message}");
            assert_eq!(discard(&session, "why").await, failed(&text, expected));
            assert!(!store(&session).has_pending(), "{message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_apply_can_still_be_discarded() {
    for session in sessions().await {
        let id = stage_one(&session, paint(json!({"apply": [fail("no brush")]}))).await;
        apply(&session, "first").await;
        apply(&session, "second").await;
        assert_eq!(top(&session).attempts(), 2);
        let expected = said("Discarded: Paint it. Reason: enough", details("discard", "enough", &id));
        assert_eq!(discard(&session, "enough").await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_learn_how_it_ended_and_by_which_code() {
    for session in sessions().await {
        let stale = json!({"end": {"fail": {"message": "moved", "code": "stale"}}});
        let apply = async || session.resolve(ResolveRequest::apply("")).await;
        assert_eq!(apply().await.status, ResolveStatus::NothingPending);
        stage_one(&session, json!({"label": "a", "apply": [stale, {"end": {"panic": ""}}, fail("no"), {}]})).await;
        for code in [Some("stale"), Some("panic"), None] {
            assert_eq!(apply().await.status, ResolveStatus::ApplyFailed { code: code.map(str::to_owned) });
        }
        let applied = apply().await;
        assert_eq!(applied.status, ResolveStatus::Applied);
        assert_eq!(applied.pending.unwrap().label(), "a");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_unknown_or_resolved_is_named_and_changes_nothing() {
    for session in sessions().await {
        let actions = json!([{"label": "a"}, {"label": "b"}, {"label": "c"}, {"label": "d", "reject": fail("no")}, {"label": "e"}]);
        let ids = stage(&session, actions).await;
        resolve(&session, json!({"action": "apply", "reason": "", "id": ids[1]})).await;
        resolve(&session, json!({"action": "discard", "reason": "", "id": ids[2]})).await;
        resolve(&session, json!({"action": "discard", "reason": "", "id": ids[3]})).await;
        assert_eq!(store(&session).pop().unwrap().id(), ids[4]);

        let unknown = "0123456789abcdef0123456789abcdef";
        for (id, text) in [
            (unknown, format!("No pending action has the id {unknown}. Leave the id out to resolve the topmost.")),
            (&ids[1], format!("Pending action {} was already applied.", ids[1])),
            (&ids[2], format!("Pending action {} was already discarded.", ids[2])),
            (&ids[3], format!("Pending action {} was already discarded.", ids[3])),
            (&ids[4], format!("Pending action {} was removed by the host.", ids[4])),
        ] {
            for action in ["apply", "discard"] {
                let result = resolve(&session, json!({"action": action, "reason": "r", "id": id})).await;
                assert_eq!(result, failed(&text, json!({"action": action, "reason": "r"})));
                assert_eq!(labels(&session), ["a"]);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_picks_its_action_out_of_the_middle() {
    for session in sessions().await {
        let ids =
            stage(&session, json!([{"label": "a"}, paint(json!({"apply": [text("Painted")]})), {"label": "c"}])).await;
        let result = resolve(&session, json!({"action": "apply", "reason": "", "id": ids[1]})).await;
        assert_eq!(result, said("Painted", details("apply", "", &ids[1])));
        assert_eq!(labels(&session), ["c", "a"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_push_of_two_tools_of_two_plugins_resolves_first() {
    let session = session_of(&[Fixture::Stage, Fixture::Second]).await;
    stage(&session, json!([{"label": "one", "apply": [text("stage applied one: {reason}")]}])).await;
    session.call("second", json!({"label": "two"})).await.unwrap();
    stage(&session, json!([{"label": "three", "apply": [text("stage applied three: {reason}")]}])).await;
    assert_eq!(labels(&session), ["three", "two", "one"]);
    for said in ["stage applied three: 3", "second applied two: 2", "stage applied one: 1"] {
        let (_, reason) = said.split_once(": ").unwrap();
        assert_eq!(apply(&session, reason).await["content"][0]["text"], said);
    }
    assert_eq!(labels(&session), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_not_named_is_custom_tool() {
    let session = session_of(&[Fixture::Second]).await;
    let staged = session.call("second", json!({"label": "two"})).await.unwrap();
    let id = top(&session).id().to_owned();
    let pending = json!({"pending": [{"id": id, "label": "two", "sourceToolName": "custom_tool"}]});
    assert_eq!(serde_json::to_value(staged).unwrap(), said("staged second", pending));
    let details = json!({"action": "apply", "reason": "r", "sourceToolName": "custom_tool", "label": "two", "id": id});
    assert_eq!(apply(&session, "r").await, said("second applied two: r", details));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_lists_what_its_call_staged_beside_its_own_details() {
    for session in sessions().await {
        let actions = json!([{"label": "a"}, {"label": "b", "source": "stage"}]);
        for (details, mut expected) in [
            (Value::Null, json!({})),
            (json!({"own": 1}), json!({"own": 1})),
            (json!([1, 2]), json!({"details": [1, 2]})),
        ] {
            let result = json!({"content": [{"type": "text", "text": "ok"}], "details": details});
            let staged = session.call("stage", json!({"actions": actions, "result": result})).await.unwrap();
            let list = store(&session).list();
            expected["pending"] = json!([
                {"id": list[1].id(), "label": "a", "sourceToolName": "custom_tool"},
                {"id": list[0].id(), "label": "b", "sourceToolName": "stage"},
            ]);
            assert_eq!(serde_json::to_value(staged).unwrap(), said("ok", expected));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_128_random_bits_as_text() {
    for session in sessions().await {
        let mut ids = stage(&session, json!([{"label": "a"}, {"label": "a"}, {"label": "a"}])).await;
        for id in &ids {
            assert!(id.len() == 32 && id.bytes().all(|byte| b"0123456789abcdef".contains(&byte)), "{id}");
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 3);
    }
}
