use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn every_violation_is_listed_by_path() {
    let schema = json!({
        "type": "object",
        "properties": {"files": {"type": "array", "items": {"type": "string"}}, "n": {"type": "integer"}},
        "required": ["files", "find"],
    });
    let validator = Validator::new(&schema).unwrap();
    let error = validator.check("rename", &json!({"files": ["a", 1], "n": "x"})).unwrap_err();
    let mut paths: Vec<_> = error.violations.iter().map(|violation| violation.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["", "/files/1", "/n"]);
    let text = error.to_string();
    assert!(text.starts_with("invalid parameters for tool `rename`:\n- "), "{text}");
    assert!(text.contains("- /files/1: 1 is not of type \"string\""), "{text}");
    assert!(text.ends_with(r#"received: {"files":["a",1],"n":"x"}"#), "{text}");
}

fn validator(properties: Value) -> Validator {
    Validator::new(&json!({"type": "object", "properties": properties})).unwrap()
}

/// What becomes of a parameter with this schema; `None` where it is refused.
#[track_caller]
fn accepted(schema: Value, given: Value) -> Option<Value> {
    let parameters = validator(json!({"p": schema})).accept("t", json!({"p": given})).ok()?;
    Some(parameters.get("p").cloned().unwrap_or_else(|| json!("ABSENT")))
}

#[track_caller]
fn becomes(schema: Value, given: Value, expected: Value) {
    assert_eq!(accepted(schema.clone(), given.clone()), Some(expected), "{given} for {schema}");
}

#[track_caller]
fn is_refused(schema: Value, given: Value) {
    assert_eq!(accepted(schema.clone(), given.clone()), None, "{given} for {schema}");
}

#[test]
fn text_becomes_a_number() {
    let (integer, number) = (json!({"type": "integer"}), json!({"type": "number"}));
    for (text, expected) in [
        ("5", json!(5)),
        (" 5 ", json!(5)),
        ("-7\n", json!(-7)),
        ("5.0", json!(5)),
        ("5e3", json!(5000)),
        ("-0", json!(0)),
        ("9007199254740991.0", json!(9_007_199_254_740_991_i64)),
        ("18446744073709551615", json!(u64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
    ] {
        becomes(integer.clone(), json!(text), expected);
    }
    for (text, expected) in [
        ("5", json!(5)),
        ("0.1", json!(0.1)),
        ("-2.50", json!(-2.5)),
        ("1e300", json!(1e300)),
        ("0.30000000000000004", json!(0.1 + 0.2)),
        ("0.000", json!(0.0)),
    ] {
        becomes(number.clone(), json!(text), expected);
    }
    becomes(json!({"type": "integer", "enum": [1, 2]}), json!("2"), json!(2));
    becomes(json!({"type": "integer", "minimum": 3}), json!("3"), json!(3));
    is_refused(json!({"type": "integer", "minimum": 3}), json!("2"));
}

#[test]
fn text_that_would_lose_something_as_a_number_stays_text() {
    let (integer, number) = (json!({"type": "integer"}), json!({"type": "number"}));
    for text in ["5.5", "", " ", "five", "05", "+5", "0x10", "5,0", "1_000", "5 6", "Infinity", "NaN", "٥"] {
        is_refused(integer.clone(), json!(text));
    }
    for text in ["5.0000000000000000001", "9007199254740993.0", "9007199254740992.0", "18446744073709551616", "1e19"] {
        is_refused(integer.clone(), json!(text));
    }
    for text in
        ["12345678901234567890123", "0.10000000000000000000001", "1e-999", "1e999", "0e-9223372036854775808", "."]
    {
        is_refused(number.clone(), json!(text));
    }
}

#[test]
fn text_becomes_a_boolean() {
    let boolean = json!({"type": "boolean"});
    becomes(boolean.clone(), json!("true"), json!(true));
    becomes(boolean.clone(), json!(" false "), json!(false));
    for given in [json!("True"), json!("yes"), json!("1"), json!(1), json!(0)] {
        is_refused(boolean.clone(), given);
    }
}

#[test]
fn json_text_becomes_what_it_is_the_text_of() {
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}, "o": {"type": "object"}}});
    becomes(object.clone(), json!(r#" {"n": 5} "#), json!({"n": 5}));
    becomes(object.clone(), json!(r#"{"n": "5"}"#), json!({"n": 5}));
    becomes(object.clone(), json!(r#"{"o": "{\"x\": \"5\"}"}"#), json!({"o": {"x": "5"}}));
    is_refused(object.clone(), json!("[]"));
    is_refused(object.clone(), json!("{"));
    is_refused(object, json!("\"{}\""));
    let array = json!({"type": "array", "items": {"type": "string"}});
    becomes(array.clone(), json!(r#"["a", "b"]"#), json!(["a", "b"]));
    becomes(array.clone(), json!("[1]"), json!(["1"]));
    becomes(array, json!("[draft] notes"), json!(["[draft] notes"]));
    becomes(json!({"type": "string"}), json!("{}"), json!("{}"));

    let all = validator(json!({"n": {"type": "integer"}}));
    assert_eq!(all.accept("t", json!(r#"{"n": "5"}"#)), Ok(json!({"n": 5})));
    all.accept("t", json!(null)).unwrap_err();
}

#[test]
fn json_text_is_taken_out_of_json_text_three_times() {
    let leaf = json!({"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}}});
    becomes(leaf.clone(), json!(r#"{"a": "{\"b\": \"5\"}"}"#), json!({"a": {"b": 5}}));
    let deeper = json!({"type": "object", "additionalProperties": leaf});
    is_refused(deeper, json!(r#"{"z": "{\"a\": \"{\\\"b\\\": \\\"5\\\"}\"}"}"#));
}

#[test]
fn a_whole_number_becomes_a_string() {
    let string = json!({"type": "string"});
    becomes(string.clone(), json!(5), json!("5"));
    becomes(string.clone(), json!(-5), json!("-5"));
    becomes(string.clone(), json!(u64::MAX), json!(u64::MAX.to_string()));
    for given in [json!(1.1), json!(5.0), json!(true), json!(["a"]), json!({})] {
        is_refused(string.clone(), given);
    }
}

#[test]
fn a_single_value_becomes_an_array_where_the_items_accept_it() {
    let of = |items: Value| json!({"type": "array", "items": items});
    becomes(of(json!({"type": "string"})), json!("a"), json!(["a"]));
    becomes(of(json!({"type": "integer"})), json!("5"), json!([5]));
    becomes(of(json!({"type": "object"})), json!({"a": 1}), json!([{"a": 1}]));
    becomes(of(json!({"type": "object"})), json!(r#"{"a": 1}"#), json!([{"a": 1}]));
    becomes(of(of(json!({"type": "integer"}))), json!(5), json!([[5]]));
    becomes(json!({"type": "array"}), json!(true), json!([true]));
    is_refused(of(json!({"type": "string"})), json!({"a": 1}));
    is_refused(of(json!({"type": "string"})), json!(" "));
    is_refused(json!({"type": "array", "items": {"type": "string"}, "minItems": 2}), json!("a"));
}

#[test]
fn null_leaves_a_field_out_where_it_may_be() {
    let absent = json!("ABSENT");
    becomes(json!({"type": "integer"}), json!(null), absent.clone());
    becomes(json!({"type": "array"}), json!(null), absent.clone());
    becomes(json!({"enum": ["a", "b"]}), json!(null), absent.clone());
    becomes(json!({"const": 1}), json!(null), absent.clone());
    becomes(json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), json!(null), absent);
    becomes(json!({"type": ["integer", "null"]}), json!(null), json!(null));

    let nested = json!({"type": "object", "properties": {"a~/b": {"type": "string"}, "n": {"type": "integer"}}});
    becomes(nested.clone(), json!({"a~/b": null, "n": "1"}), json!({"n": 1}));
    becomes(json!({"type": "array", "items": nested}), json!([{"n": null}, {"n": 1}]), json!([{}, {"n": 1}]));
    is_refused(
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        json!({"n": null}),
    );
    is_refused(json!({"type": "array", "items": {"type": "integer"}}), json!([null]));
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    is_refused(map.clone(), json!({"p": null}));
    is_refused(json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}}), json!({"x": null}));
    is_refused(json!({"type": "object", "properties": {}, "additionalProperties": false}), json!({"x": null}));
}

#[test]
fn alternatives_are_tried_in_their_order() {
    let optional = |schema: Value| json!({"anyOf": [schema, {"type": "null"}]});
    becomes(optional(json!({"type": "integer"})), json!("5"), json!(5));
    becomes(optional(json!({"type": "integer"})), json!(null), json!(null));
    becomes(json!({"type": ["boolean", "integer"]}), json!("true"), json!(true));
    becomes(json!({"type": ["integer", "null"]}), json!("5"), json!(5));
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    becomes(optional(object.clone()), json!({"n": "5"}), json!({"n": 5}));
    becomes(optional(object.clone()), json!(r#"{"n": "5"}"#), json!({"n": 5}));
    is_refused(optional(object.clone()), json!({}));
    let strings = json!({"type": "array", "items": {"type": "string"}});
    becomes(optional(strings.clone()), json!("a"), json!(["a"]));
    becomes(json!({"anyOf": [strings, {"type": "boolean"}]}), json!("true"), json!(true));
    let tagged = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "string"}}, "required": ["kind", "n"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
    ]});
    becomes(tagged, json!({"kind": "b", "n": "5"}), json!({"kind": "b", "n": 5}));
}

#[test]
fn references_are_followed() {
    let schema = json!({
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/Point"}, "q": {"allOf": [{"$ref": "#/$defs/Point"}]}},
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"$ref": "#/$defs/Y"}}},
                  "Y": {"type": "integer"}},
    });
    let validator = Validator::new(&schema).unwrap();
    let given = json!({"p": {"x": "1", "y": null}, "q": {"x": null, "y": "2"}});
    assert_eq!(validator.accept("t", given), Ok(json!({"p": {"x": 1}, "q": {"y": 2}})));
    assert_eq!(validator.accept("t", json!({"p": null})), Ok(json!({})));
}

#[test]
fn nothing_but_types_is_put_right() {
    is_refused(json!({"enum": ["apply", "discard"]}), json!("Apply"));
    is_refused(json!({"type": "string", "enum": ["apply"]}), json!("APPLY"));
    is_refused(json!({"type": "string", "maxLength": 1}), json!("ab"));
    is_refused(json!({"type": "integer", "enum": [1]}), json!("2"));
}

#[test]
fn the_error_is_about_what_was_received() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
    let validator = Validator::new(&schema).unwrap();
    let given = json!({"a": "1", "b": "x"});
    let error = validator.accept("t", given.clone()).unwrap_err();
    assert_eq!(error, validator.check("t", &given).unwrap_err());
    assert_eq!((error.violations.len(), &error.received), (2, &given));
}

/// A schema with most of what can be put right.
fn mixed() -> Validator {
    let optional = json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]});
    validator(json!({
        "integer": {"type": "integer"},
        "number": {"type": ["number", "null"]},
        "boolean": {"type": "boolean"},
        "string": {"type": "string"},
        "strings": {"type": "array", "items": {"type": "string"}},
        "optional": optional,
        "object": {"type": "object", "properties": {"integer": {"type": "integer"}}},
    }))
}

fn parameters() -> impl Strategy<Value = Value> {
    const KEYS: [&str; 8] = ["integer", "number", "boolean", "string", "strings", "optional", "object", "other"];
    let text = prop_oneof![
        "[ -]?[0-9]{0,3}(\\.[0-9]{1,2})?(e[0-9])?".prop_map(Value::from),
        prop::sample::select(vec!["true", "null", "a", "", "[1]", "[\"a\"]", "{}", r#"{"integer": "1"}"#])
            .prop_map(Value::from),
    ];
    let leaf = prop_oneof![
        text,
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e3..1e3).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map(prop::sample::select(&KEYS[..]), inner, 0..3)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn what_satisfies_the_schema_is_never_changed_and_what_is_accepted_satisfies_it(given in parameters()) {
        let validator = mixed();
        let is_valid = validator.check("t", &given).is_ok();
        match validator.accept("t", given.clone()) {
            Ok(accepted) => {
                prop_assert!(validator.check("t", &accepted).is_ok());
                prop_assert!(!is_valid || accepted == given);
            }
            Err(error) => {
                prop_assert!(!is_valid);
                prop_assert_eq!(error.received, given);
            }
        }
    }

    #[test]
    fn every_number_survives_its_text(whole in any::<i64>(), real in prop::num::f64::NORMAL) {
        let validator = mixed();
        let given = json!({"integer": whole.to_string(), "number": json!(real).to_string()});
        prop_assert_eq!(validator.accept("t", given), Ok(json!({"integer": whole, "number": real})));
    }
}
