use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::SecretValue;
use super::reference::{SecretReference, placeholder_name, references_in, stored_name};
use crate::manifest::{JobProperty, Manifest};
use crate::protocol::{GenerateManifest, GeneratedManifest, Secrets};

/// The ODB-managed secrets of one `generate-manifest`.
///
/// The method names the source of a value. Each returns the text for the property, and never changes a secret whose
/// value has not changed.
///
/// | method | value | kept if |
/// | --- | --- | --- |
/// | [`generated`](Self::generated) | generated once by the adapter | there is any |
/// | [`configured`](Self::configured) | given on every call, by plan or adapter | it is the same, or cannot be compared |
/// | [`requested`](Self::requested) | given in this request only | it is the same |
/// | [`kept`](Self::kept) | not given | there is any |
///
/// A changed value gets another name (`password`, then `password-2`, …), so that a failed update leaves the stored one
/// unchanged. The number follows from the previous manifest: the same inputs give the same manifest, and the update
/// after a failed one may take the same number again, because the deployed manifest does not refer to it. A previous
/// value in plain text becomes a managed secret with that value. Other references, to BOSH variables or paths in
/// CredHub, stay unless the value differs.
pub struct ManagedSecrets<'c> {
    previous_manifest: Option<&'c Manifest>,
    previous_secrets: Option<&'c Secrets>,
    purpose: Purpose,
    /// Names of stored secrets that the previous manifest refers to, wherever.
    in_use: BTreeSet<String>,
    entries: BTreeMap<String, SecretValue>,
}

/// Secrets with which the deployment would fail late.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum ManagedSecretsError {
    #[error("the manifest has `((odb_secret:{name}))`, but the answer has no secret of that name")]
    NoEntry { name: String },
    #[error("`{name}` is not a name of a secret; use letters, digits, `_` and `-`")]
    InvalidName { name: String },
    #[error("the manifest has no `((odb_secret:{name}))` for the secret of that name")]
    NoPlaceholder { name: String },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Deployment,
    /// The broker compares the manifest with the deployed one and throws it away.
    SearchForPendingChanges,
}

impl Purpose {
    /// Only then the request has no fields at all (`spec/contracts/adapter-protocol.md`, "Request
    /// parameters").
    fn of(call: &GenerateManifest) -> Self {
        if call.request_parameters.fields().is_empty() {
            Self::SearchForPendingChanges
        } else {
            Self::Deployment
        }
    }
}

enum Previous {
    Nothing,
    Reference(SecretReference),
    PlainText(SecretValue),
}

impl<'c> ManagedSecrets<'c> {
    /// The secrets of that call; `previous` is its previous manifest, parsed.
    pub fn new(call: &'c GenerateManifest, previous: Option<&'c Manifest>) -> Self {
        Self {
            previous_manifest: previous,
            previous_secrets: call.previous_secrets.as_ref(),
            purpose: Purpose::of(call),
            in_use: call
                .previous_manifest
                .iter()
                .flat_map(|manifest| references_in(manifest.as_str()))
                .filter_map(stored_name)
                .map(str::to_owned)
                .collect(),
            entries: BTreeMap::new(),
        }
    }

    /// A secret that the adapter generates once, such as a password: the deployed value, else a new one.
    pub fn generated<V: Into<SecretValue>>(
        &mut self,
        name: &str,
        property: JobProperty<'_>,
        make: impl FnOnce() -> V,
    ) -> SecretReference {
        match self.kept(name, property) {
            Some(reference) => reference,
            None => self.location(name, None, make().into()),
        }
    }

    /// A secret whose value is given on every call, by the plan or the adapter's configuration.
    ///
    /// A changed value reaches an instance with its next update: an upgrade does not get the deployed value, so the
    /// reference is kept; the check for pending changes keeps it too, because the change would otherwise block the very
    /// update that brings it.
    pub fn configured(
        &mut self,
        name: &str,
        property: JobProperty<'_>,
        value: impl Into<SecretValue>,
    ) -> SecretReference {
        let value = value.into();
        match self.previous(property) {
            Previous::Reference(reference) => {
                let is_changed = self.is_the_same(&reference, &value) == Some(false);
                if is_changed && self.purpose == Purpose::Deployment {
                    self.location(name, Some(&reference), value)
                } else {
                    reference
                }
            }
            Previous::PlainText(_) | Previous::Nothing => self.location(name, None, value),
        }
    }

