//! Objects that run no pods.

use serde_json::Value;

use super::{Context, Object, Readiness};

/// A claim that is bound late needs a pod, and its pod may be waited for elsewhere: neither waits for the other.
pub(super) fn claim(object: Object<'_>, context: &Context) -> Readiness {
    match object.text("/status/phase") {
        "Bound" => Readiness::Ready,
        "Lost" => Readiness::failed("has lost its volume"),
        _ => {
            let class = object.text("/spec/storageClassName");
            let waits_for_pod = context.late_binding_classes.contains(class)
                && !context.mounted_claims.contains(object.name());
            if waits_for_pod {
                Readiness::Ready
            } else {
                Readiness::waiting("is not bound to a volume")
            }
        }
    }
}

pub(super) fn service(object: Object<'_>) -> Readiness {
    let kind = object.text("/spec/type");
    if kind == "ExternalName" {
        return Readiness::Ready;
    }
    if object.text("/spec/clusterIP").is_empty() {
        return Readiness::waiting("has no address in the cluster");
    }
    if kind == "LoadBalancer" && !has_address(object) {
        let externals = object.get("/spec/externalIPs").and_then(Value::as_array);
        if externals.is_none_or(Vec::is_empty) {
            return Readiness::waiting("has no address of a load balancer");
        }
    }
    Readiness::Ready
}

pub(super) fn ingress(object: Object<'_>) -> Readiness {
    if has_address(object) {
        Readiness::Ready
    } else {
        Readiness::waiting("has no address of a load balancer")
    }
}

/// Helm takes any entry, also one with neither address nor name.
fn has_address(object: Object<'_>) -> bool {
    let entries = object.get("/status/loadBalancer/ingress");
    let mut entries = entries.and_then(Value::as_array).into_iter().flatten();
    entries.any(|entry| {
        ["ip", "hostname"]
            .iter()
            .any(|name| entry[name].as_str().is_some_and(|text| !text.is_empty()))
    })
}

pub(super) fn custom_resource_definition(object: Object<'_>) -> Readiness {
    if object.condition("Established").is_some() {
        Readiness::Ready
    } else if let Some(refused) = object.condition_with("NamesAccepted", "False") {
        Readiness::failed(format!("has a name that is taken: {}", refused.cause()))
    } else {
        Readiness::waiting("is not established")
    }
}
