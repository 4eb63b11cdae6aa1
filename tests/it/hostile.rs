//! A real plugin, damaged in every way that a disk, a transfer or somebody with bad intentions damages a file. The host
//! that is told to load it lives on.

mod children;
mod damage;

use std::fs;

use toolhost_tests::Fixture;

use self::children::{Outcome, outcomes};
use self::damage::{Damaged, Random, Region};
use crate::support::plugin;

/// How many files are cut off, and how many end in zeros.
const CUT: usize = 256;
/// How many files have one bit flipped, anywhere.
const FLIPPED: usize = 500;
/// The same in each of the tables that the system's loader reads.
const FLIPPED_IN_TABLE: usize = 150;

fn original() -> Vec<u8> {
    fs::read(plugin(Fixture::Empty)).unwrap()
}

/// How many ended in this way.
fn count(outcomes: &[(String, Outcome)], wanted: fn(&Outcome) -> bool) -> usize {
    outcomes.iter().filter(|(_, outcome)| wanted(outcome)).count()
}

fn died(outcomes: &[(String, Outcome)]) -> Vec<String> {
    let died = outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Died(_)));
    died.map(|(name, outcome)| format!("{name}: {outcome:?}")).collect()
}

/// The same without files in which a bit of these parts was flipped.
fn died_outside(outcomes: &[(String, Outcome)], parts: &[Region]) -> Vec<String> {
    let mut died = died(outcomes);
    died.retain(|name| !parts.iter().any(|part| part.holds(damage::bit_of(name))));
    died
}

fn report(what: &str, outcomes: &[(String, Outcome)]) {
    println!(
        "{what}: {} files, {} refused, {} not opened, {} loaded, {} ended the child",
        outcomes.len(),
        count(outcomes, |outcome| matches!(outcome, Outcome::Refused(_))),
        count(outcomes, |outcome| matches!(outcome, Outcome::Failed(_))),
        count(outcomes, |outcome| matches!(outcome, Outcome::Loaded)),
        count(outcomes, |outcome| matches!(outcome, Outcome::Died(_))),
    );
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let original = original();
    let files = (0..CUT).map(|at| Damaged::cut(&original, original.len() * at / CUT));
    let outcomes = outcomes(files);
    report("cut off", &outcomes);
    let refused =
        |outcome: &Outcome| matches!(outcome, Outcome::Refused(code) if ["TH0201", "TH0203"].contains(&&**code));
    assert_eq!(count(&outcomes, refused), CUT, "{outcomes:?}");
}

#[test]
fn a_file_that_ends_in_zeros_ends_no_host() {
    let original = original();
    let files = (0..CUT).map(|at| Damaged::zeroed(&original, original.len() * at / CUT));
    let outcomes = outcomes(files);
    report("zeroed", &outcomes);
    assert_eq!(died(&outcomes), Vec::<String>::new());
}

#[test]
fn a_flipped_bit_anywhere_ends_a_host_only_where_nothing_can_tell() {
    let original = original();
    let bits = Region::whole(&original).some_bits(&mut Random::new(1), FLIPPED);
    let outcomes = outcomes(bits.into_iter().map(|bit| Damaged::flipped(&original, bit)));
    report("flipped", &outcomes);
    // Code and data are what their author says they are. What the system's loader reads is not.
    let tables = Region::of_loader(&original);
    let mut died = died_outside(&outcomes, &Region::of_calls(&original));
    died.retain(|name| tables.iter().any(|table| table.holds(damage::bit_of(name))));
    assert_eq!(died, Vec::<String>::new());
}

#[test]
fn a_flipped_bit_in_a_table_ends_no_host() {
    let original = original();
    let mut random = Random::new(2);
    for table in Region::of_loader(&original) {
        let bits = table.some_bits(&mut random, FLIPPED_IN_TABLE);
        let outcomes = outcomes(bits.into_iter().map(|bit| Damaged::flipped(&original, bit)));
        report(&table.name, &outcomes);
        assert_eq!(died_outside(&outcomes, &Region::of_calls(&original)), Vec::<String>::new(), "{}", table.name);
    }
}

/// A relocation or a symbol that fits and is not the right one leads the plugin's own code astray.
#[test]
fn a_flipped_bit_in_a_relocation_or_a_symbol_is_refused_or_the_plugins_own_affair() {
    let original = original();
    let mut random = Random::new(3);
    for table in Region::of_addresses(&original) {
        let bits = table.some_bits(&mut random, FLIPPED_IN_TABLE);
        let outcomes = outcomes(bits.into_iter().map(|bit| Damaged::flipped(&original, bit)));
        report(&table.name, &outcomes);
        assert!(count(&outcomes, |outcome| matches!(outcome, Outcome::Refused(_))) > 0, "{}", table.name);
    }
}

#[test]
#[ignore = "by hand, since it takes minutes: every bit of the tables"]
fn no_bit_of_a_table_ends_a_host() {
    let original = original();
    let mut all = Vec::new();
    for table in Region::of_loader(&original) {
        let outcomes = outcomes(table.bits().map(|bit| Damaged::flipped(&original, bit)));
        report(&table.name, &outcomes);
        let died = died_outside(&outcomes, &Region::of_calls(&original));
        all.extend(died.into_iter().map(|died| format!("{} {died}", table.name)));
    }
    assert_eq!(all, Vec::<String>::new());
}
