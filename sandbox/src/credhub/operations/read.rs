//! Values and names.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{Session, Stored};
use crate::credhub::{
    Acls, State, certificate::ReadCertificate, name::CredentialName, permissions::Operation,
    rejection::Rejection, vault::Found,
};

const SECONDS_A_DAY: i64 = 24 * 60 * 60;

/// Which versions of a credential.
#[derive(Clone, Copy, Debug)]
pub(in crate::credhub) enum Versions {
    All,
    Newest(usize),
}

/// Which names.
#[derive(Clone, Debug)]
pub(in crate::credhub) enum Names {
    Below(String),
    Containing(String),
}

pub(in crate::credhub) struct FoundName {
    pub(in crate::credhub) found: Found,
    /// The expiry date, if the search was for it.
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
