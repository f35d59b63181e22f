//! The resources of an instance beside its deployment: they are created and deleted with it, also after errors, and
//! without records.

use odb_stories::{Broker, Control, Fault, Foundation, Order, new_id};
use serde_json::{Value, json};

#[tokio::test]
async fn a_deletion_that_cannot_clean_up_says_so_until_it_can() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, director) = (foundation.control(), foundation.director());
    platform
        .provision_to_the_end(&instance, &with_extension("fast"))
        .await;
    assert_eq!(
        director.configs().await.len(),
        2,
        "a config and the operation record"
    );
    refuse(&control, "DELETE", "/configs").await;

    let deletion = platform.deprovision(&instance).await.accepted();
    platform.fails(&instance, &deletion).await;
    assert_eq!(director.deployments().await, Vec::<String>::new());
    let again = platform.deprovision(&instance).await;
    let reported = again.expect_status(500).description();
    assert!(
        reported.contains("Delete the service instance again"),
        "{reported}"
    );
    assert!(reported.contains(&again.request_id()), "{reported}");
    control.clear_faults().await;

    platform.deprovision(&instance).await.expect_status(410);
    assert_eq!(director.configs().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_order_that_the_director_refuses_leaves_no_config() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());
    let control = foundation.control();
    refuse(&control, "POST", "/deployments").await;

    let refused = platform.provision(&instance, &with_extension("fast")).await;

    refused.expect_status(500);
    control.clear_faults().await;
    foundation.director().expect_untouched().await;
    platform
        .provision_to_the_end(&instance, &with_extension("fast"))
        .await;
}

#[tokio::test]
async fn an_update_that_the_director_refuses_leaves_configs_and_memory_as_they_were() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, director) = (foundation.control(), foundation.director());
    platform
        .provision_to_the_end(&instance, &with_extension("fast"))
        .await;
    let before = contents(&foundation).await;
    refuse(&control, "POST", "/deployments").await;

    let refused = platform.update(&instance, &with_extension("slow")).await;

    refused.expect_status(500);
    control.clear_faults().await;
    assert_eq!(contents(&foundation).await, before);
    let known = platform.provision(&instance, &with_extension("fast")).await;
    known.expect_status(200);
    change(&broker, &instance, &with_extension("slow")).await;
    assert_ne!(contents(&foundation).await, before);
    assert_eq!(
        director.configs().await.len(),
        2,
        "a config and the operation record"
    );
}

#[tokio::test]
async fn a_config_that_the_adapter_gives_up_goes_when_the_update_has_succeeded() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(
        r#"read_input
if [[ $input == *'maxclients\":250'* ]]; then as_redis | sed 's/"configs":{}/"configs":{"cloud":""}/'; else as_redis; fi"#,
    );
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let director = foundation.director();
    platform
        .provision_to_the_end(&instance, &with_extension("fast"))
        .await;

    // One that it does not name stays.
    let clients = |number: u32| Order::small().with_parameters(json!({ "maxclients": number }));
    change(&broker, &instance, &clients(100)).await;
    assert_eq!(
        director.configs().await.len(),
        2,
        "a config and the operation record"
    );
    change(&broker, &instance, &clients(250)).await;

    let left = director.configs().await;
    assert_eq!(left.len(), 1, "the operation record alone: {left:?}");
}

#[tokio::test]
async fn a_token_whose_tasks_the_director_has_dropped_has_a_final_answer() {
    let (foundation, mut broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    let creation = platform.order(&instance).await;
    platform.end_of_operation(&instance, &creation).await;
    let deletion = platform.deprovision(&instance).await.accepted();
    platform.succeeds(&instance, &deletion).await;

    broker.kill();
    drop_tasks(&foundation.control()).await;
    broker.start_again().await;

    let poll = platform.last_operation(&instance, &deletion).await;
    poll.expect_status(410);
    let poll = platform.last_operation(&instance, &creation).await;
    assert_eq!(poll.expect_status(200).json()["state"], "failed");
}

#[tokio::test]
async fn a_deletion_whose_deployment_still_exists_has_failed() {
    let foundation = Foundation::start().await;
    let configuration = foundation.broker();
    let configuration = configuration.with("/broker/disable_bosh_configs", true.into());
    let mut broker = configuration.start().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    let creation = platform.order(&instance).await;
    platform.succeeds(&instance, &creation).await;
    let mut token: Value = serde_json::from_str(&creation).expect("it is the Go broker's form");
    token["OperationType"] = "delete".into();

    broker.kill();
    broker.start_again().await;

    let poll = platform.last_operation(&instance, &token.to_string()).await;
    assert_eq!(poll.expect_status(200).json()["state"], "failed");
    let deployments = foundation.director().deployments().await;
    assert_eq!(deployments, [format!("service-instance_{instance}")]);
}

fn with_extension(name: &str) -> Order {
    let config = format!("vm_extensions:\n- name: {name}\n  cloud_properties: {{}}\n");
    Order::small().with_parameters(json!({ "vm_extensions_config": config }))
}

/// The contents of all configs, including the operation record.
async fn contents(foundation: &Foundation) -> Vec<Value> {
    let configs = foundation.director().configs().await;
    configs
        .into_iter()
        .map(|config| config["content"].clone())
        .collect()
}

async fn change(broker: &Broker, instance: &str, order: &Order) {
    broker.platform().update_to_the_end(instance, order).await;
}

async fn refuse(control: &Control, method: &str, path: &str) {
    control
        .set(
            Fault::of("director", &format!("{method} {path}"))
                .says(400, r#"{"code":100,"description":"no"}"#),
        )
        .await;
}

/// The Director knows no task any more.
pub(crate) async fn drop_tasks(control: &Control) {
    let unknown = r#"{"code":10000,"description":"Task not found"}"#;
    for (path, status, body) in [("/tasks", 200, "[]"), ("/tasks/*", 404, unknown)] {
        control
            .set(Fault::of("director", &format!("GET {path}")).says(status, body))
            .await;
    }
}
