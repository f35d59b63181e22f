//! Secrets that are made once, or given, and found again
//! (`spec/contracts/adapter-protocol.md`, "What an author must do", secrets).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::protocol::Secrets;
use odb_adapter_sdk::secrets::SecretReference;
use rand::distr::{Alphanumeric, SampleString as _};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::folder::{Encoding, Folder, Generation, SecretDescription, Storage, item};
use crate::path::{ManifestPath, first_found};
use crate::template::{holds_reference, kind, scalar_text};

#[derive(Default)]
pub(crate) struct Decided {
    /// The text in the manifest for each; `None` for a secret that does not exist.
    pub(crate) references: BTreeMap<String, Option<Value>>,
    /// Values for the broker to store.
    pub(crate) entries: Map<String, Value>,
}

pub(crate) struct Before<'c> {
    pub(crate) manifest: Option<&'c Value>,
    /// Values by reference; unknown at an upgrade and without secure manifests.
    pub(crate) secrets: Option<&'c Secrets>,
}

pub(crate) fn decide(
    folder: &Folder,
    context: &Map<String, Value>,
    locations: &BTreeMap<String, Vec<ManifestPath>>,
    before: &Before<'_>,
) -> Result<Decided, AdapterError> {
    let mut decided = Decided::default();
    let deployment = context.get("deployment_name").and_then(Value::as_str);
    for (name, secret) in &folder.description.secrets {
        let wanted = Requests::of(folder, name, secret, context)?;
        let locations = locations.get(name).map(Vec::as_slice).unwrap_or_default();
        let kept = first_found(locations, before.manifest);
        let reference = match wanted {
            None => None,
            Some(wanted) => match secret.stored {
                Storage::InManifest => wanted
                    .value
                    .clone()
                    .or_else(|| kept.filter(|_| !wanted.renew).cloned())
                    .or_else(|| wanted.first_value(secret))
                    .or_else(|| kept.cloned()),
                Storage::OdbManaged => {
                    let managed = Managed {
                        name,
                        secret,
                        wanted,
                        deployment: deployment.unwrap_or_default(),
                    };
                    managed.reference(kept, before.secrets, &mut decided.entries)?
                }
            },
        };
        decided.references.insert(name.clone(), reference);
    }
    Ok(decided)
}

struct Requests {
    value: Option<Value>,
    initial: Option<Value>,
    renew: bool,
}

impl Requests {
    /// Nothing if there is no such secret now.
    fn of(
        folder: &Folder,
        name: &str,
        secret: &SecretDescription,
        context: &Map<String, Value>,
    ) -> Result<Option<Self>, AdapterError> {
        let value_of = |member: &str, expression: &Option<String>| {
            if expression.is_none() {
                return Ok(None);
            }
            let key = item(&format!("secrets.{name}.{member}"));
            let value = folder.made(folder.engine.value(&key, context))?;
            Ok::<_, AdapterError>(value.filter(|value| !value.is_null()))
        };
        if secret.when.is_some() && !is_true(value_of("when", &secret.when)?.as_ref()) {
            return Ok(None);
        }
        let wanted = Self {
            value: value_of("value", &secret.value)?,
            initial: value_of("initial", &secret.initial)?,
            renew: is_true(value_of("renew", &secret.renew)?.as_ref()),
        };
        for value in [&wanted.value, &wanted.initial].into_iter().flatten() {
            let is_storable = value.is_object() && secret.stored == Storage::OdbManaged;
            if !(value.is_string() || is_storable) {
                return Err(AdapterError::for_operator(format!(
                    "secret `{name}` of `adapter.yml` must be a string, or a map if it is ODB-managed"
                )));
            }
        }
        Ok(Some(wanted))
    }

    /// The value where there is nothing to keep.
    fn first_value(&self, secret: &SecretDescription) -> Option<Value> {
        self.initial.clone().or_else(|| {
            secret
                .generate
                .map(|generation| generate(generation).into())
        })
    }
}

