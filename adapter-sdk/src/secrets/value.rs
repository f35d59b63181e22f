use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

/// The value of an ODB-managed secret: the broker stores nothing else (`spec/contracts/adapter-protocol.md`, "stdout").
/// Formatting does not show it.
#[derive(Clone)]
pub enum SecretValue {
    /// A text.
    Text(SecretString),
    /// Several values under their names.
    Object(Map<String, Value>),
}

impl SecretValue {
    /// The plain secret in a manifest; `None` for a value that is no secret or cannot be stored as one.
    pub(super) fn in_plain_text(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if !text.is_empty() => Some(Self::Text(text.as_str().into())),
            Value::Number(number) => Some(Self::Text(number.to_string().into())),
            Value::Object(members) => Some(Self::Object(members.clone())),
            _ => None,
        }
    }

    /// Whether the broker's value of a secret is this one: a text unchanged, an object as JSON text.
    pub(super) fn is_reported_as(&self, reported: &str) -> bool {
        match self {
            Self::Text(text) => text.expose_secret() == reported,
            Self::Object(members) => serde_json::from_str::<Map<String, Value>>(reported)
                .is_ok_and(|reported| reported == *members),
        }
    }

    pub(super) fn expose(self) -> Value {
        match self {
            Self::Text(text) => text.expose_secret().into(),
            Self::Object(members) => members.into(),
        }
    }
}

impl From<SecretString> for SecretValue {
    fn from(text: SecretString) -> Self {
        Self::Text(text)
    }
}

impl From<String> for SecretValue {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<&str> for SecretValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Map<String, Value>> for SecretValue {
    fn from(members: Map<String, Value>) -> Self {
        Self::Object(members)
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "SecretValue::Text(…)",
            Self::Object(_) => "SecretValue::Object(…)",
        })
    }
}
