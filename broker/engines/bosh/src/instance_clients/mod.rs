//! The UAA client of each service instance, if the operator defines one (`spec/contracts/broker-behaviour.md` §3.10).
//!
//! | file | contents |
//! | --- | --- |
//! | `desired_client` | the desired client of an instance, a pure function of definition, instance and context; its metadata |
//! | `service` | creates, changes, restores, deletes and previews clients |
//!
//! Here is the rotation of secrets: a client whose secret may never have been stored gets another one, and keeps the old
//! one until the new one is stored, because the instance may use it.
//!
//! A client has the id of its instance. No state is kept here: a client of an operation that was not submitted is
//! recognised by its metadata.

mod desired_client;
mod service;

use desired_client::DesiredClient;
use odb_adapter_sdk::protocol::UaaClient;
use odb_api_types::{ids::InstanceId, management::ChangeSort};
use odb_clients::{
    FailureKind, ServiceError,
    director::ContextId,
    http::{Call, StatusCode},
    uaa::{ClientAdministration, ClientRegistration, NewClient, SecretChange},
};
use odb_redaction::Chain;
use secrecy::SecretString;

use crate::{
    instance_clients::{
        desired_client::{Ownership, client_id},
        service::look_up,
    },
    records::operation_record::ClientRole,
};

pub(crate) use desired_client::CfContext;
pub(crate) use service::client_of_an_order;

pub use service::InstanceClients;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("could not {action} the UAA client of the instance")]
    Administration {
        action: &'static str,
        source: Box<ServiceError>,
    },
    #[error("it is not known whether the UAA client of the instance has been created")]
    Unconfirmed { source: Box<ServiceError> },
    /// A client was not there to be made, nor to be found, several times in a row.
    #[error(
        "could not create the UAA client of the instance: another process creates and deletes it"
    )]
    Unsteady,
    #[error(
        "a UAA client with the instance's id exists that this broker has not created; find its owner"
    )]
    Foreign,
    #[error(
        "`cf.uaa.client_definition` has `ODB_SPACE_GUID`, and the request does not say in which space the instance is"
    )]
    SpaceUnknown,
    #[error(
        "could not make a secret for the UAA client of the instance: the random number generator failed"
    )]
    NoRandomness,
}

impl ClientError {
    pub(super) fn action(action: &'static str) -> impl FnOnce(ServiceError) -> Self {
        move |source| Self::Administration {
            action,
            source: Box::new(source),
        }
    }

    /// A later attempt may succeed; the broker's credentials may be in rotation.
    pub(crate) fn is_transient(&self) -> bool {
        self.source_of_uaa().is_some_and(ServiceError::is_transient)
    }

    pub(crate) fn is_missing_right(&self) -> bool {
        let status = self.source_of_uaa().and_then(ServiceError::status);
        status == Some(StatusCode::FORBIDDEN)
    }

    /// A client may have been created although this error says that none exists.
    pub(crate) fn may_have_made(&self) -> bool {
        matches!(self, Self::Unconfirmed { .. } | Self::Unsteady)
    }

    pub(crate) fn source_of_uaa(&self) -> Option<&ServiceError> {
        match self {
            Self::Administration { source, .. } | Self::Unconfirmed { source } => Some(source),
            Self::Unsteady | Self::Foreign | Self::SpaceUnknown | Self::NoRandomness => None,
        }
    }
}

/// The client of one instance, and the change that an operation made.
#[derive(Clone, Debug)]
pub(crate) struct InstanceClient {
    pub(super) instance: InstanceId,
    pub(super) registration: ClientRegistration,
    /// Known to the operation that gives it, and never again; a client of the grant `implicit` has none.
    pub(super) secret: Option<SecretString>,
    pub(super) origin: Origin,
}

#[derive(Clone, Debug)]
pub(super) enum Origin {
    Made {
        operation: ContextId,
    },
    Found {
        before: Box<ClientRegistration>,
        is_changed: bool,
        /// The operation that gives it another secret, if its current one may be unknown to every user of it.
        renewed_by: Option<ContextId>,
    },
}

impl InstanceClient {
    pub(crate) fn role(&self) -> ClientRole {
        match &self.origin {
            Origin::Made { .. } => ClientRole::Made,
            Origin::Found { .. } if self.is_renewed() => ClientRole::Renewed,
            Origin::Found { .. } => ClientRole::Kept,
        }
    }

    pub(super) fn is_renewed(&self) -> bool {
        matches!(&self.origin, Origin::Found { renewed_by, .. } if renewed_by.is_some())
    }

    /// The change that the operation makes or has made; `None` if the client is as desired.
    pub(crate) fn change(&self) -> Option<ChangeSort> {
        match &self.origin {
            Origin::Made { .. } => Some(ChangeSort::Added),
            Origin::Found { is_changed, .. } => {
                (*is_changed || self.is_renewed()).then_some(ChangeSort::Changed)
            }
        }
    }

    /// Notes a change that is sent: it may take effect, whatever the answer. Returns whether there is one.
    pub(super) fn is_changed_by(&mut self, wanted: &ClientRegistration) -> bool {
        let differs = !DesiredClient::is_met_by(wanted, &self.registration);
        if let Origin::Found { is_changed, .. } = &mut self.origin {
            *is_changed |= differs;
        }
        differs
    }

    pub(crate) fn made_by(&self) -> Option<&ContextId> {
        match &self.origin {
            Origin::Made { operation } => Some(operation),
            Origin::Found { .. } => None,
        }
    }

    /// The data for undoing the change: the secret is dropped.
    #[must_use]
    pub(crate) fn without_secret(self) -> Self {
        Self {
            secret: None,
            ..self
        }
    }