    /// A secret whose value the user sends in this request. It applies unless it is known to equal the deployed one.
    pub fn requested(
        &mut self,
        name: &str,
        property: JobProperty<'_>,
        value: impl Into<SecretValue>,
    ) -> SecretReference {
        let value = value.into();
        match self.previous(property) {
            Previous::Reference(reference)
                if self.is_the_same(&reference, &value) == Some(true) =>
            {
                reference
            }
            Previous::Reference(reference) => self.location(name, Some(&reference), value),
            Previous::PlainText(_) | Previous::Nothing => self.location(name, None, value),
        }
    }

    /// A secret without a new value: the deployed one, if there is any.
    pub fn kept(&mut self, name: &str, property: JobProperty<'_>) -> Option<SecretReference> {
        match self.previous(property) {
            Previous::Nothing => None,
            Previous::Reference(reference) => Some(reference),
            Previous::PlainText(value) => Some(self.location(name, None, value)),
        }
    }

    /// Whether the answer has no secrets, because all are stored already.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn previous(&self, property: JobProperty<'_>) -> Previous {
        let deployed = self
            .previous_manifest
            .and_then(|manifest| manifest.property(property));
        let Some(deployed) = deployed else {
            return Previous::Nothing;
        };
        if let Some(reference) = deployed.as_str().and_then(SecretReference::kept) {
            return Previous::Reference(reference);
        }
        let is_left_over = deployed
            .as_str()
            .is_some_and(|text| references_in(text).next().is_some());
        match SecretValue::in_plain_text(deployed) {
            Some(value) if !is_left_over => Previous::PlainText(value),
            _ => Previous::Nothing,
        }
    }

    /// `None` where the deployed value is not known.
    fn is_the_same(&self, reference: &SecretReference, value: &SecretValue) -> Option<bool> {
        let reported = self.previous_secrets?.expose(reference.as_str())?;
        Some(value.is_reported_as(reported))
    }

    /// Placeholder and entry, always together, under a name that is not in use.
    fn location(
        &mut self,
        name: &str,
        replaced: Option<&SecretReference>,
        value: SecretValue,
    ) -> SecretReference {
        let mut number = replaced
            .and_then(|reference| stored_name(reference.as_str()))
            .and_then(|stored| number(name, stored))
            .map_or(1, following);
        let is_taken =
            |name: &String| self.entries.contains_key(name) || self.in_use.contains(name);
        while is_taken(&numbered(name, number)) {
            number = following(number);
        }
        let name = numbered(name, number);
        let placeholder = SecretReference::placeholder(&name);
        self.entries.insert(name, value);
        placeholder
    }
}

/// A dot would begin the name of a member, and a slash another folder.
fn can_be_referred_to(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.chars().all(is_fit)
}

fn numbered(name: &str, number: u64) -> String {
    if number < 2 {
        name.to_owned()
    } else {
        format!("{name}-{number}")
    }
}

/// Begins again after the last number, which another owner must have written.
fn following(number: u64) -> u64 {
    number.checked_add(1).unwrap_or(1)
}

/// Which of the names that a secret has had over time.
fn number(name: &str, stored: &str) -> Option<u64> {
    match stored.strip_prefix(name)? {
        "" => Some(1),
        suffix => suffix.strip_prefix('-')?.parse().ok(),
    }
}

impl GeneratedManifest {
    /// The same answer with the secrets that its manifest refers to. Each placeholder must have an
    /// entry and each entry a placeholder.
    pub fn with_secrets(
        mut self,
        secrets: ManagedSecrets<'_>,
    ) -> Result<Self, ManagedSecretsError> {
        if let Some(name) = secrets
            .entries
            .keys()
            .find(|name| !can_be_referred_to(name))
        {
            return Err(ManagedSecretsError::InvalidName { name: name.clone() });
        }
        let placeholders: BTreeSet<_> = references_in(self.manifest.as_str())
            .filter_map(placeholder_name)
            .collect();
        let already_there = self.secrets.iter().flatten().map(|(name, _)| name);
        let entries: BTreeSet<_> = secrets
            .entries
            .keys()
            .chain(already_there)
            .map(String::as_str)
            .collect();
        if let Some(name) = placeholders.difference(&entries).next() {
            return Err(ManagedSecretsError::NoEntry {
                name: (*name).to_owned(),
            });
        }
        if let Some(name) = entries.difference(&placeholders).next() {
            return Err(ManagedSecretsError::NoPlaceholder {
                name: (*name).to_owned(),
            });
        }
        let exposed = secrets
            .entries
            .into_iter()
            .map(|(name, value)| (name, value.expose()));
        let all: &mut Map<String, Value> = self.secrets.get_or_insert_default();
        all.extend(exposed);
        Ok(self)
    }
}
