//! The author changes something.

use odb_stories::{DevLoop, Redis};
use serde_json::json;

use super::{UP, deployment, order};

#[tokio::test]
async fn what_an_adapter_reads_anew_is_in_the_next_order() {
    let dev_loop = DevLoop::new();
    dev_loop.write("template", "blue");
    let adapter = dev_loop.write_adapter(
        "adapter",
        r#"if [[ $call == dashboard-url ]]; then
  printf '{"dashboard_url": "https://dashboard.example/%s"}' "$(cat "$folder/template")"
else
  read_input; as_redis
fi"#,
    );
    let sandbox = dev_loop.start(&adapter).await;
    order(&sandbox, "small", "first").await;

    dev_loop.write("template", "green");
    order(&sandbox, "small", "second").await;

    let cf = sandbox.cf();
    for (name, expected) in [("first", "example/blue"), ("second", "example/green")] {
        let shown = cf.run(&["service", name]).await.succeeded();
        assert!(shown.contains(expected), "{shown}");
    }
}

#[tokio::test]
async fn an_adapter_that_is_built_anew_is_called_by_a_broker_that_is_started_again() {
    let dev_loop = DevLoop::new();
    let adapter = dev_loop.write_adapter("adapter", "read_input; as_redis");
    let sandbox = dev_loop.start(&adapter).await;
    let before = sandbox.broker().id;

    dev_loop.write_adapter("adapter", "echo 'nothing doing today'; exit 1");
    sandbox.reports(&["the adapter changed"], 1).await;
    sandbox.reports(&UP, 2).await;

    assert_ne!(sandbox.broker().id, before);
    let order = ["create-service", "redis", "small", "cache", "--wait"];
    let said = sandbox.cf().run(&order).await.failed();
    assert!(said.contains("nothing doing today"), "{said}");
}

#[tokio::test]
async fn a_new_plan_is_in_the_marketplace_and_what_was_ordered_before_can_be_moved_to_it() {
    let dev_loop = DevLoop::new();
    let sandbox = dev_loop.start(&dev_loop.redis_adapter()).await;
    let cf = sandbox.cf();
    order(&sandbox, "small", "cache").await;

    dev_loop.change_broker_file(|file| {
        let plans = file["service_catalog"]["plans"].as_array_mut().unwrap();
        let mut plan = plans[0].clone();
        plan["plan_id"] = json!("7a0e6f2c-0000-4000-8000-000000000001");
        plan["name"] = json!("medium");
        plans.push(plan);
    });
    sandbox
        .reports(&["new in the marketplace: medium"], 1)
        .await;

    let marketplace = cf.run(&["marketplace"]).await.succeeded();
    assert!(marketplace.contains("medium"), "{marketplace}");
    cf.run(&["update-service", "cache", "-p", "medium", "--wait"])
        .await
        .succeeded();
    let shown = cf.run(&["service", "cache"]).await.succeeded();
    assert!(shown.contains("medium"), "{shown}");
}

#[tokio::test]
async fn a_plan_that_is_to_be_hidden_is_not_in_the_marketplace() {
    let dev_loop = DevLoop::new();
    dev_loop.change_broker_file(|file| {
        file["service_catalog"]["plans"][1]["cf_service_access"] = json!("disable");
    });
    let sandbox = dev_loop.start(&dev_loop.redis_adapter()).await;

    let marketplace = sandbox.cf().run(&["marketplace"]).await.succeeded();

    assert!(
        marketplace.contains("small") && !marketplace.contains("large"),
        "{marketplace}"
    );
}

#[tokio::test]
async fn an_operation_in_progress_while_the_broker_is_started_again_ends_well() {
    let dev_loop = DevLoop::new();
    let sandbox = dev_loop.start_with(&dev_loop.redis_adapter(), &[]).await;
    let cf = sandbox.cf();
    cf.run(&["create-service", "redis", "small", "cache"])
        .await
        .succeeded();

    dev_loop.change_broker_file(|file| {
        file["service_catalog"]["service_description"] = json!("A Redis, changed on the way");
    });
    sandbox.reports(&UP, 2).await;

    let cf = sandbox.cf();
    odb_stories::eventually("the order ends", crate::TIMEOUT, async || {
        let shown = cf.run(&["service", "cache"]).await.succeeded();
        if shown.contains("in progress") {
            Err(shown)
        } else {
            Ok(())
        }
    })
    .await;
    let shown = cf.run(&["service", "cache"]).await.succeeded();
    assert!(shown.contains("succeeded"), "{shown}");
    let instance = deployment(&sandbox, "cache").await;
    let instance = instance.trim_start_matches("service-instance_");
    assert_eq!(
        sandbox.director().history().await,
        crate::history_of_an_order(instance),
        "nothing is deployed twice"
    );
}

#[tokio::test]
async fn a_template_that_is_edited_is_in_the_next_order_and_in_the_next_update() {
    let dev_loop = DevLoop::new();
    dev_loop.change_broker_file(|document| {
        document["broker"] = json!({ "skip_check_for_pending_changes": true });
    });
    let folder = dev_loop.copy_of_example("redis");
    let sandbox = dev_loop.start(folder.path()).await;
    order(&sandbox, "small", "first").await;
    let broker = sandbox.broker().id;

    let template = "manifest.yml.tera";
    folder.edit(template, "{{ values.maxclients }}", "321");
    order(&sandbox, "small", "second").await;
    let cf = sandbox.cf();
    cf.run(&["create-service-key", "second", "key", "--wait"])
        .await
        .succeeded();

    let key = cf.run(&["service-key", "second", "key", "--json"]).await;
    let credentials = serde_json::from_str(&key.succeeded()).unwrap();
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.info("clients", "maxclients").await, "321");
    sandbox.reports(&["in force from the next order"], 1).await;
    assert_eq!(sandbox.broker().id, broker);
    let first = deployment(&sandbox, "first").await;
    let director = sandbox.director();
    assert!(!director.manifest(&first).await.contains("maxclients: 321"));
    let update = ["update-service", "first", "-p", "large", "--wait"];
    cf.run(&update).await.succeeded();
    assert!(director.manifest(&first).await.contains("maxclients: 321"));
}
