//! The plugin `batch-rename`, as a model uses it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_core::ResolveStatus;
use toolhost_loader::{ResolveRequest, Session, SessionOptions};
use toolhost_tests::Artifact;

use crate::support::{ARTIFACTS, apply, discard, failed, host, open, said, store, texts, top};

/// A directory of photos, and a session in it.
struct Photos {
    directory: TempDir,
    session: Session,
}

const PHOTOS: [&str; 3] = ["IMG_1 (Zürich).JPG", "IMG_2.JPG", "notes.txt"];

impl Photos {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in PHOTOS {
            fs::write(directory.path().join(name), name).unwrap();
        }
        let host = host([ARTIFACTS.path(Artifact::BatchRename)]).await;
        assert_eq!(texts(host.load_errors()), Vec::<String>::new());
        let session = open(&host, SessionOptions::new("test").cwd(directory.path())).await;
        Self { directory, session }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    async fn preview(&self) -> Value {
        let parameters = json!({"files": PHOTOS, "find": "IMG", "replace": "trip"});
        serde_json::to_value(self.session.call("batch_rename_preview", parameters).await.unwrap()).unwrap()
    }

    fn changes(&self) -> Value {
        let change =
            |old: &str, new: &str| json!({"path": self.path(new), "kind": "rename", "oldPath": self.path(old)});
        json!({"changes": [change(PHOTOS[0], "trip_1 (Zürich).JPG"), change("IMG_2.JPG", "trip_2.JPG")]})
    }

    fn details(&self, action: &str, reason: &str, id: &str) -> Value {
        let (source, label) = ("batch_rename_preview", "Batch rename: 2 files");
        json!({"action": action, "reason": reason, "sourceToolName": source, "label": label, "id": id})
    }
}

