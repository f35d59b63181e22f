//! Secrets of a service instance, kept as the protocol wants it
//! (`spec/contracts/adapter-protocol.md`, "What an author must do", 12 to 17).
//!
//! An *ODB-managed* secret stands in the manifest as `((odb_secret:NAME))` and goes with the answer
//! under `NAME`; the broker stores it and writes the reference `((/odb/…/NAME))` in its place. From
//! then on the adapter finds the reference in the previous manifest and keeps it. This takes a broker
//! with `enable_secure_manifests`; without, the placeholder stays and the Director refuses it.
//!
//! ```
//! use odb_adapter_sdk::manifest::{JobProperty, ManifestBuilder};
//! use odb_adapter_sdk::protocol::{GenerateManifest, GeneratedManifest};
//! use odb_adapter_sdk::secrets::{ManagedSecrets, new_password};
//! use odb_adapter_sdk::AdapterError;
//!
//! const PASSWORD: JobProperty = JobProperty::new("redis", "redis-server", "/redis/password");
//!
//! fn generate(call: &GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
//!     let previous = call.previous()?;
//!     let mut secrets = ManagedSecrets::new(call, previous.as_ref());
//!     let password = secrets.generated("password", PASSWORD, new_password);
//!     let manifest = ManifestBuilder::new(call)
//!         .instance_group("redis", ["redis-server"])
//!         .property(PASSWORD, password)
//!         .build()?;
//!     Ok(GeneratedManifest::new(&manifest)?.with_secrets(secrets)?)
//! }
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | here | what a secret can be, new passwords, and values of what a deployed manifest refers to, for bindings |
//! | `managed` | which reference stands in the next manifest, and what goes with the answer |
//! | `reference` | `((…))` in texts |

mod managed;
mod reference;

use std::fmt;

use rand::distr::{Alphanumeric, SampleString};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use crate::manifest::{JobProperty, Manifest};
use crate::protocol::CreateBinding;

pub use self::managed::{ManagedSecrets, ManagedSecretsError};
pub(crate) use self::reference::has_placeholders;
pub use self::reference::{Reference, SecretReference, references_in};

/// Length of a new password. Of 62 characters each, it holds 190 bits.
pub const PASSWORD_LENGTH: usize = 32;

/// A new password of letters and digits, which need no quoting in URLs, shells and YAML, from a
/// cryptographically secure source.
///
/// To be made once for an instance and then found again: two manifests with two passwords would be
/// two deployments.
pub fn new_password() -> SecretString {
    Alphanumeric
        .sample_string(&mut rand::rng(), PASSWORD_LENGTH)
        .into()
}

/// The value of an ODB-managed secret: the broker stores nothing else (`spec/contracts/adapter-protocol.md`, "stdout").
/// Formatting does not show it.
#[derive(Clone)]
pub enum SecretValue {
    /// A text.
    Text(SecretString),
    /// Several values under their names.
    Object(Map<String, Value>),
}

impl SecretValue {
    /// The plain secret in a manifest; `None` for a value that is no secret or cannot be stored as one.
    fn in_plain_text(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if !text.is_empty() => Some(Self::Text(text.as_str().into())),
            Value::Number(number) => Some(Self::Text(number.to_string().into())),
            Value::Object(members) => Some(Self::Object(members.clone())),
            _ => None,
        }
    }

    /// Whether the broker's value of a secret is this one: a text unchanged, an object as JSON text.
    fn is_reported_as(&self, reported: &str) -> bool {
        match self {
            Self::Text(text) => text.expose_secret() == reported,
            Self::Object(members) => serde_json::from_str::<Map<String, Value>>(reported)
                .is_ok_and(|reported| reported == *members),
        }
    }

    fn expose(self) -> Value {
        match self {
            Self::Text(text) => text.expose_secret().into(),
            Self::Object(members) => members.into(),
        }
    }
}

impl From<SecretString> for SecretValue {
    fn from(text: SecretString) -> Self {
        Self::Text(text)
    }
}

impl From<String> for SecretValue {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<&str> for SecretValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Map<String, Value>> for SecretValue {
    fn from(members: Map<String, Value>) -> Self {
        Self::Object(members)
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "SecretValue::Text(…)",
            Self::Object(_) => "SecretValue::Object(…)",
        })
    }
}

/// Why the value of a deployed property is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum UnresolvedError {
    #[error("the manifest has no property {property}")]
    Absent { property: String },
    #[error("property {property} of the manifest is not a string")]
    NotAText { property: String },
    #[error("the secret `{reference}` of property {property} is not known")]
    UnknownSecret { property: String, reference: String },
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
        let named = property.to_string();
        let text = match manifest.property(property) {
            None => return Err(UnresolvedError::Absent { property: named }),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => return Err(UnresolvedError::NotAText { property: named }),
        };
        let mut resolved = String::new();
        let mut rest = text.as_str();
        for reference in references_in(&text) {
            let value = self
                .secrets
                .as_ref()
                .and_then(|secrets| secrets.expose(reference))
                .ok_or_else(|| UnresolvedError::UnknownSecret {
                    property: named.clone(),
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
