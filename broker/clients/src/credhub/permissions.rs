//! Permissions: who may read what.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use super::{CredHub, CredentialName, Removed, credentials::unless_absent};
use crate::{
    http::{Call, Method, Repeat, Request, StatusCode},
    service_error::Result,
    text_id::text_ids,
};

const V1: [&str; 3] = ["api", "v1", "permissions"];
const V2: [&str; 3] = ["api", "v2", "permissions"];

text_ids! {
    /// Names a permission.
    PermissionId = "permission id";
}

/// The actor of a permission (`spec/contracts/platform-apis.md`, section 2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An application, by its GUID; it shows the certificate of its instance.
    App(String),
    /// A client of UAA, by its id.
    UaaClient(String),
}

/// A permitted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermittedOperation {
    /// To see values and to find names.
    Read,
    /// To set and to generate.
    Write,
    /// To delete.
    Delete,
    /// To see permissions.
    ReadAcl,
    /// To give and to take permissions.
    WriteAcl,
}

/// The permission of an actor on a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The permission.
    pub id: PermissionId,
    /// The permitted operations.
    pub operations: BTreeSet<PermittedOperation>,
}

/// The result of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// The permission was not there.
    Now,
    /// The actor was permitted it already.
    Already,
}

impl CredHub {
    /// Grants an actor permissions on one credential, in addition to existing ones.
    ///
    /// # Errors
    ///
    /// Status 404 when the client may not change the credential's permissions.
    #[tracing::instrument(name = "credhub.grant", skip_all, fields(credential = %name, actor = %actor))]
    pub async fn grant(
        &self,
        call: &Call,
        name: &CredentialName,
        actor: &Actor,
        operations: &[PermittedOperation],
    ) -> Result<Granted> {
        let version = self.version(call).await?;
        let post = |path: &[&str]| {
            let url = self.connection().address(path, &[]);
            Request::new(Method::POST, url, Repeat::WhenTransient)
        };
        let request = if version.is_before_2() {
            post(&V1).json(&NewPermissions {
                credential_name: name,
                permissions: &[ActorsOperations { actor, operations }],
            })
        } else {
            post(&V2).json(&NewPermission {
                path: name,
                actor,
                operations,
            })
        };
        match self.connection().send(call, request).await {
            Ok(_) => Ok(Granted::Now),
            Err(error) if error.status() == Some(StatusCode::CONFLICT) => {
                if version.is_before_2() {
                    return Ok(Granted::Already);
                }
                self.extend(call, name, actor, operations).await
            }
            Err(error) => Err(error),
        }
    }

    /// The permission of an actor on exactly this credential, as far as the client can see it.
    #[tracing::instrument(name = "credhub.permission", skip_all, fields(credential = %name, actor = %actor))]
    pub async fn permission(
        &self,
        call: &Call,
        name: &CredentialName,
        actor: &Actor,
    ) -> Result<Option<Permission>> {
        let actor = actor.to_string();
        let query = [("path", name.as_str()), ("actor", actor.as_str())];
        let found = self
            .connection()
            .read::<WirePermission>(call, &V2, &query)
            .await;
        Ok(unless_absent(found)?.map(|wire| Permission {
            id: wire.uuid,
            operations: wire.operations.into_iter().collect(),
        }))
    }

    /// The permission of an actor on all credentials below a folder, as far as the client can see it: the one on
    /// exactly this folder; without a folder, the one on everything. Servers before 2.0 have no folders. Safe to
    /// repeat.
    #[tracing::instrument(name = "credhub.permitted_below", skip_all, fields(actor = %actor))]
    pub async fn permitted_below(
        &self,
        call: &Call,
        folder: Option<&CredentialName>,
        actor: &Actor,
    ) -> Result<BTreeSet<PermittedOperation>> {
        let path = format!("{}/*", folder.map_or("", CredentialName::as_str));
        let actor = actor.to_string();
        let query = [("path", path.as_str()), ("actor", actor.as_str())];
        let found = self
            .connection()
            .read::<WirePermission>(call, &V2, &query)
            .await;
        Ok(unless_absent(found)?
            .map(|wire| wire.operations.into_iter().collect())
            .unwrap_or_default())
    }

    /// Takes from an actor all that it was permitted with exactly this credential. Since version 2
    /// permissions outlive their credential.
    #[tracing::instrument(name = "credhub.revoke", skip_all, fields(credential = %name, actor = %actor))]
    pub async fn revoke(
        &self,
        call: &Call,
        name: &CredentialName,
        actor: &Actor,
    ) -> Result<Removed> {
        let url = if self.version(call).await?.is_before_2() {
            let actor = actor.to_string();
            let query = [
                ("credential_name", name.as_str()),
                ("actor", actor.as_str()),
            ];
            self.connection().address(&V1, &query)
        } else {
            let Some(permission) = self.permission(call, name, actor).await? else {
                return Ok(Removed::WasAbsent);
            };
            self.permission_address(&permission.id)
        };
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        Ok(
            match unless_absent(self.connection().send(call, request).await)? {
                Some(_) => Removed::Yes,
                None => Removed::WasAbsent,
            },
        )
    }

    /// Adds the missing operations to the actor's existing permission.
    async fn extend(
        &self,
        call: &Call,
        name: &CredentialName,
        actor: &Actor,
        operations: &[PermittedOperation],
    ) -> Result<Granted> {
        // A client that may grant but not read permissions relies on CredHub's answer.
        let Some(permission) = self.permission(call, name, actor).await? else {
            return Ok(Granted::Already);
        };
        let wanted = operations.iter().copied();
        let all: BTreeSet<_> = permission
            .operations
            .iter()
            .copied()
            .chain(wanted)
            .collect();
        if all == permission.operations {
            return Ok(Granted::Already);
        }
        let url = self.permission_address(&permission.id);
        let request = Request::new(Method::PATCH, url, Repeat::WhenTransient)
            .json(&NewOperations { operations: &all });
        let answer = self.connection().send(call, request).await?;
        answer.json::<WirePermission>()?;
        Ok(Granted::Now)
    }

    fn permission_address(&self, id: &PermissionId) -> url::Url {
        let [api, v2, permissions] = V2;
        self.connection()
            .address(&[api, v2, permissions, id.as_str()], &[])
    }
}

impl fmt::Display for PermittedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::ReadAcl => "read_acl",
            Self::WriteAcl => "write_acl",
        })
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::App(guid) => write!(f, "mtls-app:{guid}"),
            Self::UaaClient(id) => write!(f, "uaa-client:{id}"),
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Serialize)]
struct NewPermission<'a> {
    path: &'a CredentialName,
    actor: &'a Actor,
    operations: &'a [PermittedOperation],
}

/// As servers before 2.0 have it.
#[derive(Serialize)]
struct NewPermissions<'a> {
    credential_name: &'a CredentialName,
    permissions: &'a [ActorsOperations<'a>],
}

#[derive(Serialize)]
struct ActorsOperations<'a> {
    actor: &'a Actor,
    operations: &'a [PermittedOperation],
}

#[derive(Serialize)]
struct NewOperations<'a> {
    operations: &'a BTreeSet<PermittedOperation>,
}

#[derive(Deserialize)]
struct WirePermission {
    uuid: PermissionId,
    operations: Vec<PermittedOperation>,
}
