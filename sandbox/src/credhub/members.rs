//! Reads objects of JSON, in bodies and in them. Members that mean nothing are refused by their name.

use actix_web::web::Bytes;
use serde_json::{Map, Value};

use super::rejection::Rejection;

/// The members of an object that have not been asked for yet.
pub(super) struct Members(Map<String, Value>);

impl Members {
    pub(super) fn read(body: &Bytes) -> Result<Self, Rejection> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(members)) => Ok(Self(members)),
            _ => Err(Rejection::Malformed),
        }
    }

    /// The members of a value, none of `null`.
    pub(super) fn of(value: Option<Value>) -> Result<Self, Rejection> {
        match value {
            None | Some(Value::Null) => Ok(Self(Map::new())),
            Some(Value::Object(members)) => Ok(Self(members)),
            Some(_) => Err(Rejection::Malformed),
        }
    }

    /// Takes a member out. `null` is none.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Rejection> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(Rejection::Malformed),
        }
    }

    /// Takes a text out; an empty one is none.
    pub(super) fn filled_text(&mut self, name: &str) -> Result<Option<String>, Rejection> {
        Ok(self.text(name)?.filter(|text| !text.is_empty()))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, Rejection> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(Value::String(text)) => match text.as_str() {
                "true" => Ok(Some(true)),
                "false" => Ok(Some(false)),
                _ => Err(Rejection::Malformed),
            },
            Some(_) => Err(Rejection::Malformed),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, Rejection> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number.as_u64().unwrap_or_default())),
            Some(Value::String(text)) => text.parse().map(Some).map_err(|_| Rejection::Malformed),
            Some(_) => Err(Rejection::Malformed),
        }
    }

    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>, Rejection> {
        let items = match self.take(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(Rejection::Malformed),
        };
        let text = |item| match item {
            Value::String(text) => Ok(text),
            _ => Err(Rejection::Malformed),
        };
        items.into_iter().map(text).collect()
    }

    /// The name of a member that was not read.
    pub(super) fn unknown(&self) -> Option<String> {
        self.0.keys().next().cloned()
    }

    pub(super) fn end(self) -> Result<(), Rejection> {
        self.unknown()
            .map_or(Ok(()), |name| Err(Rejection::UnknownMember(name)))
    }
}
