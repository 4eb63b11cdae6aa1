//! Every version of the interface against every other, in both roles: host and plugin.

use std::fs;
use std::path::Path;

use toolhost_abi_forbidden as forbidden;

use super::*;

type Layout = &'static TypeLayout;

/// An interface by its name here.
type Interface = (&'static str, Layout);

fn root<R: StableAbi>() -> Layout {
    R::LAYOUT
}

fn current() -> Layout {
    root::<PluginRootRef>()
}

/// The copies in `plugin-sdk/abi/frozen`, by their version, the oldest first.
fn frozen() -> Vec<Interface> {
    vec![("1.0.0", root::<toolhost_abi_1_0_0::root::PluginRootRef>())]
}

/// Versions that do not exist, and could: each follows on the one before.
fn later() -> [Interface; 2] {
    [
        ("next", root::<toolhost_abi_next::root::PluginRootRef>()),
        ("after next", root::<toolhost_abi_after_next::root::PluginRootRef>()),
    ]
}

/// Versions that break a rule, with a part of what today's host says to their plugins.
fn broken() -> [(&'static str, Layout, &'static str); 6] {
    [
        ("inserted", root::<forbidden::inserted::root::PluginRootRef>(), "MismatchedPrefixSize"),
        ("removed", root::<forbidden::removed::root::PluginRootRef>(), "Size(ExpectedFound { expected: 40, found: 32"),
        ("moved", root::<forbidden::moved::root::PluginRootRef>(), "MismatchedPrefixSize"),
        ("swapped", root::<forbidden::swapped::root::PluginRootRef>(), "UnexpectedField"),
        ("retyped", root::<forbidden::retyped::root::PluginRootRef>(), "Name(ExpectedFound { expected: u8, found: u16"),
        ("answered", root::<forbidden::answered::root::PluginRootRef>(), "apply.__returns"),
    ]
}

/// A minor version beside the next, that does not follow on it.
fn forked() -> Interface {
    ("forked", root::<forbidden::forked::root::PluginRootRef>())
}

/// What follows one on another, from the first version to those that do not exist yet.
fn history() -> Vec<Interface> {
    frozen().into_iter().chain([("current", current())]).chain(later()).collect()
}

#[test]
fn every_version_takes_every_other() {
    for (host, ours) in history() {
        for (plugin, theirs) in history() {
            assert_eq!(agree(ours, theirs), Ok(()), "a plugin of {plugin} in a host of {host}");
        }
    }
}

#[test]
fn today_is_what_was_frozen_of_its_version() {
    let copies = frozen();
    let (_, copy) = copies.iter().find(|(version, _)| *version == ABI_VERSION).expect("it is frozen");
    // Either way alone would also take what has grown.
    assert_eq!((fits(current(), copy), fits(copy, current())), (Ok(()), Ok(())));
}

#[test]
fn every_frozen_copy_is_checked_here_as_what_it_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-sdk/abi/frozen");
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let copies = entries.filter(|entry| entry.path().is_dir());
    let mut found: Vec<String> = copies.map(|entry| entry.file_name().into_string().unwrap()).collect();
    found.sort();
    let mut listed: Vec<String> = frozen().iter().map(|(version, _)| (*version).to_owned()).collect();
    listed.sort();
    assert_eq!(found, listed);
    for (version, layout) in frozen() {
        // The root lies behind a pointer of abi_stable's own.
        let pointee = layout.phantom_fields().iter().next().unwrap().layout();
        let (package, stated) = pointee.package_and_version();
        assert_eq!((package.as_str(), stated.version.as_str()), ("toolhost-abi", version));
    }
}

#[test]
fn what_breaks_a_rule_is_refused_in_both_roles() {
    for (name, theirs, part) in broken() {
        let difference = agree(current(), theirs).unwrap_err();
        assert!(difference.contains(part), "{name}: {difference}");
        for (other, ours) in history() {
            assert!(agree(ours, theirs).is_err(), "a plugin with something {name} in a host of {other}");
            assert!(agree(theirs, ours).is_err(), "a plugin of {other} in a host with something {name}");
        }
    }
}

#[test]
fn a_fork_is_taken_by_its_origin_alone() {
    let (_, fork) = forked();
    let takes = |(version, layout): Interface| [agree(layout, fork), agree(fork, layout)].map(|v| (version, v.is_ok()));
    for (version, taken) in history().into_iter().flat_map(takes) {
        assert_eq!(taken, !later().iter().any(|(later, _)| *later == version), "{version}");
    }
}

#[test]
fn no_verdict_depends_on_those_before_it() {
    let (_, inserted, _) = broken()[0];
    let plugins = [history()[0], later()[0], later()[1], forked(), ("inserted", inserted)];
    let verdicts = [
        (current(), [true, true, true, true, false]),
        (later()[0].1, [true, true, true, false, false]),
        (later()[1].1, [true, true, true, false, false]),
    ];
    for (host, verdicts) in verdicts {
        for order in orders(&[0, 1, 2, 3, 4]) {
            let found: Vec<bool> = order.iter().map(|&plugin| agree(host, plugins[plugin].1).is_ok()).collect();
            let expected: Vec<bool> = order.iter().map(|&plugin| verdicts[plugin]).collect();
            assert_eq!(found, expected, "{:?}", order.iter().map(|&plugin| plugins[plugin].0).collect::<Vec<_>>());
        }
    }
}

/// Why [`fits`] starts anew: with one memory, as abi_stable's plain function has it, whoever comes first wins.
#[test]
fn a_memory_would_refuse_by_the_order_of_loading() {
    let fork = forked();
    for order in [[later()[0], fork], [fork, later()[0]]] {
        let memory = CheckingGlobals::new();
        let taken =
            order.map(|(_, plugin)| check_layout_compatibility_with_globals(current(), plugin, &memory).is_ok());
        assert_eq!(taken, [true, false]);
        assert_eq!(order.map(|(_, plugin)| agree(current(), plugin)), [Ok(()), Ok(())]);
    }
}

fn orders(items: &[usize]) -> Vec<Vec<usize>> {
    let Some((&first, rest)) = items.split_first() else {
        return vec![Vec::new()];
    };
    let places = 0..items.len();
    let with_first =
        |order: Vec<usize>| places.clone().map(move |place| [&order[..place], &[first], &order[place..]].concat());
    orders(rest).into_iter().flat_map(with_first).collect()
}

#[test]
fn there_are_as_many_orders_as_there_should_be() {
    assert_eq!(orders(&[0, 1, 2]).len(), 6);
    let mut all = orders(&[0, 1, 2, 3, 4]);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 120);
}
