//! The record of a binding beside its credentials: its request and its answer.

use odb_adapter_sdk::protocol::Binding;
use odb_clients::credhub::{CredentialValue, SecretJson};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::to_raw_value};

use super::{BindingNames, Reader};
use crate::engine::{RequestDigest, RequestIdentity};

const FORMAT: u32 = 1;

/// The record of a binding. It does not contain the request's parameters; a salted digest shows whether they are the
/// same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::operations) struct BindingRecord {
    format: u32,
    request: RequestDigest,
    /// The reader of the credentials.
    pub(super) reader: Reader,
    /// The answer to the platform, with a reference in place of credentials.
    answer: Binding,
    credentials: Credentials,
}

/// Whether there are credentials to refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Credentials {
    Stored,
    None,
}

impl BindingRecord {
    /// The record of a binding whose credentials are stored under these names.
    pub(in crate::operations) fn referring(
        names: &BindingNames,
        identity: RequestIdentity<'_>,
        reader: Reader,
        mut answer: Binding,
    ) -> Self {
        let reference = json!({ "credhub-ref": names.reference() });
        answer.credentials =
            Some(to_raw_value(&reference).expect("a JSON value writes itself as JSON"));
        Self {
            credentials: Credentials::Stored,
            ..Self::without_credentials(identity, reader, answer)
        }
    }

    /// Of a binding without credentials.
    pub(in crate::operations) fn without_credentials(
        identity: RequestIdentity<'_>,
        reader: Reader,
        answer: Binding,
    ) -> Self {
        Self {
            format: FORMAT,
            request: RequestDigest::new(identity),
            reader,
            answer,
            credentials: Credentials::None,
        }
    }

    /// The request is the one that made the binding.
    pub(in crate::operations) fn is_of(&self, identity: RequestIdentity<'_>) -> bool {
        self.request.matches(identity)
    }

    /// The answer to the platform.
    pub(in crate::operations) fn into_answer(self) -> Binding {
        self.answer
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
