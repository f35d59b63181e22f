//! Service brokers, as the Cloud Controller keeps them.

use secrecy::SecretString;

use super::{Accepted, ApiVersion, BrokerGuid, CloudController, v2, v3};
use crate::{http::Call, service_error::ServiceError};

/// A service broker that is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfBroker {
    /// The Cloud Controller's id.
    pub guid: BrokerGuid,
    /// Its name, which no other broker has.
    pub name: String,
    /// Where the Cloud Controller speaks to it.
    pub url: String,
}

/// What the Cloud Controller is told of a broker.
#[derive(Clone, Debug)]
pub struct BrokerRegistration {
    /// Its name.
    pub name: String,
    /// Where the Cloud Controller is to speak to it.
    pub url: String,
    /// As whom.
    pub username: String,
    /// With which password.
    pub password: SecretString,
}

impl CloudController {
    /// The broker of that name. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.broker_named", skip_all)]
    pub async fn broker_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<CfBroker>, ServiceError> {
        let connection = self.connection();
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::broker_named(connection, call, name).await,
            ApiVersion::V2 => v2::broker_named(connection, call, name).await,
        }
    }

    /// Registers a broker, and has its catalog read.
    ///
    /// Sent once. After an error that [may have taken effect](ServiceError::may_have_taken_effect), and after a
    /// job that has failed, the broker may be there: [`CloudController::broker_named`] tells, and
    /// [`CloudController::update_broker`] has its catalog read again. In version 2 of the API the request waits for the
    /// broker.
    #[tracing::instrument(name = "cloud_controller.create_broker", skip_all)]
    pub async fn create_broker(
        &self,
        call: &Call,
        broker: &BrokerRegistration,
    ) -> Result<Accepted, ServiceError> {
        let connection = self.connection();
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::create_broker(connection, call, broker).await,
            ApiVersion::V2 => v2::create_broker(connection, call, broker).await,
        }
    }

    /// Tells anew what a broker is, and has its catalog read.
    ///
    /// Sent once, for each time has the catalog read; safe to repeat. When it fails the broker stays what it was. While
    /// an earlier change is under way it is refused ([`ServiceError::is_busy`]).
    #[tracing::instrument(name = "cloud_controller.update_broker", skip_all, fields(%guid))]
    pub async fn update_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
        broker: &BrokerRegistration,
    ) -> Result<Accepted, ServiceError> {
        let connection = self.connection();
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::update_broker(connection, call, guid, broker).await,
            ApiVersion::V2 => v2::update_broker(connection, call, guid, broker).await,
        }
    }

    /// Has a broker forgotten, with its offerings and plans. One that is not there has been. Safe to repeat.
    ///
    /// While it has service instances it is refused: [`ServiceError::is_broker_in_use`].
    #[tracing::instrument(name = "cloud_controller.delete_broker", skip_all, fields(%guid))]
    pub async fn delete_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
    ) -> Result<Accepted, ServiceError> {
        let connection = self.connection();
        let deleted = match self.spoken(call).await? {
            ApiVersion::V3 => v3::delete_broker(connection, call, guid).await,
            ApiVersion::V2 => v2::delete_broker(connection, call, guid).await,
        };
        match deleted {
            Err(error) if error.is_not_found() => Ok(Accepted::Done {
                warnings: Vec::new(),
            }),
            other => other,
        }
    }
}
