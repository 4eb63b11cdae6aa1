//! What models get wrong about types, put right.
//!
//! Only values that fail validation are touched, nothing is lost, and it counts only where everything then satisfies
//! the schema. What is put right:
//!
//! | given | wanted | becomes |
//! |---|---|---|
//! | `"5"`, `" 5 "` | integer, number | `5` |
//! | `"5.0"`, `"5e3"` | integer | `5`, `5000` |
//! | `"0.5"` | number | `0.5` |
//! | `"true"`, `"false"` | boolean | `true`, `false` |
//! | the JSON text of an object or array | object, array | that object or array |
//! | `5` | string | `"5"` |
//! | a single value | array | an array of it, where the items accept it, put right itself where needed |
//! | `null` in a field that may be left out | anything but null | the field is left out |
//!
//! Text that is blank is no single value: a model that sends it has none. A fraction is never made a string, since
//! nobody knows any more whether it was `1.1` or `1.10`. The key of a map is no field that may be left out. A string
//! that differs from an enum's in its case stays wrong. Of the alternatives of an `anyOf` or `oneOf` the first counts
//! that can be satisfied without making an array, then the first with.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::types::{JsonType, JsonTypeSet};
use serde_json::{Number, Value};

/// One level of JSON text inside of JSON text each; more is no mistake that models make.
const ROUNDS: usize = 3;

/// Keywords below which an object's keys are data.
const MAPS: [&str; 3] = ["additionalProperties", "patternProperties", "unevaluatedProperties"];

/// The largest distance from zero within which every whole number has an `f64` of its own.
const WHOLE: f64 = 9_007_199_254_740_991.0;

/// The parameters put right; `None` where they cannot be.
pub(super) fn coerced(validator: &jsonschema::Validator, mut parameters: Value) -> Option<Value> {
    for _ in 0..ROUNDS {
        let repairs: Vec<_> = validator.iter_errors(&parameters).filter_map(|error| repairs_for(&error)).collect();
        if repairs.is_empty() {
            return None;
        }
        for repair in repairs.into_iter().flatten() {
            repair.apply(&mut parameters);
        }
        if validator.is_valid(&parameters) {
            return Some(parameters);
        }
    }
    None
}

/// A change to one value.
struct Repair {
    /// Where, as a JSON pointer.
    path: String,
    /// What is there now.
    from: Value,
    /// What should be; `None` where nothing should.
    to: Option<Value>,
}

impl Repair {
    /// Does nothing where an earlier repair has changed the value already.
    fn apply(self, parameters: &mut Value) {
        let Some(value) = parameters.pointer_mut(&self.path).filter(|value| **value == self.from) else {
            return;
        };
        if let Some(to) = self.to {
            *value = to;
        } else if let Some((parent, key)) = self.path.rsplit_once('/')
            && let Some(Value::Object(fields)) = parameters.pointer_mut(parent)
        {
            fields.remove(&key.replace("~1", "/").replace("~0", "~"));
        }
    }
}

/// Whether a single value may become an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrap {
    Never,
    Allowed,
}

fn repairs_for(error: &ValidationError<'_>) -> Option<Vec<Repair>> {
    repairs(error, Wrap::Never).or_else(|| repairs(error, Wrap::Allowed))
}

/// What would put this error right, as far as it can be seen from here.
fn repairs(error: &ValidationError<'_>, wrap: Wrap) -> Option<Vec<Repair>> {
    let value = error.instance();
    let to = match error.kind() {
        _ if value.is_null() => return may_be_absent(error).then(|| vec![repair(error, None)]),
        ValidationErrorKind::Type { kind } => convert(value, wanted(kind), wrap)?,
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            return context.iter().find_map(|errors| repairs_of_all(errors, wrap));
        }
        _ => return None,
    };
    Some(vec![repair(error, Some(to))])
}

