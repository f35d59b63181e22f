//! Credentials: put, latest, version, find, delete.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{CredHub, CredentialName, CredentialValue};
use crate::{
    http::{Call, Method, Repeat, Request, StatusCode},
    service_error::Result,
    text_id::text_ids,
};

const DATA: [&str; 3] = ["api", "v1", "data"];

text_ids! {
    CredentialId = "credential id";
}

#[derive(Clone)]
pub struct Credential {
    pub id: CredentialId,
    /// The name, in the letters in which it was first written.
    pub name: CredentialName,
    pub value: CredentialValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It existed and is removed.
    Yes,
    /// It was missing, or the client may not remove it: CredHub does not distinguish the two.
    WasAbsent,
}

impl CredHub {
    /// Creates a new version of a credential, which becomes the latest.
    ///
    /// # Errors
    ///
    /// Status 400 among others when the credential is of another type, 403 when the client may not write it.
    #[tracing::instrument(name = "credhub.put", skip_all, fields(credential = %name))]
    pub async fn put(
        &self,
        call: &Call,
        name: &CredentialName,
        value: &CredentialValue,
    ) -> Result<Credential> {
        let version = self.version(call).await?;
        let body = NewCredential {
            name,
            credential_type: value.credential_type(),
            value: value.to_raw(),
            mode: version.is_before_2().then_some("overwrite"),
        };
        let url = self.connection().address(&DATA, &[]);
        let request = Request::new(Method::PUT, url, Repeat::WhenTransient).json(&body);
        let answer = self.connection().send(call, request).await?;
        Ok(answer.json::<WireCredential>()?.into())
    }

    /// If it exists and the client may read it.
    #[tracing::instrument(name = "credhub.latest", skip_all, fields(credential = %name))]
    pub async fn latest(&self, call: &Call, name: &CredentialName) -> Result<Option<Credential>> {
        let query = [("current", "true"), ("name", name.as_str())];
        Ok(self.data(call, &query).await?.into_iter().next())
    }

    /// The newest versions of a credential, newest first, `most` at most; empty if the client may read none.
    #[tracing::instrument(name = "credhub.newest", skip_all, fields(credential = %name))]
    pub async fn newest(
        &self,
        call: &Call,
        name: &CredentialName,
        most: usize,
    ) -> Result<Vec<Credential>> {
        let most = most.to_string();
        self.data(call, &[("name", name.as_str()), ("versions", &most)])
            .await
    }

    /// If it exists and the client may read it.
    #[tracing::instrument(name = "credhub.version_of", skip_all, fields(credential.id = %id))]
    pub async fn version_of(&self, call: &Call, id: &CredentialId) -> Result<Option<Credential>> {
        let [api, v1, data] = DATA;
        let found = self
            .connection()
            .read::<WireCredential>(call, &[api, v1, data, id.as_str()], &[])
            .await;
        Ok(unless_absent(found)?.map(Credential::from))
    }

    /// The names in a folder, at any depth, as far as the client may see them.
    #[tracing::instrument(name = "credhub.names_below", skip_all, fields(folder = %folder))]
    pub async fn names_below(
        &self,
        call: &Call,
        folder: &CredentialName,
    ) -> Result<Vec<CredentialName>> {
        let found = self.names(call, &[("path", folder.as_str())]).await?;
        // The server may interpret the path in another way; other entries are ignored.
        Ok(found
            .into_iter()
            .filter(|name| name.is_below(folder))
            .collect())
    }

    /// The names that have a text in them, wherever, as far as the client may see them.
    #[tracing::instrument(name = "credhub.names_like", skip_all, fields(text = part))]
    pub async fn names_like(&self, call: &Call, part: &str) -> Result<Vec<CredentialName>> {
        self.names(call, &[("name-like", part)]).await
    }

    /// Deletes a credential with all its versions.
    #[tracing::instrument(name = "credhub.delete", skip_all, fields(credential = %name))]
    pub async fn delete(&self, call: &Call, name: &CredentialName) -> Result<Removed> {
        let url = self.connection().address(&DATA, &[("name", name.as_str())]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        let found = unless_absent(self.connection().send(call, request).await)?;
        Ok(match found {
            Some(_) => Removed::Yes,
            None => Removed::WasAbsent,
        })
    }

    async fn data(&self, call: &Call, query: &[(&str, &str)]) -> Result<Vec<Credential>> {
        let found = self.connection().read::<Versions>(call, &DATA, query).await;
        let versions = unless_absent(found)?.map_or_else(Vec::new, |found| found.data);
        Ok(versions.into_iter().map(Credential::from).collect())
    }

    async fn names(&self, call: &Call, query: &[(&str, &str)]) -> Result<Vec<CredentialName>> {
        let found: Found = self.connection().read(call, &DATA, query).await?;
        Ok(found
            .credentials
            .into_iter()
            // A name that this type cannot represent cannot be requested either.
            .filter_map(|found| found.name.parse().ok())
            .collect())
    }
}

/// The value stays hidden.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("value", &self.value)
            .finish()
    }
}

/// 404 means that the credential does not exist or that the client may not read it.
pub(super) fn unless_absent<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(None),
        Err(error) => Err(error),
    }
}

#[derive(Serialize)]
struct NewCredential<'a> {
    name: &'a CredentialName,
    #[serde(rename = "type")]
    credential_type: &'static str,
    value: Box<RawValue>,
    /// Servers before 2.0 keep the old value without it; later ones refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
}

#[derive(Deserialize)]
struct Versions {
    data: Vec<WireCredential>,
}

#[derive(Deserialize)]
struct WireCredential {
    id: CredentialId,
    name: CredentialName,
    value: Box<RawValue>,
}

impl From<WireCredential> for Credential {
    fn from(wire: WireCredential) -> Self {
        Self {
            id: wire.id,
            name: wire.name,
            value: CredentialValue::from_json(&wire.value),
        }
    }
}

#[derive(Deserialize)]
struct Found {
    credentials: Vec<FoundName>,
}

#[derive(Deserialize)]
struct FoundName {
    name: String,
}
