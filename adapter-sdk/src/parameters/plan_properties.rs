use std::error::Error;
use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::decoding::{NotDecoded, decoded};
use super::errors::{ParameterErrors, Subject};
use crate::protocol::Plan;

impl Plan {
    /// The properties that the operator set, as the author's type.
    ///
    /// Names that the type does not know pass, unless it says `serde(deny_unknown_fields)`.
    pub fn properties_as<T: DeserializeOwned + JsonSchema>(
        &self,
    ) -> Result<T, PlanPropertiesError> {
        decoded(Value::Object(self.properties.clone())).map_err(PlanPropertiesError)
    }
}

/// Why the properties of a plan are rejected, in words for the operator who wrote them: every error that was found, and
/// never a value.
///
/// With `?` it becomes an [`AdapterError`](crate::AdapterError) for the operator; users cannot fix a plan and do not
/// see the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanPropertiesError(NotDecoded);

impl PlanPropertiesError {
    /// A property that the author's own check rejects. `expected` follows "must be".
    pub fn must_be(property: impl Into<String>, expected: &str) -> Self {
        Self::from(ParameterErrors::must_be(property.into(), expected))
    }
}

impl From<ParameterErrors> for PlanPropertiesError {
    fn from(errors: ParameterErrors) -> Self {
        Self(NotDecoded::ParameterErrors(errors))
    }
}

impl fmt::Display for PlanPropertiesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.report(Subject::PlanProperty, f)
    }
}

impl Error for PlanPropertiesError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            NotDecoded::ParameterErrors(_) => None,
            NotDecoded::UnusableSchema(error) => error.source(),
        }
    }
}
