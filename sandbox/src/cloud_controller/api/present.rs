//! The forms of what many resources show.

use std::fmt::Display;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::call::View;
use crate::cloud_controller::{
    CloudController,
    model::{LastOperation, Metadata},
};

impl View<'_> {
    /// `{"href": …}` of a path. Links name the address of the settings, whatever address the client used.
    pub(super) fn link(&self, path: impl Display) -> Value {
        json!({"href": self.controller.href(path)})
    }
}

impl CloudController {
    pub(super) fn href(&self, path: impl Display) -> String {
        format!("{}{path}", self.0.settings.url)
    }
}

/// `2024-11-05T10:15:30Z`
pub(in crate::cloud_controller) fn stamp(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `{"data":{"guid":…}}`
pub(super) fn relation(guid: impl Display) -> Value {
    json!({"data": {"guid": guid.to_string()}})
}

/// The metadata of resources that have none.
pub(super) fn no_metadata() -> Value {
    json!(Metadata::default())
}

pub(super) fn last_operation(operation: &LastOperation) -> Value {
    json!({
        "type": operation.kind,
        "state": operation.state,
        "description": operation.description,
        "updated_at": stamp(operation.updated_at),
        "created_at": stamp(operation.created_at),
    })
}

/// Of a resource those members that were asked for; `relationships.x` keeps its place.
pub(super) fn selected(resource: &Value, fields: &[String]) -> Value {
    let mut selection = Map::new();
    for field in fields {
        match field.split_once('.') {
            None => {
                selection.insert(field.clone(), resource[field].clone());
            }
            Some((outer, inner)) => {
                let within = selection.entry(outer).or_insert_with(|| json!({}));
                within[inner] = resource[outer][inner].clone();
            }
        }
    }
    Value::Object(selection)
}
