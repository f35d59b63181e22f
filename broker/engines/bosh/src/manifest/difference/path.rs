//! A location in a document, and which part of it may be shown.

use std::fmt;

use odb_redaction::redact;
use serde_json::Value;

use super::allowed::{Allowed, MANIFEST};

/// A location in a document. Displayed as `instance_groups[redis-server].vm_type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    segments: Vec<Segment>,
    allowed: Allowed,
}

/// A segment of a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// The member of a map.
    Member(String),
    /// The member of a list, by name or index; or the member of a map whose keys may be secrets, by index.
    Item(String),
}

/// The value at a path, as far as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// A value without parts.
    Value(Value),
    /// A value that may be or contain a secret.
    Masked,
}

impl Path {
    /// The root of a manifest.
    pub(super) fn of_manifest() -> Self {
        Self {
            segments: Vec::new(),
            allowed: MANIFEST,
        }
    }

    /// The root of a BOSH config of this type.
    pub(super) fn of_config(kind: &str) -> Self {
        Self {
            segments: vec![
                Segment::Member("configs".to_owned()),
                Segment::Item(kind.to_owned()),
            ],
            allowed: Allowed::of_config(kind),
        }
    }

    /// A member of the map at this path: by its key, or by its number if keys may be secrets.
    pub(super) fn member(&self, key: &str, number: usize) -> Self {
        let segment = match self.allowed {
            Allowed::Members(_) => Segment::Member(key.to_owned()),
            Allowed::Nothing | Allowed::Value | Allowed::Address => {
                Segment::Item(number.to_string())
            }
        };
        self.then(segment, self.allowed.of_member(key))
    }

    /// A member of the list at this path, by its name or number.
    pub(super) fn item(&self, name: &str) -> Self {
        self.then(Segment::Item(name.to_owned()), self.allowed)
    }

    /// The same location; nothing at and below it is shown.
    pub(super) fn masked(self) -> Self {
        Self {
            allowed: Allowed::Nothing,
            ..self
        }
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether the name under this key of a list's member may be shown.
    pub(super) fn shows_name(&self, key: &str, name: &str) -> bool {
        self.allowed.of_member(key) == Allowed::Value && !looks_secret(name)
    }

    /// The value at this path. A map or list may hold secrets and is not shown.
    pub(super) fn show(&self, value: &Value) -> Shown {
        match (self.allowed, value) {
            (_, Value::Object(_) | Value::Array(_))
            | (Allowed::Nothing | Allowed::Members(_), _) => Shown::Masked,
            (Allowed::Value | Allowed::Address, Value::String(text)) if looks_secret(text) => {
                Shown::Masked
            }
            (Allowed::Address, Value::String(text)) => Shown::Value(without_query(text).into()),
            (Allowed::Value | Allowed::Address, value) => Shown::Value(value.clone()),
        }
    }

    fn then(&self, segment: Segment, allowed: Allowed) -> Self {
        let mut segments = self.segments.clone();
        segments.push(segment);
        Self { segments, allowed }
    }
}

/// An address can hold a password, and a text anything.
fn looks_secret(text: &str) -> bool {
    let has_user = text
        .split_once("://")
        .is_some_and(|(_, rest)| rest.contains('@'));
    has_user || redact(text) != text
}

fn without_query(address: &str) -> &str {
    let end = address.find(['?', '#']);
    end.map_or(address, |end| &address[..end])
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Member(key) if index == 0 => f.write_str(key)?,
                Segment::Member(key) => write!(f, ".{key}")?,
                Segment::Item(name) => write!(f, "[{name}]")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, ": {value}"),
            Self::Masked => Ok(()),
        }
    }
}
