//! Where plugins are looked for: which of two comes first, what is left alone, how many tools there may be.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_core::AgentToolResult;
use toolhost_loader::{
    Block, BlockList, Host, HostBuilder, LoadLimits, OpenedSession, SessionOptions, Shadowed, Trust,
};
use toolhost_plugin_sdk::link;
use toolhost_plugin_sdk::prelude::{CustomTool, CustomToolApi, NoParams, ToolCall, ToolResult};
use toolhost_tests::Fixture;

use crate::support::{ARTIFACTS, bounded, on_every_runtime, open, plugin, settled, texts};

/// What a linked plugin has.
struct Linked;

impl CustomTool for Linked {
    const NAME: &'static str = "linked";
    const LABEL: &'static str = "Linked";
    const DESCRIPTION: &'static str = "Is linked";
    type Params = NoParams;

    async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
        Ok("linked".into())
    }
}

on_every_runtime![
    directories_come_in_order_and_need_not_be_there,
    a_real_file_counts_once_wherever_it_is_found,
    a_plugin_of_a_later_directory_is_shadowed_by_name,
    a_copy_is_shadowed_under_any_name_and_in_any_place,
    what_cannot_be_loaded_shadows_nothing,
    a_linked_plugin_shadows_files_of_its_name,
    two_of_one_name_in_one_place_are_both_loaded_and_their_tools_name_both,
    a_disabled_plugin_is_never_opened,
    reserved_names_are_refused_and_the_rest_is_there,
    a_renamed_tool_is_called_and_stages_by_its_new_name,
    a_new_name_is_judged_as_any_other,
    a_renamed_tool_is_called_no_more_once_its_plugin_is_blocked,
    only_so_many_tools_are_there,
    only_so_large_definitions_are_there,
    texts_that_nobody_can_show_are_refused,
];

/// Directories for plugins, and a cache.
struct Places(TempDir);

impl Places {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Copies a plugin to this path.
    fn put(&self, from: &Path, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(from, &path).unwrap();
        path
    }

    /// The plugin `stage` at this path, with other bytes than the fixture.
    fn put_other_stage(&self, name: &str) -> PathBuf {
        let path = self.put(&plugin(Fixture::Stage), name);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"other").unwrap();
        path
    }

    fn builder(&self) -> HostBuilder {
        Host::builder().cache_dir(self.path("cache"))
    }

    /// A host that looks into these directories, in this order.
    async fn host(&self, directories: &[&str]) -> Host {
        let add = |builder: HostBuilder, name: &&str| builder.plugin_dir(self.path(name), Trust::Owned);
        directories.iter().fold(self.builder(), add).build().await.unwrap()
    }
}

/// The files that are loaded.
fn loaded(host: &Host) -> Vec<PathBuf> {
    host.plugins().map(|plugin| plugin.path.clone()).collect()
}

/// What is shadowed, and by what.
fn shadowed(host: &Host) -> Vec<(PathBuf, PathBuf)> {
    host.shadowed().iter().map(|each| (each.path.clone(), each.by.clone())).collect()
}

async fn directories_come_in_order_and_need_not_be_there() {
    let places = Places::new();
    let second = places.put(&plugin(Fixture::Second), "later/a ä.so");
    let names = places.put(&plugin(Fixture::Names), "first/z.so");
    let empty = places.put(&plugin(Fixture::Empty), "first/ö b.so");
    fs::create_dir(places.path("bare")).unwrap();
    fs::write(places.path("file"), "").unwrap();
    fs::write(places.path("first/readme.md"), "no plugin").unwrap();
    let host = places.host(&["absent", "first", "file/below", "bare", "later"]).await;
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    assert_eq!(loaded(&host), [names, empty, second]);
    assert_eq!((host.shadowed(), host.disabled()), (&[][..], &[][..]));
}

async fn a_real_file_counts_once_wherever_it_is_found() {
    let places = Places::new();
    let file = places.put(&plugin(Fixture::Second), "one/b.so");
    fs::create_dir(places.path("two")).unwrap();
    symlink(&file, places.path("one/a link.so")).unwrap();
    fs::hard_link(&file, places.path("two/hard.so")).unwrap();
    symlink(&file, places.path("two/soft.so")).unwrap();
    symlink(places.path("one"), places.path("three")).unwrap();
    let host = places.host(&["one", "one", "two", "three"]).await;
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    assert_eq!(loaded(&host), [places.path("one/a link.so")]);
    assert_eq!(host.shadowed(), []);
}

