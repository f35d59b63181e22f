//! The sandbox is started for the first time, or fails to start.

use std::{fs, os::unix::fs::PermissionsExt};

use odb_stories::{DevLoop, Redis};
use serde_json::{Value, json};

use super::{deployment, order};

/// In an empty folder: nothing of the project's is there, and no option names it.
#[tokio::test]
async fn an_author_with_an_adapter_and_a_broker_yml_orders_at_once() {
    let dev_loop = DevLoop::new();
    fs::remove_file(dev_loop.folder().join("foundation.yml")).unwrap();
    let sandbox = dev_loop.start_with(&dev_loop.redis_adapter(), &[]).await;
    let cf = sandbox.cf();

    let marketplace = cf.run(&["marketplace"]).await.succeeded();
    assert!(marketplace.contains("small") && marketplace.contains("large"));
    order(&sandbox, "small", "cache").await;
    cf.run(&["create-service-key", "cache", "key", "--wait"])
        .await
        .succeeded();

    let key = cf.run(&["service-key", "cache", "key", "--json"]).await;
    let credentials: Value = serde_json::from_str(&key.succeeded()).unwrap();
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.command(&["SET", "greeting", "hello"]).await, "OK");
    let file = dev_loop.folder().join("state/broker/broker.yml");
    let rights = fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(rights & 0o777, 0o600, "it holds secrets");
}

#[tokio::test]
async fn an_operators_broker_yml_can_be_tried_and_what_does_not_count_is_reported() {
    let dev_loop = DevLoop::new();
    dev_loop.change_broker_file(|file| {
        file["broker"] = json!({
            "port": 9999, "username": "operator", "password": "of-production", "startup_banner": true,
            "disable_cf_startup_checks": false,
        });
        file["bosh"] = json!({
            "url": "https://director.production", "authentication": {"basic": {"username": "a", "password": "b"}},
        });
        file["service_instances_api"] = json!({"url": "https://elsewhere"});
        file["service_adapter"] = json!({"path": "/var/vcap/packages/odb-service-adapter/bin/service-adapter"});
        // Switches the CredHub of applications on.
        file["credhub"] = json!({});
    });
    let sandbox = dev_loop.start(&dev_loop.redis_adapter()).await;

    for key in [
        "service_instances_api",
        "broker.port",
        "broker.password",
        "bosh.url",
        "bosh.authentication",
        "service_adapter.path",
    ] {
        sandbox.reports(&["have no effect here", key], 1).await;
    }
    assert!(
        !sandbox.reported().contains("of-production"),
        "{}",
        sandbox.reported()
    );
    order(&sandbox, "small", "cache").await;
    let cf = sandbox.cf();
    cf.run(&["create-app", "web"]).await.succeeded();
    cf.run(&["create-service-key", "cache", "key", "--wait"])
        .await
        .succeeded();
    let key = cf.run(&["service-key", "cache", "key", "--json"]).await;
    let key = key.succeeded();
    assert!(
        key.contains("password") && !key.contains("credhub-ref"),
        "{key}"
    );
}

#[tokio::test]
async fn a_release_whose_jobs_the_author_brings_is_there_to_be_deployed() {
    let dev_loop = DevLoop::new();
    dev_loop.write(
        "jobs/annotate/job.yml",
        "name: annotate\ndescription: Keeps a note\nerrand: {command: [\"true\"], timeout_in_seconds: 10}\n",
    );
    dev_loop.change_broker_file(|file| {
        let release = &mut file["service_deployment"]["releases"][0];
        *release = json!({
            "name": "my-redis", "version": "0+dev.1",
            "jobs": ["redis-server", "health-check", "cleanup-data", "annotate"],
        });
        file["service_deployment"]["stemcells"] = json!([{"os": "ubuntu-noble", "version": "1.5"}]);
    });
    let sandbox = dev_loop.start(&dev_loop.redis_adapter()).await;

    sandbox
        .reports(&["release my-redis/0+dev.1 uploaded", "annotate"], 1)
        .await;
    sandbox
        .reports(&["stemcell", "ubuntu-noble", "1.5 uploaded"], 1)
        .await;
    order(&sandbox, "small", "cache").await;
    let deployment = deployment(&sandbox, "cache").await;
    let manifest = sandbox.director().manifest(&deployment).await;
    assert!(
        manifest.contains("my-redis") && manifest.contains("ubuntu-noble"),
        "{manifest}"
    );
}

#[tokio::test]
async fn a_start_without_an_adapter_or_a_broker_yml_ends_with_what_is_missing() {
    let dev_loop = DevLoop::new();
    let folder = dev_loop.folder();

    for (adapter, expected) in [
        (folder.join("nowhere"), "could not find the adapter"),
        (folder.join("broker.yml"), "chmod +x"),
        (folder.to_owned(), "it has no `adapter.yml`"),
    ] {
        let mut sandbox = dev_loop.launch(&adapter, &[]);
        assert!(!sandbox.exit().await.success());
        assert!(
            sandbox.reported().contains(expected),
            "{}",
            sandbox.reported()
        );
    }
    fs::remove_file(folder.join("broker.yml")).unwrap();
    let mut sandbox = dev_loop.launch(&dev_loop.redis_adapter(), &[]);
    assert!(!sandbox.exit().await.success());
    assert!(
        sandbox.reported().contains("broker.yml"),
        "{}",
        sandbox.reported()
    );
}

#[tokio::test]
async fn what_the_guide_shows_authors_works() {
    let dev_loop = DevLoop::new();
    fs::copy(dev_loop.redis_adapter(), dev_loop.folder().join("adapter")).unwrap();
    let guide = format!(
        "{}/../../docs/authors/sandbox.md",
        env!("CARGO_MANIFEST_DIR")
    );
    let guide = fs::read_to_string(guide).unwrap();
    let fenced = |information: &str| {
        let (_, block) = guide.split_once(&format!("```sh {information}\n")).unwrap();
        block.split_once("\n```").unwrap().0.to_owned()
    };

    let _sandbox = dev_loop.run_until_ready(&fenced("author")).await;
    let ordered = dev_loop.shell(&fenced("order")).output().await.unwrap();

    let reported = String::from_utf8_lossy(&ordered.stderr);
    assert!(ordered.status.success(), "{reported}");
    assert!(
        reported.contains("service instance cache created"),
        "{reported}"
    );
}
