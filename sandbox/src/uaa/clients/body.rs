//! A client as it is sent.

use std::collections::BTreeSet;

use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::ClientRejection;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ClientBody {
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<SecretString>,
    #[serde(default, deserialize_with = "texts")]
    pub(super) scope: BTreeSet<String>,
    #[serde(default, deserialize_with = "texts")]
    pub(super) authorized_grant_types: BTreeSet<String>,
    #[serde(default, deserialize_with = "texts")]
    pub(super) redirect_uri: BTreeSet<String>,
    #[serde(default, deserialize_with = "approvals")]
    pub(super) autoapprove: Option<BTreeSet<String>>,
    #[serde(default, deserialize_with = "texts")]
    pub(super) authorities: BTreeSet<String>,
    pub(super) access_token_validity: Option<i64>,
    pub(super) refresh_token_validity: Option<i64>,
    /// Taken and not looked at: a UAA finds out by itself whom a token is for, and when a client was modified.
    #[serde(rename = "resource_ids")]
    _resource_ids: Option<Value>,
    #[serde(rename = "lastModified")]
    _last_modified: Option<Value>,
    #[serde(rename = "approvals_deleted")]
    _approvals_deleted: Option<Value>,
    #[serde(flatten)]
    pub(super) additional: Map<String, Value>,
}

impl ClientBody {
    pub(super) fn id(&self) -> &str {
        self.client_id.as_deref().unwrap_or_default()
    }
}

pub(super) fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, ClientRejection> {
    serde_json::from_slice(body).map_err(|_| ClientRejection::Unreadable)
}

/// A list, a text with commas, or nothing.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        List(BTreeSet<String>),
        Row(String),
    }
    Ok(match Option::deserialize(deserializer)? {
        None => BTreeSet::new(),
        Some(Texts::List(list)) => list,
        Some(Texts::Row(row)) => row
            .split(',')
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

/// The scopes that a user need not approve of: a list, or `true` for all.
fn approvals<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeSet<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Approvals {
        All(bool),
        List(BTreeSet<String>),
        One(String),
    }
    let approvals: Option<Approvals> = Option::deserialize(deserializer)?;
    Ok(approvals.map(|approvals| match approvals {
        Approvals::All(all) => BTreeSet::from([all.to_string()]),
        Approvals::List(list) => list,
        Approvals::One(one) => BTreeSet::from([one]),
    }))
}
