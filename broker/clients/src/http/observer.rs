//! An observer of calls.

use std::{sync::OnceLock, time::Duration};

use reqwest::{Method, StatusCode};
use url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    Director,
    /// UAA, of either foundation.
    Uaa,
    /// CredHub, of either foundation.
    CredHub,
    CloudController,
    ServiceInstancesApi,
    /// The management API of a broker.
    BrokerManagementApi,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub service: Service,
    pub outcome: AttemptOutcome,
    pub taken: Duration,
    /// The call is tried again.
    pub is_repeated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    Answered(StatusCode),
    /// There was none, or it could not be read.
    Failed,
}

/// A request that is about to be sent, for the first time or again.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    pub service: Service,
    pub method: &'a Method,
    /// The address, with query.
    pub url: &'a Url,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenEvent {
    /// There is no valid token: one is requested.
    Wanted,
    Obtained {
        life: Duration,
    },
}

/// Observes every attempt, on the task that makes it: it must not take long.
pub trait Observer: Send + Sync {
    fn depart(&self, _departure: &Departure<'_>) {}

    fn observe(&self, _attempt: &Attempt) {}

    fn token(&self, _event: TokenEvent) {}
}

static OBSERVER: OnceLock<&'static dyn Observer> = OnceLock::new();

/// Registers the observer of every call of this process. A process has one observer: a second registration has no
/// effect.
pub fn observe_calls(observer: &'static dyn Observer) {
    // The first one stays.
    let _ = OBSERVER.set(observer);
}

pub(crate) fn observer() -> Option<&'static dyn Observer> {
    OBSERVER.get().copied()
}

impl Service {
    /// Those that a broker calls.
    pub const ALL: &[Self] = &[
        Self::Director,
        Self::Uaa,
        Self::CredHub,
        Self::CloudController,
        Self::ServiceInstancesApi,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Director => "director",
            Self::Uaa => "uaa",
            Self::CredHub => "credhub",
            Self::CloudController => "cloud-controller",
            Self::ServiceInstancesApi => "service-instances-api",
            Self::BrokerManagementApi => "broker-management-api",
        }
    }

    /// The service's name in a sentence.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Director => "the Director",
            Self::Uaa => "UAA",
            Self::CredHub => "CredHub",
            Self::CloudController => "the Cloud Controller",
            Self::ServiceInstancesApi => "the service instances API",
            Self::BrokerManagementApi => "the broker",
        }
    }
}
