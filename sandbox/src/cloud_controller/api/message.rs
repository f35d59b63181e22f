//! Request bodies.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::cloud_controller::rejection::{ErrorKind, Rejection};

/// Decodes a body. Invalid JSON is one error, unknown members are another.
pub(super) fn message<T: DeserializeOwned>(body: &[u8]) -> Result<T, Rejection> {
    let value: Value = serde_json::from_slice(body).map_err(|_| {
        ErrorKind::MessageParseError
            .with("Request invalid due to parse error: invalid request body")
    })?;
    serde_json::from_value(value).map_err(|error| {
        let text = error.to_string();
        let unknown = text
            .strip_prefix("unknown field `")
            .and_then(|rest| rest.split_once('`'));
        match unknown {
            Some((field, _)) => Rejection::unprocessable(format!("Unknown field(s): '{field}'")),
            None => Rejection::unprocessable(text),
        }
    })
}

/// `{"data":{"guid":…}}`
#[derive(Debug, Deserialize)]
pub(super) struct Relation {
    pub(super) data: Named,
}

/// `{"data":[{"guid":…}]}`
#[derive(Debug, Deserialize)]
pub(super) struct Relations {
    pub(super) data: Vec<Named>,
}

/// `{"guid":…}`
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) guid: String,
}

pub(super) fn checked_name(name: &str) -> Result<String, Rejection> {
    match name.chars().count() {
        0 => Err(Rejection::unprocessable("Name must not be blank")),
        1..=255 => Ok(name.to_owned()),
        _ => Err(Rejection::unprocessable(
            "Name is too long (maximum is 255 characters)",
        )),
    }
}
