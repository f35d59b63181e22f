//! The BOSH configs that adapters ask for change with the instance, and only when its deployment does.

use odb_stories::{
    Broker, BrokerConfiguration, Fault, Foundation, Order, TaskFault, eventually, new_id,
};
use serde_json::{Value, json};

use crate::TIMEOUT;

/// An adapter that gives up the extension `fast` when there shall be 250 clients: neither its config nor the manifest
/// have it any more. With 251 it still deploys the extension, with 252 it says nothing of configs.
const GIVES_UP: &str = r#"read_input
as_redis | if [[ $input == *'maxclients\":250'* ]]; then
  sed 's/- fast/- public/g'
elif [[ $input == *'maxclients\":252'* ]]; then
  sed 's/- fast/- public/g; s/"configs":{}/"configs":null/'
else
  cat
fi"#;

fn with_extension(cloud_properties: &str) -> Order {
    let config =
        format!("vm_extensions:\n- name: fast\n  cloud_properties: {{size: {cloud_properties}}}\n");
    Order::small().with_parameters(json!({ "vm_extensions_config": config }))
}

fn clients(number: u32) -> Order {
    Order::small().with_parameters(json!({ "maxclients": number }))
}

/// A broker with an instance whose config is called `large`.
async fn ordered(configuration: BrokerConfiguration<'_>, instance: &str) -> Broker {
    let broker = configuration.start().await;
    broker
        .platform()
        .provision_to_the_end(instance, &with_extension("large"))
        .await;
    broker
}

/// The contents of the instance's cloud config, if it has one.
async fn cloud_config(foundation: &Foundation) -> Option<Value> {
    let configs = foundation.director().configs().await;
    let cloud = configs.into_iter().find(|config| config["type"] == "cloud");
    cloud.map(|config| config["content"].clone())
}

async fn change(broker: &Broker, instance: &str, order: &Order) -> String {
    let token = broker.platform().update(instance, order).await.accepted();
    let ended = broker.platform().end_of_operation(instance, &token).await;
    ended.state
}

/// Changes the instance as soon as the operation before has ended, a moment after its configs are as before.
async fn change_when_free(broker: &Broker, instance: &str, order: &Order) -> String {
    let token = eventually("the change is accepted", TIMEOUT, async || {
        let answer = broker.platform().update(instance, order).await;
        if answer.status == 422 {
            return Err(format!("{answer:?}"));
        }
        Ok(answer.accepted())
    })
    .await;
    let ended = broker.platform().end_of_operation(instance, &token).await;
    ended.state
}

#[tokio::test]
async fn a_config_that_is_not_returned_goes_as_soon_as_nothing_deployed_needs_it() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(GIVES_UP);
    let instance = new_id();
    let broker = ordered(foundation.broker().with_adapter(&adapter), &instance).await;
    let before = cloud_config(&foundation).await;
    assert!(before.is_some(), "it has been written");

    // Its extension is still deployed.
    assert_eq!(change(&broker, &instance, &clients(251)).await, "succeeded");
    assert_eq!(cloud_config(&foundation).await, before);

    // It would not be any more, if the update came about.
    foundation
        .control()
        .set_task(TaskFault::at_start().of(&instance).fails(100, "no room"))
        .await;
    assert_eq!(change(&broker, &instance, &clients(250)).await, "failed");
    assert_eq!(cloud_config(&foundation).await, before);

    assert_eq!(change(&broker, &instance, &clients(250)).await, "succeeded");
    assert_eq!(cloud_config(&foundation).await, None);
    assert_eq!(change(&broker, &instance, &clients(100)).await, "succeeded");
}

#[tokio::test]
async fn an_adapter_that_says_nothing_of_configs_keeps_them() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(GIVES_UP);
    let instance = new_id();
    let broker = ordered(foundation.broker().with_adapter(&adapter), &instance).await;
    let before = cloud_config(&foundation).await;
    assert!(before.is_some(), "it has been written");

    assert_eq!(change(&broker, &instance, &clients(252)).await, "succeeded");

    assert_eq!(cloud_config(&foundation).await, before);
}

#[tokio::test]
async fn an_obsolete_config_that_cannot_be_deleted_delays_no_request_and_is_deleted_the_next_time()
{
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(GIVES_UP);
    let instance = new_id();
    let broker = ordered(foundation.broker().with_adapter(&adapter), &instance).await;
    let control = foundation.control();
    control
        .set(Fault::of("director", "DELETE /configs").answers(500))
        .await;

    assert_eq!(change(&broker, &instance, &clients(250)).await, "succeeded");
    assert!(cloud_config(&foundation).await.is_some());
    control.clear_faults().await;

    assert_eq!(change(&broker, &instance, &clients(251)).await, "succeeded");
    assert_eq!(cloud_config(&foundation).await, None);
}

#[tokio::test]
async fn a_config_rewritten_meanwhile_is_not_obsolete() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(GIVES_UP);
    let instance = new_id();
    let broker = ordered(foundation.broker().with_adapter(&adapter), &instance).await;
    let (platform, control) = (broker.platform(), foundation.control());
    let deployment = format!("service-instance_{instance}");
    control
        .set_task(TaskFault::at_start().of(&instance).holds())
        .await;
    let token = platform.update(&instance, &clients(250)).await.accepted();
    let written = "vm_extensions:\n- name: by-hand\n";

    let director = foundation.director();
    director.write_config("cloud", &deployment, written).await;
    control.clear_task_faults().await;

    platform.succeeds(&instance, &token).await;
    assert_eq!(cloud_config(&foundation).await, Some(written.into()));
}

