//! Permissions: who may read what (`spec/contracts/platform-apis.md`, section 2.2).

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CredHub, CredentialName, credentials::unless_absent};
use crate::{
    http::{Call, Method, Repeat, Request, StatusCode},
    service_error::Result,
    text_id::text_ids,
};

const V1: &[&str] = &["api", "v1", "permissions"];
const V2: &[&str] = &["api", "v2", "permissions"];

text_ids! {
    PermissionId = "permission id";
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An application, by its GUID; it shows the certificate of its instance.
    App(String),
    /// A client of UAA, by its id.
    UaaClient(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermittedOperation {
    Read,
    /// To set and to generate.
    Write,
    Delete,
    /// To see permissions.
    ReadAcl,
    /// To give and to take permissions.
    WriteAcl,
}

/// The permission of an actor on a credential.
#[derive(Deserialize)]
struct Permission {
    uuid: PermissionId,
    operations: BTreeSet<PermittedOperation>,
}

impl CredHub {
    /// Grants an actor permissions on one credential, in addition to existing ones.
    ///
    /// Status 404 when the client may not change the credential's permissions.
    #[tracing::instrument(name = "credhub.grant", skip_all, fields(credential = %name, actor = %actor))]
    pub async fn grant(
        &self,
        call: &Call,
        name: &CredentialName,
        actor: &Actor,
        operations: &[PermittedOperation],
    ) -> Result<()> {
        let is_before_2 = self.version(call).await?.is_before_2();
        let (path, permission) = if is_before_2 {
            let permission = json!({ "actor": actor.to_string(), "operations": operations });
            let permissions = json!({ "credential_name": name, "permissions": [permission] });
            (V1, permissions)
        } else {
            let actor = actor.to_string();
            let permission = json!({ "path": name, "actor": actor, "operations": operations });
            (V2, permission)
        };
        match self.change(call, Method::POST, path, &permission).await {
            Err(error) if error.status() == Some(StatusCode::CONFLICT) => {
                if is_before_2 {
                    return Ok(());
                }
                self.extend(call, name, actor, operations).await
            }
            granted => granted,
        }
    }

    /// The permission of an actor on all credentials below a folder, as far as the client can see it: the one on
    /// exactly this folder; without a folder, the one on everything. Servers before 2.0 have no folders.
    #[tracing::instrument(name = "credhub.permitted_below", skip_all, fields(actor = %actor))]
    pub async fn permitted_below(
        &self,
        call: &Call,
        folder: Option<&CredentialName>,
        actor: &Actor,
    ) -> Result<BTreeSet<PermittedOperation>> {
        let path = format!("{}/*", folder.map_or("", CredentialName::as_str));
        let permission = self.permission(call, &path, actor).await?;
        Ok(permission.map_or_else(BTreeSet::new, |permission| permission.operations))
    }

    /// Takes from an actor all that it was permitted with exactly this credential. Since version 2 permissions outlive
    /// their credential.
    #[tracing::instrument(name = "credhub.revoke", skip_all, fields(credential = %name, actor = %actor))]
    pub async fn revoke(&self, call: &Call, name: &CredentialName, actor: &Actor) -> Result<()> {
        let url = if self.version(call).await?.is_before_2() {
            let actor = actor.to_string();
            let query = [("credential_name", name.as_str()), ("actor", &actor)];
            self.connection().address(V1, &query)
        } else {
            let Some(permission) = self.permission(call, name.as_str(), actor).await? else {
                return Ok(());
            };
            let segments = [V2, &[permission.uuid.as_str()]].concat();
            self.connection().address(&segments, &[])
        };
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        unless_absent(self.connection().send(call, request).await).map(drop)
    }

    /// The permission on exactly this path, as far as the client can see it.
    async fn permission(
        &self,
        call: &Call,
        path: &str,
        actor: &Actor,
    ) -> Result<Option<Permission>> {
        let actor = actor.to_string();
        let query = [("path", path), ("actor", actor.as_str())];
        unless_absent(self.connection().read(call, V2, &query).await)
    }

    /// Adds the missing operations to the actor's existing permission.
    async fn extend(
        &self,
        call: &Call,
        name: &CredentialName,
        actor: &Actor,
        operations: &[PermittedOperation],
    ) -> Result<()> {
        // A client that may grant but not read permissions relies on CredHub's answer.
        let Some(permission) = self.permission(call, name.as_str(), actor).await? else {
            return Ok(());
        };
        let mut all = permission.operations.clone();
        all.extend(operations);
        if all == permission.operations {
            return Ok(());
        }
        let path = [V2, &[permission.uuid.as_str()]].concat();
        let operations = json!({ "operations": all });
        self.change(call, Method::PATCH, &path, &operations).await
    }

    async fn change(&self, call: &Call, method: Method, path: &[&str], body: &Value) -> Result<()> {
        let url = self.connection().address(path, &[]);
        let request = Request::new(method, url, Repeat::WhenTransient).json(body);
        self.connection().send(call, request).await.map(drop)
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
