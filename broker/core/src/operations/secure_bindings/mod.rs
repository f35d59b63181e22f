//! Credentials of bindings in the runtime CredHub, which only the application reads
//! (`spec/contracts/broker-behaviour.md` §3.15).
//!
//! | file | contents |
//! | --- | --- |
//! | `names` | their names |
//! | `reader` | their reader |
//! | `record` | the record of a binding beside them |
//! | `keeping` | storing the credentials of one bind, and the rollback when the bind fails |
//!
//! Credentials are written first, then the record, then the permission. Everything that an interrupted bind leaves
//! behind can be found by the binding's id, and there is no permission without a record that names its reader.

mod keeping;
mod names;
mod reader;
mod record;

use async_trait::async_trait;
use odb_adapter_sdk::protocol::Binding;
use odb_api_types::{
    code::Code,
    ids::{InstanceId, OfferingId},
};
use odb_clients::{
    ServiceError,
    credhub::{CredHub, CredentialName, CredentialValue, PermittedOperation, Removed, SecretJson},
    http::{Call, StatusCode},
};
use odb_redaction::Chain;

use crate::engine::KeptBindings;
use reader::Reader;
use record::BindingRecord;

pub use names::UnstorableIds;
pub use reader::NoReader;

pub(super) use keeping::{Before, Keeping};
pub(super) use names::BindingNames;

/// The part of the runtime CredHub that belongs to the bindings of one offering.
#[derive(Clone, Debug)]
pub struct SecureBindings {
    credhub: CredHub,
    service: OfferingId,
}

/// The runtime CredHub did not answer, or rejected the request.
#[derive(Debug, thiserror::Error)]
#[error("could not {activity}")]
pub struct SecureBindingError {
    activity: &'static str,
    #[source]
    source: Box<ServiceError>,
}

impl SecureBindingError {
    fn while_trying_to(activity: &'static str) -> impl FnOnce(ServiceError) -> Self {
        move |source| Self {
            activity,
            source: Box::new(source),
        }
    }

    /// Whether the request may take effect without an answer, even later on.
    pub(super) fn may_take_effect(&self) -> bool {
        self.source.may_have_taken_effect()
    }

    /// The time of the request was used up.
    pub fn is_timeout(&self) -> bool {
        self.source.is_timeout()
    }
}

impl SecureBindings {
    /// In this CredHub.
    pub fn new(credhub: CredHub, service: OfferingId) -> Self {
        Self { credhub, service }
    }

    /// The record of a binding, if it exists and is complete. Bindings of the Go broker have none.
    pub(super) async fn find(
        &self,
        call: &Call,
        names: &BindingNames,
    ) -> Result<Option<BindingRecord>, SecureBindingError> {
        let Some(record) = self.record(call, names).await? else {
            return Ok(None);
        };
        if record.has_credentials() {
            let credentials = self.credhub.latest(call, &names.credentials).await;
            let credentials = credentials.map_err(SecureBindingError::while_trying_to(
                "look for the stored credentials",
            ))?;
            if credentials.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(record))
    }

    /// Stores credentials, if there are any, and the record of their binding, and permits the reader.
    async fn keep(
        &self,
        call: &Call,
        names: &BindingNames,
        credentials: Option<SecretJson>,
        record: &BindingRecord,
    ) -> Result<(), SecureBindingError> {
        if let Some(credentials) = credentials {
            let value = CredentialValue::Json(credentials);
            let stored = self.credhub.put(call, &names.credentials, &value).await;
            stored.map_err(SecureBindingError::while_trying_to("store the credentials"))?;
        }
        let value = CredentialValue::Json(record.to_json());
        let stored = self.credhub.put(call, &names.record, &value).await;
        stored.map_err(SecureBindingError::while_trying_to(
            "store the record of the binding",
        ))?;
        self.let_in(call, names, record).await
    }

    /// Permits the reader of stored credentials to read them; an existing permission is no error.
    async fn let_in(
        &self,
        call: &Call,
        names: &BindingNames,
        record: &BindingRecord,
    ) -> Result<(), SecureBindingError> {
        let Some(actor) = record.reader.actor().filter(|_| record.has_credentials()) else {
            return Ok(());
        };
        let read = [PermittedOperation::Read];
        let granted = self
            .credhub
            .grant(call, &names.credentials, &actor, &read)
            .await;
        granted.map_err(SecureBindingError::while_trying_to(
            "let the application read its credentials",
        ))?;
        Ok(())
    }

