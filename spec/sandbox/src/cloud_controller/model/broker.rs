//! Registered service brokers.

use jiff::Timestamp;
use secrecy::SecretString;

use super::BrokerGuid;

#[derive(Clone, Debug)]
pub(crate) struct Broker {
    pub(crate) guid: BrokerGuid,
    pub(crate) name: String,
    pub(crate) address: BrokerAddress,
    pub(crate) state: BrokerState,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// Where a broker is and what it wants to be told by whoever calls it.
#[derive(Clone, Debug)]
pub(crate) struct BrokerAddress {
    pub(crate) url: String,
    pub(crate) username: String,
    pub(crate) password: SecretString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrokerState {
    /// A job reads the catalog.
    Synchronizing,
    Available,
    /// The catalog could not be read, or not be taken. The record stays and can be corrected.
    SynchronizationFailed,
    /// A job deletes the broker.
    Deleting,
}

impl Broker {
    /// Whether a job works on the broker.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(
            self.state,
            BrokerState::Synchronizing | BrokerState::Deleting
        )
    }
}
