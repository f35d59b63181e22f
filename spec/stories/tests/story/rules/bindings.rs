//! B and UB: bind and unbind.
//!
//! Without the runtime CredHub the broker cannot distinguish an identical binding from another (B-05, B-06): the
//! adapter decides by its exit code 49, and by 41 whether there is one at all (UB-03;
//! `spec/contracts/adapter-protocol.md`, "Exit codes"). `bindings` tests the rules with it, B-05, B-06, UB-06 and
//! FB-01, and also B-09 and LB-01.

use odb_stories::{Broker, Foundation, Order, Platform, Redis, Response, TaskFault, new_id};
use reqwest::Method;
use serde_json::{Value, json};

fn body() -> Value {
    let order = Order::small();
    json!({ "service_id": order.member("service_id"), "plan_id": order.member("plan_id") })
}

async fn unbind(platform: &Platform, instance: &str, query: &str) -> Response {
    let path = format!("/v2/service_instances/{instance}/service_bindings/b1?{query}");
    platform.send(platform.request(Method::DELETE, &path)).await
}

/// A broker whose adapter does this with bindings, and an instance of it.
async fn bindings(foundation: &Foundation, script: &str) -> (Broker, String) {
    let script = format!("read_input\ncase $call in *-binding) {script};; *) as_redis;; esac");
    let adapter = foundation.adapters().script(&script);
    let (broker, instance) = (
        foundation.broker().with_adapter(&adapter).start().await,
        new_id(),
    );
    broker.platform().create(&instance).await;
    (broker, instance)
}

/// B-04 and B-11: keys come without a resource, and one app may hold several bindings.
#[tokio::test]
async fn a_binding_needs_no_resource_and_no_app() {
    let (_foundation, broker, instance) = Foundation::setup().start_with_instance().await;
    let platform = broker.platform();
    let with = |resource: Value| {
        let mut body = body();
        body["bind_resource"] = resource;
        body["parameters"] = Value::Null;
        body
    };
    let app = json!({ "app_guid": new_id(), "space_guid": new_id() });

    for body in [
        body(),
        with(Value::Null),
        with(json!({})),
        with(json!({ "credential_client_id": "cc_service_key_client" })),
        with(app.clone()),
        with(app),
    ] {
        let bound = platform.bind_with(&instance, &new_id(), &body).await;
        let credentials = &bound.expect_status(201).json()["credentials"];
        let mut redis = Redis::connect(credentials).await;
        assert_eq!(redis.command(&["PING"]).await, "PONG");
    }
}

/// B-08: what is being made or deleted cannot be bound to.
#[tokio::test]
async fn an_instance_that_comes_or_goes_cannot_be_bound() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());

    for order in [true, false] {
        foundation
            .control()
            .set_task(TaskFault::at_step_of("Running errand").holds())
            .await;
        let token = if order {
            platform.provision(&instance, &Order::small()).await
        } else {
            platform.deprovision(&instance).await
        }
        .accepted();
        let bound = platform.bind_with(&instance, &new_id(), &body()).await;
        foundation.control().clear_faults().await;
        assert_eq!(bound.expect_status(422).error(), "ConcurrencyError");
        platform.end_of_operation(&instance, &token).await;
    }
}

/// B-10, defect 23 of the Go broker: whatever the specification has for a binding reaches the platform.
#[tokio::test]
async fn endpoints_volumes_and_metadata_of_a_binding_reach_the_platform() {
    let foundation = Foundation::start().await;
    let answer = json!({
        "credentials": { "uri": "redis://here" },
        "syslog_drain_url": "syslog://logs",
        "route_service_url": "https://route",
        "backup_agent_url": "https://backup",
        "endpoints": [{ "host": "q-s0", "ports": ["6379", "9000-9010"], "protocol": "tcp" }],
        "volume_mounts": [{
            "driver": "nfs", "container_dir": "/data", "mode": "rw", "device_type": "shared",
            "device": { "volume_id": "v1", "mount_config": { "key": 1.50 } },
        }],
        "metadata": { "expires_at": "2030-01-01T00:00:00.0Z", "renew_before": "2029-12-01T00:00:00.0Z" },
    });
    let (broker, instance) = bindings(&foundation, &format!("echo '{answer}'")).await;

    let bound = broker
        .platform()
        .bind_with(&instance, &new_id(), &body())
        .await;

    assert_eq!(bound.expect_status(201).json(), answer);
    // The operator reads what the catalog does not announce.
    let reported = broker.log_of_request(&bound.request_id());
    for requirement in ["`syslog_drain`", "`route_forwarding`", "`volume_mount`"] {
        let warned = reported
            .iter()
            .any(|line| line.text().contains("ODB-3007") && line.mentions(requirement));
        assert!(warned, "{requirement}: {reported:#?}");
    }
}

/// UB-04, UB-07, D-01 and D-02: neither a plan nor an instance that is gone is a hindrance.
#[tokio::test]
async fn a_binding_of_a_plan_that_is_gone_can_be_given_back() {
    let (_foundation, broker, instance) = Foundation::setup().start_with_instance().await;
    let platform = broker.platform();
    platform.bind(&instance, "b1").await.expect_status(201);
    let service = body()["service_id"].as_str().unwrap().to_owned();

    let query = format!("service_id={service}&plan_id={}", new_id());
    let answer = unbind(platform, &instance, &query).await;
    assert_eq!(answer.expect_status(200).json(), json!({}));
    let gone = unbind(platform, &new_id(), &query).await;
    assert_eq!(gone.expect_status(410).json(), json!({}));

    let delete = async |query: &str| {
        let path = format!("/v2/service_instances/{instance}?accepts_incomplete=true&{query}");
        platform.send(platform.request(Method::DELETE, &path)).await
    };
    for (query, reason) in [
        ("plan_id=p".to_owned(), "service_id missing"),
        (format!("service_id={service}"), "plan_id missing"),
        (format!("service_id={service}&plan_id="), "plan_id missing"),
        (
            "service_id=other&plan_id=p".to_owned(),
            "service-id not in the catalog",
        ),
    ] {
        let description = delete(&query).await.expect_status(400).description();
        assert!(description.starts_with(reason), "{query}: {description}");
    }
    let token = delete(&query).await.accepted();
    platform.succeeds(&instance, &token).await;
}

/// Defect 19 of the Go broker: how much users see of an error changes no status.
#[tokio::test]
async fn exposing_errors_changes_no_status() {
    for exposed in [false, true] {
        let foundation = Foundation::start().await;
        let broker = foundation
            .broker()
            .with("/broker/expose_operational_errors", exposed.into())
            .start()
            .await;
        let platform = broker.platform();
        let (instance, binding) = (new_id(), new_id());
        let change = Order::small().with_parameters(json!({ "maxclients": 100 }));

        let bound = platform.bind(&instance, &binding).await;
        assert_eq!(bound.status, 404, "{exposed}: {bound:?}");
        assert!(!bound.description().is_empty());
        let updated = platform.update(&instance, &change).await;
        assert_eq!(updated.status, 404, "{exposed}: {updated:?}");
        for gone in [
            platform.unbind(&instance, &binding).await,
            platform.deprovision(&instance).await,
        ] {
            assert_eq!(gone.expect_status(410).json(), json!({}), "{exposed}");
        }
    }
}
