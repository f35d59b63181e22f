//! The parts of a call, as the texts on the wire. Errors name each by its path in the input.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    BoshVms, ManifestText, NotRequestParameters, Plan, RequestParameters, Secrets,
    ServiceDeployment, UaaClient, Violations,
};
use crate::json;

/// Errors in the input of a call. No message contains a value of the input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The complete document.
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
        /// The underlying error.
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
        /// The underlying error.
        #[source]
        source: NotRequestParameters,
    },
}

/// A member of a call.
pub(super) trait Part: Sized {
    /// As it travels.
    fn text(&self) -> String;

    /// Reads the text, if present.
    fn read(text: Option<&str>, path: String) -> Result<Self, InputError>;
}

type Rules = fn(&Value) -> Result<(), Violations>;

/// A member that travels as JSON in a text.
trait Document: Serialize + DeserializeOwned {
    /// Rules that it must keep before it is decoded.
    const RULES: Option<Rules> = None;

    /// The value of `null`, or of no text.
    fn absent() -> Option<Self> {
        None
    }
}

impl Document for Plan {
    const RULES: Option<Rules> = Some(Self::inspect);
}

impl Document for ServiceDeployment {
    const RULES: Option<Rules> = Some(Self::inspect);
}

impl Document for Secrets {}

impl Document for UaaClient {}

impl Document for BTreeMap<String, String> {
    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl Document for BoshVms {
    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: Document> Part for T {
    fn text(&self) -> String {
        json_text(self)
    }

    fn read(text: Option<&str>, path: String) -> Result<Self, InputError> {
        match (text, T::absent()) {
            (None, None) => Err(InputError::Missing { path }),
            (None, Some(absent)) => Ok(absent),
            (Some(text), Some(absent)) if is_null(text) => Ok(absent),
            (Some(text), _) => decoded(text, path),
        }
    }
}

impl<T: Document> Part for Option<T> {
    fn text(&self) -> String {
        json_text(self)
    }

    fn read(text: Option<&str>, path: String) -> Result<Self, InputError> {
        match text {
            None | Some("") => Ok(None),
            Some(text) if is_null(text) => Ok(None),
            Some(text) => decoded(text, path).map(Some),
        }
    }
}

impl Part for RequestParameters {
    fn text(&self) -> String {
        self.as_json().to_owned()
    }

    fn read(text: Option<&str>, path: String) -> Result<Self, InputError> {
        text.map_or_else(|| Ok(Self::default()), Self::from_json)
            .map_err(|source| InputError::NotRequestParameters { path, source })
    }
}

impl Part for ManifestText {
    fn text(&self) -> String {
        self.as_str().to_owned()
    }

    fn read(text: Option<&str>, _: String) -> Result<Self, InputError> {
        Ok(text.unwrap_or_default().into())
    }
}

impl Part for Option<ManifestText> {
    fn text(&self) -> String {
        self.as_ref().map(Part::text).unwrap_or_default()
    }

    fn read(text: Option<&str>, _: String) -> Result<Self, InputError> {
        Ok(text.filter(|text| !text.is_empty()).map(ManifestText::from))
    }
}

impl Part for String {
    fn text(&self) -> String {
        self.clone()
    }

    fn read(text: Option<&str>, _: String) -> Result<Self, InputError> {
        Ok(text.unwrap_or_default().to_owned())
    }
}

fn json_text(part: &impl Serialize) -> String {
    serde_json::to_string(part).expect("the protocol's types have text keys and write to memory")
}

fn is_null(text: &str) -> bool {
    text.trim() == "null"
}

fn decoded<T: Document>(text: &str, path: String) -> Result<T, InputError> {
    let decoded = match T::RULES {
        None => json::from_str(text),
        Some(rules) => match json::from_str(text).map(|document| (rules(&document), document)) {
            Ok((Ok(()), document)) => serde_json::from_value(document).map_err(json::Error::from),
            Ok((Err(source), _)) => return Err(InputError::NotValid { path, source }),
            Err(error) => Err(error),
        },
    };
    decoded.map_err(|source| InputError::NotReadable { path, source })
}
