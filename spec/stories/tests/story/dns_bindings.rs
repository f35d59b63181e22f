//! Bindings of a plan that names DNS addresses: adapters get them, and no link stays behind for it.

use odb_stories::{Broker, BrokerCall, Fault, Foundation, eventually, new_id};
use serde_json::{Value, json};

use crate::TIMEOUT;

/// An address of all that is well, and one of the healthy instances in one zone.
fn two_addresses() -> Value {
    json!([
        { "name": "any", "link_provider": "redis", "instance_group": "redis-server" },
        {
            "name": "healthy", "link_provider": "redis", "instance_group": "redis-server",
            "properties": { "azs": ["z1"], "status": "healthy" },
        },
    ])
}

async fn with_an_instance(foundation: &Foundation, dns: &Value) -> (Broker, String) {
    let broker = foundation.broker().with_dns_bindings(dns).start().await;
    let instance = broker.platform().created().await;
    (broker, instance)
}

async fn outsiders(foundation: &Foundation, instance: &str) -> Vec<String> {
    let deployment = format!("service-instance_{instance}");
    foundation.director().outsiders_linked_to(&deployment).await
}

#[tokio::test]
async fn adapters_get_the_addresses_that_the_plan_names_and_no_link_stays() {
    let foundation = Foundation::start().await;
    let (broker, instance) = with_an_instance(&foundation, &two_addresses()).await;
    let (platform, binding) = (broker.platform(), new_id());
    let deployment = format!("service-instance-{instance}");
    let any = format!("q-s0.redis-server.default.{deployment}.bosh");
    let healthy = format!("q-a1s3.redis-server.default.{deployment}.bosh");

    let bound = platform.bind(&instance, &binding).await;
    let unbound = platform.unbind(&instance, &binding).await;

    let credentials = &bound.expect_status(201).json()["credentials"];
    let reported = &credentials["dns_addresses"];
    assert_eq!(*reported, json!({ "any": any, "healthy": healthy }));
    for name in [&any, &healthy] {
        let addresses = foundation.control().addresses_of(name).await;
        assert_eq!(json!(addresses), json!([credentials["host"]]), "{name}");
    }
    unbound.expect_status(200);
    let lines = broker.log_of_request(&unbound.request_id());
    let both = |text: &str| text.contains(&any) && text.contains(&healthy);
    assert!(lines.iter().any(|line| both(&line.text())), "{lines:?}");
    let left = outsiders(&foundation, &instance).await;
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn two_addresses_of_one_provider_cost_one_link() {
    let foundation = Foundation::start().await;
    let (broker, instance) = with_an_instance(&foundation, &two_addresses()).await;
    let control = foundation.control();
    let last = control.latest_call().await;

    let bound = broker.platform().bind(&instance, &new_id()).await;

    bound.expect_status(201);
    let calls = control.broker_calls(last).await;
    let asked = |method: &str, path: &str| {
        let such = |call: &&BrokerCall| call.method == method && call.path.starts_with(path);
        calls.iter().filter(such).count()
    };
    let counts = [
        asked("GET", "/link_providers"),
        asked("POST", "/links"),
        asked("GET", "/link_address"),
        asked("DELETE", "/links/"),
    ];
    assert_eq!(counts, [1, 1, 2, 1], "{calls:#?}");
}

#[tokio::test]
async fn the_link_goes_also_when_its_address_is_not_reported() {
    let foundation = Foundation::start().await;
    let (broker, instance) = with_an_instance(&foundation, &two_addresses()).await;
    let (platform, binding) = (broker.platform(), new_id());
    let control = foundation.control();
    let address = Fault::of("director", "GET /link_address");
    control
        .set(address.says(400, r#"{"code":810008,"description":"no such az"}"#))
        .await;

    let refused = platform.bind(&instance, &binding).await;

    refused.expect_status(500);
    let lines = broker.log_of_request(&refused.request_id());
    let reported = |text: String| text.contains("ODB-4001") && text.contains("/link_address");
    assert!(lines.iter().any(|line| reported(line.text())), "{lines:?}");
    let left = outsiders(&foundation, &instance).await;
    assert_eq!(left, Vec::<String>::new());
    control.clear_faults().await;
    platform.bind(&instance, &binding).await.expect_status(201);
}

#[tokio::test]
async fn a_link_that_a_killed_broker_has_left_goes_with_the_repeat_of_its_binding() {
    let foundation = Foundation::start().await;
    let (mut broker, instance) = with_an_instance(&foundation, &two_addresses()).await;
    let (platform, binding) = (broker.platform().clone(), new_id());
    let control = foundation.control();
    let address = control
        .set_fault(&json!({
            "server": "director",
            "requests": { "method": "GET", "path": "/link_address" },
            "effect": { "kind": "hold" },
        }))
        .await;
    let request = platform.bind_request(&instance, &binding);
    let bind = tokio::spawn(async move { request.send().await });
    eventually("the address is asked for", TIMEOUT, async || {
        let held = control.fault(address.id).await;
        (held.holds > 0)
            .then_some(())
            .ok_or_else(|| format!("{held:?}"))
    })
    .await;

    broker.kill();
    control.clear_faults().await;
    bind.await.expect("it is not cancelled").unwrap_err();
    assert_eq!(outsiders(&foundation, &instance).await.len(), 1);
    broker.start_again().await;

    platform.bind(&instance, &binding).await.expect_status(201);
    let left = outsiders(&foundation, &instance).await;
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn an_address_that_the_instance_does_not_have_is_asked_to_the_operator() {
    let foundation = Foundation::start().await;
    let elsewhere = json!([
        { "name": "any", "link_provider": "sentinel", "instance_group": "redis-server" },
    ]);
    let (broker, instance) = with_an_instance(&foundation, &elsewhere).await;
    let (platform, binding) = (broker.platform(), new_id());

    let bind = platform.bind(&instance, &binding).await;
    let unbind = platform.unbind(&instance, &binding).await;

    for refused in [bind, unbind] {
        let reported = refused.expect_status(500).description();
        assert!(!reported.contains("sentinel"), "{reported}");
        let lines = broker.log_of_request(&refused.request_id());
        let names = |text: String| text.contains("ODB-3009") && text.contains("`sentinel`");
        assert!(lines.iter().any(|line| names(line.text())), "{lines:?}");
    }
}
