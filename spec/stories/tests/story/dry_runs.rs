//! The operator asks what an upgrade would change, and nothing is changed to find out.

use odb_stories::{Broker, BrokerConfiguration, Foundation, Order, Platform, new_id};
use serde_json::{Value, json};

async fn an_instance(platform: &Platform, order: &Order) -> String {
    let instance = new_id();
    platform.provision_to_the_end(&instance, order).await;
    instance
}

/// The same broker as its operator has changed it.
async fn changed(mut broker: Broker, changed: BrokerConfiguration<'_>) -> Broker {
    broker.stop().await;
    changed.start().await
}

async fn dry_run(platform: &Platform, instance: &str) -> Value {
    let reported = platform.dry_run(instance, &upgrade()).await;
    reported.expect_status(200).json()
}

fn upgrade() -> Value {
    json!({ "plan_id": Order::small().member("plan_id"), "context": {} })
}

/// Where something changes, by kind.
fn locations(reported: &Value) -> Vec<String> {
    let kinds = reported["changes"].as_object().into_iter().flatten();
    let mut locations = Vec::new();
    for (kind, changes) in kinds {
        for change in changes.as_array().into_iter().flatten() {
            let text = |key: &str| change[key].as_str().unwrap_or_default().to_owned();
            locations.push(format!("{kind}: {} {}", text("path"), text("change")));
        }
    }
    locations
}

/// Fails the test when the broker has asked a server for something that changes anything, since that call.
async fn expect_only_looks(foundation: &Foundation, since: u64) {
    let calls = foundation.control().broker_calls(since).await;
    let changes: Vec<_> = calls
        .iter()
        .filter(|call| call.method != "GET" && !call.is_for_a_token())
        .collect();
    assert!(changes.is_empty(), "{changes:?}");
    assert!(!calls.is_empty(), "it has looked");
}

async fn latest_call(foundation: &Foundation) -> u64 {
    let calls = foundation.control().broker_calls(0).await;
    calls.last().map_or(0, |call| call.number)
}

#[tokio::test]
async fn what_changes_is_reported_by_kind_with_its_risks_and_then_comes_true() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let instance = an_instance(broker.platform(), &Order::small()).await;
    let deployment = format!("service-instance_{instance}");
    let director = foundation.director();
    let vms = director.vms(&deployment).await;
    let small = "/service_catalog/plans/0";
    let configuration = foundation
        .broker()
        .with(
            &format!("{small}/instance_groups/0/vm_type"),
            "large".into(),
        )
        .with(
            &format!("{small}/instance_groups/1/vm_type"),
            "small".into(),
        )
        .with(&format!("{small}/update/max_in_flight"), 2.into())
        .with(
            "/service_catalog/global_properties/persistence",
            false.into(),
        );
    let broker = changed(broker, configuration).await;
    let platform = broker.platform();
    let (history, configs) = (director.history().await, director.configs().await);
    let manifest = director.manifest(&deployment).await;
    let before = latest_call(&foundation).await;

    let reported = dry_run(platform, &instance).await;

    let mut locations = locations(&reported);
    let properties = "properties: instance_groups[redis-server].jobs[redis-server].properties";
    // The property is named where a secret may be.
    if let Some(location) = locations
        .iter_mut()
        .find(|location| location.starts_with(properties))
    {
        properties.clone_into(location);
    }
    assert_eq!(
        locations,
        [
            "instance_groups: instance_groups[redis-server].vm_type changed",
            properties,
            "update: update.max_in_flight changed",
            "errands: instance_groups[health-check].vm_type changed",
        ]
    );
    let vm_type = &reported["changes"]["instance_groups"][0];
    assert_eq!(
        (&vm_type["from"], &vm_type["to"]),
        (&json!("small"), &json!("large"))
    );
    let property = &reported["changes"]["properties"][0];
    assert_eq!(
        (&property["from"], &property["to"]),
        (&Value::Null, &Value::Null)
    );
    assert!(!reported.to_string().contains("persistence"), "{reported}");
    assert_eq!(reported["needs_deploy"], true);
    assert_eq!(
        reported["risks"],
        json!({ "recreates_vms": ["redis-server"], "restarts_jobs": [], "deletes_instances": [] })
    );
    let secrets = foundation.secrets().await;
    secrets.expect_none_in("the dry run", &reported.to_string());
    expect_only_looks(&foundation, before).await;
    assert_eq!(director.history().await, history);
    assert_eq!(director.configs().await, configs);
    assert_eq!(director.manifest(&deployment).await, manifest);
    assert_eq!(director.vms(&deployment).await, vms);

    let upgraded = platform.operate(&instance, "upgrade", &upgrade()).await;
    let token = upgraded.operation_data().to_string();
    platform.succeeds(&instance, &token).await;
    assert_ne!(director.vms(&deployment).await, vms, "it was recreated");
    assert_eq!(dry_run(platform, &instance).await["needs_deploy"], false);
}

#[tokio::test]
async fn a_secret_that_would_be_written_is_reported_by_its_path_and_not_written() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(
        r##"read_input
if [[ $call == generate-manifest && -e $folder/value ]]; then
  as_redis | jq -c --arg value "$(cat "$folder/value")" '
    .secrets.token = $value | .manifest = "# ((odb_secret:token))\n" + .manifest'
else
  as_redis
fi"##,
    );
    let configuration = foundation
        .broker()
        .with_secure_manifests()
        .with_adapter(&adapter);
    let broker = configuration.start().await;
    let platform = broker.platform();
    let value = foundation.folder().join("value");
    std::fs::write(&value, "first-value").expect("the test made the folder");
    let instance = an_instance(platform, &Order::small()).await;
    let credhub = foundation.bosh_credhub();
    assert_eq!(dry_run(platform, &instance).await["needs_deploy"], false);
    std::fs::write(&value, "second-value").expect("the test made the folder");
    let before = latest_call(&foundation).await;

    let reported = dry_run(platform, &instance).await;

    let names = credhub.names_like(&instance).await;
    let path = names.iter().find(|name| name.ends_with("/token"));
    let path = path.expect("the secret is kept");
    assert_eq!(
        locations(&reported),
        [format!("secrets: secrets[{path}] changed")]
    );
    assert_eq!(reported["needs_deploy"], true);
    assert_eq!(reported["risks"]["restarts_jobs"], json!(["redis-server"]));
    assert!(!reported.to_string().contains("second-value"), "{reported}");
    assert_eq!(credhub.value(path).await, Some(json!("first-value")));
    expect_only_looks(&foundation, before).await;
}

#[tokio::test]
async fn a_dry_run_that_cannot_be_is_refused_with_its_reason() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(
        r#"read_input
if [[ -e $folder/broken ]]; then echo "no template for this plan"; exit 1; fi
as_redis"#,
    );
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let platform = broker.platform();
    let instance = an_instance(platform, &Order::small()).await;

    let no_user = platform.dry_run(&new_id(), &upgrade()).await;
    no_user.expect_status(404);
    let unknown = json!({ "plan_id": "unknown" });
    let reported = platform.dry_run(&instance, &unknown).await;
    let text = reported.expect_status(400).description();
    assert!(text.contains("unknown"), "{text}");
    std::fs::write(foundation.folder().join("broken"), "").expect("the test made the folder");

    let reported = platform.dry_run(&instance, &upgrade()).await;

    let text = reported.expect_status(500).description();
    assert!(text.contains("no template for this plan"), "{text}");
}
