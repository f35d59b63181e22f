//! B and UB: bind and unbind.
//!
//! Without the runtime CredHub the broker cannot distinguish an identical binding from another (B-05, B-06): the
//! adapter decides by its exit code 49, and by 41 whether there is one at all (UB-03;
//! `spec/contracts/adapter-protocol.md`, "Exit codes"). `bindings` tests the rules with it, B-05, B-06, UB-06 and
//! FB-01, and also B-09 and LB-01.

use odb_stories::{Answer, Broker, Foundation, Order, Platform, Redis, new_id};
use reqwest::Method;
use serde_json::{Value, json};

fn body() -> Value {
    let order = Order::small();
    json!({ "service_id": order.member("service_id"), "plan_id": order.member("plan_id") })
}

async fn unbind(platform: &Platform, instance: &str, query: &str) -> Answer {
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
    broker
        .platform()
        .provision_to_the_end(&instance, &Order::small())
        .await;
    (broker, instance)
}

/// B-01 to B-03 and UB-01, defects 18 and 27 of the Go broker.
#[tokio::test]
async fn a_binding_that_cannot_be_understood_is_refused_before_the_adapter_is_asked() {
    let foundation = Foundation::start().await;
    let (broker, instance) = bindings(&foundation, "touch $folder/asked").await;
    let platform = broker.platform();
    let with = |member: &str, value: Value| {
        let mut body = body();
        body[member] = value;
        body
    };

    for (body, reason) in [
        (with("service_id", Value::Null), "service_id missing"),
        (with("plan_id", "".into()), "plan_id missing"),
        (
            with("service_id", "other".into()),
            "service-id not in the catalog",
        ),
        (
            with("plan_id", "other".into()),
            "plan-id not in the catalog",
        ),
        (
            with("parameters", json!([])),
            "`parameters` is not a JSON object",
        ),
        (with("context", json!(5)), "`context` is not a JSON object"),
        (with("bind_resource", json!("app")), "wrong type"),
    ] {
        let answer = platform.bind_with(&instance, &new_id(), &body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert!(answer.description().contains(reason), "{body}: {answer:?}");
    }
    for (query, reason) in [
        ("plan_id=p", "service_id missing"),
        ("service_id=s", "plan_id missing"),
        ("service_id=s&plan_id=p", "service-id not in the catalog"),
    ] {
        let answer = unbind(platform, &instance, query).await;
        assert_eq!(answer.status, 400, "{query}: {answer:?}");
        assert!(answer.description().contains(reason), "{query}: {answer:?}");
    }
    let missing = platform.bind_with(&new_id(), &new_id(), &body()).await;
    missing.expect_status(404);
    assert!(!foundation.folder().join("asked").exists());
}

/// B-04 and B-11: keys come without a resource, and one app may hold several bindings.
#[tokio::test]
async fn a_binding_needs_no_resource_and_no_app() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
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

/// B-05, B-06, B-07, UB-02 and UB-03: what an adapter says by its exit code.
#[tokio::test]
async fn an_adapter_reports_by_its_exit_code_what_is_wrong_with_a_binding() {
    let foundation = Foundation::start().await;
    let script = r#"exit "$(cat "$folder/code")""#;
    let (broker, instance) = bindings(&foundation, script).await;
    let platform = broker.platform();
    let query = format!(
        "service_id={}&plan_id=gone",
        body()["service_id"].as_str().unwrap()
    );

    for (code, bound, word, unbound) in [
        (49, 409, None, 500),
        (42, 422, Some("RequiresApp"), 500),
        (41, 500, None, 410),
        (10, 500, None, 500),
        (1, 500, None, 500),
    ] {
        std::fs::write(foundation.folder().join("code"), code.to_string()).unwrap();
        let answer = platform.bind_with(&instance, &new_id(), &body()).await;
        assert_eq!(answer.status, bound, "{code}: {answer:?}");
        assert!(!answer.description().is_empty());
        assert_eq!(answer.json()["error"].as_str(), word, "{code}: {answer:?}");
        let answer = unbind(platform, &instance, &query).await;
        assert_eq!(answer.status, unbound, "{code}: {answer:?}");
    }
    std::fs::write(foundation.folder().join("code"), "0").unwrap();
    let answer = unbind(platform, &instance, &query).await;
    assert_eq!(answer.expect_status(200).json(), json!({}));
}

/// B-08: what is being made or deleted cannot be bound to.
#[tokio::test]
async fn an_instance_that_comes_or_goes_cannot_be_bound() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let hold = json!({
        "at": { "place": "step", "stage": "Running errand" }, "effect": { "kind": "hold" },
    });

    for order in [true, false] {
        foundation.control().set_task_fault(&hold).await;
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
}

/// UB-04 and UB-07: neither a plan nor an instance that is gone is a hindrance.
#[tokio::test]
async fn a_binding_of_a_plan_that_is_gone_can_be_given_back() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().start().await;
    let (platform, instance) = (broker.platform(), new_id());
    platform
        .provision_to_the_end(&instance, &Order::small())
        .await;
    platform.bind(&instance, "b1").await.expect_status(201);
    let service = body()["service_id"].as_str().unwrap().to_owned();

    let query = format!("service_id={service}&plan_id={}", new_id());
    let answer = unbind(platform, &instance, &query).await;
    assert_eq!(answer.expect_status(200).json(), json!({}));
    let gone = unbind(platform, &new_id(), &query).await;
    assert_eq!(gone.expect_status(410).json(), json!({}));
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
