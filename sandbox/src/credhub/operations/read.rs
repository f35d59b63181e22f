//! Values and names.
//!
//! The services of an app, with what they refer to.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use super::{Session, Stored};
use crate::credhub::{
    Acls, State, certificate::ReadCertificate, credential::Secret, name::CredentialName,
    permissions::Operation, rejection::Rejection, vault::Found,
};

const SECONDS_A_DAY: i64 = 24 * 60 * 60;

#[derive(Clone, Copy, Debug)]
pub(in crate::credhub) enum Versions {
    All,
    Newest(usize),
}

#[derive(Clone, Debug)]
pub(in crate::credhub) enum Names {
    Below(String),
    Containing(String),
}

pub(in crate::credhub) struct FoundName {
    pub(in crate::credhub) found: Found,
    pub(in crate::credhub) expiry_date: Option<Timestamp>,
}

impl Session {
    /// Versions of a credential, the newest first; at least one.
    pub(in crate::credhub) fn get(
        &self,
        name: &CredentialName,
        versions: Versions,
    ) -> Result<Vec<Stored>, Rejection> {
        self.credhub.with(|state| {
            self.authorize(state, name, Operation::Read)?;
            let found = match versions {
                Versions::All => state.vault.all(name),
                Versions::Newest(count) => {
                    let mut all = state.vault.all(name);
                    all.truncate(count);
                    all
                }
            };
            if found.is_empty() {
                return Err(Rejection::NoSuchCredential);
            }
            Ok(found.into_iter().map(Stored::of).collect())
        })
    }

    /// The newest version.
    pub(crate) fn current(&self, name: &CredentialName) -> Result<Stored, Rejection> {
        let mut versions = self.get(name, Versions::Newest(1))?;
        Ok(versions.swap_remove(0))
    }

    pub(crate) fn version(&self, id: Uuid) -> Result<Stored, Rejection> {
        self.credhub.with(|state| {
            let version = state.vault.version(id).ok_or(Rejection::NoSuchCredential)?;
            self.authorize(state, &version.name, Operation::Read)?;
            Ok(Stored::of((id, version)))
        })
    }

    /// The names that the actor may read, the newest first. With `within`, only those of certificates that end within
    /// so many days.
    pub(in crate::credhub) fn find(&self, names: &Names, within: Option<i64>) -> Vec<FoundName> {
        self.credhub.with(|state| {
            let found = match names {
                Names::Below(path) => state.vault.below(path),
                Names::Containing(text) => state.vault.containing(text),
            };
            let readable = self.readable(state, found);
            let Some(days) = within else {
                let plain = |found| FoundName {
                    found,
                    expiry_date: None,
                };
                return readable.into_iter().map(plain).collect();
            };
            let life = SignedDuration::from_secs(days.saturating_mul(SECONDS_A_DAY));
            let limit = Timestamp::now()
                .saturating_add(life)
                .unwrap_or(Timestamp::MAX);
            readable
                .into_iter()
                .filter_map(|found| {
                    let ends = ends(state, &found.name)?;
                    (ends <= limit).then_some(FoundName {
                        found,
                        expiry_date: Some(ends),
                    })
                })
                .collect()
        })
    }

    fn readable(&self, state: &State, found: Vec<Found>) -> Vec<Found> {
        if state.behaviour.acls == Acls::Off {
            return found;
        }
        let paths = state.permissions.readable(&self.actor);
        let is_readable = |found: &Found| paths.iter().any(|path| path.covers(&found.name));
        found.into_iter().filter(is_readable).collect()
    }
}

fn ends(state: &State, name: &CredentialName) -> Option<Timestamp> {
    let (_, version) = state.vault.latest(name)?;
    let certificate = version.secret.as_certificate()?;
    Some(ReadCertificate::read(&certificate.certificate)?.not_after)
}

impl Session {
    /// Replaces the credentials of every service that only refers to them.
    pub(in crate::credhub) fn interpolate(&self, services: &mut Value) -> Result<(), Rejection> {
        let offerings = services.as_object_mut().ok_or(Rejection::Malformed)?;
        for instances in offerings.values_mut().filter_map(Value::as_array_mut) {
            for instance in instances {
                let Some(credentials) = instance.get_mut("credentials") else {
                    continue;
                };
                if let Some(reference) = reference(credentials) {
                    *credentials = self.referred(reference)?;
                }
            }
        }
        Ok(())
    }

    fn referred(&self, reference: &str) -> Result<Value, Rejection> {
        let name = reference.strip_prefix("((").unwrap_or(reference);
        let name = name.strip_suffix("))").unwrap_or(name);
        let mut versions = self.get(&CredentialName::sought(name), Versions::Newest(1))?;
        match versions.swap_remove(0).version.secret {
            Secret::Json { value } => Ok(value),
            Secret::Value { .. }
            | Secret::Password { .. }
            | Secret::User { .. }
            | Secret::Certificate(_)
            | Secret::Rsa(_)
            | Secret::Ssh(_) => Err(Rejection::NotJson(name.to_owned())),
        }
    }
}

fn reference(credentials: &Value) -> Option<&str> {
    let reference = credentials
        .get("credhub_ref")
        .or_else(|| credentials.get("credhub-ref"))?;
    reference.as_str()
}
