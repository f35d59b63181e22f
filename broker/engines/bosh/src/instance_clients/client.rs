//! The client of one instance, as an operation has it in hand.

use odb_adapter_sdk::protocol::UaaClient;
use odb_api_types::{ids::InstanceId, management::ChangeSort};
use odb_clients::{director::ContextId, uaa::ClientRegistration};
use secrecy::SecretString;

/// The client of one instance, and the change that an operation made.
#[derive(Clone, Debug)]
pub struct InstanceClient {
    pub(super) instance: InstanceId,
    /// As UAA has it.
    pub(super) registration: ClientRegistration,
    /// Known to the operation that gives it, and never again; a client of the grant `implicit` has none.
    pub(super) secret: Option<SecretString>,
    pub(super) origin: Origin,
}

/// How the operation came to know the secret of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// It made the client.
    New,
    /// The client gets another secret, because its current one may be unknown to every user of it.
    Renewed,
}

/// Where a client comes from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// The operation made it.
    Made { operation: ContextId },
    /// It was there.
    Found {
        before: Before,
        /// The operation that gives it another secret, if its current one may be unknown to every user of it.
        renewed_by: Option<ContextId>,
    },
}

/// A client as it was.
#[derive(Clone, Debug)]
pub(super) struct Before {
    pub(super) registration: Box<ClientRegistration>,
    pub(super) is_changed: bool,
}

impl InstanceClient {
    /// How the operation came to know the secret; `None` where it does not.
    pub fn making(&self) -> Option<Making> {
        match &self.origin {
            Origin::Made { .. } => Some(Making::New),
            Origin::Found { renewed_by, .. } => renewed_by.as_ref().map(|_| Making::Renewed),
        }
    }

    /// The change that the operation makes or has made; `None` if the client is as desired.
    pub fn change(&self) -> Option<ChangeSort> {
        match &self.origin {
            Origin::Made { .. } => Some(ChangeSort::Added),
            Origin::Found { before, renewed_by } => {
                (before.is_changed || renewed_by.is_some()).then_some(ChangeSort::Changed)
            }
        }
    }

    /// The operation that made it, if it is new.
    pub fn made_by(&self) -> Option<&ContextId> {
        match &self.origin {
            Origin::Made { operation } => Some(operation),
            Origin::Found { .. } => None,
        }
    }

    /// The data for undoing the change: the secret is dropped.
    #[must_use]
    pub fn without_secret(self) -> Self {
        Self {
            secret: None,
            ..self
        }
    }

    /// The client for the adapter, which receives a new secret only once (`spec/contracts/adapter-protocol.md` §2.8).
    pub fn for_adapter(&self) -> UaaClient {
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
