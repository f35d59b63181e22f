//! Rows of objects as an API server returns them.

use serde_json::{Value, json};

use super::{Context, Object, Readiness, readiness};

fn of(object: &Value) -> Readiness {
    readiness(Object(object), &Context::default())
}

fn ready(rows: &[(&str, Value)]) {
    for (row, object) in rows {
        assert_eq!(of(object), Readiness::Ready, "{row}");
    }
}

fn waits(rows: &[(&str, Value)]) {
    for (text, object) in rows {
        assert_eq!(of(object), Readiness::Waiting((*text).to_owned()));
    }
}

fn fails(rows: &[(&str, Value)]) {
    for (text, object) in rows {
        assert_eq!(of(object), Readiness::Failed((*text).to_owned()));
    }
}

/// A workload of generation 2.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the rows read better without references"
)]
fn workload(kind: &str, spec: Value, mut status: Value) -> Value {
    if status.get("observedGeneration").is_none() {
        status["observedGeneration"] = json!(2);
    }
    json!({ "kind": kind, "metadata": { "name": "x", "generation": 2 }, "spec": spec, "status": status })
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!([{ "type": kind, "status": status, "reason": reason, "message": message }])
}

#[test]
fn deployments() {
    let of = |spec, status| workload("Deployment", spec, status);
    let up = |n: i64| json!({ "replicas": n, "updatedReplicas": n, "availableReplicas": n });
    ready(&[
        ("one replica is the default", of(json!({}), up(1))),
        ("none wanted", of(json!({ "replicas": 0 }), json!({}))),
        (
            "a quarter may be unavailable",
            of(
                json!({ "replicas": 4 }),
                json!({ "replicas": 4, "updatedReplicas": 4, "availableReplicas": 3 }),
            ),
        ),
        (
            "a paused one",
            of(json!({ "replicas": 2, "paused": true }), json!({})),
        ),
    ]);
    waits(&[
        (
            "waits for its controller",
            of(
                json!({}),
                json!({ "observedGeneration": 1, "updatedReplicas": 1 }),
            ),
        ),
        (
            "waits for its controller",
            json!({ "kind": "Deployment", "metadata": { "generation": 1 }, "status": {} }),
        ),
        (
            "has 1 of 3 updated pods",
            of(json!({ "replicas": 3 }), up(1)),
        ),
        (
            "has 2 pods of its former version",
            of(
                json!({ "replicas": 1 }),
                json!({ "replicas": 3, "updatedReplicas": 1, "availableReplicas": 3 }),
            ),
        ),
        // Helm calls this one ready.
        (
            "has 0 of 1 available pods",
            of(
                json!({ "replicas": 1, "strategy": { "rollingUpdate": { "maxUnavailable": 1 } } }),
                json!({ "replicas": 1, "updatedReplicas": 1 }),
            ),
        ),
        (
            "has 3 of 4 available pods",
            of(
                json!({ "replicas": 4, "strategy": { "type": "Recreate" } }),
                json!({ "replicas": 4, "updatedReplicas": 4, "availableReplicas": 3 }),
            ),
        ),
        (
            "is being deleted",
            json!({ "kind": "Deployment", "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }),
        ),
    ]);
    fails(&[
        (
            "cannot make its pods: FailedCreate: exceeded quota: small",
            of(
                json!({}),
                json!({ "conditions": condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota: small") }),
            ),
        ),
        (
            "makes no progress: ProgressDeadlineExceeded",
            of(
                json!({}),
                json!({ "conditions": condition("Progressing", "False", "ProgressDeadlineExceeded", "") }),
            ),
        ),
    ]);
}

#[test]
fn stateful_sets() {
    let of = |spec, status| workload("StatefulSet", spec, status);
    let at = |ready: i64, updated: i64, current: &str| {
        json!({
            "readyReplicas": ready, "updatedReplicas": updated,
            "currentRevision": current, "updateRevision": "b",
        })
    };
    ready(&[
        ("one", of(json!({}), at(1, 1, "b"))),
        (
            "a partition holds pods back",
            of(
                json!({ "replicas": 3, "updateStrategy": { "rollingUpdate": { "partition": 2 } } }),
                at(3, 1, "a"),
            ),
        ),
        (
            "OnDelete waits for nobody to delete",
            of(
                json!({ "replicas": 2, "updateStrategy": { "type": "OnDelete" } }),
                at(2, 0, "a"),
            ),
        ),
    ]);
    waits(&[
        // A set whose pods a quota refuses has no `observedGeneration`.
        (
            "waits for its controller",
            json!({ "kind": "StatefulSet", "metadata": { "generation": 1 }, "status": { "replicas": 0 } }),
        ),
        ("has 0 of 1 ready pods", of(json!({}), at(0, 1, "b"))),
        (
            "has 1 of 3 updated pods",
            of(json!({ "replicas": 3 }), at(3, 1, "a")),
        ),
        (
            "is still being updated",
            of(json!({ "replicas": 1 }), at(1, 1, "a")),
        ),
        (
            "has 1 of 2 ready pods",
            of(
                json!({ "replicas": 2, "updateStrategy": { "type": "OnDelete" } }),
                at(1, 0, "a"),
            ),
        ),
    ]);
}

#[test]
fn daemon_sets_and_replica_sets() {
    let daemons = |wanted: i64, updated: i64, ready: i64| {
        let status = json!({
            "desiredNumberScheduled": wanted, "updatedNumberScheduled": updated, "numberReady": ready,
        });
        workload("DaemonSet", json!({}), status)
    };
    ready(&[
        ("no node", daemons(0, 0, 0)),
        ("all", daemons(2, 2, 2)),
        (
            "a Deployment answers for it",
            json!({ "kind": "ReplicaSet", "metadata": { "ownerReferences": [{ "controller": true }] }, "spec": { "replicas": 2 } }),
        ),
        (
            "without a generation",
            json!({ "kind": "ReplicationController", "spec": { "replicas": 1 }, "status": { "readyReplicas": 1 } }),
        ),
    ]);
    waits(&[
        ("has 1 of 2 updated pods", daemons(2, 1, 2)),
        ("has 1 of 2 ready pods", daemons(2, 2, 1)),
        (
            "has 0 of 1 ready pods",
            workload("ReplicaSet", json!({}), json!({})),
        ),
    ]);
}

#[test]
fn jobs_and_pods() {
    let job = |conditions| json!({ "kind": "Job", "status": { "conditions": conditions } });
    ready(&[
        ("complete", job(condition("Complete", "True", "", ""))),
        (
            "enough indexes",
            job(condition("SuccessCriteriaMet", "True", "", "")),
        ),
        (
            "suspended",
            json!({ "kind": "Job", "spec": { "suspend": true } }),
        ),
        (
            "a pod that serves",
            json!({ "kind": "Pod", "status": { "phase": "Running", "conditions": condition("Ready", "True", "", "") } }),
        ),
        (
            "a pod that has ended",
            json!({ "kind": "Pod", "status": { "phase": "Succeeded" } }),
        ),
    ]);
    waits(&[
        ("has not completed", job(json!([]))),
        // Kibosh takes every pod that runs as ready.
        (
            "is Running and not ready",
            json!({ "kind": "Pod", "status": { "phase": "Running" } }),
        ),
        ("is not scheduled", json!({ "kind": "Pod" })),
    ]);
    fails(&[
        (
            "has failed: BackoffLimitExceeded",
            job(condition("Failed", "True", "BackoffLimitExceeded", "")),
        ),
        (
            "has failed: evicted",
            json!({ "kind": "Pod", "status": { "phase": "Failed", "message": "evicted" } }),
        ),
    ]);
}

#[test]
fn claims_are_bound_or_wait_for_their_pod() {
    let claim = |phase: &str| {
        json!({ "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
            "spec": { "storageClassName": "late" }, "status": { "phase": phase } })
    };
    let late = Context {
        late_binding_classes: ["late".to_owned()].into(),
        ..Context::default()
    };
    let mounted = Context {
        mounted_claims: ["data".to_owned()].into(),
        ..late.clone()
    };
    let rows = [
        ("Bound", &mounted, Readiness::Ready),
        ("Pending", &late, Readiness::Ready),
        (
            "Pending",
            &mounted,
            Readiness::waiting("is not bound to a volume"),
        ),
        ("Lost", &late, Readiness::failed("has lost its volume")),
    ];
    for (phase, context, expected) in rows {
        assert_eq!(
            readiness(Object(&claim(phase)), context),
            expected,
            "{phase}"
        );
    }
}

#[test]
fn services_and_ingresses_need_an_address() {
    let service = |spec: Value, ingress: Value| json!({ "kind": "Service", "spec": spec, "status": { "loadBalancer": { "ingress": ingress } } });
    let balanced = json!({ "type": "LoadBalancer", "clusterIP": "10.0.0.1" });
    ready(&[
        (
            "another name",
            service(json!({ "type": "ExternalName" }), json!(null)),
        ),
        (
            "headless",
            service(json!({ "clusterIP": "None" }), json!(null)),
        ),
        (
            "an address",
            service(balanced.clone(), json!([{ "ip": "192.0.2.1" }])),
        ),
        (
            "a host name",
            service(balanced.clone(), json!([{ "hostname": "lb.example" }])),
        ),
        (
            "an address of the operator's",
            service(
                json!({ "type": "LoadBalancer", "clusterIP": "10.0.0.1", "externalIPs": ["192.0.2.1"] }),
                json!(null),
            ),
        ),
        ("an Ingress by default", json!({ "kind": "Ingress" })),
    ]);
    waits(&[
        (
            "has no address in the cluster",
            service(json!({}), json!(null)),
        ),
        (
            "has no address of a load balancer",
            service(balanced, json!([{}])),
        ),
    ]);
    let strict = Context {
        ingresses_have_addresses: true,
        ..Context::default()
    };
    let ingress = json!({ "kind": "Ingress" });
    assert!(!readiness(Object(&ingress), &strict).is_ready());
}

#[test]
fn definitions_are_established_and_all_else_is_ready() {
    let definition = |conditions| json!({ "kind": "CustomResourceDefinition", "status": { "conditions": conditions } });
    ready(&[
        (
            "established",
            definition(condition("Established", "True", "", "")),
        ),
        ("a policy", json!({ "kind": "NetworkPolicy" })),
        (
            "a custom resource",
            json!({ "kind": "Redis", "status": { "phase": "Pending" } }),
        ),
    ]);
    waits(&[("is not established", definition(json!([])))]);
    fails(&[(
        "has a name that is taken: ListKindConflict",
        definition(condition("NamesAccepted", "False", "ListKindConflict", "")),
    )]);
}
