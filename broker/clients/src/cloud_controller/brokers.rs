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