    /// Removes everything stored about a binding. The record is removed last: after an error, the next attempt finds
    /// the reader in it.
    pub(super) async fn remove(
        &self,
        call: &Call,
        names: &BindingNames,
        reader: Option<&Reader>,
    ) -> Result<(), SecureBindingError> {
        let actor = if let Some(reader) = reader {
            reader.actor()
        } else {
            let record = self.record(call, names).await?;
            record.and_then(|record| record.reader.actor())
        };
        if let Some(actor) = actor {
            let revoked = self.credhub.revoke(call, &names.credentials, &actor).await;
            revoked.map_err(SecureBindingError::while_trying_to(
                "take the permission to read the credentials back",
            ))?;
        }
        let deleting = || SecureBindingError::while_trying_to("delete the stored credentials");
        if let Some(name) = &names.previous_credentials {
            self.delete_previous(call, name).await.map_err(deleting())?;
        }
        for name in [&names.credentials, &names.record] {
            self.credhub.delete(call, name).await.map_err(deleting())?;
        }
        Ok(())
    }

    /// Removes credentials from the Go broker's path. A path that differs in case belongs to another binding.
    async fn delete_previous(
        &self,
        call: &Call,
        name: &CredentialName,
    ) -> Result<Removed, ServiceError> {
        match self.credhub.latest(call, name).await? {
            Some(found) if found.name == *name => self.credhub.delete(call, name).await,
            Some(_) | None => Ok(Removed::WasAbsent),
        }
    }

    /// Removes everything stored about the bindings of an instance.
    async fn remove_all_of(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(), SecureBindingError> {
        let mut removed = 0;
        let folders = names::folders(&self.service, instance);
        for folder in &folders {
            let found = self.credhub.names_below(call, folder).await;
            let mut found = found.map_err(SecureBindingError::while_trying_to(
                "look for stored credentials",
            ))?;
            found.retain(|name| names::is_in_one_of(&folders, name));
            let mut bindings: Vec<BindingNames> = Vec::new();
            for names in found.iter().filter_map(BindingNames::around) {
                if !bindings.iter().any(|known| known.record == names.record) {
                    bindings.push(names);
                }
            }
            for names in &bindings {
                self.remove(call, names, None).await?;
                removed += 1;
            }
            let is_of_binding = |name: &CredentialName| {
                let mut bindings = bindings.iter();
                bindings.any(|names| *name == names.credentials || *name == names.record)
            };
            for name in found.iter().filter(|name| !is_of_binding(name)) {
                let deleted = self.credhub.delete(call, name).await;
                deleted.map_err(SecureBindingError::while_trying_to(
                    "delete the instance's other resources",
                ))?;
            }
        }
        if removed > 0 {
            tracing::info!(
                bindings = removed,
                "deleted credentials that the runtime CredHub still had for bindings of the instance"
            );
        }
        Ok(())
    }

    async fn record(
        &self,
        call: &Call,
        names: &BindingNames,
    ) -> Result<Option<BindingRecord>, SecureBindingError> {
        let stored = self.credhub.latest(call, &names.record).await;
        let stored = stored.map_err(SecureBindingError::while_trying_to(
            "read the record of the binding",
        ))?;
        Ok(stored.and_then(|stored| BindingRecord::read(names, &stored.value)))
    }
}

#[async_trait]
impl KeptBindings for SecureBindings {
    async fn remove_all(&self, call: &Call, instance: &InstanceId) -> Result<(), ServiceError> {
        let removed = self.remove_all_of(call, instance).await;
        match removed.map_err(|error| *error.source) {
            Err(error) if error.status() == Some(StatusCode::FORBIDDEN) => {
                tracing::warn!(
                    code = %Code::CleanUp, error = %Chain(&error),
                    "some credentials of bindings remain: the broker has no permission to delete them"
                );
                Ok(())
            }
            removed => removed,
        }
    }
}

/// The credentials of an answer. Null and an empty object are none, and stay with the answer.
fn credentials_of(binding: &Binding) -> Option<SecretJson> {
    let text = binding.credentials.as_deref()?.get();
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    if text == "null" || inner.is_some_and(|inner| inner.trim().is_empty()) {
        return None;
    }
    let read = SecretJson::try_from(text.to_owned());
    Some(read.expect("what was read as raw JSON is JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_without_content_are_none() {
        for (answer, are_there) in [
            ("{}", false),
            (r#"{"credentials":null}"#, false),
            (r#"{"credentials":{}}"#, false),
            ("{\"credentials\": {\n } }", false),
            (r#"{"credentials":{"a":null}}"#, true),
        ] {
            let binding: Binding = serde_json::from_str(answer).unwrap();
            let credentials = credentials_of(&binding);
            assert_eq!(credentials.is_some(), are_there, "{answer}");
        }
    }
}
