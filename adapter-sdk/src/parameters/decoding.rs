use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::draft4_schema::{Draft4Schema, UnusableSchema};
use super::errors::{ParameterErrors, Subject};

/// Why a document did not become the author's type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotDecoded {
    /// The author of the document must fix it.
    ParameterErrors(ParameterErrors),
    /// The author of the type is to fix it.
    UnusableSchema(UnusableSchema),
}

impl NotDecoded {
    pub(super) fn report(&self, subject: Subject, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ParameterErrors(errors) => errors.report(subject, f),
            Self::UnusableSchema(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// Validates a document against the schema of a type, so that all errors are found, and decodes it.
pub(super) fn decoded<T: DeserializeOwned + JsonSchema>(document: Value) -> Result<T, NotDecoded> {
    let schema = Draft4Schema::of::<T>().map_err(NotDecoded::UnusableSchema)?;
    schema
        .check(&document)
        .map_err(NotDecoded::ParameterErrors)?;
    serde_path_to_error::deserialize(document)
        .map_err(|error| NotDecoded::ParameterErrors(ParameterErrors::of_decoding(&error)))
}
