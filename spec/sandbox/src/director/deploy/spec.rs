//! Asks a manifest for what it must and may say, and complains in the Director's words.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::manifest::Amount;
use crate::director::tasks::TaskFailure;

/// A part of the manifest, asked for its keys.
pub(super) struct Spec<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Spec<'a> {
    /// A document, or a part of one. What is no hash has no keys.
    pub(super) fn new(value: &'a Value) -> Self {
        static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        Self(value.as_object().unwrap_or(&EMPTY))
    }

    /// A key's value; `null` is none.
    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn required(&self, key: &'static str) -> Result<&'a Value, TaskFailure> {
        self.value(key).ok_or_else(|| TaskFailure::MissingProperty {
            property: key,
            object: Value::Object(self.0.clone()),
        })
    }

    /// Text, or a number for which the writer forgot the quotes, as versions often are.
    pub(super) fn text(&self, key: &'static str) -> Result<String, TaskFailure> {
        as_text(key, self.required(key)?)
    }

    pub(super) fn optional_text(&self, key: &'static str) -> Result<Option<String>, TaskFailure> {
        self.value(key).map(|value| as_text(key, value)).transpose()
    }

    pub(super) fn texts(&self, key: &'static str) -> Result<Vec<String>, TaskFailure> {
        self.items(key)?
            .iter()
            .map(|value| as_text(key, value))
            .collect()
    }

    pub(super) fn number(&self, key: &'static str) -> Result<Option<u64>, TaskFailure> {
        self.value(key)
            .map(|value| {
                value
                    .as_u64()
                    .ok_or_else(|| wrong_type(key, value, "Integer"))
            })
            .transpose()
    }

    pub(super) fn required_number(&self, key: &'static str) -> Result<u64, TaskFailure> {
        let value = self.required(key)?;
        value
            .as_u64()
            .ok_or_else(|| wrong_type(key, value, "Integer"))
    }

    pub(super) fn amount(
        &self,
        key: &'static str,
        default: Option<Amount>,
    ) -> Result<Amount, TaskFailure> {
        let value = match (self.value(key), default) {
            (Some(value), _) => value,
            (None, Some(default)) => return Ok(default),
            (None, None) => self.required(key)?,
        };
        let number = |number: &str| number.trim().parse().ok();
        let amount = match value {
            Value::String(text) => match text.strip_suffix('%') {
                Some(percent) => number(percent).map(Amount::Percent),
                None => number(text).map(Amount::Count),
            },
            other => other
                .as_u64()
                .and_then(|count| usize::try_from(count).ok())
                .map(Amount::Count),
        };
        amount.ok_or_else(|| wrong_type(key, value, "Integer"))
    }

    pub(super) fn list(&self, key: &'static str) -> Result<Vec<Spec<'a>>, TaskFailure> {
        self.required(key)?;
        self.optional_list(key)
    }

    pub(super) fn optional_list(&self, key: &'static str) -> Result<Vec<Spec<'a>>, TaskFailure> {
        let items = self.items(key)?.iter();
        items
            .map(|item| match item {
                Value::Object(_) => Ok(Spec::new(item)),
                other => Err(wrong_type(key, other, "Hash")),
            })
            .collect()
    }

    fn items(&self, key: &'static str) -> Result<&'a [Value], TaskFailure> {
        match self.value(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(wrong_type(key, other, "Array")),
        }
    }

    pub(super) fn map(&self, key: &'static str) -> Result<Spec<'a>, TaskFailure> {
        match self.required(key)? {
            map @ Value::Object(_) => Ok(Spec::new(map)),
            other => Err(wrong_type(key, other, "Hash")),
        }
    }

    pub(super) fn optional_map(
        &self,
        key: &'static str,
    ) -> Result<Map<String, Value>, TaskFailure> {
        match self.value(key) {
            None => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map.clone()),
            Some(other) => Err(wrong_type(key, other, "Hash")),
        }
    }
}

fn as_text(key: &'static str, value: &Value) -> Result<String, TaskFailure> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(wrong_type(key, other, "String")),
    }
}

fn wrong_type(property: &'static str, value: &Value, expected: &'static str) -> TaskFailure {
    TaskFailure::WrongType {
        property,
        value: value.clone(),
        expected,
    }
}