fn repairs_of_all(errors: &[ValidationError<'_>], wrap: Wrap) -> Option<Vec<Repair>> {
    let repairs: Option<Vec<_>> = errors.iter().map(|error| repairs(error, wrap)).collect();
    Some(repairs?.into_iter().flatten().collect())
}

fn repair(error: &ValidationError<'_>, to: Option<Value>) -> Repair {
    Repair { path: error.instance_path().as_str().to_owned(), from: error.instance().as_ref().clone(), to }
}

/// Whether the value is that of a field that the schema names. Should the field be required, then leaving it out will
/// fail validation.
fn may_be_absent(error: &ValidationError<'_>) -> bool {
    let Some((_, key)) = error.instance_path().as_str().rsplit_once('/') else {
        return false;
    };
    let schema: Vec<_> = error.evaluation_path().as_str().split('/').collect();
    let named = schema.windows(2).rposition(|pair| *pair == ["properties", key]);
    named.is_some_and(|at| !schema[at + 2..].iter().any(|keyword| MAPS.contains(keyword)))
}

fn wanted(kind: &TypeKind) -> JsonTypeSet {
    match kind {
        TypeKind::Single(one) => (*one).into(),
        TypeKind::Multiple(several) => *several,
    }
}

fn convert(value: &Value, wanted: JsonTypeSet, wrap: Wrap) -> Option<Value> {
    let converted = match value {
        Value::String(text) => from_text(text, wanted),
        Value::Number(number) if wanted.contains(JsonType::String) && !number.is_f64() => {
            Some(number.to_string().into())
        }
        _ => None,
    };
    let is_blank = value.as_str().is_some_and(|text| text.trim().is_empty());
    let wraps = wrap == Wrap::Allowed && wanted.contains(JsonType::Array) && !is_blank;
    converted.or_else(|| wraps.then(|| Value::Array(vec![value.clone()])))
}

/// The value that a text is the JSON of, where its type is wanted.
fn from_text(text: &str, wanted: JsonTypeSet) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    match &value {
        Value::Bool(_) => wanted.contains(JsonType::Boolean).then_some(value),
        Value::Object(_) => wanted.contains(JsonType::Object).then_some(value),
        Value::Array(_) => wanted.contains(JsonType::Array).then_some(value),
        Value::Number(number) => self::number(number, text.trim(), wanted).map(Value::Number),
        Value::String(_) | Value::Null => None,
    }
}

/// The number that a text is, where it has the same digits.
fn number(number: &Number, text: &str, wanted: JsonTypeSet) -> Option<Number> {
    let takes_fractions = wanted.contains(JsonType::Number);
    if !takes_fractions && !wanted.contains(JsonType::Integer) {
        return None;
    }
    if !number.is_f64() {
        return Some(number.clone());
    }
    // The nearest one, which serde_json's own need not be.
    let nearest: f64 = text.parse().ok()?;
    let number = Number::from_f64(nearest)?;
    // Two texts can be equally short for one number; the standard library and serde_json then differ.
    let given = Decimal::of(text)?;
    if ![nearest.to_string(), number.to_string()].iter().any(|text| Decimal::of(text).as_ref() == Some(&given)) {
        return None;
    }
    if takes_fractions {
        return Some(number);
    }
    // Exact: whole, and in the range of both types.
    (nearest.fract() == 0.0 && nearest.abs() <= WHOLE).then(|| Number::from(nearest as i64))
}

/// A decimal number without its sign, in the one form that any writing of it has.
#[derive(PartialEq, Eq)]
struct Decimal {
    /// Without zeros at either end; empty for zero.
    digits: String,
    /// The power of ten that the last digit stands for.
    exponent: i64,
}

impl Decimal {
    fn of(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
        let significant = digits.trim_end_matches('0');
        let shift = i64::try_from(digits.len() - significant.len()).ok()? - i64::try_from(fraction.len()).ok()?;
        let exponent = i64::from(exponent.parse::<i32>().ok()?) + shift;
        let digits = significant.trim_start_matches('0').to_owned();
        Some(Self { exponent: if digits.is_empty() { 0 } else { exponent }, digits })
    }
}
