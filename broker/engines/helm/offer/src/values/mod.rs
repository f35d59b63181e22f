//! Values of charts in layers: defaults, overrides, plan, parameters of the user.
//!
//! | file | contents |
//! | --- | --- |
//! | here | merging, as Helm does it |
//! | `paths` | paths of values, and patterns of paths |
//! | `layer` | the layers that authors write, rendered |
//! | `numbers` | what becomes of numbers on their way into templates |
//! | `parameters` | the parameters of users |
//! | `json` | JSON of users, read strictly |
//! | `schema` | `values.schema.json` |

mod json;
pub mod layer;
mod numbers;
pub mod parameters;
pub(crate) mod paths;
pub(crate) mod schema;

use serde_json::{Map, Value};

pub(crate) use numbers::large_integers;

/// The values of a chart.
pub type Values = Map<String, Value>;

/// Lays `over` on `under`. Maps merge at every depth; lists and scalars replace as a whole. A `null` stays: laid over the
/// chart's defaults it removes a key.
pub fn merge(under: &mut Values, over: &Values) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Object(under)), Value::Object(over)) => merge(under, over),
            _ => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

/// What templates see: the defaults with the layers laid over them, without the keys that a `null` removes.
pub fn effective(defaults: &Values, layers: &Values) -> Values {
    let mut values = defaults.clone();
    lay(&mut values, layers);
    values
}

fn lay(under: &mut Values, over: &Values) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(_), Value::Null) => {
                under.remove(key);
            }
            (Some(Value::Object(under)), Value::Object(over)) => lay(under, over),
            _ => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Calls `visit` with every path where one side has a map and the other a scalar or list.
pub(crate) fn changes_of_kind(
    under: &Values,
    over: &Values,
    visit: &mut impl FnMut(&[&str], Kinds),
) {
    walk(under, over, &mut Vec::new(), visit);
}

/// What stands where a map is expected, or the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kinds {
    /// A map is replaced.
    MapBy(&'static str),
    /// A scalar or list is replaced by a map.
    ByMap(&'static str),
}

fn walk<'v>(
    under: &'v Values,
    over: &'v Values,
    path: &mut Vec<&'v str>,
    visit: &mut impl FnMut(&[&str], Kinds),
) {
    for (key, value) in over {
        let Some(old) = under.get(key) else { continue };
        path.push(key);
        match (old, value) {
            (Value::Object(under), Value::Object(over)) => walk(under, over, path, visit),
            (Value::Object(_), Value::Null) | (Value::Null, _) => {}
            (Value::Object(_), other) => visit(path, Kinds::MapBy(kind(other))),
            (other, Value::Object(_)) => visit(path, Kinds::ByMap(kind(other))),
            _ => {}
        }
        path.pop();
    }
}

pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    pub(super) fn values() -> impl Strategy<Value = Values> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-9i64..9).prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from),
            prop::collection::vec((0u8..3).prop_map(Value::from), 0..3).prop_map(Value::from),
        ];
        let tree = leaf.prop_recursive(3, 24, 4, |inner| {
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
        });
        prop::collection::btree_map("[a-d]", tree, 0..4).prop_map(|map| map.into_iter().collect())
    }

    fn merged(layers: &[&Values]) -> Values {
        let mut all = Values::new();
        for layer in layers {
            merge(&mut all, layer);
        }
        all
    }

    proptest! {
        #[test]
        fn what_the_last_layer_does_not_reach_stays(a in values(), b in values()) {
            let all = merged(&[&a, &b]);
            paths::leaves(&a, &mut |path, leaf| {
                let is_reached = (1..=path.len()).any(|end| {
                    let over = paths::at(&b, &path[..end]);
                    over.is_some_and(|over| end == path.len() || !over.is_object())
                });
                assert!(is_reached || paths::at(&all, path) == Some(leaf), "{path:?}");
            });
        }

        #[test]
        fn a_layer_laid_twice_counts_once(a in values(), b in values()) {
            prop_assert_eq!(merged(&[&a, &b, &b]), merged(&[&a, &b]));
        }

        #[test]
        fn every_leaf_of_the_last_layer_is_there(a in values(), b in values()) {
            let all = merged(&[&a, &b]);
            paths::leaves(&b, &mut |path, leaf| {
                let found = paths::at(&all, path);
                let is_kept = match leaf {
                    // An empty map changes nothing below it.
                    Value::Object(_) => found.is_some_and(Value::is_object),
                    leaf => found == Some(leaf),
                };
                assert!(is_kept, "{path:?}");
            });
        }
    }

    #[test]
    fn maps_merge_lists_and_scalars_replace_and_null_removes_a_default() {
        let map = |value: Value| value.as_object().cloned().unwrap();
        let defaults = map(json!({"m": {"x": 1, "y": 2}, "l": [1, 2, 3], "s": "a"}));
        for (layers, expected) in [
            (
                json!({"m": {"y": null}}),
                json!({"m": {"x": 1}, "l": [1, 2, 3], "s": "a"}),
            ),
            (
                json!({"l": [9]}),
                json!({"m": {"x": 1, "y": 2}, "l": [9], "s": "a"}),
            ),
            (json!({"m": null}), json!({"l": [1, 2, 3], "s": "a"})),
            (
                json!({"new": null, "s": {"t": 1}}),
                json!({"m": {"x": 1, "y": 2}, "l": [1, 2, 3], "s": {"t": 1}, "new": null}),
            ),
        ] {
            assert_eq!(Value::Object(effective(&defaults, &map(layers))), expected);
        }
    }
}
