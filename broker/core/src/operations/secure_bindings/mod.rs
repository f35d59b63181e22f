//! Credentials of bindings in the runtime CredHub, which only the application reads
//! (`spec/contracts/broker-behaviour.md` §3.15).
//!
//! Credentials are written first, then the record, then the permission. Everything that an interrupted bind leaves
//! behind can be found by the binding's id, and there is no permission without a record that names its reader.

mod names;
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
use serde_json::{Map, Value, json};

use super::{BindRequest, BindResource, Refused};
use crate::engine::{KeptBindings, RequestIdentity};
use record::{BindingRecord, Reader};

pub(super) use names::BindingNames;

#[derive(Clone, Debug)]
pub struct SecureBindings {
    credhub: CredHub,
    service: OfferingId,
}

#[derive(Debug, thiserror::Error)]
#[error("could not {activity}")]
pub struct SecureBindingError {
    activity: &'static str,
    #[source]
    source: Box<ServiceError>,
}

impl SecureBindingError {
    /// Whether the request may take effect without an answer, even later on.
    pub(super) fn may_take_effect(&self) -> bool {
        self.source.may_have_taken_effect()
    }

    pub fn is_timeout(&self) -> bool {
        self.source.is_timeout()
    }
}

fn trying_to<T>(
    activity: &'static str,
    result: Result<T, ServiceError>,
) -> Result<T, SecureBindingError> {
    result.map_err(|source| SecureBindingError {
        activity,
        source: Box::new(source),
    })
}

#[derive(Clone, Debug)]
pub(super) struct Keeping {
    secure: SecureBindings,
    names: BindingNames,
    reader: Reader,
    identity: Value,
}

#[derive(Debug)]
pub(super) enum Before {
    Nothing,
    Same(Binding),
    Other,
}

impl Keeping {
    /// Everything that must be known before credentials are created. `parameters` are the user's.
    pub(super) fn new(
        secure: &SecureBindings,
        request: &BindRequest,
        parameters: &Map<String, Value>,
    ) -> Result<Self, Refused> {
        let names = BindingNames::new(&request.service, &request.instance, &request.binding);
        Ok(Self {
            secure: secure.clone(),
            names: names.ok_or(Refused::UnstorableIds)?,
            reader: Reader::of(&request.resource).ok_or(Refused::NoReader)?,
            identity: identity(request, parameters),
        })
    }

    /// Reads whether the binding exists. If it does, its reader gets permission: an earlier process may have ended
    /// before that.
    pub(super) async fn find(&self, call: &Call) -> Result<Before, SecureBindingError> {
        match self.secure.find(call, &self.names).await? {
            None => Ok(Before::Nothing),
            Some(record) if record.is_of(RequestIdentity(&self.identity)) => {
                self.let_in(call, &record).await?;
                Ok(Before::Same(record.answer))
            }
            Some(_) => Ok(Before::Other),
        }
    }

    /// Stores the credentials, if there are any, and the record of the binding, and permits the reader. The platform
    /// gets a reference instead.
    pub(super) async fn keep(
        &self,
        call: &Call,
        binding: Binding,
    ) -> Result<Binding, SecureBindingError> {
        let credhub = &self.secure.credhub;
        let credentials = credentials_of(&binding);
        let reference = credentials.is_some().then(|| self.reference());
        let identity = RequestIdentity(&self.identity);
        let record = BindingRecord::new(identity, self.reader.clone(), binding, reference);
        if let Some(credentials) = credentials {
            let value = CredentialValue::Json(credentials);
            let stored = credhub.put(call, &self.names.credentials, &value).await;
            trying_to("store the credentials", stored)?;
        }
        let value = CredentialValue::Json(record.to_json());
        let stored = credhub.put(call, &self.names.record, &value).await;
        trying_to("store the record of the binding", stored)?;
        self.let_in(call, &record).await?;
        Ok(record.answer)
    }

    /// Permits the reader of stored credentials to read them; an existing permission is no error.
    async fn let_in(&self, call: &Call, record: &BindingRecord) -> Result<(), SecureBindingError> {
        let Some(actor) = record.reader.actor().filter(|_| record.has_credentials()) else {
            return Ok(());
        };
        let (credhub, name) = (&self.secure.credhub, &self.names.credentials);
        let read = [PermittedOperation::Read];
        let granted = credhub.grant(call, name, &actor, &read).await;
        trying_to("let the application read its credentials", granted)?;
        Ok(())
    }

    pub(super) async fn roll_back(&self, call: &Call) -> Result<(), SecureBindingError> {
        let (names, reader) = (&self.names, Some(&self.reader));
        self.secure.remove(call, names, reader).await
    }

    pub(super) fn reference(&self) -> &str {
        self.names.reference()
    }
}

/// The identity of a bind request. Names and annotations may change at any time and do not count.
fn identity(request: &BindRequest, parameters: &Map<String, Value>) -> Value {
    let BindResource {
        app,
        space,
        route,
        credential_client,
        for_backup_agent,
    } = &request.resource;
    json!({
        "service_id": request.service,
        "plan_id": request.plan,
        "parameters": parameters,
        "app_guid": app,
        "space_guid": space,
        "route": route,
        "credential_client_id": credential_client,
        "backup_agent": for_backup_agent,
    })
}

impl SecureBindings {
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
            if trying_to("look for the stored credentials", credentials)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(record))
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
            trying_to("take the permission to read the credentials back", revoked)?;
        }
        let deleting = "delete the stored credentials";
        if let Some(name) = &names.previous_credentials {
            trying_to(deleting, self.delete_previous(call, name).await)?;
        }
        for name in [&names.credentials, &names.record] {
            trying_to(deleting, self.credhub.delete(call, name).await)?;
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

    async fn remove_all_of(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(), SecureBindingError> {
        let mut removed = 0;
        let folders = names::folders(&self.service, instance);
        for folder in &folders {
            let found = self.credhub.names_below(call, folder).await;
            let mut found = trying_to("look for stored credentials", found)?;
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
            found.retain(|name| {
                let mut bindings = bindings.iter();
                !bindings.any(|names| *name == names.credentials || *name == names.record)
            });
            for name in &found {
                let deleted = self.credhub.delete(call, name).await;
                trying_to("delete the instance's other resources", deleted)?;
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
        let stored = trying_to("read the record of the binding", stored)?;
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
