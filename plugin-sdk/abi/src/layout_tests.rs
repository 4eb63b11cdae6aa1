//! What the interface looks like to a plugin or a host that was built with another copy of it. A case that fails here
//! has found a change that those do not know of; `docs/abi.md` says which changes there may be, and how to make one.

use abi_stable::StableAbi;
use abi_stable::library::LibHeader;
use abi_stable::std_types::{RResult, RSlice, RStr, RVec};
use abi_stable::type_layout::{TLData, TLField, TLFunction, TLPrefixType, TypeLayout};
use async_ffi::FfiFuture;

use crate::Bytes;
use crate::call::CallObject;
use crate::change::ChangeObject;
use crate::host::HostObject;
use crate::note;
use crate::root::{Created, PluginRootRef};
use crate::tool::ToolObject;

/// Below this line a table may grow; what is above is there in every version.
const END: &str = "---";

/// The functions of a type in the order of its table. The type of what a buffer or a future holds is not shown: that
/// is for the compiler, in `the_types_are_these`.
fn functions<T: StableAbi>() -> Vec<String> {
    let table = table(T::LAYOUT).expect("the type has a table");
    let mut lines: Vec<String> = table.fields.iter().map(signature).collect();
    lines.insert(usize::from(table.first_suffix_field), END.to_owned());
    // What abi_stable puts first into the table of every trait.
    lines.retain(|line| !line.starts_with("_sabi_"));
    lines
}

/// The first type of this crate that grows at its end, in the layout or below it.
fn table(layout: &'static TypeLayout) -> Option<TLPrefixType> {
    match layout.data() {
        TLData::PrefixType(table) if layout.package() == "toolhost-abi" => Some(table),
        _ => {
            let fields = layout.get_fields().into_iter().flatten();
            fields.chain(layout.phantom_fields()).find_map(|field| table(field.layout()))
        }
    }
}

fn signature(field: TLField) -> String {
    let function = field.function_range().iter().next();
    format!("{}{}", field.name(), function.map(|function| types(&function)).unwrap_or_default())
}

fn types(function: &TLFunction) -> String {
    let parameters = function.param_type_layouts.iter().map(|layout| layout().full_type().to_string());
    let parameters: Vec<String> = parameters.filter(|name| name != "RRef<'a>").collect();
    let answer = function.return_type_layout().map(|layout| format!(" -> {}", layout().full_type()));
    format!("({}){}", parameters.join(", "), answer.unwrap_or_default())
}

#[test]
fn a_host_has_these_functions() {
    let expected = [
        "push_pending_action(u64, RVec, Change_TO) -> RResult",
        "log_level() -> u8",
        "log(u8, RSlice<'a>)",
        "call(u64, RStr<'a>, RVec) -> BorrowingFfiFuture<'a>",
        END,
    ];
    assert_eq!(functions::<HostObject>(), expected);
}

#[test]
fn a_call_has_these_functions() {
    let expected =
        ["id() -> u64", "update(RVec) -> bool", "is_cancelled() -> bool", "cancelled() -> BorrowingFfiFuture<'a>", END];
    assert_eq!(functions::<CallObject>(), expected);
}

#[test]
fn a_tool_has_these_functions() {
    let expected = [
        "definition() -> RVec",
        "execute(RVec, Call_TO) -> BorrowingFfiFuture<'a>",
        "on_session(RVec) -> BorrowingFfiFuture<'a>",
        "render(RVec) -> RResult",
        END,
    ];
    assert_eq!(functions::<ToolObject>(), expected);
}

#[test]
fn a_change_has_these_functions() {
    let expected = ["apply(RVec) -> BorrowingFfiFuture<'a>", "reject(RVec) -> BorrowingFfiFuture<'a>", END];
    assert_eq!(functions::<ChangeObject>(), expected);
}

#[test]
fn a_root_has_these_functions() {
    assert_eq!(functions::<PluginRootRef>(), ["create(Host_TO, RVec) -> BorrowingFfiFuture<'a>", END]);
}

