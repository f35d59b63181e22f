//! The members of a service or a plan, each with what it must be.

use serde_json::{Map, Value};

use super::errors::CatalogErrors;
use crate::director::ruby::inspect;

const DESCRIPTION_LIMIT: usize = 10_000;

/// Reads the members of one service or plan and notes what is wrong with them.
pub(super) struct Members<'a> {
    pub(super) object: &'a Map<String, Value>,
    pub(super) errors: &'a mut CatalogErrors,
}

impl<'a> Members<'a> {
    pub(super) fn given(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// `label` is the name of the member in an error.
    pub(super) fn required_text(&mut self, key: &str, label: &str) -> String {
        match self.given(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => return text.clone(),
            None | Some(Value::String(_)) => self.errors.say(format!("{label} is required")),
            Some(other) => self.wrong(label, "a string", other),
        }
        String::new()
    }

    pub(super) fn description(&mut self, label: &str) -> String {
        let description = self.required_text("description", label);
        if description.chars().count() > DESCRIPTION_LIMIT {
            self.errors.say(format!(
                "{label} may not have more than {DESCRIPTION_LIMIT} characters"
            ));
        }
        description
    }

    pub(super) fn required_flag(&mut self, key: &str, label: &str) -> bool {
        if self.given(key).is_none() {
            self.errors.say(format!("{label} is required"));
        }
        self.flag(key, label).unwrap_or_default()
    }

    pub(super) fn flag(&mut self, key: &str, label: &str) -> Option<bool> {
        let value = self.given(key)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.wrong(label, "a boolean", value);
        }
        flag
    }

    pub(super) fn integer(&mut self, key: &str, label: &str) -> Option<i64> {
        let value = self.given(key)?;
        let integer = value.as_i64();
        if integer.is_none() {
            self.wrong(label, "an integer", value);
        }
        integer
    }

    /// Absent is empty, `null` is wrong.
    pub(super) fn texts(&mut self, key: &str, label: &str) -> Vec<String> {
        let Some(value) = self.object.get(key) else {
            return Vec::new();
        };
        let texts = value.as_array().and_then(|items| {
            items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
        });
        texts.unwrap_or_else(|| {
            self.wrong(label, "an array of strings", value);
            Vec::new()
        })
    }

    pub(super) fn hash(&mut self, key: &str, label: &str) -> Option<&'a Map<String, Value>> {
        let value = self.given(key)?;
        let hash = value.as_object();
        if hash.is_none() {
            self.wrong(label, "a hash", value);
        }
        hash
    }

    pub(super) fn wrong(&mut self, label: &str, must_be: &str, value: &Value) {
        let value = inspect(value);
        self.errors
            .say(format!("{label} must be {must_be}, but has value {value}"));
    }
}
