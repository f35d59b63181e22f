//! Ops files: operations on a document, carried out in their order.

use std::path::Path;

use odb_adapter_sdk::yaml;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{
    FileError, Pointer, PointerError, in_project,
    pointer::{Insertion, Presence, Step, Upstreams},
    text_of,
};

/// A file of operations.
#[derive(Clone, Debug)]
pub struct OpsFile {
    name: String,
    operations: Vec<Operation>,
}

/// An operation that could not be carried out.
#[derive(Debug, thiserror::Error)]
#[error("operation {number} of `{file}` at `{path}` cannot be carried out")]
pub struct OperationError {
    file: String,
    /// From 1.
    number: usize,
    path: String,
    #[source]
    kind: OperationErrorKind,
}

/// Errors of an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationErrorKind {
    /// There are `replace` and `remove`.
    #[error("`{0}` is no type of operation: there are `replace` and `remove`")]
    UnknownType(String),
    /// A member is missing, or is one too much.
    #[error("{0}")]
    Member(&'static str),
    /// The path means nothing.
    #[error("the path means nothing: {0}")]
    Path(#[from] PointerError),
    /// Something of another kind is there.
    #[error("`{location}` is {found}, not {expected}")]
    Kind {
        /// Where.
        location: String,
        /// The expected type.
        expected: &'static str,
        /// The type found.
        found: &'static str,
    },
    /// A key is not there.
    #[error("there is no `{location}`, only {siblings}; a `?` behind it makes it")]
    NoKey {
        /// Where it should be.
        location: String,
        /// The existing keys.
        siblings: String,
    },
    /// None or several items match.
    #[error("`{location}` matches {count} items, not one")]
    Matches {
        /// The location that should match.
        location: String,
        /// How many do.
        count: usize,
    },
    /// A list is shorter.
    #[error("`{location}` is not in the list, which has {length} items")]
    NoItem {
        /// Which item.
        location: String,
        /// How many there are.
        length: usize,
    },
    /// The file's own error text.
    #[error("{0}")]
    Reported(String),
}

#[derive(Clone, Debug)]
struct Operation {
    pointer: Pointer,
    action: Action,
    /// The file's text for an operation that cannot be applied.
    error: Option<String>,
}

#[derive(Clone, Debug)]
enum Action {
    Replace(Value),
    Remove,
}

/// The operation as in the file. Unknown members are ignored, as by the CLI.
#[derive(Deserialize)]
struct Definition {
    #[serde(default, rename = "type")]
    kind: String,
    path: Option<String>,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    error: Option<String>,
}

impl OpsFile {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Self, FileError> {
        Self::parse(&file.display().to_string(), &text_of(file)?)
    }

    /// Reads a file of this project, such as `manifests/operations/quotas.yml`. One that cannot be read fails the test.
    pub fn of_project(file: &str) -> Self {
        Self::read(&in_project(file)).unwrap_or_else(|error| panic!("{error}: {error:?}"))
    }

    /// Reads a text; errors name it by `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileError> {
        let definitions = yaml::from_str::<Option<Vec<Definition>>>(text);
        let definitions = definitions.map_err(|source| FileError::Malformed {
            file: name.to_owned(),
            kind: "a list of operations",
            source,
        })?;
        let operation = |(index, definition): (usize, Definition)| {
            let path = definition.path.clone().unwrap_or_default();
            definition
                .understood()
                .map_err(|kind| FileError::Operation {
                    file: name.to_owned(),
                    source: Box::new(OperationError {
                        file: name.to_owned(),
                        number: index + 1,
                        path,
                        kind,
                    }),
                })
        };
        let definitions = definitions.into_iter().flatten().enumerate();
        Ok(Self {
            name: name.to_owned(),
            operations: definitions.map(operation).collect::<Result<_, _>>()?,
        })
    }

    /// Carries all of them out, or those before the first that cannot be.
    pub fn apply(&self, document: &mut Value) -> Result<(), OperationError> {
        for (index, operation) in self.operations.iter().enumerate() {
            operation.apply(document).map_err(|kind| OperationError {
                file: self.name.clone(),
                number: index + 1,
                path: operation.pointer.to_string(),
                kind,
            })?;
        }
        Ok(())
    }

    /// The values that the file inserts.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.operations
            .iter()
            .filter_map(|operation| match &operation.action {
                Action::Replace(value) => Some(value),
                Action::Remove => None,
            })
    }
}

