//! Numbers reach templates as 64-bit floats: `{{ .Values.n }}` prints `1e+06` for 1000000.

use serde_json::{Number, Value};

use super::{Values, paths};

/// From here on a template prints an integer with an exponent.
const WITH_EXPONENT: f64 = 1e6;

/// The largest integer up to which a float holds every one: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The paths of the integers that a template prints with an exponent, with the numbers.
pub(crate) fn large_integers(values: &Values) -> Vec<(String, Number)> {
    let mut found = Vec::new();
    paths::leaves(values, &mut |path, leaf| {
        each_number(leaf, &mut |number| {
            if number.is_i64() || number.is_u64() {
                let size = number.as_f64().unwrap_or_default().abs();
                if size >= WITH_EXPONENT {
                    found.push((path.join("."), number.clone()));
                }
            }
        });
    });
    found
}

/// Whether a float holds the number as it is.
pub(crate) fn is_exact(number: &Number) -> bool {
    if let Some(number) = number.as_i64() {
        number.unsigned_abs() <= 1 << 53
    } else if number.is_u64() {
        false
    } else {
        number.as_f64().is_some_and(|number| number.abs() <= EXACT)
    }
}

/// The numbers of a value, those in lists included.
pub(crate) fn each_number<'v>(value: &'v Value, visit: &mut impl FnMut(&'v Number)) {
    match value {
        Value::Number(number) => visit(number),
        Value::Array(items) => items.iter().for_each(|item| each_number(item, visit)),
        Value::Object(members) => members
            .values()
            .for_each(|member| each_number(member, visit)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
