//! The way of one bind's credentials into the runtime CredHub, and back out when the bind fails.

use odb_adapter_sdk::protocol::Binding;
use odb_clients::http::Call;
use serde_json::{Map, Value, json};

use super::{
    BindingNames, BindingRecord, Reader, SecureBindingError, SecureBindings, credentials_of,
};
use crate::{
    engine::RequestIdentity,
    operations::{BindRequest, BindResource, Refused},
};

/// A binding whose credentials are to be stored.
#[derive(Clone, Debug)]
pub(in crate::operations) struct Keeping {
    secure: SecureBindings,
    names: BindingNames,
    reader: Reader,
    identity: Value,
}

/// The previous state.
#[derive(Debug)]
pub(in crate::operations) enum Before {
    Nothing,
    /// The same request has made it.
    Same(Binding),
    /// Another request has made it.
    Other,
}

impl Keeping {
    /// Everything that must be known before credentials are created. `parameters` are the user's.
    pub(in crate::operations) fn new(
        secure: &SecureBindings,
        request: &BindRequest,
        parameters: &Map<String, Value>,
    ) -> Result<Self, Refused> {
        Ok(Self {
            secure: secure.clone(),
            names: BindingNames::new(&request.service, &request.instance, &request.binding)?,
            reader: Reader::of(&request.resource)?,
            identity: identity(request, parameters),
        })
    }

    /// Reads whether the binding exists. If it does, its reader gets permission: an earlier process may have ended
    /// before that.
    pub(in crate::operations) async fn find(
        &self,
        call: &Call,
    ) -> Result<Before, SecureBindingError> {
        let Some(record) = self.secure.find(call, &self.names).await? else {
            return Ok(Before::Nothing);
        };
        if !record.is_of(RequestIdentity(&self.identity)) {
            return Ok(Before::Other);
        }
        self.secure.let_in(call, &self.names, &record).await?;
        Ok(Before::Same(record.into_answer()))
    }

    /// Stores the credentials. The platform gets a reference instead.
    pub(in crate::operations) async fn keep(
        &self,
        call: &Call,
        binding: Binding,
    ) -> Result<Binding, SecureBindingError> {
        let identity = RequestIdentity(&self.identity);
        let reader = self.reader.clone();
        let credentials = credentials_of(&binding);
        let record = if credentials.is_some() {
            BindingRecord::referring(&self.names, identity, reader, binding)
        } else {
            BindingRecord::without_credentials(identity, reader, binding)
        };
        self.secure
            .keep(call, &self.names, credentials, &record)
            .await?;
        Ok(record.into_answer())
    }

    /// Removes whatever may have been stored.
    pub(in crate::operations) async fn roll_back(
        &self,
        call: &Call,
    ) -> Result<(), SecureBindingError> {
        self.secure
            .remove(call, &self.names, Some(&self.reader))
            .await
    }

    /// The reference that the platform gets in place of credentials.
    pub(in crate::operations) fn reference(&self) -> &str {
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
