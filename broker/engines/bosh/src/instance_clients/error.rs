//! Errors of an instance's client.

use super::secret::NoRandomness;
use odb_clients::{ServiceError, http::StatusCode};

/// Errors of a service instance's UAA client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// UAA did not answer, or rejected the request.
    #[error("could not {action} the UAA client of the instance")]
    Administration {
        /// The attempted action.
        action: &'static str,
        /// UAA's error, or the lack of an answer.
        #[source]
        source: Box<ServiceError>,
    },
    /// Whether it was created is unknown.
    #[error("it is not known whether the UAA client of the instance has been created")]
    Unconfirmed {
        /// UAA's error, or the lack of an answer.
        #[source]
        source: Box<ServiceError>,
    },
    /// A client was not there to be made, nor to be found, several times in a row.
    #[error(
        "could not create the UAA client of the instance: another process creates and deletes it"
    )]
    Unsteady,
    /// A client of another owner has the id.
    #[error(
        "a UAA client with the instance's id exists that this broker has not created; find its owner"
    )]
    Foreign,
    /// The definition uses the space, which is unknown.
    #[error(
        "`cf.uaa.client_definition` has `ODB_SPACE_GUID`, and the request does not say in which space the instance is"
    )]
    SpaceUnknown,
    /// There is no secret for a new client.
    #[error("could not make a secret for the UAA client of the instance")]
    Secret(#[from] NoRandomness),
}

impl ClientError {
    pub(super) fn action(action: &'static str) -> impl FnOnce(ServiceError) -> Self {
        move |source| Self::Administration {
            action,
            source: Box::new(source),
        }
    }

    /// The time of the request was used up.
    pub fn is_timeout(&self) -> bool {
        self.source_of_uaa().is_some_and(ServiceError::is_timeout)
    }

    /// A later attempt may succeed; the broker's credentials may be in rotation.
    pub fn is_transient(&self) -> bool {
        self.source_of_uaa().is_some_and(ServiceError::is_transient)
    }

    /// UAA does not let us.
    pub fn is_missing_right(&self) -> bool {
        let status = self.source_of_uaa().and_then(ServiceError::status);
        status == Some(StatusCode::FORBIDDEN)
    }

    /// A client may have been created although this error says that none exists.
    pub fn may_have_made(&self) -> bool {
        matches!(self, Self::Unconfirmed { .. } | Self::Unsteady)
    }

    fn source_of_uaa(&self) -> Option<&ServiceError> {
        match self {
            Self::Administration { source, .. } | Self::Unconfirmed { source } => Some(source),
            Self::Unsteady | Self::Foreign | Self::SpaceUnknown | Self::Secret(_) => None,
        }
    }
}
