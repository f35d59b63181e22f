use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use odb_adapter_sdk::protocol::{Plan, Secrets, ServiceDeployment};
use serde_json::Value;

use super::source::{Location, TemplateError};
use super::stand_in::StandIns;
use crate::path::ManifestPath;

/// The state that filters and functions share with the renderer: one call of the adapter.
pub(crate) struct Session {
    stand_ins: Mutex<StandIns>,
    facts: Mutex<Facts>,
    stop: Mutex<Option<Stop>>,
}

#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) deployment: Option<ServiceDeployment>,
    pub(crate) plan: Option<Plan>,
    /// The manifest deployed last, when a new one is made.
    pub(crate) previous_manifest: Option<Value>,
    /// The manifest that is deployed, for bindings and dashboards.
    pub(crate) manifest: Option<Value>,
    pub(crate) secrets: SecretFacts,
}

/// The data for `secret(name=…)`.
#[derive(Default)]
pub(crate) enum SecretFacts {
    /// There are none here.
    #[default]
    Nowhere,
    /// While a manifest is generated: its reference for each secret; `None` for a secret that does not exist.
    References(BTreeMap<String, Option<Value>>),
    /// After the deployment: the location of each secret, and the values of references.
    Values {
        locations: BTreeMap<String, Vec<ManifestPath>>,
        resolved: Option<Secrets>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The template refuses, with a text for the user.
    Refused { message: String },
    /// The template, or a function, finds something that the operator has to fix.
    Misconfigured {
        message: String,
        for_user: Option<String>,
    },
    /// A filter or function cannot complete its call.
    WrongCall { message: String },
    /// The plan or the service deployment lacks what the service needs.
    DoesNotFit { message: String },
    /// The binding needs an application.
    AppGuidRequired,
    /// The binding exists.
    BindingExists,
    /// The binding does not exist.
    BindingNotFound,
    /// The template is wrong.
    Error(TemplateError),
}

impl Stop {
    pub(super) fn misconfigured(message: impl Into<String>) -> Self {
        Self::Misconfigured {
            message: message.into(),
            for_user: None,
        }
    }

    /// Adds the location of the error, if the reason does not have one and the reader needs it.
    pub(super) fn placed(self, location: Location) -> Self {
        match self {
            Self::WrongCall { message } => Self::Error(TemplateError::new(location, message)),
            Self::DoesNotFit { message } => Self::DoesNotFit {
                message: TemplateError::new(location, message).to_string(),
            },
            other => other,
        }
    }
}

impl Session {
    pub(crate) fn new() -> Self {
        Self {
            stand_ins: Mutex::new(StandIns::new()),
            facts: Mutex::default(),
            stop: Mutex::default(),
        }
    }

    pub(crate) fn stand_ins(&self) -> MutexGuard<'_, StandIns> {
        locked(&self.stand_ins)
    }

    /// The value of `omit` in this call.
    pub(crate) fn omit(&self) -> String {
        self.stand_ins().omit()
    }

    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        locked(&self.facts)
    }

    /// Records why rendering stops; the first reason counts. The returned error stops the engine.
    pub(crate) fn stop(&self, stop: Stop) -> tera::Error {
        locked(&self.stop).get_or_insert(stop);
        tera::Error::message("stopped")
    }

    pub(super) fn take_stop(&self) -> Option<Stop> {
        locked(&self.stop).take()
    }
}

/// A poisoned lock is used nevertheless, because the call fails.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