const PREVIEW: &str = "2 files to rename, 1 unchanged:\nIMG_1 (Zürich).JPG -> trip_1 (Zürich).JPG\nIMG_2.JPG -> \
                       trip_2.JPG\nNothing is renamed yet.";

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_lists_every_new_name_and_changes_nothing() {
    let photos = Photos::new().await;
    let result = photos.preview().await;
    let pending = top(&photos.session);
    let staged =
        json!({"id": pending.id(), "label": "Batch rename: 2 files", "sourceToolName": "batch_rename_preview"});
    assert_eq!(result, said(PREVIEW, json!({"pending": [staged]})));
    assert_eq!(pending.details(), Some(&photos.changes()));
    assert_eq!(photos.names(), PHOTOS);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_renames_and_says_what_changed() {
    let photos = Photos::new().await;
    photos.preview().await;
    let mut details = photos.details("apply", "looks right", top(&photos.session).id());
    details["sourceResultDetails"] = photos.changes();
    assert_eq!(apply(&photos.session, "looks right").await, said("Renamed 2 files. Reason: looks right", details));
    assert_eq!(photos.names(), ["notes.txt", "trip_1 (Zürich).JPG", "trip_2.JPG"]);
    assert_eq!(fs::read_to_string(photos.path("trip_2.JPG")).unwrap(), "IMG_2.JPG");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discard_changes_nothing() {
    let photos = Photos::new().await;
    photos.preview().await;
    let details = photos.details("discard", "wrong trip", top(&photos.session).id());
    let text = "Nothing was renamed. Reason: wrong trip\nDropped, 2 files:\nIMG_1 (Zürich).JPG -> trip_1 \
                (Zürich).JPG\nIMG_2.JPG -> trip_2.JPG";
    assert_eq!(discard(&photos.session, "wrong trip").await, said(text, details));
    assert_eq!(photos.names(), PHOTOS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rename_whose_files_changed_is_stale_and_renames_nothing() {
    type Change = fn(&Photos);
    let changes: [(Change, &str); 3] = [
        (|photos| fs::write(photos.path("IMG_2.JPG"), "edited since").unwrap(), "IMG_2.JPG\" was modified or replaced"),
        (|photos| fs::remove_file(photos.path("IMG_2.JPG")).unwrap(), "IMG_2.JPG\" is gone"),
        (|photos| fs::write(photos.path("trip_2.JPG"), "mine").unwrap(), "trip_2.JPG\" exists now"),
    ];
    for (change, difference) in changes {
        let photos = Photos::new().await;
        photos.preview().await;
        let id = top(&photos.session).id().to_owned();
        change(&photos);
        let before = photos.names();
        let resolution = photos.session.resolve(ResolveRequest::apply("go")).await;
        assert_eq!(resolution.status, ResolveStatus::ApplyFailed { code: Some("stale".to_owned()) });
        let directory = photos.path("");
        let directory = directory.to_str().unwrap().trim_end_matches('/');
        let text = format!(
            "Apply failed: something changed since the preview, so nothing was applied; discard it and preview \
             again:\n- \"{directory}/{difference}"
        );
        let expected = failed(&text, photos.details("apply", "go", &id));
        assert_eq!(serde_json::to_value(resolution.result).unwrap(), expected);
        assert_eq!(photos.names(), before);
        assert_eq!((top(&photos.session).id(), top(&photos.session).attempts()), (id.as_str(), 1));
        if before.contains(&"trip_2.JPG".to_owned()) {
            assert_eq!(fs::read_to_string(photos.path("trip_2.JPG")).unwrap(), "mine");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rename_that_was_stale_applies_once_its_cause_is_gone() {
    let photos = Photos::new().await;
    photos.preview().await;
    fs::write(photos.path("trip_2.JPG"), "mine").unwrap();
    apply(&photos.session, "go").await;
    fs::remove_file(photos.path("trip_2.JPG")).unwrap();
    assert_eq!(apply(&photos.session, "go").await["content"][0]["text"], "Renamed 2 files. Reason: go");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_staged_where_the_plan_is_refused_or_empty() {
    let photos = Photos::new().await;
    let call = async |parameters| photos.session.call("batch_rename_preview", parameters).await.unwrap();
    let refused = call(json!({"files": ["absent", "IMG_2.JPG"], "find": "IMG_2.JPG", "replace": "notes.txt"})).await;
    let text = "2 problems, nothing was staged:\n- absent: does not exist; check the path, which is relative to the \
                session's directory unless absolute\n- IMG_2.JPG -> notes.txt: the new name is taken; choose \
                another name";
    let expected = json!({"content": [{"type": "text", "text": text}], "isError": true});
    assert_eq!(serde_json::to_value(refused).unwrap(), expected);
    let unchanged = call(json!({"files": ["notes.txt"], "find": "IMG", "replace": "trip"})).await;
    assert_eq!(unchanged.to_text(), "Nothing would change: 1 file would keep the same name.");
    assert!(!store(&photos.session).has_pending());
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_move_up_by_one_find_their_places_free() {
    let photos = Photos::new().await;
    for name in ["1", "2", "3"] {
        fs::write(photos.path(name), format!("was {name}")).unwrap();
    }
    let shift = json!({"files": ["1", "2", "3"], "find": ".", "replace": "", "number": {"start": 2, "separator": ""}});
    photos.session.call("batch_rename_preview", shift).await.unwrap();
    assert_eq!(apply(&photos.session, "up").await["content"][0]["text"], "Renamed 3 files. Reason: up");
    for (name, was) in [("2", "was 1"), ("3", "was 2"), ("4", "was 3")] {
        assert_eq!(fs::read_to_string(photos.path(name)).unwrap(), was);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_in_an_unchanged_world_has_the_same_preview_hash() {
    let photos = Photos::new().await;
    let hash = async |parameters: Value| {
        photos.session.call("batch_rename_preview", parameters).await.unwrap();
        store(&photos.session).pop().unwrap().preview_hash().to_owned()
    };
    let parameters = json!({"files": PHOTOS, "case": "upper", "extensionCase": "lower"});
    let first = hash(parameters.clone()).await;
    assert_eq!(first.len(), 64);
    assert_eq!(hash(parameters.clone()).await, first);
    let reordered = json!({"extensionCase": "lower", "case": "upper", "files": PHOTOS});
    assert_eq!(hash(reordered).await, first);

    assert_ne!(hash(json!({"files": [PHOTOS[1]], "case": "upper", "extensionCase": "lower"})).await, first);
    // A directory has no extension, so that its new name is another.
    fs::remove_file(photos.path("notes.txt")).unwrap();
    fs::create_dir(photos.path("notes.txt")).unwrap();
    assert_ne!(hash(parameters).await, first);
}
