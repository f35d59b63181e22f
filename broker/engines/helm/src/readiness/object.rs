//! One object as the API server returns it. Absent numbers are 0, as Kubernetes means them.

use serde_json::Value;

/// An object, or a part of one that has the same conventions.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a>(pub &'a Value);

/// An entry of `status.conditions`.
#[derive(Clone, Copy, Debug)]
pub struct Condition<'a>(&'a Value);

impl<'a> Object<'a> {
    pub fn kind(self) -> &'a str {
        self.text("/kind")
    }

    pub fn name(self) -> &'a str {
        self.text("/metadata/name")
    }

    pub fn is_being_deleted(self) -> bool {
        self.get("/metadata/deletionTimestamp").is_some()
    }

    /// Whether another object made this one and answers for it.
    pub fn has_controller(self) -> bool {
        let owners = self.get("/metadata/ownerReferences");
        let mut owners = owners.and_then(Value::as_array).into_iter().flatten();
        owners.any(|owner| owner["controller"] == true)
    }

    /// Whether the controller has seen the latest change. One that writes no status has seen nothing.
    pub(super) fn is_observed(self) -> bool {
        self.number("/status/observedGeneration") >= self.number("/metadata/generation")
    }

    /// A member by its JSON pointer; `null` is absent.
    pub(super) fn get(self, pointer: &str) -> Option<&'a Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, pointer: &str) -> &'a str {
        self.get(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(super) fn number(self, pointer: &str) -> i64 {
        self.number_or(pointer, 0)
    }

    pub(super) fn number_or(self, pointer: &str, default: i64) -> i64 {
        self.get(pointer).and_then(Value::as_i64).unwrap_or(default)
    }

    /// A condition that is true.
    pub(super) fn condition(self, kind: &str) -> Option<Condition<'a>> {
        self.condition_with(kind, "True")
    }

    pub(super) fn condition_with(self, kind: &str, status: &str) -> Option<Condition<'a>> {
        let conditions = self.get("/status/conditions");
        let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
        conditions
            .find(|condition| condition["type"] == kind && condition["status"] == status)
            .map(Condition)
    }
}

impl<'a> Condition<'a> {
    pub(super) fn reason(self) -> &'a str {
        self.0["reason"].as_str().unwrap_or_default()
    }

    /// Reason and message, as far as there are any.
    pub(super) fn cause(self) -> String {
        let message = self.0["message"].as_str().unwrap_or_default();
        match (self.reason(), message) {
            (reason, "") => reason.to_owned(),
            ("", message) => message.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        }
    }
}
