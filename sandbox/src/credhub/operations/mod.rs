//! The operations of a CredHub, each with its checks.
//!
//! | module | operations |
//! | --- | --- |
//! | [`read`] | values and names |
//! | [`write`] | set, delete |
//! | [`generate`] | generate, regenerate |
//! | [`permissions`] | permissions |

mod generate;
mod permissions;
mod read;
mod write;

use uuid::Uuid;

pub(crate) use self::generate::Generation;
pub(super) use self::{
    permissions::Granted,
    read::{Names, Versions},
    write::{IfPresent, Setting},
};
use super::{
    Acls, Actor, CredHub, State, credential::Version, name::CredentialName, permissions::Operation,
    rejection::Rejection,
};

/// A CredHub as one actor sees it.
#[derive(Clone)]
pub(crate) struct Session {
    credhub: CredHub,
    actor: Actor,
}

/// A version of a credential and its id. Holds secrets, hence no `Debug`.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) id: Uuid,
    pub(in crate::credhub) version: Version,
}

impl Session {
    pub(super) fn new(credhub: CredHub, actor: Actor) -> Self {
        Self { credhub, actor }
    }

    /// Rejects operations without permission. A name that may not be read or deleted looks like a missing one.
    fn authorize(
        &self,
        state: &State,
        name: &CredentialName,
        operation: Operation,
    ) -> Result<(), Rejection> {
        if self.is_allowed(state, name.as_str(), operation) {
            return Ok(());
        }
        Err(match operation {
            Operation::Write => Rejection::MayNotWrite,
            Operation::Read | Operation::Delete | Operation::ReadAcl | Operation::WriteAcl => {
                Rejection::NoSuchCredential
            }
        })
    }

    fn is_allowed(&self, state: &State, name: &str, operation: Operation) -> bool {
        match state.behaviour.acls {
            Acls::Off => true,
            Acls::Enforced => state.permissions.allow(&self.actor, name, operation),
        }
    }
}

impl Stored {
    fn of((id, version): (Uuid, &Version)) -> Self {
        Self {
            id,
            version: version.clone(),
        }
    }

    /// The secret itself.
    pub(crate) fn value(&self) -> serde_json::Value {
        self.version.secret.shown()
    }
}
