use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::decoding::{NotDecoded, decoded};
use super::errors::{ParameterErrors, Subject};
use crate::AdapterError;
use crate::protocol::RequestParameters;

impl RequestParameters {
    /// The parameters that the user chose, as the author's type; none at all is an empty object.
    ///
    /// With `?` the error becomes one for the platform user.
    ///
    /// An upgrade has no parameters, nor has the search for pending changes, and an update only those
    /// that change. A type with parameters that must be there is for creates alone, where there is no
    /// previous manifest.
    pub fn parameters<P: DeserializeOwned + JsonSchema>(&self) -> Result<P, ParametersError> {
        let chosen = match self.fields().get("parameters") {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(object @ Value::Object(_)) => object.clone(),
            Some(_) => return Err(ParametersError::must_be("", "a JSON object")),
        };
        decoded(chosen).map_err(ParametersError)
    }
}

/// Why parameters are rejected, in words for the platform user: every error that was found, each with the name of the
/// parameter and what would be right. Never a value, which may be secret.
///
/// It becomes an [`AdapterError`] for that user with `?`, which is why this type is not an [`Error`](std::error::Error)
/// itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParametersError(NotDecoded);

impl ParametersError {
    /// A parameter that the author's own check rejects. `expected` follows "must be", such as `a cloud config in YAML`.
    pub fn must_be(parameter: impl Into<String>, expected: &str) -> Self {
        Self::from(ParameterErrors::must_be(parameter.into(), expected))
    }

    /// The unsupported parameters, sorted, such as `limits.memroy`.
    pub fn unsupported(&self) -> impl Iterator<Item = &str> {
        match &self.0 {
            NotDecoded::ParameterErrors(errors) => Some(errors.unsupported()),
            NotDecoded::UnusableSchema(_) => None,
        }
        .into_iter()
        .flatten()
    }
}

impl From<ParameterErrors> for ParametersError {
    fn from(errors: ParameterErrors) -> Self {
        Self(NotDecoded::ParameterErrors(errors))
    }
}

impl fmt::Display for ParametersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.report(Subject::Parameter, f)
    }
}

impl From<ParametersError> for AdapterError {
    fn from(error: ParametersError) -> Self {
        match error.0 {
            NotDecoded::UnusableSchema(error) => Self::for_operator(error),
            NotDecoded::ParameterErrors(_) => Self::for_user(error.to_string()),
        }
    }
}