async fn a_plugin_of_a_later_directory_is_shadowed_by_name() {
    let places = Places::new();
    let first = places.put_other_stage("first/z.so");
    let later = places.put(&plugin(Fixture::Stage), "later/a.so");
    let beside = places.put(&plugin(Fixture::Second), "later/b.so");
    let host = places.host(&["first", "later"]).await;
    assert_eq!(loaded(&host), [first.clone(), beside]);
    let [Shadowed { path, name, version, by, by_version, is_copy, .. }] = host.shadowed() else { panic!("{host:?}") };
    assert_eq!((path, by, *is_copy), (&later, &first, false));
    assert_eq!((name.as_str(), version.as_str(), by_version.as_str()), ("stage", "0.1.0", "0.1.0"));
    open(&host, SessionOptions::new("a")).await;
    // The other way round it is the other one.
    let host = places.host(&["later", "first"]).await;
    assert_eq!(shadowed(&host), [(first, later)]);
}

async fn a_copy_is_shadowed_under_any_name_and_in_any_place() {
    let places = Places::new();
    let one = places.put(&plugin(Fixture::Second), "a/one.so");
    let copy = places.put(&plugin(Fixture::Second), "a/two.so");
    let later = places.put(&plugin(Fixture::Second), "b/one.so");
    let host = places.host(&["a", "b"]).await;
    assert_eq!(loaded(&host), std::slice::from_ref(&one));
    assert_eq!(shadowed(&host), [(copy.clone(), one.clone()), (later, one.clone())]);
    assert!(host.shadowed().iter().all(|each| each.is_copy));
    // Also of those that are named.
    let host = places.builder().plugin(&copy).plugin(&one).build().await.unwrap();
    assert_eq!(shadowed(&host), [(one, copy)]);
}

async fn what_cannot_be_loaded_shadows_nothing() {
    let places = Places::new();
    let bad = places.path("first/stage.so");
    fs::create_dir(places.path("first")).unwrap();
    let whole = fs::read(plugin(Fixture::Stage)).unwrap();
    fs::write(&bad, &whole[..whole.len() / 2]).unwrap();
    let good = places.put(&plugin(Fixture::Stage), "later/stage.so");
    let host = places.host(&["first", "later"]).await;
    assert_eq!(
        host.load_errors().iter().map(|error| (error.path.clone(), error.code())).collect::<Vec<_>>(),
        [(bad, "TH0203")]
    );
    assert_eq!((loaded(&host), host.shadowed()), (vec![good], &[][..]));
}

async fn a_linked_plugin_shadows_files_of_its_name() {
    let places = Places::new();
    let file = places.put(&plugin(Fixture::Second), "a/second.so");
    let linked = link("second", "9.0.0", |_: CustomToolApi| Linked);
    let host = places.builder().linked(linked).plugin_dir(places.path("a"), Trust::Owned).build().await.unwrap();
    assert_eq!(shadowed(&host), [(file, std::env::current_exe().unwrap())]);
    assert_eq!(host.shadowed()[0].by_version, "9.0.0");
}

async fn two_of_one_name_in_one_place_are_both_loaded_and_their_tools_name_both() {
    let places = Places::new();
    let one = places.put(&plugin(Fixture::Stage), "a/1.so");
    let two = places.put_other_stage("a/2.so");
    let host = places.host(&["a"]).await;
    assert_eq!((loaded(&host), host.shadowed()), (vec![one.clone(), two.clone()], &[][..]));
    let opened = bounded(host.session(SessionOptions::new("a"))).await;
    let error = opened.errors.first().unwrap();
    let text = format!(
        "{}: tool number 1 of `stage` was left out: the tool name `stage` is taken by stage 0.1.0; change the tool, or \
         ask the plugin's author to (TH0801)",
        two.display()
    );
    assert_eq!(error.to_string(), text);
    assert_eq!(error.evidence[1..], [format!("`stage` is a tool of {}", one.display())]);
}

