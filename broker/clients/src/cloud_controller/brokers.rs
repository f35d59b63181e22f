//! Service brokers, as the Cloud Controller keeps them.

use secrecy::SecretString;

use super::BrokerGuid;

/// A service broker that is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfBroker {
    /// The Cloud Controller's id.
    pub guid: BrokerGuid,
    /// Its name, which no other broker has.
    pub name: String,
    /// The broker's address for the Cloud Controller.
    pub url: String,
}

/// The registration of a broker at the Cloud Controller.
#[derive(Clone, Debug)]
pub struct BrokerRegistration {
    /// Its name.
    pub name: String,
    /// The broker's address for the Cloud Controller.
    pub url: String,
    /// As whom.
    pub username: String,
    /// With which password.
    pub password: SecretString,
}
