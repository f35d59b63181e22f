//! The platform asks what an instance is (Open Service Broker API 2.17, "Fetching a Service Instance").

use odb_stories::{BrokerConfiguration, Foundation, Order, TaskFault, new_id};
use serde_json::{Value, json};

const LARGE: &str = "c4d1a0de-7b1e-4f0e-9d57-2f5d0f1f6b32";

fn announced(configuration: BrokerConfiguration<'_>) -> BrokerConfiguration<'_> {
    configuration.with("/broker/enable_fetch_instance", true.into())
}

/// The next task comes no further than this.
fn held_at(location: &Value) -> Value {
    json!({ "at": location, "effect": { "kind": "hold" } })
}

/// F-01, F-02, F-03 of `spec/contracts/osb-api.md`.
#[tokio::test]
async fn an_instance_is_reported_from_its_creation_to_its_deletion_and_its_parameters_never() {
    let foundation = Foundation::start().await;
    let script = r#"read_input
if [[ $call == generate-manifest ]]; then as_redis | sed '$ s/}$/,"labels":{"tier":"gold"}}/'; else as_redis; fi"#;
    let adapter = foundation.adapters().script(script);
    let configuration = foundation.broker().with_adapter(&adapter);
    let broker = announced(configuration).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let catalog = platform.catalog().await.json();
    assert_eq!(catalog["services"][0]["instances_retrievable"], true);
    let order = Order::small().with_parameters(json!({ "maxclients": 100 }));

    platform.fetch(&instance).await.expect_status(404);
    let hold = held_at(&json!({ "place": "step", "stage": "Running errand" }));
    foundation.control().set_task_fault(&hold).await;
    let token = platform.provision(&instance, &order).await.accepted();
    platform.fetch(&instance).await.expect_status(404);
    foundation.control().clear_faults().await;
    platform.succeeds(&instance, &token).await;
    let reported = platform.fetch(&instance).await.expect_status(200).json();
    let expected = json!({
        "service_id": order.member("service_id"),
        "plan_id": order.member("plan_id"),
        "dashboard_url": format!("https://example.com/dashboard/{instance}"),
        "metadata": { "labels": { "tier": "gold" } },
    });
    assert_eq!(reported, expected);

    let body = json!({ "plan_id": order.member("plan_id") });
    let data = platform.operate(&instance, "recreate", &body).await;
    let busy = platform.fetch(&instance).await;
    let token = data.operation_data().to_string();
    platform.end_of_operation(&instance, &token).await;
    assert_eq!(busy.expect_status(422).error(), "ConcurrencyError");
    assert_eq!(platform.fetch(&instance).await.json(), expected);

    foundation
        .control()
        .set_task(TaskFault::at_start().fails(400_001, "no disk space left"))
        .await;
    let token = platform.deprovision(&instance).await.accepted();
    platform.fails(&instance, &token).await;
    assert_eq!(platform.fetch(&instance).await.json(), expected);

    let token = platform.deprovision(&instance).await.accepted();
    platform.end_of_operation(&instance, &token).await;
    platform.fetch(&instance).await.expect_status(404);
}

#[tokio::test]
async fn an_instance_is_on_its_new_plan_when_it_has_got_there() {
    let foundation = Foundation::start().await;
    let mut broker = announced(foundation.broker()).start().await;
    let instance = new_id();
    let small = Order::small();
    broker
        .platform()
        .provision_to_the_end(&instance, &small)
        .await;
    let deployment = format!("service-instance_{instance}");
    let step = json!({ "place": "step", "stage": "Updating instance", "task": "redis-server/" });
    let large = small.clone().with("plan_id", LARGE.into());

    foundation
        .control()
        .set_task_fault(&json!({
            "deployment": deployment, "at": step,
            "effect": { "kind": "fail", "code": 400_001, "message": "no disk space left" },
        }))
        .await;
    let token = broker.platform().update(&instance, &large).await.accepted();
    broker.platform().fails(&instance, &token).await;
    broker.kill();
    broker.start_again().await;
    let platform = broker.platform();
    let reported = platform.fetch(&instance).await.expect_status(200).json();
    assert_eq!(reported["plan_id"], *small.member("plan_id"));

    foundation.control().set_task_fault(&held_at(&step)).await;
    let token = platform.update(&instance, &large).await.accepted();
    let busy = platform.fetch(&instance).await;
    assert_eq!(busy.expect_status(422).error(), "ConcurrencyError");
    foundation.control().clear_faults().await;
    platform.succeeds(&instance, &token).await;
    let reported = platform.fetch(&instance).await.expect_status(200).json();
    assert_eq!(reported["plan_id"], LARGE);
}

#[tokio::test]
async fn of_an_unrecorded_instance_only_the_offering_is_known() {
    let foundation = Foundation::start().await;
    let configuration = foundation
        .broker()
        .with("/broker/disable_bosh_configs", true.into());
    let broker = announced(configuration).start().await;
    let platform = broker.platform();
    let instance = platform.created().await;

    let reported = platform.fetch(&instance).await.expect_status(200).json();

    assert_eq!(
        reported,
        json!({ "service_id": Order::small().member("service_id") })
    );
}
