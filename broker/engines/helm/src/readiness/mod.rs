//! When the objects of an instance are ready.
//!
//! Helm never waits here: a process that waits dies with the broker, and its message names no object. Both Helms also
//! call objects ready that are not; the rules below say where they differ.
//!
//! | file | contents |
//! | --- | --- |
//! | `object` | one object as the API server returns it |
//! | `workloads` | Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, Pods |
//! | `others` | claims, Services, Ingresses, CustomResourceDefinitions |

mod object;
mod others;
#[cfg(test)]
mod tests;
mod workloads;

use std::{collections::BTreeSet, fmt};

pub use object::{Condition, Object};

/// The readiness of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// What is missing, in words that follow the object's kind and name: `has 0 of 1 ready pods`.
    Waiting(String),
    /// A condition says that it will not become ready.
    Failed(String),
}

/// What a rule needs to know besides the object.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The claims that a pod of the namespace mounts.
    pub mounted_claims: BTreeSet<String>,
    /// The storage classes that bind a claim only once a pod mounts it.
    pub late_binding_classes: BTreeSet<String>,
    /// An Ingress has to have an address. Many controllers never write one.
    pub ingresses_have_addresses: bool,
}

/// The readiness of an object.
pub fn readiness(object: Object<'_>, context: &Context) -> Readiness {
    if object.is_being_deleted() {
        return Readiness::waiting("is being deleted");
    }
    match object.kind() {
        "Deployment" => workloads::deployment(object),
        "StatefulSet" => workloads::stateful_set(object),
        "DaemonSet" => workloads::daemon_set(object),
        "ReplicaSet" | "ReplicationController" => workloads::replica_set(object),
        "Job" => workloads::job(object),
        "Pod" => workloads::pod(object),
        "PersistentVolumeClaim" => others::claim(object, context),
        "Service" => others::service(object),
        "Ingress" if context.ingresses_have_addresses => others::ingress(object),
        "CustomResourceDefinition" => others::custom_resource_definition(object),
        _ => Readiness::Ready,
    }
}

impl Readiness {
    fn waiting(what: impl Into<String>) -> Self {
        Self::Waiting(what.into())
    }

    fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }

    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("is ready"),
            Self::Waiting(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}
