//! The record of a binding beside its credentials: its request and its answer.

use odb_adapter_sdk::protocol::Binding;
use odb_clients::credhub::{Actor, CredentialValue, SecretJson};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::to_raw_value};

use super::BindingNames;
use crate::{
    engine::{RequestDigest, RequestIdentity},
    operations::BindResource,
};

const FORMAT: u32 = 1;

/// The record of a binding. It does not contain the request's parameters; a salted digest shows whether they are the
/// same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::operations) struct BindingRecord {
    format: u32,
    request: RequestDigest,
    pub(super) reader: Reader,
    /// The answer to the platform, with a reference in place of credentials.
    pub(in crate::operations) answer: Binding,
    credentials: Credentials,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Credentials {
    Stored,
    None,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::operations) enum Reader {
    App(String),
    /// A client of UAA, by its id: the one with which the Cloud Controller reads service keys.
    UaaClient(String),
    /// A route and a backup agent are bound to by addresses, which are no credentials.
    Unset,
}

impl BindingRecord {
    /// `reference` is the name of the stored credentials, if there are any.
    pub(super) fn new(
        identity: RequestIdentity<'_>,
        reader: Reader,
        mut answer: Binding,
        reference: Option<&str>,
    ) -> Self {
        let mut credentials = Credentials::None;
        if let Some(name) = reference {
            let reference = to_raw_value(&json!({ "credhub-ref": name }));
            answer.credentials = Some(reference.expect("a JSON value writes itself as JSON"));
            credentials = Credentials::Stored;
        }
        Self {
            format: FORMAT,
            request: RequestDigest::new(identity),
            reader,
            answer,
            credentials,
        }
    }

    pub(super) fn is_of(&self, identity: RequestIdentity<'_>) -> bool {
        self.request.matches(identity)
    }

    pub(super) fn has_credentials(&self) -> bool {
        self.credentials == Credentials::Stored
    }

    pub(super) fn to_json(&self) -> SecretJson {
        let text = serde_json::to_string(self).expect("texts and raw JSON can be written as JSON");
        SecretJson::try_from(text).expect("it has just been written as JSON")
    }

    /// An unreadable record counts as absent: the adapter is called then, as for a binding of the Go broker.
    pub(super) fn read(names: &BindingNames, value: &CredentialValue) -> Option<Self> {
        let read = serde_json::from_str::<Self>(value.as_text().expose_secret());
        let record = read.ok().filter(|record| record.format == FORMAT);
        if record.is_none() {
            tracing::warn!(name = %names.record, "the record of the binding cannot be read");
        }
        record
    }
}

impl Reader {
    /// The reader that a request names, if it names one; the order is the Go broker's.
    pub(super) fn of(resource: &BindResource) -> Option<Self> {
        if let Some(app) = &resource.app {
            Some(Self::App(app.clone()))
        } else if let Some(client) = &resource.credential_client {
            Some(Self::UaaClient(client.clone()))
        } else {
            (resource.route.is_some() || resource.for_backup_agent).then_some(Self::Unset)
        }
    }

    pub(super) fn actor(&self) -> Option<Actor> {
        match self {
            Self::App(guid) => Some(Actor::App(guid.clone())),
            Self::UaaClient(id) => Some(Actor::UaaClient(id.clone())),
            Self::Unset => None,
        }
    }
}
