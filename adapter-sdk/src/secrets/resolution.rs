use secrecy::SecretString;
use serde_json::Value;

use super::reference::references_in;
use crate::manifest::{JobProperty, Manifest};
use crate::protocol::CreateBinding;

/// Why the value of a deployed property is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnresolvedError {
    /// The manifest has nothing there.
    #[error("the manifest has no property {property}")]
    Absent {
        /// The property.
        property: String,
    },
    /// The manifest has something else than a text or a number there.
    #[error("property {property} of the manifest is not a string")]
    NotAText {
        /// The property.
        property: String,
    },
    /// The broker did not send the secret: it has secure manifests switched off, or did not find it.
    #[error("the secret `{reference}` of property {property} is not known")]
    UnknownSecret {
        /// The property.
        property: String,
        /// The reference in the manifest.
        reference: String,
    },
}

impl CreateBinding {
    /// The value of a property of the deployed manifest, with references to secrets resolved.
    ///
    /// A secret may be missing (`spec/contracts/adapter-protocol.md`, "What an author must do", 17): a binding that
    /// does not need it can ignore the error.
    pub fn resolve(
        &self,
        manifest: &Manifest,
        property: JobProperty<'_>,
    ) -> Result<SecretString, UnresolvedError> {
        let text = match manifest.property(property) {
            None => {
                return Err(UnresolvedError::Absent {
                    property: property.to_string(),
                });
            }
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => {
                return Err(UnresolvedError::NotAText {
                    property: property.to_string(),
                });
            }
        };
        let mut resolved = String::new();
        let mut rest = text.as_str();
        for reference in references_in(&text) {
            let value = self
                .secrets
                .as_ref()
                .and_then(|secrets| secrets.expose(reference))
                .ok_or_else(|| UnresolvedError::UnknownSecret {
                    property: property.to_string(),
                    reference: reference.to_owned(),
                })?;
            let (before, after) = rest.split_once(reference).unwrap_or((rest, ""));
            resolved.push_str(before);
            resolved.push_str(value);
            rest = after;
        }
        resolved.push_str(rest);
        Ok(resolved.into())
    }
}
