//! Objects that run pods.

use serde_json::Value;

use super::{Object, Readiness};

/// How many pods of a Deployment may be unavailable, if it does not say.
const DEFAULT_UNAVAILABLE: &str = "25%";

/// At least one replica has to be available, unless none is wanted: Helm calls a Deployment of one replica with
/// `maxUnavailable: 1` ready before its pod is.
pub(super) fn deployment(object: Object<'_>) -> Readiness {
    if let Some(failure) = object.condition("ReplicaFailure") {
        return Readiness::failed(format!("cannot make its pods: {}", failure.cause()));
    }
    let progress = object.condition_with("Progressing", "False");
    if let Some(stopped) = progress.filter(|it| it.reason() == "ProgressDeadlineExceeded") {
        return Readiness::failed(format!("makes no progress: {}", stopped.cause()));
    }
    if object.get("/spec/paused") == Some(&Value::Bool(true)) {
        return Readiness::Ready;
    }
    if !object.is_observed() {
        return not_observed();
    }
    let wanted = object.number_or("/spec/replicas", 1);
    let updated = object.number("/status/updatedReplicas");
    if updated < wanted {
        return Readiness::waiting(format!("has {updated} of {wanted} updated pods"));
    }
    let former = object.number("/status/replicas") - updated;
    if former > 0 {
        return Readiness::waiting(format!("has {former} pods of its former version"));
    }
    let available = object.number("/status/availableReplicas");
    let needed = (wanted - unavailable(object, wanted)).max(wanted.min(1));
    if available < needed {
        return Readiness::waiting(format!("has {available} of {wanted} available pods"));
    }
    Readiness::Ready
}

/// The number of pods that may be unavailable during an update; percentages are rounded down.
fn unavailable(object: Object<'_>, wanted: i64) -> i64 {
    if object.text("/spec/strategy/type") == "Recreate" {
        return 0;
    }
    let default = Value::from(DEFAULT_UNAVAILABLE);
    let value = object
        .get("/spec/strategy/rollingUpdate/maxUnavailable")
        .unwrap_or(&default);
    match value {
        Value::String(text) => {
            let percent = text
                .strip_suffix('%')
                .and_then(|number| number.parse().ok());
            wanted * percent.unwrap_or(0) / 100
        }
        number => number.as_i64().unwrap_or(0),
    }
}

/// Helm takes a set with `OnDelete` as ready at once. Here its pods have to be ready, of whatever version they are.
pub(super) fn stateful_set(object: Object<'_>) -> Readiness {
    if !object.is_observed() {
        return not_observed();
    }
    let wanted = object.number_or("/spec/replicas", 1);
    let ready = object.number("/status/readyReplicas");
    let is_rolling = object.text("/spec/updateStrategy/type") != "OnDelete";
    if is_rolling {
        let partition = object.number("/spec/updateStrategy/rollingUpdate/partition");
        let updated = object.number("/status/updatedReplicas");
        let needed = (wanted - partition).max(0);
        if updated < needed {
            return Readiness::waiting(format!("has {updated} of {needed} updated pods"));
        }
        let revisions = (
            object.text("/status/currentRevision"),
            object.text("/status/updateRevision"),
        );
        if ready == wanted && partition == 0 && revisions.0 != revisions.1 {
            return Readiness::waiting("is still being updated");
        }
    }
    if ready != wanted {
        return Readiness::waiting(format!("has {ready} of {wanted} ready pods"));
    }
    Readiness::Ready
}

pub(super) fn daemon_set(object: Object<'_>) -> Readiness {
    if !object.is_observed() {
        return not_observed();
    }
    let wanted = object.number("/status/desiredNumberScheduled");
    let is_rolling = object.text("/spec/updateStrategy/type") != "OnDelete";
    let updated = object.number("/status/updatedNumberScheduled");
    if is_rolling && updated != wanted {
        return Readiness::waiting(format!("has {updated} of {wanted} updated pods"));
    }
    let ready = object.number("/status/numberReady");
    if ready != wanted {
        return Readiness::waiting(format!("has {ready} of {wanted} ready pods"));
    }
    Readiness::Ready
}

/// A Deployment answers for its own `ReplicaSet`s.
pub(super) fn replica_set(object: Object<'_>) -> Readiness {
    if object.has_controller() {
        return Readiness::Ready;
    }
    if let Some(failure) = object.condition("ReplicaFailure") {
        return Readiness::failed(format!("cannot make its pods: {}", failure.cause()));
    }
    if !object.is_observed() {
        return not_observed();
    }
    let wanted = object.number_or("/spec/replicas", 1);
    let ready = object.number("/status/readyReplicas");
    if ready != wanted {
        return Readiness::waiting(format!("has {ready} of {wanted} ready pods"));
    }
    Readiness::Ready
}

/// A `CronJob` answers for its own Jobs.
pub(super) fn job(object: Object<'_>) -> Readiness {
    let is_done =
        object.condition("Complete").is_some() || object.condition("SuccessCriteriaMet").is_some();
    let is_suspended = object.get("/spec/suspend") == Some(&Value::Bool(true));
    if is_done || is_suspended || object.has_controller() {
        return Readiness::Ready;
    }
    match object.condition("Failed") {
        Some(failure) => Readiness::failed(format!("has failed: {}", failure.cause())),
        None => Readiness::waiting("has not completed"),
    }
}

/// Its controller answers for a pod that has one.
pub(super) fn pod(object: Object<'_>) -> Readiness {
    if object.has_controller() || object.condition("Ready").is_some() {
        return Readiness::Ready;
    }
    match object.text("/status/phase") {
        "Succeeded" => Readiness::Ready,
        "Failed" => {
            let message = object.text("/status/message");
            Readiness::failed(format!("has failed: {message}"))
        }
        "" => Readiness::waiting("is not scheduled"),
        phase => Readiness::waiting(format!("is {phase} and not ready")),
    }
}

fn not_observed() -> Readiness {
    Readiness::waiting("waits for its controller")
}
