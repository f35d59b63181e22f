//! The texts that stand inside the input, decoded and checked. Each is known by its path in the
//! input, which is what an error names.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{NotRequestParameters, Plan, RequestParameters, ServiceDeployment, Violations};
use crate::json;

/// What is wrong with the input of a call. No message holds a value of the input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The document as a whole.
    #[error("the input is not a JSON object")]
    Document(#[source] json::Error),
    /// A section of the document.
    #[error("`{path}` must be an object")]
    NotAnObject {
        /// Path in the input.
        path: String,
    },
    /// A member of a section: objects travel as JSON text inside a string.
    #[error("`{path}` must be a string")]
    NotAString {
        /// Path in the input.
        path: String,
    },
    /// Something that no call can do without.
    #[error("`{path}` is missing")]
    Missing {
        /// Path in the input.
        path: String,
    },
    /// A text that is not the JSON it should be.
    #[error("`{path}` cannot be read")]
    NotReadable {
        /// Path in the input.
        path: String,
        /// What is wrong with the text.
        #[source]
        source: json::Error,
    },
    /// A document that breaks rules of the protocol.
    #[error("`{path}` is not valid")]
    NotValid {
        /// Path in the input.
        path: String,
        /// The broken rules.
        #[source]
        source: Violations,
    },
    /// Request parameters that are none.
    #[error("`{path}` is not valid")]
    NotRequestParameters {
        /// Path in the input.
        path: String,
        /// What is wrong with the text.
        #[source]
        source: NotRequestParameters,
    },
}

pub(super) fn service_deployment(path: &str, text: &str) -> Result<ServiceDeployment, InputError> {
    let document: Value = decoded(path, text)?;
    ServiceDeployment::inspect(&document).map_err(|source| not_valid(path, source))?;
    typed(path, document)
}

pub(super) fn plan(path: &str, text: &str) -> Result<Plan, InputError> {
    let document: Value = decoded(path, text)?;
    Plan::inspect(&document).map_err(|source| not_valid(path, source))?;
    typed(path, document)
}

/// A plan, or nothing: `null` or no text at all.
pub(super) fn optional_plan(path: &str, text: Option<&str>) -> Result<Option<Plan>, InputError> {
    match text {
        None => Ok(None),
        Some(text) if text.trim() == "null" => Ok(None),
        Some(text) => plan(path, text).map(Some),
    }
}

/// Request parameters; no text at all is a request without any.
pub(super) fn request_parameters(
    path: &str,
    text: Option<&str>,
) -> Result<RequestParameters, InputError> {
    text.map_or_else(
        || Ok(RequestParameters::default()),
        |text| {
            RequestParameters::from_json(text).map_err(|source| InputError::NotRequestParameters {
                path: path.to_owned(),
                source,
            })
        },
    )
}

/// A document of that type, or nothing: `null` or no text at all.
pub(super) fn optional<T: DeserializeOwned>(
    path: &str,
    text: Option<&str>,
) -> Result<Option<T>, InputError> {
    text.map_or(Ok(None), |text| decoded(path, text))
}

fn decoded<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, InputError> {
    json::from_str(text).map_err(|source| not_readable(path, source))
}

fn typed<T: DeserializeOwned>(path: &str, document: Value) -> Result<T, InputError> {
    serde_json::from_value(document).map_err(|source| not_readable(path, source.into()))
}

fn not_readable(path: &str, source: json::Error) -> InputError {
    InputError::NotReadable {
        path: path.to_owned(),
        source,
    }
}

fn not_valid(path: &str, source: Violations) -> InputError {
    InputError::NotValid {
        path: path.to_owned(),
        source,
    }
}