impl OperationError {
    /// The kind of the error.
    pub fn kind(&self) -> &OperationErrorKind {
        &self.kind
    }
}

impl Definition {
    fn understood(self) -> Result<Operation, OperationErrorKind> {
        let path = self
            .path
            .ok_or(OperationErrorKind::Member("an operation has a `path`"))?;
        let pointer: Pointer = path.parse()?;
        let action = match (self.kind.as_str(), self.value) {
            // To the CLI, too, a null is no value.
            ("replace", Some(value)) if !value.is_null() => Action::Replace(value),
            ("replace", _) => return Err(OperationErrorKind::Member("`replace` has a `value`")),
            ("remove", None | Some(Value::Null)) => Action::Remove,
            ("remove", Some(_)) => {
                return Err(OperationErrorKind::Member("`remove` has no `value`"));
            }
            (other, _) => return Err(OperationErrorKind::UnknownType(other.to_owned())),
        };
        Ok(Operation {
            pointer,
            action,
            error: self.error,
        })
    }
}

impl Operation {
    fn apply(&self, document: &mut Value) -> Result<(), OperationErrorKind> {
        let steps = self.pointer.steps();
        let location = Location(String::new());
        let done = match &self.action {
            Action::Replace(value) => replace(document, steps, &location, value),
            Action::Remove if steps.is_empty() => Err(OperationErrorKind::Member(
                "the whole document cannot be removed",
            )),
            Action::Remove => remove(document, steps, &location),
        };
        done.map_err(|kind| match &self.error {
            Some(text) => OperationErrorKind::Reported(text.clone()),
            None => kind,
        })
    }
}

/// How far a path has been gone.
#[derive(Clone, Debug)]
struct Location(String);

impl Location {
    fn then(&self, step: &Step) -> Self {
        let step = match step {
            Step::Key { key, .. } => key.clone(),
            Step::Index { index, .. } => index.to_string(),
            Step::Item { key, value, .. } => format!("{key}={value}"),
            Step::End => "-".to_owned(),
        };
        Self(format!("{}/{step}", self.0))
    }
}

fn replace(
    target: &mut Value,
    steps: &[Step],
    location: &Location,
    value: &Value,
) -> Result<(), OperationErrorKind> {
    let Some((step, rest)) = steps.split_first() else {
        *target = value.clone();
        return Ok(());
    };
    let here = location.then(step);
    match step {
        Step::Key { key, presence } => {
            let map = map(target, location)?;
            if !map.contains_key(key) {
                if *presence == Presence::Required {
                    return Err(missing(map, &here));
                }
                map.insert(key.clone(), empty_for(rest.first()));
            }
            let next = map.get_mut(key).expect("it is there, or was put there");
            replace(next, rest, &here, value)
        }
        Step::Index { index, upstreams } => {
            let list = list(target, location)?;
            put(list, *index, *upstreams, rest, &here, value)
        }
        Step::Item {
            key,
            value: wanted,
            presence,
            upstreams,
        } => {
            let list = list(target, location)?;
            let matching = positions(list, key, wanted);
            if matching.is_empty() && *presence == Presence::Optional {
                let mut item =
                    Value::Object(Map::from_iter([(key.clone(), wanted.as_str().into())]));
                replace(&mut item, rest, &here, value)?;
                list.push(item);
                return Ok(());
            }
            put(
                list,
                only(&matching, &here)?,
                *upstreams,
                rest,
                &here,
                value,
            )
        }
        Step::End => {
            list(target, location)?.push(value.clone());
            Ok(())
        }
    }
}

/// Replaces an item, or something in it, or puts a new one beside it.
fn put(
    list: &mut Vec<Value>,
    index: i64,
    upstreams: Upstreams,
    rest: &[Step],
    here: &Location,
    value: &Value,
) -> Result<(), OperationErrorKind> {
    let at = position(list, index, upstreams.shift, here)?;
    match upstreams.insertion {
        None => replace(&mut list[at], rest, here, value),
        Some(_) if !rest.is_empty() => Err(PointerError::AfterInsertion.into()),
        Some(Insertion::Before) => {
            list.insert(at, value.clone());
            Ok(())
        }
        Some(Insertion::After) => {
            list.insert(at + 1, value.clone());
            Ok(())
        }
    }
}

