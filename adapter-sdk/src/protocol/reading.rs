//! How documents are read: what counts as absent, which unknown members are kept, how an invalid one is reported.

use std::fmt;
use std::ops::{Deref, DerefMut};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// `null` for a list or a map.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// `null` or the empty string for a text.
pub(super) fn empty_as_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// The unknown keys of a document. Formatting shows the keys only.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(transparent, inline)]
pub struct UnknownKeys(Map<String, Value>);

impl Deref for UnknownKeys {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl DerefMut for UnknownKeys {
    fn deref_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }
}

impl From<Map<String, Value>> for UnknownKeys {
    fn from(keys: Map<String, Value>) -> Self {
        Self(keys)
    }
}

impl fmt::Debug for UnknownKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// A rule of the protocol that a document breaks, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Path of the key inside the document, such as `instance_groups[0].vm_type`.
    pub path: String,
    /// The requirement of the rule, such as `must not be empty`.
    pub rule: &'static str,
}

/// All rules that one document breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// The broken rules, in the order of the document.
    pub fn iter(&self) -> std::slice::Iter<'_, Violation> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = std::slice::Iter<'a, Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, violation) in self.0.iter().enumerate() {
            if nth > 0 {
                f.write_str(", ")?;
            }
            write!(f, "`{}` {}", violation.path, violation.rule)?;
        }
        Ok(())
    }
}

/// Validates a document before it is decoded, so that every error is found and named by its path.
#[derive(Default)]
pub(super) struct Inspection {
    found: Vec<Violation>,
}

impl Inspection {
    pub(super) fn violate(&mut self, path: &str, rule: &'static str) {
        self.found.push(Violation {
            path: path.to_owned(),
            rule,
        });
    }

    /// The elements of an array that must be there, empty if it is not.
    pub(super) fn required_array<'v>(
        &mut self,
        object: &'v Map<String, Value>,
        parent: &str,
        key: &str,
    ) -> &'v [Value] {
        let path = join(parent, key);
        match object.get(key) {
            Some(Value::Array(elements)) => return elements,
            None | Some(Value::Null) => self.violate(&path, "is required"),
            Some(_) => self.violate(&path, "must be an array"),
        }
        &[]
    }

    pub(super) fn required_text(&mut self, object: &Map<String, Value>, parent: &str, key: &str) {
        let path = join(parent, key);
        match object.get(key) {
            Some(Value::String(text)) if !text.is_empty() => {}
            Some(Value::String(_) | Value::Null) | None => {
                self.violate(&path, "must not be empty");
            }
            Some(_) => self.violate(&path, "must be a string"),
        }
    }

    /// The object at that path; anything else but absence is a violation.
    pub(super) fn object<'v>(
        &mut self,
        value: &'v Value,
        path: &str,
    ) -> Option<&'v Map<String, Value>> {
        let object = value.as_object();
        if object.is_none() {
            self.violate(path, "must be an object");
        }
        object
    }

    pub(super) fn finish(self) -> Result<(), Violations> {
        if self.found.is_empty() {
            Ok(())
        } else {
            Err(Violations(self.found))
        }
    }
}

pub(super) fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() {
        key.to_owned()
    } else {
        format!("{parent}.{key}")
    }
}