/// Does not compile where a type is another one.
#[test]
fn the_types_are_these() {
    let _: fn(&HostObject, u64, RVec<u8>, ChangeObject) -> Bytes = HostObject::push_pending_action;
    let _: fn(&HostObject) -> u8 = HostObject::log_level;
    let _: fn(&HostObject, u8, RSlice<'_, u8>) = HostObject::log;
    let _: fn(&HostObject, u64, RStr<'_>, RVec<u8>) -> FfiFuture<Bytes> = HostObject::call;

    let _: fn(&CallObject) -> u64 = CallObject::id;
    let _: fn(&CallObject, RVec<u8>) -> bool = CallObject::update;
    let _: fn(&CallObject) -> bool = CallObject::is_cancelled;
    let _: fn(&CallObject) -> FfiFuture<()> = CallObject::cancelled;

    let _: fn(&ToolObject) -> RVec<u8> = ToolObject::definition;
    let _: fn(&ToolObject, RVec<u8>, CallObject) -> FfiFuture<Bytes> = ToolObject::execute;
    let _: fn(&ToolObject, RVec<u8>) -> FfiFuture<Bytes> = ToolObject::on_session;
    let _: fn(&ToolObject, RVec<u8>) -> Bytes = ToolObject::render;

    let _: fn(&ChangeObject, RVec<u8>) -> FfiFuture<Bytes> = ChangeObject::apply;
    let _: fn(&ChangeObject, RVec<u8>) -> FfiFuture<Bytes> = ChangeObject::reject;

    type Create = extern "C" fn(HostObject, RVec<u8>) -> FfiFuture<Created>;
    let _: fn(PluginRootRef) -> Create = |root| root.create();
    let _: fn(RResult<RVec<u8>, RVec<u8>>) -> Bytes = |bytes| bytes;
    let _: fn(RResult<RVec<ToolObject>, RVec<u8>>) -> Created = |created| created;
}

/// Does not compile where a promise to whoever holds the object is gone.
#[test]
fn the_objects_go_anywhere() {
    fn anywhere<T: Send + Sync + 'static>() {}
    fn copied<T: Clone>() {}
    anywhere::<HostObject>();
    anywhere::<CallObject>();
    anywhere::<ToolObject>();
    anywhere::<ChangeObject>();
    copied::<HostObject>();
    copied::<CallObject>();
}

#[test]
fn sizes_and_alignments() {
    const WORD: usize = size_of::<usize>();
    fn words<T>() -> usize {
        assert_eq!((align_of::<T>(), size_of::<T>() % WORD), (WORD, 0));
        size_of::<T>() / WORD
    }
    assert_eq!(words::<HostObject>(), 3);
    assert_eq!(words::<CallObject>(), 3);
    assert_eq!(words::<ToolObject>(), 3);
    assert_eq!(words::<ChangeObject>(), 3);
    assert_eq!(words::<PluginRootRef>(), 1);
    assert_eq!(words::<RVec<u8>>(), 4);
    assert_eq!(words::<Bytes>(), 5);
    assert_eq!(words::<Created>(), 5);
    assert_eq!(words::<FfiFuture<Bytes>>(), 3);
    assert_eq!(words::<FfiFuture<Created>>(), 3);
    assert_eq!(words::<FfiFuture<()>>(), 3);
    assert_eq!(words::<LibHeader>(), 19);
}

/// What a host reads before it knows anything of the file.
#[test]
fn the_way_in() {
    assert_eq!((note::SECTION, note::MACH_SECTION), (".note.toolhost", ("__DATA", "__toolhost")));
    assert_eq!((note::OWNER, note::KIND), ("toolhost", 1));
    assert_eq!((note::MAGIC, note::FORMAT, note::PREAMBLE), (*b"TOOLHOST", 1, 12));
    assert_eq!((note::FAMILY, note::SYMBOL), ("abi_stable", "toolhost_plugin_abi_stable"));
    assert_eq!(note::HEADER_SIZE, size_of::<LibHeader>());
}

/// The crates that lay out what is not ours.
#[test]
fn the_crates_below_are_these() {
    let of = |layout: &'static TypeLayout| {
        let (package, version) = layout.package_and_version();
        format!("{package} {version}")
    };
    assert_eq!(of(<RVec<u8> as StableAbi>::LAYOUT), "abi_stable 0.11.3");
    assert_eq!(of(<FfiFuture<()> as StableAbi>::LAYOUT), "async-ffi 0.5.1");
}
