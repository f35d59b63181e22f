//! Set and delete.

use serde_json::Value;

use super::{Session, Stored};
use crate::credhub::{
    State,
    credential::Secret,
    name::CredentialName,
    permissions::{ALL_OPERATIONS, Operation, Permission},
    rejection::Rejection,
};

const VALUE_LIMIT: usize = 64 * 1024;
const METADATA_LIMIT: usize = 7000;

pub(in crate::credhub) struct Setting {
    pub(in crate::credhub) name: CredentialName,
    pub(in crate::credhub) secret: Secret,
    pub(in crate::credhub) metadata: Option<Value>,
    /// How an existing value is treated. Only servers before version 2 read it.
    pub(in crate::credhub) if_present: IfPresent,
}

/// How an existing value is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::credhub) enum IfPresent {
    Keep,
    Replace,
}

impl Session {
    /// Adds a version with a value that the actor brings.
    pub(in crate::credhub) fn set(&self, setting: Setting) -> Result<Stored, Rejection> {
        let Setting {
            name,
            secret,
            metadata,
            if_present,
        } = setting;
        check_sizes(&secret, metadata.as_ref())?;
        self.credhub.with(|state| {
            self.authorize(state, &name, Operation::Write)?;
            if let Some((id, present)) = state.vault.latest(&name) {
                if present.secret.kind() != secret.kind() {
                    return Err(Rejection::OtherType);
                }
                if state.behaviour.is_legacy() && if_present == IfPresent::Keep {
                    return Ok(Stored::of((id, present)));
                }
            }
            Ok(self.add(state, &name, secret, metadata))
        })
    }

    pub(in crate::credhub) fn delete(&self, name: &CredentialName) -> Result<(), Rejection> {
        self.credhub.with(|state| {
            self.authorize(state, name, Operation::Delete)?;
            if state.behaviour.is_legacy() {
                state.permissions.remove_path(&name.into());
            }
            if state.vault.remove(name) {
                Ok(())
            } else {
                Err(Rejection::NoSuchCredential)
            }
        })
    }

    /// Adds a version. Before version 2, the creator of a credential got all rights on it.
    pub(super) fn add(
        &self,
        state: &mut State,
        name: &CredentialName,
        secret: Secret,
        metadata: Option<Value>,
    ) -> Stored {
        if state.behaviour.is_legacy() && state.vault.latest(name).is_none() {
            state.permissions.merge(Permission {
                path: name.into(),
                actor: self.actor.clone(),
                operations: ALL_OPERATIONS.into(),
            });
        }
        let (id, version) = state.vault.add(name, secret, metadata);
        Stored { id, version }
    }
}

fn check_sizes(secret: &Secret, metadata: Option<&Value>) -> Result<(), Rejection> {
    let size = match secret {
        Secret::Value { value } => value.len(),
        Secret::Json { value } => value.to_string().len(),
        Secret::Password { password, .. } => password.len(),
        Secret::User { .. } | Secret::Certificate(_) | Secret::Rsa(_) | Secret::Ssh(_) => 0,
    };
    if size > VALUE_LIMIT {
        return Err(Rejection::TooLarge);
    }
    if metadata.is_some_and(|metadata| metadata.to_string().len() > METADATA_LIMIT) {
        return Err(Rejection::MetadataTooLong);
    }
    Ok(())
}