fn remove(
    target: &mut Value,
    steps: &[Step],
    location: &Location,
) -> Result<(), OperationErrorKind> {
    let Some((step, rest)) = steps.split_first() else {
        return Ok(());
    };
    let here = location.then(step);
    match step {
        Step::Key { key, presence } => {
            let map = map(target, location)?;
            match map.get_mut(key) {
                None if *presence == Presence::Optional => Ok(()),
                None => Err(missing(map, &here)),
                Some(_) if rest.is_empty() => {
                    map.shift_remove(key);
                    Ok(())
                }
                Some(next) => remove(next, rest, &here),
            }
        }
        Step::Index { index, upstreams } => {
            take(list(target, location)?, *index, *upstreams, rest, &here)
        }
        Step::Item {
            key,
            value,
            presence,
            upstreams,
        } => {
            let list = list(target, location)?;
            let matching = positions(list, key, value);
            if matching.is_empty() && *presence == Presence::Optional {
                return Ok(());
            }
            take(list, only(&matching, &here)?, *upstreams, rest, &here)
        }
        Step::End => Err(OperationErrorKind::Member(
            "behind the last item nothing can be removed",
        )),
    }
}

/// Removes an item, or something in it.
fn take(
    list: &mut Vec<Value>,
    index: i64,
    upstreams: Upstreams,
    rest: &[Step],
    here: &Location,
) -> Result<(), OperationErrorKind> {
    if upstreams.insertion.is_some() {
        return Err(OperationErrorKind::Member(
            "between two items nothing can be removed",
        ));
    }
    let at = position(list, index, upstreams.shift, here)?;
    if rest.is_empty() {
        list.remove(at);
        Ok(())
    } else {
        remove(&mut list[at], rest, here)
    }
}

fn map<'v>(
    value: &'v mut Value,
    location: &Location,
) -> Result<&'v mut Map<String, Value>, OperationErrorKind> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(wrong_kind(other, location, "a map")),
    }
}

fn list<'v>(
    value: &'v mut Value,
    location: &Location,
) -> Result<&'v mut Vec<Value>, OperationErrorKind> {
    match value {
        Value::Array(list) => Ok(list),
        other => Err(wrong_kind(other, location, "a list")),
    }
}

fn wrong_kind(value: &Value, location: &Location, expected: &'static str) -> OperationErrorKind {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    };
    let location = if location.0.is_empty() {
        "/"
    } else {
        &location.0
    };
    OperationErrorKind::Kind {
        location: location.to_owned(),
        expected,
        found,
    }
}

fn missing(map: &Map<String, Value>, here: &Location) -> OperationErrorKind {
    let keys: Vec<String> = map.keys().map(|key| format!("`{key}`")).collect();
    let siblings = if keys.is_empty() {
        "an empty map".to_owned()
    } else {
        keys.join(", ")
    };
    OperationErrorKind::NoKey {
        location: here.0.clone(),
        siblings,
    }
}

/// The empty value for a missing key, so that the next step can be applied.
fn empty_for(next: Option<&Step>) -> Value {
    match next {
        None => Value::Null,
        Some(Step::Key { .. }) => Value::Object(Map::new()),
        Some(Step::Index { .. } | Step::Item { .. } | Step::End) => Value::Array(Vec::new()),
    }
}

fn positions(list: &[Value], key: &str, value: &str) -> Vec<i64> {
    let matches = |(_, item): &(i64, &Value)| item.get(key).and_then(Value::as_str) == Some(value);
    let items = (0..).zip(list).filter(matches);
    items.map(|(position, _)| position).collect()
}

fn only(matching: &[i64], here: &Location) -> Result<i64, OperationErrorKind> {
    match matching {
        [index] => Ok(*index),
        _ => Err(OperationErrorKind::Matches {
            location: here.0.clone(),
            count: matching.len(),
        }),
    }
}

fn position(
    list: &[Value],
    index: i64,
    shift: i64,
    here: &Location,
) -> Result<usize, OperationErrorKind> {
    let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let from_start = if index < 0 { length + index } else { index };
    let at = usize::try_from(from_start + shift).ok();
    at.filter(|at| *at < list.len())
        .ok_or_else(|| OperationErrorKind::NoItem {
            location: here.0.clone(),
            length: list.len(),
        })
}

/// A member that is there, be it null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests;
