use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

const PLACEHOLDER_START: &str = "((odb_secret:";
const STORED_START: &str = "((/odb/";
const END: &str = "))";

/// What stands in a manifest for a secret, such as `((odb_secret:password))`: no secret itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretReference(String);

impl SecretReference {
    /// The text, double parentheses included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The placeholder that the broker replaces when it has stored the secret.
    pub(super) fn placeholder(name: &str) -> Self {
        Self(format!("{PLACEHOLDER_START}{name}{END}"))
    }

    /// A text that holds a reference, which is left alone, whatever is around it. A placeholder that
    /// nobody replaced is none: there is nothing behind it.
    pub(super) fn kept(text: &str) -> Option<Self> {
        let mut references = references_in(text).peekable();
        references.peek()?;
        let is_stored = references.all(|reference| placeholder_name(reference).is_none());
        is_stored.then(|| Self(text.to_owned()))
    }
}

/// Every `((…))` in a text, each as short as possible, double parentheses included.
pub fn references_in(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.find("((").and_then(|start| {
            let inner = &rest[start..];
            inner
                .find(END)
                .map(|length| (start, start + length + END.len()))
        });
        let (start, end) = end?;
        let reference = &rest[start..end];
        rest = &rest[end..];
        Some(reference)
    })
}

/// Whether a broker has to put something in the place of placeholders.
pub(crate) fn has_placeholders(text: &str) -> bool {
    references_in(text).any(|reference| placeholder_name(reference).is_some())
}

/// The name under which the broker stored the secret behind a reference, if it did.
pub(super) fn stored_name(reference: &str) -> Option<&str> {
    let path = reference.strip_prefix(STORED_START)?.strip_suffix(END)?;
    path.rsplit('/').next()
}

/// The name in `((odb_secret:NAME))`.
pub(super) fn placeholder_name(reference: &str) -> Option<&str> {
    reference.strip_prefix(PLACEHOLDER_START)?.strip_suffix(END)
}

impl fmt::Display for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<SecretReference> for Value {
    fn from(reference: SecretReference) -> Self {
        reference.0.into()
    }
}

impl From<SecretReference> for String {
    fn from(reference: SecretReference) -> Self {
        reference.0
    }
}

impl Serialize for SecretReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
