//! Permissions: requested by path and actor or by id (v2), or by the name of a credential (v1).

use std::collections::BTreeSet;

use uuid::Uuid;

use super::Session;
use crate::credhub::{
    Acls, Actor, State,
    name::CredentialName,
    permissions::{Operation, Permission, PermissionPath},
    rejection::{PermissionRejection, Rejection},
};

pub(in crate::credhub) struct Granted {
    pub(in crate::credhub) id: Uuid,
    pub(in crate::credhub) permission: Permission,
}

impl Session {
    /// Grants. There must be no permission for this path and actor yet.
    pub(in crate::credhub) fn grant(&self, permission: Permission) -> Result<Granted, Rejection> {
        self.credhub.with(|state| {
            self.may_grant(state, permission.path.as_str(), &permission.actor)?;
            if state
                .permissions
                .find(&permission.actor, &permission.path)
                .is_some()
            {
                return Err(PermissionRejection::Exists.into());
            }
            let id = state.permissions.merge(permission.clone());
            Ok(Granted { id, permission })
        })
    }

    pub(in crate::credhub) fn grant_more(
        &self,
        name: &CredentialName,
        entries: Vec<(Actor, BTreeSet<Operation>)>,
    ) -> Result<(), Rejection> {
        self.credhub.with(|state| {
            for (actor, operations) in &entries {
                self.may_grant(state, name.as_str(), actor)?;
                let allowed = |operation: &Operation| {
                    state.permissions.allow(actor, name.as_str(), *operation)
                };
                if operations.iter().all(allowed) {
                    return Err(PermissionRejection::Exists.into());
                }
            }
            for (actor, operations) in entries {
                state.permissions.merge(Permission {
                    path: name.into(),
                    actor,
                    operations,
                });
            }
            Ok(())
        })
    }

    pub(in crate::credhub) fn find_permission(
        &self,
        path: &PermissionPath,
        actor: &Actor,
    ) -> Result<Granted, Rejection> {
        self.credhub.with(|state| {
            if !self.is_allowed(state, path.as_str(), Operation::ReadAcl) {
                return Err(PermissionRejection::NotFound.into());
            }
            let found = state.permissions.find(actor, path);
            let (id, permission) = found.ok_or(PermissionRejection::NotFound)?;
            Ok(Granted {
                id,
                permission: permission.clone(),
            })
        })
    }

    /// Replaces the operations of a permission. Path and actor must be its own.
    pub(in crate::credhub) fn change_permission(
        &self,
        id: Uuid,
        (path, actor): (PermissionPath, Actor),
        operations: BTreeSet<Operation>,
    ) -> Result<Granted, Rejection> {
        self.credhub.with(|state| {
            let present = self.changeable(state, id)?;
            if path != present.path || actor != present.actor {
                return Err(PermissionRejection::OtherPathOrActor.into());
            }
            state.permissions.replace_operations(id, operations.clone());
            let permission = Permission {
                operations,
                ..present
            };
            Ok(Granted { id, permission })
        })
    }

    pub(in crate::credhub) fn revoke(&self, id: Uuid) -> Result<Granted, Rejection> {
        self.credhub.with(|state| {
            let permission = self.changeable(state, id)?;
            state.permissions.remove(id);
            Ok(Granted { id, permission })
        })
    }

    /// Whether the actor may change the permissions of another one at this path. An actor cannot change its own
    /// permissions.
    fn may_grant(&self, state: &State, path: &str, other: &Actor) -> Result<(), Rejection> {
        if !self.is_allowed(state, path, Operation::WriteAcl) {
            return Err(Rejection::NoSuchCredential);
        }
        self.is_another(state, other)
    }

    fn is_another(&self, state: &State, other: &Actor) -> Result<(), Rejection> {
        if state.behaviour.acls == Acls::Enforced && *other == self.actor {
            return Err(PermissionRejection::OwnActor.into());
        }
        Ok(())
    }

    fn changeable(&self, state: &State, id: Uuid) -> Result<Permission, Rejection> {
        let present = state
            .permissions
            .get(id)
            .ok_or(PermissionRejection::Unknown)?;
        if !self.is_allowed(state, present.path.as_str(), Operation::WriteAcl) {
            return Err(PermissionRejection::Unknown.into());
        }
        self.is_another(state, &present.actor)?;
        Ok(present.clone())
    }
}
