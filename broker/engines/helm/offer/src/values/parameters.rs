//! The parameters of a user, held against the rules of an offer before anything is made.

use serde::de::DeserializeSeed;
use serde_json::Value;

use super::{
    Kinds, Values, changes_of_kind, effective,
    json::{Bounds, Strict},
    merge, numbers,
    paths::{self, Pattern},
    schema::{ValuesSchema, Violation},
};

const SIZE: usize = 64 * 1024;
const DEPTH: usize = 16;
const KEYS: usize = 2_000;

/// What a user may not set unless the offer has an allow list: what leads to other images, other rights or other nodes.
pub const DENIED: &[&str] = &[
    "global.imageRegistry",
    "global.imagePullSecrets",
    "global.security",
    "*.image.registry",
    "*.image.repository",
    "image.registry",
    "image.repository",
    "*.containerSecurityContext",
    "*.podSecurityContext",
    "*.hostNetwork",
    "*.hostPID",
    "*.extraVolumes",
    "*.extraVolumeMounts",
    "*.initContainers",
    "*.sidecars",
    "*.serviceAccount",
    "rbac",
    "extraDeploy",
    "commonAnnotations",
    "namespaceOverride",
    "fullnameOverride",
    "nameOverride",
    "kubeVersion",
    "odb",
];

/// Which paths a user may set.
#[derive(Clone, Debug)]
pub enum Settable {
    /// These and what lies below them.
    Only(Vec<Pattern>),
    /// All but these.
    AllBut(Vec<Pattern>),
}

impl Default for Settable {
    fn default() -> Self {
        Self::AllBut(
            DENIED
                .iter()
                .filter_map(|path| Pattern::parse(path))
                .collect(),
        )
    }
}

/// Parameters that are refused. The texts are for the user: they name paths, never values.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParametersError {
    #[error("the parameters have {0} bytes; the limit is {SIZE}")]
    TooLarge(usize),
    #[error("the parameters must be a JSON object")]
    NoObject,
    #[error("the parameters are not valid: {0}")]
    Malformed(String),
    #[error("{}", .0.join("; "))]
    Refused(Vec<String>),
}

/// What a chart is given without the user.
#[derive(Clone, Copy, Debug)]
pub struct Base<'b> {
    pub defaults: &'b Values,
    /// Overrides and plan, merged.
    pub layers: &'b Values,
    pub schema: Validation<'b>,
    pub settable: &'b Settable,
}

/// What the parameters are validated against.
#[derive(Clone, Copy, Debug)]
pub enum Validation<'b> {
    /// The chart's schema, which describes all of its values.
    Values(&'b ValuesSchema),
    /// A schema of the offer, which describes the parameters alone.
    Parameters(&'b ValuesSchema),
    Nothing,
}

/// Reads the JSON of an order. Absent, `null` and `{}` are the same.
pub fn parse(json: &str) -> Result<Values, ParametersError> {
    if json.len() > SIZE {
        return Err(ParametersError::TooLarge(json.len()));
    }
    let mut bounds = Bounds {
        depth: DEPTH,
        keys: KEYS,
    };
    let mut reader = serde_json::Deserializer::from_str(json);
    let strict = Strict {
        depth: 0,
        bounds: &mut bounds,
    };
    let value = strict.deserialize(&mut reader);
    let value = value.and_then(|value| reader.end().map(|()| value));
    match value.map_err(|error| ParametersError::Malformed(error.to_string()))? {
        Value::Null => Ok(Values::new()),
        Value::Object(values) => Ok(values),
        _ => Err(ParametersError::NoObject),
    }
}

/// Checks the accumulated parameters; reports everything that is wrong with them.
pub fn check(parameters: &Values, base: Base<'_>) -> Result<(), ParametersError> {
    let mut refused = Vec::new();
    let without = effective(base.defaults, base.layers);
    check_paths(parameters, &without, base.settable, &mut refused);
    paths::leaves(parameters, &mut |path, leaf| {
        numbers::each_number(leaf, &mut |number| {
            if !numbers::is_exact(number) {
                let path = path.join(".");
                refused.push(format!(
                    "`{path}` is a number beyond 2^53, which charts read inexactly"
                ));
            }
        });
    });
    changes_of_kind(&without, parameters, &mut |path, kinds| {
        let path = path.join(".");
        refused.push(match kinds {
            Kinds::MapBy(kind) => {
                format!("`{path}` is a group of settings in this service; {kind} was given")
            }
            Kinds::ByMap(kind) => format!("`{path}` is {kind} in this service; a map was given"),
        });
    });
    // The schema would only repeat these.
    if refused.is_empty() {
        match base.schema {
            Validation::Values(schema) => {
                let mut layers = base.layers.clone();
                merge(&mut layers, parameters);
                let before = schema.violations(&without);
                let after = schema.violations(&effective(base.defaults, &layers));
                let own = after.into_iter().filter(|violation| {
                    !before.contains(violation) || is_given(parameters, violation)
                });
                refused.extend(own.map(|violation| violation.text));
            }
            Validation::Parameters(schema) => {
                let violations = schema.violations(parameters);
                refused.extend(violations.into_iter().map(|violation| violation.text));
            }
            Validation::Nothing => {}
        }
    }
    if refused.is_empty() {
        Ok(())
    } else {
        Err(ParametersError::Refused(refused))
    }
}

fn check_paths(parameters: &Values, base: &Values, settable: &Settable, refused: &mut Vec<String>) {
    paths::leaves(parameters, &mut |path, leaf| {
        let name = path.join(".");
        let is_no_change = matches!(
            (leaf, paths::at(base, path)),
            (Value::Object(_), Some(Value::Object(_)))
        );
        match settable {
            _ if is_no_change => {}
            Settable::Only(allowed) if !allowed.iter().any(|pattern| pattern.covers(path)) => {
                let list: Vec<String> = allowed
                    .iter()
                    .map(|pattern| format!("`{pattern}`"))
                    .collect();
                let list = list.join(", ");
                refused.push(format!(
                    "this service does not let `{name}` be set; it lets {list}"
                ));
            }
            Settable::Only(_) => {}
            Settable::AllBut(denied) => {
                if let Some(pattern) = denied
                    .iter()
                    .find(|pattern| removes(pattern, path, leaf, base))
                {
                    refused.push(format!(
                        "this service does not let `{name}` be set (rule `{pattern}`)"
                    ));
                }
            }
        }
    });
}

/// Whether a value is denied, or a `null` removes something that is.
fn removes(pattern: &Pattern, path: &[&str], leaf: &Value, base: &Values) -> bool {
    if pattern.covers(path) {
        return true;
    }
    let (Value::Null, Some(Value::Object(below))) = (leaf, paths::at(base, path)) else {
        return false;
    };
    let mut is_denied = false;
    paths::leaves(below, &mut |rest, _| {
        let whole: Vec<&str> = path.iter().chain(rest).copied().collect();
        is_denied |= pattern.covers(&whole);
    });
    is_denied
}

/// Whether the user set the value, a part of it or a map around it.
fn is_given(parameters: &Values, violation: &Violation) -> bool {
    let mut is_given = false;
    paths::leaves(parameters, &mut |path, _| {
        let is_same = path
            .iter()
            .zip(&violation.path)
            .all(|(one, other)| one == other);
        is_given |= is_same && !violation.path.is_empty();
    });
    is_given
}