fn is_true(value: Option<&Value>) -> bool {
    !matches!(value, None | Some(Value::Null | Value::Bool(false)))
}

struct Managed<'d> {
    name: &'d str,
    secret: &'d SecretDescription,
    wanted: Requests,
    deployment: &'d str,
}

impl Managed<'_> {
    /// The reference to write: the kept one as long as the value behind it is the wanted one.
    fn reference(
        &self,
        kept: Option<&Value>,
        known: Option<&Secrets>,
        entries: &mut Map<String, Value>,
    ) -> Result<Option<Value>, AdapterError> {
        let wanted = self.wanted.value.as_ref();
        let first = || self.wanted.first_value(self.secret);
        Ok(match kept {
            Some(kept) if !self.wanted.renew => {
                // Also among other text: that would be stored with the reference unresolved.
                let reference = kept.as_str().filter(|text| holds_reference(text));
                match (reference, wanted) {
                    // Plain text of older manifests moves to the store.
                    (None, Some(wanted)) => Some(self.stored(wanted.clone(), entries)?),
                    (None, None) => Some(self.stored(self.moved(kept)?, entries)?),
                    (Some(reference), Some(wanted))
                        if self.is_changed(reference, wanted, known) =>
                    {
                        Some(self.stored(wanted.clone(), entries)?)
                    }
                    (Some(_), _) => {
                        if self.secret.always_returned
                            && let Some(value) = wanted.cloned().or_else(first)
                        {
                            enter(entries, self.fixed_name().to_owned(), value)?;
                        }
                        Some(kept.clone())
                    }
                }
            }
            kept => match wanted.cloned().or_else(first) {
                Some(value) => Some(self.stored(value, entries)?),
                None => kept.cloned(),
            },
        })
    }

    /// The plain text of an older manifest, in the form for the broker: a text or a map.
    fn moved(&self, kept: &Value) -> Result<Value, AdapterError> {
        match kept {
            Value::Object(_) => Ok(kept.clone()),
            other => scalar_text(other).map(Value::String).ok_or_else(|| {
                AdapterError::for_operator(format!(
                    "secret `{}` is {} in the deployed manifest, which cannot be stored",
                    self.name,
                    kind(other)
                ))
            }),
        }
    }

    /// Whether the value of a reference differs. If it is unknown, as at an upgrade or if the broker could not resolve
    /// the reference, the name is compared; a foreign reference counts as unchanged.
    fn is_changed(&self, reference: &str, wanted: &Value, known: Option<&Secrets>) -> bool {
        match (known.and_then(|known| known.expose(reference)), wanted) {
            (Some(value), Value::String(wanted)) => value != wanted,
            (Some(value), wanted) => {
                serde_json::from_str::<Value>(value).ok().as_ref() != Some(wanted)
            }
            (None, _) => self.has_another_name(reference, wanted),
        }
    }

    fn has_another_name(&self, reference: &str, wanted: &Value) -> bool {
        let path = reference.trim_end_matches("))");
        let name = path.rsplit(['/', ':']).next().unwrap_or_default();
        let is_own = name
            .strip_prefix(&self.start_of_names())
            .is_some_and(|digits| {
                digits.len() == DIGITS && digits.chars().all(|c| c.is_ascii_hexdigit())
            });
        self.secret.new_names && is_own && name != self.name_of(wanted)
    }

    fn stored(
        &self,
        value: Value,
        entries: &mut Map<String, Value>,
    ) -> Result<Value, AdapterError> {
        let name = self.name_of(&value);
        let placeholder = SecretReference::placeholder(&name);
        enter(entries, name, value)?;
        Ok(placeholder.into())
    }

    /// Unless the author wants one name for all values, each value has a name of its own, so that a failed update
    /// leaves the old one unchanged. The name follows from the value, so that an upgrade, which gets no values,
    /// recognises a change.
    fn name_of(&self, value: &Value) -> String {
        if !self.secret.new_names {
            return self.fixed_name().to_owned();
        }
        let start = self.start_of_names();
        let digest = Sha256::new()
            .chain_update(self.deployment)
            .chain_update([0])
            .chain_update(&start)
            .chain_update([0])
            .chain_update(value.to_string())
            .finalize();
        format!("{start}{}", hexadecimal(&digest[..DIGITS / 2]))
    }

    fn start_of_names(&self) -> String {
        match &self.secret.name {
            Some(name) => name.clone(),
            None => format!("{}_", self.name),
        }
    }

    fn fixed_name(&self) -> &str {
        self.secret.name.as_deref().unwrap_or(self.name)
    }
}

