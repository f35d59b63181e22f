//! Registered service brokers.

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

use super::{BrokerGuid, Keyed, Metadata};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Broker {
    pub(crate) guid: BrokerGuid,
    pub(crate) name: String,
    pub(crate) address: BrokerAddress,
    pub(crate) state: BrokerState,
    pub(crate) metadata: Metadata,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BrokerAddress {
    pub(crate) url: String,
    pub(crate) username: String,
    #[serde(serialize_with = "password_into_the_state")]
    pub(crate) password: SecretString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BrokerState {
    Synchronizing,
    Available,
    /// The catalog could not be read, or not be taken. The record stays and can be corrected.
    SynchronizationFailed,
    Deleting,
}

impl Broker {
    /// A broker whose catalog is still to be read.
    pub(crate) fn new(name: String, address: BrokerAddress) -> Self {
        let now = Timestamp::now();
        Self {
            guid: BrokerGuid::random(),
            name,
            address,
            state: BrokerState::Synchronizing,
            metadata: Metadata::default(),
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether a job works on the broker.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(
            self.state,
            BrokerState::Synchronizing | BrokerState::Deleting
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BrokerKey {
    Name(String),
}

impl Keyed for Broker {
    type Key = BrokerKey;

    fn keys(&self) -> Vec<BrokerKey> {
        vec![BrokerKey::Name(self.name.clone())]
    }
}

/// The one way on which a password leaves: into the state, which only its owner can read.
fn password_into_the_state<S: Serializer>(
    password: &SecretString,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(password.expose_secret())
}
