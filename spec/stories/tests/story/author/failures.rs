//! Something is wrong, or ends by itself.

use odb_stories::{DevLoop, ProcessTable};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{UP, order};

#[tokio::test]
async fn a_broken_broker_yml_is_reported_by_line_and_the_broker_goes_on_until_it_is_fixed() {
    let dev_loop = DevLoop::new();
    let sandbox = dev_loop.start(&dev_loop.redis_adapter()).await;
    let before = sandbox.broker().id;

    dev_loop.change_broker_file(|file| {
        file["service_catalog"]["plans"][1]["update"]["max_in_flight"] = json!("many");
        file["service_catalog"]["plans"][0]["instance_groups"][0]["vm_type"] = json!("gigantic");
        let jobs = &mut file["service_deployment"]["releases"][0]["jobs"];
        jobs.as_array_mut().unwrap().push(json!("backup"));
    });
    let location = format!("broker.yml:{}:", dev_loop.line_with("max_in_flight: many"));
    sandbox
        .reports(&["keeps running with the earlier"], 1)
        .await;

    let reported = sandbox.reported();
    for words in [
        [&location, "service_catalog.plans[1].update.max_in_flight"],
        [
            "service_catalog.plans[0].instance_groups[0].vm_type",
            "`tiny`, `small`, `large`",
        ],
        ["no job `backup`", "redis-server"],
    ] {
        let fits = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(reported.lines().any(fits), "{words:?}: {reported}");
    }
    assert_eq!(sandbox.broker().id, before);
    order(&sandbox, "small", "cache").await;

    dev_loop.change_broker_file(|file| {
        file["service_catalog"]["plans"][1]["update"]["max_in_flight"] = json!(1);
        file["service_catalog"]["plans"][0]["instance_groups"][0]["vm_type"] = json!("small");
        file["service_deployment"]["releases"][0]["jobs"]
            .as_array_mut()
            .unwrap()
            .pop();
    });
    sandbox.reports(&["broker.yml changed"], 2).await;
    order(&sandbox, "small", "another").await;
}

#[tokio::test]
async fn what_is_wrong_with_a_template_is_on_the_screen_by_file_and_line_until_it_is_fixed() {
    let dev_loop = DevLoop::new();
    let folder = dev_loop.copy_of_example("redis");
    let sandbox = dev_loop.start(folder.path()).await;
    let template = "manifest.yml.tera";

    folder.edit(template, "{{ values.maxclients }}", "{{ nope }}");
    sandbox.reports(&["in force from the next order"], 1).await;
    let create = ["create-service", "redis", "small", "cache", "--wait"];
    sandbox.cf().run(&create).await.failed();
    let fault = ["manifest.yml.tera:", "unknown name `nope`"];
    sandbox.reports(&fault, 1).await;

    folder.edit(template, "{{ nope }}", "{{ values.maxclients }}");
    sandbox.reports(&["in force from the next order"], 2).await;
    order(&sandbox, "small", "another").await;
}

#[tokio::test]
async fn an_adapter_that_gives_no_schemas_is_reported_once_for_each_plan_with_its_words_and_that_orders_fail()
 {
    let dev_loop = DevLoop::new();
    dev_loop.change_broker_file(|document| {
        document["broker"] = json!({ "enable_plan_schemas": true });
    });
    let folder = dev_loop.copy_of_example("redis");
    let sandbox = dev_loop.start(folder.path()).await;
    let template = "manifest.yml.tera";

    folder.edit(template, "{{ values.maxclients }}", "{{ nope");
    sandbox.reports(&["orders fail until it is fixed"], 1).await;

    let reported = sandbox.reported();
    let words = reported
        .lines()
        .filter(|line| line.contains("manifest.yml.tera:"));
    let words: Vec<&str> = words.collect();
    assert_eq!(words.len(), 2, "{reported}");
    for (line, plan) in words.iter().zip(["small", "large"]) {
        assert!(line.contains(&format!("of plan `{plan}`")), "{reported}");
    }
    assert!(
        !reported.contains("keeps running with the earlier"),
        "{reported}"
    );

    folder.edit(template, "{{ nope", "{{ values.maxclients }}");
    sandbox.reports(&UP, 2).await;
    order(&sandbox, "small", "cache").await;
}

#[tokio::test]
async fn a_broker_yml_that_is_broken_from_the_beginning_is_waited_for() {
    let dev_loop = DevLoop::new();
    let good = dev_loop.broker_file();
    dev_loop.write("broker.yml", "service_catalog: [\n");
    let sandbox = dev_loop.launch(&dev_loop.redis_adapter(), &[]);
    sandbox.reports(&["broker.yml", "it is no YAML"], 1).await;
    sandbox.reports(&["not up yet"], 1).await;

    dev_loop.write_broker_file(&good);
    sandbox.reports(&UP, 1).await;

    order(&sandbox, "small", "cache").await;
}

#[tokio::test]
async fn a_plan_with_instances_cannot_be_removed() {
    let dev_loop = DevLoop::new();
    let sandbox = dev_loop.start(&dev_loop.redis_adapter()).await;
    order(&sandbox, "large", "cache").await;

    dev_loop.change_broker_file(|file| {
        file["service_catalog"]["plans"]
            .as_array_mut()
            .unwrap()
            .pop();
    });
    sandbox
        .reports(&["keeps running with the earlier"], 1)
        .await;

    let cf = sandbox.cf();
    let marketplace = cf.run(&["marketplace"]).await.succeeded();
    assert!(marketplace.contains("large"), "{marketplace}");
    cf.run(&["delete-service", "cache", "--wait"])
        .await
        .succeeded();
}

#[tokio::test]
async fn a_broker_that_is_killed_is_reported_and_comes_back_and_its_adapter_goes_with_it() {
    let dev_loop = DevLoop::new();
    let adapter = dev_loop.write_adapter(
        "adapter",
        r#"read_input
if [[ -e $folder/armed && ! -e $folder/entered ]]; then touch "$folder/entered"; sleep 600; fi
as_redis"#,
    );
    let sandbox = dev_loop.start(&adapter).await;
    // The trial orders are over.
    dev_loop.write("armed", "");
    let cf = sandbox.cf();
    let ordering =
        tokio::spawn(async move { cf.run(&["create-service", "redis", "small", "cache"]).await });
    let adapters = || {
        let table = ProcessTable::look();
        let adapters = table.with_argument(&adapter.display().to_string());
        let adapters = adapters
            .into_iter()
            .filter(|one| one.command_line.contains("generate"));
        adapters.count()
    };
    odb_stories::eventually("the adapter is called", crate::TIMEOUT, async || {
        let is_called = dev_loop.folder().join("entered").exists() && adapters() > 0;
        if is_called {
            Ok(())
        } else {
            Err(sandbox.reported())
        }
    })
    .await;

    let broker = Pid::from_raw(sandbox.broker().id.cast_signed()).unwrap();
    kill_process(broker, Signal::KILL).unwrap();
    // No broker is there yet; the order waits for it.
    order(&sandbox, "small", "another").await;

    sandbox
        .reports(&["the broker was killed by signal 9"], 1)
        .await;
    sandbox.reports(&UP, 2).await;
    assert_eq!(adapters(), 0, "no request waits for its answer");
    ordering.await.unwrap();
}
