//! Request bodies of v2.

use serde::de::DeserializeOwned;

use super::rejection::V2Rejection;

/// Reads a body. Its content type is of no interest: clients send forms that hold JSON.
pub(super) fn message<T: DeserializeOwned>(body: &[u8]) -> Result<T, V2Rejection> {
    serde_json::from_slice(body).map_err(|error| V2Rejection::unreadable(&error.to_string()))
}