#[tokio::test]
async fn an_update_that_never_arrived_leaves_configs_as_they_were() {
    let foundation = Foundation::start().await;
    let instance = new_id();
    let broker = ordered(impatient(&foundation), &instance).await;
    let before = cloud_config(&foundation).await;
    let record = foundation.director().record(&instance).await;
    drop_deployments(&foundation).await;

    let ended = change(&broker, &instance, &with_extension("small")).await;

    foundation.control().clear_faults().await;
    assert_eq!(ended, "failed");
    assert_eq!(cloud_config(&foundation).await, before);
    assert_eq!(foundation.director().record(&instance).await, record);
    let again = change(&broker, &instance, &with_extension("small")).await;
    assert_eq!(again, "succeeded");
    assert_ne!(cloud_config(&foundation).await, before);
}

#[tokio::test]
async fn an_update_that_was_killed_before_it_arrived_leaves_configs_as_they_were() {
    let foundation = Foundation::start().await;
    let instance = new_id();
    let mut broker = ordered(impatient(&foundation), &instance).await;
    let before = cloud_config(&foundation).await;
    let control = foundation.control();
    drop_deployments(&foundation).await;
    let looks = control
        .set_fault(&json!({
            "server": "director",
            "requests": { "method": "GET", "path": "/tasks", "query": { "verbose": "2" } },
            "after": 1,
            "effect": { "kind": "hold" },
        }))
        .await;
    let request = broker
        .platform()
        .update_request(&instance, &with_extension("small"));
    let update = tokio::spawn(async move { request.send().await });
    eventually("the lost submission is looked for", TIMEOUT, async || {
        let held = control.fault(looks.id).await;
        (held.holds > 0)
            .then_some(())
            .ok_or_else(|| format!("{held:?}"))
    })
    .await;
    assert_ne!(cloud_config(&foundation).await, before, "it is written");

    broker.kill();
    control.clear_faults().await;
    update.await.expect("it is not cancelled").unwrap_err();
    broker.start_again().await;

    eventually("the configs are as before", TIMEOUT, async || {
        let now = cloud_config(&foundation).await;
        (now == before)
            .then_some(())
            .ok_or_else(|| format!("{now:?}"))
    })
    .await;
    let again = change_when_free(&broker, &instance, &with_extension("small")).await;
    assert_eq!(again, "succeeded");
}

#[tokio::test]
async fn configs_are_rolled_back_as_soon_as_the_director_takes_them_again() {
    let foundation = Foundation::start().await;
    let instance = new_id();
    let broker = ordered(impatient(&foundation), &instance).await;
    let before = cloud_config(&foundation).await;
    let control = foundation.control();
    // Operation record and config are written; what was there before is not.
    for (path, after, status) in [("/deployments", 0, 400), ("/configs", 2, 503)] {
        control
            .set(
                Fault::of("director", &format!("POST {path}"))
                    .says(status, "no")
                    .after(after),
            )
            .await;
    }

    let small = with_extension("small");
    let refused = broker.platform().update(&instance, &small).await;

    refused.expect_status(500);
    assert_ne!(cloud_config(&foundation).await, before, "it is written");
    control.clear_faults().await;
    eventually("the configs are as before", TIMEOUT, async || {
        let now = cloud_config(&foundation).await;
        (now == before)
            .then_some(())
            .ok_or_else(|| format!("{now:?}"))
    })
    .await;
    let again = change_when_free(&broker, &instance, &small).await;
    assert_eq!(again, "succeeded");
}

#[tokio::test]
async fn with_configs_switched_off_none_is_read_written_or_deleted() {
    let foundation = Foundation::start().await;
    let script = r#"read_input; as_redis | sed 's/"configs":{}/"configs":{"cloud":""}/'"#;
    let adapter = foundation.adapters().script(script);
    let broker = foundation
        .broker()
        .with_adapter(&adapter)
        .with("/broker/disable_bosh_configs", true.into())
        .start()
        .await;
    let (platform, instance) = (broker.platform(), new_id());

    let refused = platform.provision(&instance, &Order::small()).await;

    refused.expect_status(500);
    let lines = broker.log_of_request(&refused.request_id());
    let named = lines
        .iter()
        .any(|line| line.mentions("disable_bosh_configs"));
    assert!(named, "{lines:?}");
    let calls = foundation.control().broker_calls(0).await;
    let of_configs = calls
        .iter()
        .filter(|call| call.path.starts_with("/configs"));
    assert_eq!(of_configs.count(), 0, "{calls:#?}");
}

/// A broker that does not look for lost answers for as long as it would with a real Director.
fn impatient(foundation: &Foundation) -> BrokerConfiguration<'_> {
    let timings = json!({ "lost_answer_in_seconds": 1 });
    foundation.broker().with("/broker/timings", timings)
}

/// No deployment arrives.
async fn drop_deployments(foundation: &Foundation) {
    foundation
        .control()
        .set(Fault::of("director", "POST /deployments").drops("before"))
        .await;
}
