use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::draft4_schema::{Draft4Schema, UnusableSchema};
use super::faults::{Faults, Subject};

/// Why a document did not become the author's type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotDecoded {
    /// Whoever wrote the document is to fix it.
    Faults(Faults),
    /// The author of the type is to fix it.
    UnusableSchema(UnusableSchema),
}

impl NotDecoded {
    pub(super) fn tell(&self, subject: Subject, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faults(faults) => faults.tell(subject, f),
            Self::UnusableSchema(fault) => fmt::Display::fmt(fault, f),
        }
    }
}

/// Holds a document against the schema of a type, so that all faults are found, and decodes it.
pub(super) fn decoded<T: DeserializeOwned + JsonSchema>(document: Value) -> Result<T, NotDecoded> {
    let schema = Draft4Schema::of::<T>().map_err(NotDecoded::UnusableSchema)?;
    schema.check(&document).map_err(NotDecoded::Faults)?;
    serde_path_to_error::deserialize(document)
        .map_err(|error| NotDecoded::Faults(Faults::of_decoding(&error)))
}