    /// The client for the adapter, which receives a new secret only once (`spec/contracts/adapter-protocol.md` §2.8).
    pub(crate) fn for_adapter(&self) -> UaaClient {
        let ClientRegistration {
            client_id,
            name,
            scope,
            resource_ids,
            authorities,
            authorized_grant_types,
            redirect_uri,
            allow_public,
            additional: _,
        } = &self.registration;
        let mut reported = UaaClient::new(client_id.as_str());
        if let Some(secret) = &self.secret {
            reported.client_secret = secret.clone();
        }
        reported.name = name.clone().unwrap_or_default();
        reported.scopes = scope.join(",");
        reported.resource_ids = resource_ids.join(",");
        reported.authorities = authorities.join(",");
        reported.authorized_grant_types = authorized_grant_types.join(",");
        reported.redirect_uri = Some(redirect_uri.join(","));
        reported.allowpublic = Some(allow_public.to_string());
        reported
    }
}

impl InstanceClients {
    /// Gives a client the secret that its adapter has received, if that is another one.
    ///
    /// This is the last step that may fail: with the right to change secrets, the broker adds one to that which the
    /// instance may be using. Without that right, it has to replace the client.
    pub(crate) async fn renew(
        &self,
        call: &Call,
        client: &mut InstanceClient,
    ) -> Result<(), ClientError> {
        let Origin::Found {
            renewed_by: Some(operation),
            ..
        } = &client.origin
        else {
            return Ok(());
        };
        let (Some(administration), operation) = (&self.administration, operation.clone()) else {
            return Ok(());
        };
        let wanted = marked(&client.registration, Some(&operation));
        self.change(administration, call, client, wanted).await?;
        let Some(secret) = client.secret.clone() else {
            return Ok(());
        };
        match add_secret(administration, call, &client.registration, &secret).await {
            Ok(()) => {
                tracing::info!(
                    "the UAA client of the instance has a new secret: it is not known whether the former one has arrived"
                );
                Ok(())
            }
            Err(
                rejection @ ServiceError {
                    kind: FailureKind::Refused { .. },
                    ..
                },
            ) if !rejection.is_transient() => {
                tracing::info!(error = %Chain(&rejection), "the UAA client of the instance is recreated: its secret may not be changed");
                self.replace(administration, call, client, &operation).await
            }
            Err(error) => Err(ClientError::action("change the secret of")(error)),
        }
    }

    /// The operation that gave the client its secret has succeeded, so the secret is in use. The previous one is
    /// deleted.
    pub(crate) async fn settle(
        &self,
        call: &Call,
        instance: &InstanceId,
        operation: &ContextId,
        is_renewed: bool,
    ) -> Result<(), ClientError> {
        let Some(administration) = &self.administration else {
            return Ok(());
        };
        let id = client_id(instance);
        let found = look_up(administration, call, instance).await?;
        let Some(client) = found.filter(|found| Ownership::of(found).is_made_by(operation)) else {
            return Ok(());
        };
        if is_renewed {
            let deleted = administration
                .change_secret(call, &id, &SecretChange::DeleteOlder)
                .await;
            match deleted {
                Err(error) if !is_final_rejection(&error) => {
                    return Err(ClientError::action("change the secret of")(error));
                }
                // The only one is not deleted.
                Ok(()) | Err(_) => {}
            }
        }
        let settled = administration.update(call, &marked(&client, None)).await;
        settled.map_err(ClientError::action("change"))?;
        Ok(())
    }

    async fn replace(
        &self,
        administration: &ClientAdministration,
        call: &Call,
        client: &mut InstanceClient,
        operation: &ContextId,
    ) -> Result<(), ClientError> {
        let deleted = administration
            .delete(call, &client.registration.client_id)
            .await;
        deleted.map_err(ClientError::action("delete"))?;
        let new = NewClient {
            registration: marked(&client.registration, Some(operation)),
            secret: client.secret.clone(),
        };
        client.registration = self
            .register(administration, call, &client.instance, &new, operation)
            .await?;
        Ok(())
    }
}

/// Adds a secret. If there are two already, an earlier operation has failed, too: the older one is deleted.
async fn add_secret(
    administration: &ClientAdministration,
    call: &Call,
    client: &ClientRegistration,
    secret: &SecretString,
) -> Result<(), ServiceError> {
    let change = async |change| {
        let changed = administration.change_secret(call, &client.client_id, &change);
        changed.await
    };
    let add = || SecretChange::Add(secret.clone());
    match change(add()).await {
        Err(error)
            if is_final_rejection(&error) && error.status() != Some(StatusCode::FORBIDDEN) => {}
        added => return added,
    }
    match change(SecretChange::DeleteOlder).await {
        Ok(()) => change(add()).await,
        // There was none to which one could be added.
        Err(error) if is_final_rejection(&error) => {
            change(SecretChange::Replace(secret.clone())).await
        }
        failed => failed,
    }
}

fn is_final_rejection(error: &ServiceError) -> bool {
    matches!(error.kind, FailureKind::Refused { .. }) && !error.is_transient()
}

/// The same client as created by this operation; `None` if its secret is deployed. It has only the broker's own
/// members, because a UAA keeps the others.
fn marked(client: &ClientRegistration, made_by: Option<&ContextId>) -> ClientRegistration {
    let ownership = Ownership {
        made_by: made_by.map(ToString::to_string),
        ..Ownership::of(client)
    };
    ClientRegistration {
        additional: ownership.into_members(),
        ..client.clone()
    }
}