/// Adds a value for the broker; one of another secret is not written over.
fn enter(entries: &mut Map<String, Value>, name: String, value: Value) -> Result<(), AdapterError> {
    match entries.get(&name) {
        Some(other) if *other != value => Err(AdapterError::for_operator(format!(
            "two secrets with different values have the name `{name}`; give one of them another `name` in `adapter.yml`"
        ))),
        _ => {
            entries.insert(name, value);
            Ok(())
        }
    }
}

/// How many digits follow the start of a name.
const DIGITS: usize = 6;

fn generate(generation: Generation) -> String {
    match generation {
        Generation::Characters(count) => Alphanumeric.sample_string(&mut rand::rng(), count),
        Generation::Bytes(count, encoding) => {
            let bytes: Vec<u8> = std::iter::repeat_with(rand::random).take(count).collect();
            match encoding {
                Encoding::Base64 => STANDARD.encode(bytes),
                Encoding::Base64url => URL_SAFE_NO_PAD.encode(bytes),
                Encoding::Hex => hexadecimal(&bytes),
            }
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_generated_as_long_as_asked_for() {
        for (generation, length) in [
            (Generation::Characters(32), 32),
            (Generation::Bytes(20, Encoding::Base64), 28),
            (Generation::Bytes(20, Encoding::Base64url), 27),
            (Generation::Bytes(20, Encoding::Hex), 40),
        ] {
            let [one, other] = [generate(generation), generate(generation)];
            assert_eq!(one.len(), length);
            assert_ne!(one, other);
        }
    }

    fn description() -> SecretDescription {
        serde_json::from_value(serde_json::json!({"kept_at": "/token", "name": "token"})).unwrap()
    }

    fn managed(secret: &SecretDescription) -> Managed<'_> {
        Managed {
            name: "token",
            secret,
            wanted: Requests {
                value: None,
                initial: None,
                renew: false,
            },
            deployment: "service-instance_1",
        }
    }

    #[test]
    fn a_value_is_compared_with_the_one_behind_the_reference() {
        let known = Secrets::from_iter([("((/a))", "one"), ("((/b))", r#"{"x": 1}"#)]);
        let description = description();
        let secret = managed(&description);
        let changed =
            |reference: &str, wanted: Value| secret.is_changed(reference, &wanted, Some(&known));
        assert!(!changed("((/a))", "one".into()));
        assert!(changed("((/a))", "two".into()));
        // The broker leaves out what it cannot resolve.
        assert!(!changed("((/c))", "one".into()));
        let name = secret.name_of(&"one".into());
        assert!(!changed(&format!("((/odb/o/d/{name}))"), "one".into()));
        assert!(changed(&format!("((/odb/o/d/{name}))"), "two".into()));
        assert!(!changed("((/b))", serde_json::json!({"x": 1})));
    }

    #[test]
    fn where_values_are_not_known_the_name_reports_whether_one_has_changed() {
        let description = description();
        let secret = managed(&description);
        let name = secret.name_of(&"one".into());
        for reference in [
            format!("((/odb/o/d/{name}))"),
            format!("((odb_secret:{name}))"),
        ] {
            assert!(!secret.is_changed(&reference, &"one".into(), None));
            assert!(secret.is_changed(&reference, &"two".into(), None));
        }
        // A foreign reference, which cannot be compared.
        assert!(!secret.is_changed("((/shared/token))", &"two".into(), None));
    }
}
