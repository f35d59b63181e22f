//! The reader of stored credentials.

use odb_clients::credhub::Actor;
use serde::{Deserialize, Serialize};

use crate::operations::BindResource;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::operations) enum Reader {
    /// The application, by its GUID.
    App(String),
    /// A client of UAA, by its id: the one with which the Cloud Controller reads service keys.
    UaaClient(String),
    /// A route and a backup agent are bound to by addresses, which are no credentials.
    Unset,
}

/// The request names no reader for the credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the request names neither an application nor a `credential_client_id` that could read credentials in the runtime \
     CredHub"
)]
pub struct NoReader;

impl Reader {
    /// The reader that a request names; the order is the Go broker's.
    pub(in crate::operations) fn of(resource: &BindResource) -> Result<Self, NoReader> {
        if let Some(app) = &resource.app {
            Ok(Self::App(app.clone()))
        } else if let Some(client) = &resource.credential_client {
            Ok(Self::UaaClient(client.clone()))
        } else if resource.route.is_some() || resource.for_backup_agent {
            Ok(Self::Unset)
        } else {
            Err(NoReader)
        }
    }

    /// The actor in CredHub.
    pub(super) fn actor(&self) -> Option<Actor> {
        match self {
            Self::App(guid) => Some(Actor::App(guid.clone())),
            Self::UaaClient(id) => Some(Actor::UaaClient(id.clone())),
            Self::Unset => None,
        }
    }
}
