use super::*;

fn find(find: &str, replace: &str) -> Params {
    Params { find: Some(find.to_owned()), replace: Some(replace.to_owned()), ..Params::default() }
}

fn number(number: Number) -> Params {
    Params { number: Some(number), ..Params::default() }
}

fn names(params: &Params, old: &[&str]) -> Vec<String> {
    let old: Vec<_> = old.iter().map(|name| OldName { name, is_directory: false }).collect();
    Rules::new(params).unwrap().new_names(&old)
}

fn name(params: &Params, old: &str) -> String {
    names(params, &[old]).remove(0)
}

fn error(params: &Params) -> String {
    Rules::new(params).unwrap_err().to_string()
}

#[test]
fn every_match_is_replaced_and_the_extension_counts_as_name() {
    assert_eq!(name(&find("a", "o"), "banana.avi"), "bonono.ovi");
    assert_eq!(name(&find("^IMG_", "trip "), "IMG_1.JPG"), "trip 1.JPG");
    assert_eq!(name(&find(" ", "_"), "-x y  z"), "-x_y__z");
    assert_eq!(name(&find("é+", "e"), "éé\nü.txt"), "e\nü.txt");
}

#[test]
fn groups_are_inserted_by_number_and_name() {
    assert_eq!(name(&find(r"(\d+)-(\d+)", "$2-$1"), "10-20.txt"), "20-10.txt");
    assert_eq!(name(&find(r"(?<y>\d{4})", "${y}_"), "a2024b"), "a2024_b");
    assert_eq!(name(&find("x", "$$1"), "x"), "$1");
    assert_eq!(name(&find("x", "5$"), "x"), "5$");
    assert_eq!(name(&find("x", "$0$0"), "x"), "xx");
}

#[test]
fn literal_takes_both_sides_as_they_are() {
    let params = Params { literal: true, ..find("(1)", "$1") };
    assert_eq!(name(&params, "a(1).txt"), "a$1.txt");
    assert_eq!(name(&params, "a1.txt"), "a1.txt");
}

#[test]
fn a_group_that_does_not_exist_is_an_error_and_not_an_empty_text() {
    let hint = "which `find` does not have; write `${1}x` to put text right after a group, `$$` for a dollar sign, or \
                set `literal` to true";
    assert_eq!(error(&find("(a)", "$1_b")), format!("`replace` refers to the group `1_b`, {hint}"));
    assert_eq!(error(&find("(a)", "$2")), format!("`replace` refers to the group `2`, {hint}"));
    assert_eq!(error(&find("(a)", "$$${who}")), format!("`replace` refers to the group `who`, {hint}"));
}

#[test]
fn rules_that_make_no_sense_are_refused() {
    assert_eq!(
        error(&Params::default()),
        "no rule given; give `find` and `replace`, or `case`, `extensionCase` or `number`"
    );
    assert_eq!(
        error(&Params { find: Some("a".to_owned()), ..Params::default() }),
        "`find` needs `replace`; give `\"replace\": \"\"` to remove what it finds"
    );
    assert_eq!(
        error(&Params { replace: Some("a".to_owned()), ..Params::default() }),
        "`replace` needs `find`; say what it replaces"
    );
    assert_eq!(
        error(&number(Number { step: 0, ..Number::default() })),
        "`number.step` is 0, so all numbers would be the same; make it at least 1"
    );
    let broken = Rules::new(&find("(", "")).unwrap_err();
    assert_eq!(broken.to_string(), "`find` is not a regular expression; correct it, or set `literal` to true");
    let cause = std::error::Error::source(&broken).unwrap().to_string();
    assert!(cause.contains("unclosed group"), "{cause}");
}

#[test]
fn case_changes_the_stem_and_leaves_the_extension() {
    let case = |case| Params { case: Some(case), ..Params::default() };
    assert_eq!(name(&case(Case::Lower), "My TRIP.JPG"), "my trip.JPG");
    assert_eq!(name(&case(Case::Upper), "straße.txt"), "STRASSE.txt");
    assert_eq!(name(&case(Case::Title), "my DON'T-do_2nd ßa.txt"), "My Don't-Do_2nd Ssa.txt");
    assert_eq!(name(&case(Case::Upper), "mr. smith"), "MR. SMITH");
    assert_eq!(name(&case(Case::Upper), ".profile"), ".PROFILE");
    assert_eq!(name(&case(Case::Upper), "a.tar.gz"), "A.TAR.gz");
    assert_eq!(name(&case(Case::Upper), "name."), "NAME.");
}

#[test]
fn the_extension_has_a_case_of_its_own() {
    let lower = Params { extension_case: Some(Case::Lower), ..Params::default() };
    assert_eq!(name(&lower, "IMG_1.JPG"), "IMG_1.jpg");
    assert_eq!(name(&lower, "README"), "README");
}

#[test]
fn a_directory_has_no_extension() {
    let rules = Rules::new(&Params { case: Some(Case::Upper), ..number(Number::default()) }).unwrap();
    assert_eq!(rules.new_names(&[OldName { name: "app-v1.x", is_directory: true }]), ["APP-V1.X-1"]);
}

#[test]
fn numbers_follow_the_given_order_and_are_wide_enough_to_sort() {
    let ten: Vec<String> = (0..10).map(|i| format!("f{i}.txt")).collect();
    let ten: Vec<&str> = ten.iter().rev().map(String::as_str).collect();
    let new = names(&number(Number::default()), &ten);
    assert_eq!(new[0], "f9-01.txt");
    assert_eq!(new[9], "f0-10.txt");
}

#[test]
fn numbers_can_be_shaped() {
    let rule = Number { start: 5, step: 10, width: Some(3), separator: "_".to_owned(), position: Position::Before };
    assert_eq!(names(&number(rule), &["a.txt", "b.txt"]), ["005_a.txt", "015_b.txt"]);
    let largest = Number { start: u32::MAX, step: u32::MAX, ..Number::default() };
    assert_eq!(names(&number(largest), &["a", "b"]), ["a-4294967295", "b-8589934590"]);
}

#[test]
fn a_number_can_be_the_whole_name() {
    let params = Params { number: Some(Number::default()), ..find("^IMG", "") };
    assert_eq!(names(&params, &["IMG.jpg", "IMG"]), ["1.jpg", "2"]);
}

#[test]
fn a_file_without_a_match_keeps_its_name_and_takes_no_number() {
    let params = Params { number: Some(Number::default()), case: Some(Case::Upper), ..find("img", "trip") };
    assert_eq!(names(&params, &["img.a", "notes.txt", "img.b"]), ["TRIP-1.a", "notes.txt", "TRIP-2.b"]);
}

#[test]
fn case_and_number_leave_a_new_directory_alone() {
    let params = Params { number: Some(Number::default()), case: Some(Case::Upper), ..find("^", "sub/") };
    assert_eq!(name(&params, "a.txt"), "sub/A-1.txt");
}
