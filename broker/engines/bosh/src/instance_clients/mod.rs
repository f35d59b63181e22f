//! The UAA client of each service instance, if the operator defines one (`spec/contracts/broker-behaviour.md` §3.10).
//!
//! | file | contents |
//! | --- | --- |
//! | `desired_client` | the desired client of an instance, a pure function of definition, instance and context; its metadata |
//! | `service` | creates, changes, restores, deletes and previews clients |
//! | `rotation` | rotates secrets, and checks that a secret is deployed |
//!
//! A client has the id of its instance. No state is kept here: a client of an operation that was not submitted is
//! recognised by its metadata.

mod desired_client;
mod rotation;
mod service;

use desired_client::DesiredClient;
use odb_adapter_sdk::protocol::UaaClient;
use odb_api_types::{ids::InstanceId, management::ChangeSort};
use odb_clients::{ServiceError, director::ContextId, http::StatusCode, uaa::ClientRegistration};
use secrecy::SecretString;

use crate::records::operation_record::ClientRole;

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