async fn a_disabled_plugin_is_never_opened() {
    let places = Places::new();
    let constructor = places.put(&plugin(Fixture::Constructor), "a/one.so");
    let second = places.put(&plugin(Fixture::Second), "a/two.so");
    let build = async |disabled: &[&str]| {
        let builder = places.builder().plugin_dir(places.path("a"), Trust::Owned).plugin(&constructor);
        disabled.iter().fold(builder, |builder, name| builder.disable(*name)).build().await.unwrap()
    };
    let copies = || {
        let entries = fs::read_dir(places.path("cache")).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            entries.filter(|path| path.is_dir()).flat_map(|path| fs::read_dir(path).unwrap()).collect();
        files.sort_by_key(|file| file.as_ref().unwrap().file_name());
        files.into_iter().map(|file| file.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let host = build(&["constructor", "absent"]).await;
    open(&host, SessionOptions::new("a")).await;
    assert_eq!(loaded(&host), [second]);
    let disabled: Vec<_> = host.disabled().iter().map(|plugin| (plugin.name.as_str(), plugin.path.clone())).collect();
    assert_eq!(disabled, [("constructor", constructor.clone())]);
    // Neither opened nor copied.
    assert_eq!(copies(), ["two.so"]);
    // Its constructor would have left a file.
    build(&[]).await;
    assert_eq!(copies(), ["one.so", "one.so.opened", "two.so"]);

    let linked = link("linked", "1.0.0", |_: CustomToolApi| Linked);
    let host = places.builder().linked(linked).disable("linked").build().await.unwrap();
    assert_eq!((loaded(&host), host.disabled()[0].linked), (vec![], true));
}

async fn reserved_names_are_refused_and_the_rest_is_there() {
    let places = Places::new();
    let builder = places.builder().plugin(plugin(Fixture::Second)).reserve(["second", "other"]);
    let opened = bounded(builder.build().await.unwrap().session(SessionOptions::new("a"))).await;
    let text = format!(
        "{}: tool number 1 of `second` was left out: the tool name `second` is reserved for the host; change the tool, \
         or ask the plugin's author to (TH0801)",
        plugin(Fixture::Second).display()
    );
    assert_eq!(texts(&opened.errors), [text]);
    assert_eq!(opened.session.call("hidden", json!({})).await.unwrap().to_text(), "here");
}

async fn a_renamed_tool_is_called_and_stages_by_its_new_name() {
    let places = Places::new();
    // Once opened at the start, and once when the tool is called.
    for session in ["first", "later"] {
        let builder = places.builder().open_late(true).plugin(settled(plugin(Fixture::Stage)));
        let host = builder.rename_tools(|plugin, tool| format!("{}_{tool}", plugin.name)).build().await.unwrap();
        let session = open(&host, SessionOptions::new(session)).await;
        assert!(session.tools().all().all(|tool| tool.name.starts_with("stage_")));
        let gone = bounded(session.call("echo", json!({"text": "x"}))).await.unwrap_err().to_string();
        assert_eq!(gone, "no tool is named `echo`");
        let echoed = bounded(session.call("stage_echo", json!({"text": "x"}))).await.unwrap();
        assert_eq!(echoed.to_text(), r#"{"text":"x","digit":null}"#);
        // The plugin's own name of a tool is the host's where it stages, and other names stay.
        let actions = json!([{"label": "A", "source": "echo"}, {"label": "B", "source": "else"}, {"label": "C"}]);
        let staged: AgentToolResult = bounded(session.call("stage_stage", json!({"actions": actions}))).await.unwrap();
        let pending = staged.details.unwrap()["pending"].take();
        let sources: Vec<_> = pending.as_array().unwrap().iter().map(|each| each["sourceToolName"].clone()).collect();
        assert_eq!(sources, ["stage_echo", "else", "custom_tool"]);
    }
}

async fn a_new_name_is_judged_as_any_other() {
    let places = Places::new();
    for (name, reason) in [
        ("no name", "the tool name \"no name\" is not allowed: use 1 to 64 of a-z, A-Z, 0-9, `_` and `-`"),
        ("resolve", "the tool name `resolve` is reserved for the host"),
        ("ours", "the tool name `ours` is reserved for the host"),
        ("hidden", "the tool name `hidden` is taken by second 0.1.0"),
    ] {
        let builder = places.builder().plugin(plugin(Fixture::Second)).reserve(["ours"]);
        let host = builder.rename_tools(move |_, _| name.to_owned()).build().await.unwrap();
        let opened = bounded(host.session(SessionOptions::new("a"))).await;
        let errors = texts(&opened.errors);
        assert!(
            errors.last().unwrap().contains(&format!("tool number 2 of `second` was left out: {reason};")),
            "{errors:?}"
        );
    }
}

async fn a_renamed_tool_is_called_no_more_once_its_plugin_is_blocked() {
    let places = Places::new();
    let list = places.path("blocked.json");
    let builder = places.builder().plugin(plugin(Fixture::Second)).blocks_from(&list);
    let host = builder.rename_tools(|_, tool| format!("new_{tool}")).build().await.unwrap();
    let session = open(&host, SessionOptions::new("a")).await;
    assert_eq!(bounded(session.call("new_hidden", json!({}))).await.unwrap().to_text(), "here");
    BlockList::new(&list).block(Block::new("second".parse().unwrap(), "it leaks")).unwrap();
    let error = bounded(session.call("new_hidden", json!({}))).await.unwrap_err().to_string();
    assert_eq!(error, "`new_hidden` was not called: plugin second is blocked: it leaks");
}

/// A session with these tools of the plugin that makes them from data.
async fn with(limits: LoadLimits, tools: Value) -> OpenedSession {
    let builder = Host::builder().cache_dir(ARTIFACTS.directory().join("cache")).limits(limits);
    let host =
        builder.plugin(plugin(Fixture::Dynamic)).config("dynamic", json!({"tools": tools})).build().await.unwrap();
    bounded(host.session(SessionOptions::new("test"))).await
}

fn made(number: usize) -> Value {
    // One that is asked what it is beyond the limit says so.
    let panics = if number < 128 { Value::Null } else { json!("schema") };
    json!({"name": format!("tool_{number}"), "schema": {"type": "object"}, "panics": panics})
}

async fn only_so_many_tools_are_there() {
    let opened = with(LoadLimits::default(), (0..10_000).map(made).collect()).await;
    let error = |found: usize, limit: usize| {
        format!(
            "{}: `dynamic` has {found} tools, and only the first {limit} are there; raise the limit: `tools` under \
             `[limits]` in toolhost.toml (`LoadLimits::tools`), or give the plugin fewer (TH0704)",
            plugin(Fixture::Dynamic).display()
        )
    };
    assert_eq!(texts(&opened.errors), [error(10_000, 128)]);
    let tools = opened.session.tools();
    assert_eq!(tools.len(), 128);
    assert_eq!(opened.session.call("tool_127", json!({})).await.unwrap().to_text(), "tool_127");
    assert!(tools.definition("tool_128").is_none());
    // The limit itself is no error, and another one counts.
    let opened = with(LoadLimits::default(), (0..128).map(made).collect()).await;
    assert_eq!((texts(&opened.errors), opened.session.tools().len()), (vec![], 128));
    let opened = with(LoadLimits::default().with_tools(2), (0..3).map(made).collect()).await;
    assert_eq!((texts(&opened.errors), opened.session.tools().len()), (vec![error(3, 2)], 2));
}

async fn only_so_large_definitions_are_there() {
    let tool =
        |name: &str, bytes: usize| json!({"name": name, "schema": {"type": "object", "const": "x".repeat(bytes)}});
    let opened = with(LoadLimits::default(), json!([tool("large", 1 << 20), tool("small", 1)])).await;
    let [error] = &opened.errors[..] else { panic!("{:?}", opened.errors) };
    assert_eq!(error.code(), "TH0705");
    let text = error.kind.to_string();
    let bytes = text.strip_prefix("tool number 1 of `dynamic` has a definition of ").unwrap();
    let bytes: usize = bytes.strip_suffix(" bytes, of which 1048576 are the most").unwrap().parse().unwrap();
    assert!(bytes > 1 << 20, "{text}");
    assert_eq!(opened.session.tools().all().map(|tool| tool.name.clone()).collect::<Vec<_>>(), ["small"]);
    let limits = LoadLimits::default().with_definition_bytes(bytes);
    let opened = with(limits, json!([tool("large", 1 << 20)])).await;
    assert_eq!(texts(&opened.errors), Vec::<String>::new());
    assert_eq!(opened.session.tools().len(), 1);
}

async fn texts_that_nobody_can_show_are_refused() {
    let tool = |name: &str, key: &str, value: Value| {
        let mut tool = json!({"name": name, "schema": {"type": "object"}});
        tool[key] = value;
        tool
    };
    let property = json!({"type": "object", "properties": {"a": {"description": "\u{1b}[2J"}}});
    let opened = with(
        LoadLimits::default(),
        json!([
            tool("a", "description", json!("x".repeat(65_537))),
            tool("b", "description", json!("a\u{202e}b")),
            tool("c", "label", json!("a\nb")),
            tool("d", "title", json!("x".repeat(129))),
            tool("e", "schema", property),
            tool("f", "outputSchema", json!({"type": "array"})),
            tool("g", "description", json!("Wörter.\n\tZählt sie.")),
        ]),
    )
    .await;
    let reasons = [
        "the description of tool `a` is 65537 bytes long, of which 65536 are the most",
        "the description of tool `b` has the control character U+202E",
        "the label of tool `c` has the control character U+000A",
        "the title of tool `d` is 129 characters long, of which 128 are the most",
        "the text at parameters/properties/a/description of tool `e` has the control character U+001B",
        "the details of tool `f` have no usable schema: its type has to be `object`",
    ];
    let expected: Vec<String> = (1..)
        .zip(reasons)
        .map(|(number, reason)| {
            format!(
                "{}: tool number {number} of `dynamic` was left out: {reason}; change the tool, or ask the plugin's \
                 author to (TH0801)",
                plugin(Fixture::Dynamic).display()
            )
        })
        .collect();
    assert_eq!(texts(&opened.errors), expected);
    assert_eq!(opened.session.tools().all().map(|tool| tool.name.clone()).collect::<Vec<_>>(), ["g"]);
}
