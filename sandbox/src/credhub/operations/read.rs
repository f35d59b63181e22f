//! Values and names.

use uuid::Uuid;

use super::{Session, Stored};
use crate::credhub::{
    Acls, State, name::CredentialName, permissions::Operation, rejection::Rejection, vault::Found,
};

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

    /// The names that the actor may read, the newest first.
    pub(in crate::credhub) fn find(&self, names: &Names) -> Vec<Found> {
        self.credhub.with(|state| {
            let found = match names {
                Names::Below(path) => state.vault.below(path),
                Names::Containing(text) => state.vault.containing(text),
            };
            self.readable(state, found)
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
