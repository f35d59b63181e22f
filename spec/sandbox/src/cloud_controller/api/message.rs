//! Request bodies.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::cloud_controller::refusal::{Fault, Refusal};

/// Reads a body. What is not JSON is one error, what has other members than it may have another.
pub(super) fn message<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let value: Value = serde_json::from_slice(body).map_err(|_| {
        Fault::MessageParseError.with("Request invalid due to parse error: invalid request body")
    })?;
    serde_json::from_value(value).map_err(|error| Refusal::unprocessable(error.to_string()))
}

/// Refuses labels and annotations, which this Cloud Controller does not keep.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Metadata {
    #[serde(default)]
    labels: Map<String, Value>,
    #[serde(default)]
    annotations: Map<String, Value>,
}

impl Metadata {
    pub(super) fn must_be_empty(&self) -> Result<(), Refusal> {
        if self.labels.is_empty() && self.annotations.is_empty() {
            return Ok(());
        }
        Err(Refusal::unprocessable(
            "metadata is not supported by this Cloud Controller",
        ))
    }
}

/// `{"data":{"guid":…}}`
#[derive(Debug, Deserialize)]
pub(super) struct Relation {
    pub(super) data: Named,
}

/// `{"guid":…}`
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) guid: String,
}

/// A name that a user gave.
pub(super) fn checked_name(name: &str) -> Result<String, Refusal> {
    match name.chars().count() {
        0 => Err(Refusal::unprocessable("Name must not be blank")),
        1..=255 => Ok(name.to_owned()),
        _ => Err(Refusal::unprocessable(
            "Name is too long (maximum is 255 characters)",
        )),
    }
}
