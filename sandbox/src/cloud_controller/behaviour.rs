//! How a Cloud Controller deals with brokers. All of it can be changed while it runs.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// How a Cloud Controller deals with brokers. The defaults are those of a real one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrokerBehaviour {
    /// How long to wait for an answer: to connect, and for all of it (`broker_client_timeout_seconds`).
    pub timeout: Duration,
    /// Whether certificates of brokers are looked at (`ssl.skip_cert_verify`).
    pub certificates: BrokerCertificates,
    /// The pause between two polls of a last operation (`broker_client_default_async_poll_interval_seconds`).
    pub polling_interval: Duration,
    /// By how much each pause is longer than the one before
    /// (`broker_client_async_poll_exponential_backoff_rate`).
    pub polling_factor: f64,
    /// How long an operation is polled at most (`broker_client_max_async_poll_duration_minutes`).
    pub maximum_polling_duration: Duration,
    /// The unit of the pauses of orphan mitigation: after the n-th failed attempt it waits 2ⁿ of them.
    pub mitigation_delay: Duration,
    /// When the row of an instance that v3 orders is there to be listed and counted.
    pub instance_row: InstanceRow,
}

/// Whether certificates of brokers are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokerCertificates {
    /// They must be trusted.
    #[default]
    Verified,
    /// Any will do, as in many a foundation.
    Ignored,
}

/// When the row of a new instance is there. A broker that counts instances while it provisions one finds it, or not
/// (`spec/contracts/platform-apis.md`, "Pitfalls", 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceRow {
    /// Before the broker is called, as in v3.
    #[default]
    BeforeCall,
    /// When the broker has answered, as in v2.
    AfterCall,
}

impl Default for BrokerBehaviour {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
            certificates: BrokerCertificates::default(),
            polling_interval: Duration::from_mins(1),
            polling_factor: 1.0,
            maximum_polling_duration: Duration::from_hours(168),
            mitigation_delay: Duration::from_mins(1),
            instance_row: InstanceRow::default(),
        }
    }
}

/// The behaviour of the moment, shared by all who follow it.
#[derive(Clone, Debug)]
pub(crate) struct SharedBehaviour(Arc<RwLock<BrokerBehaviour>>);

impl SharedBehaviour {
    pub(crate) fn new(behaviour: BrokerBehaviour) -> Self {
        Self(Arc::new(RwLock::new(behaviour)))
    }

    pub(crate) fn now(&self) -> BrokerBehaviour {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, behaviour: BrokerBehaviour) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = behaviour;
    }
}
