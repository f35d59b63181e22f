//! The life of a broker's deployment, from pre-start to drain.

use std::fs;

use odb_stories::{Foundation, Redis};
use serde_json::{Value, json};

use super::{
    site::{Plan, Site},
    watch::Watch,
};

#[tokio::test]
async fn a_packaged_broker_is_started_registered_used_upgraded_emptied_and_stopped_by_the_rendered_files()
 {
    let site = Site::of_the_tarball(Foundation::start().await).await;
    let watch = Watch::begin(site.vm.root().to_str().unwrap());
    let mut plan = Plan::of_project("redis", &site.foundation);
    let metrics = json!({ "tls": { "ca_cert": site.foundation.authority() } });
    plan.add_job("service-metrics-adapter", &metrics);
    site.apply(&plan);

    comes_up(&site).await;
    let credentials = is_registered_and_used(&site).await;
    let secrets = site.secrets(&plan).await;
    is_upgraded_recreated_and_audited(&site, &credentials).await;
    is_emptied_and_forgotten(&site).await;
    goes_down(&site).await;

    let secrets = secrets.and_members_of("the key", &credentials);
    assert!(watch.has_seen("odb-errand register-broker --config"));
    watch.expect_no(&secrets);
    for (job, name) in [
        ("broker", "broker.stdout.log"),
        ("register-broker", "register-broker.stderr.log"),
    ] {
        let log = site.vm.log(job, name);
        assert!(!log.is_empty(), "{job} has logged nothing");
        secrets.expect_none_in(name, &log);
    }
}

async fn comes_up(site: &Site) {
    let root = site.vm.root().display();
    let pre_start = site.run("service-metrics-adapter", "pre-start").await;
    pre_start.expect_success();
    site.start_broker().await;
    let processes = site.vm.processes("broker");
    let lines: Vec<&str> = processes
        .iter()
        .map(|one| one.command_line.as_str())
        .collect();
    let program = format!("{root}/packages/on-demand-broker/bin/on-demand-broker");
    let expected = format!("{program} serve --config {root}/jobs/broker/config/broker.yml");
    assert_eq!(lines, [expected]);
    let doctor = site.run("broker", "doctor").await.expect_success();
    assert!(
        doctor.output.contains("broker.yml: 0 errors"),
        "{}",
        doctor.output
    );
}

async fn is_registered_and_used(site: &Site) -> Value {
    let cf = site.foundation.cf();
    site.errand("register-broker").await.expect_success();
    assert!(is_in_the_marketplace(site).await);
    order(site, "cache").await;
    let order = ["create-service-key", "cache", "key", "--wait"];
    cf.run(&order).await.succeeded();
    let key = cf.run(&["service-key", "cache", "key", "--json"]).await;
    let credentials: Value = serde_json::from_str(&key.succeeded()).unwrap();
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.command(&["SET", "greeting", "hello"]).await, "OK");
    credentials
}

async fn is_upgraded_recreated_and_audited(site: &Site, credentials: &Value) {
    assert_eq!(counted_instances(site).await, 1);
    for errand in [
        "upgrade-all-service-instances",
        "recreate-all-service-instances",
    ] {
        let run = site.errand(errand).await.expect_success();
        let done = "Number of successful operations: 1";
        assert!(run.stderr.contains(done), "{}", run.stderr);
    }
    let mut redis = Redis::connect(credentials).await;
    assert_eq!(redis.command(&["GET", "greeting"]).await, "hello");
    let orphans = site.errand("orphan-deployments").await;
    assert_eq!(orphans.expect_success().output, "[]\n");
}

/// In two steps, and in one.
async fn is_emptied_and_forgotten(site: &Site) {
    let director = site.foundation.director();
    site.errand("delete-all-service-instances")
        .await
        .expect_success();
    assert_eq!(director.deployments().await, Vec::<String>::new());
    site.errand("deregister-broker").await.expect_success();
    assert!(!is_in_the_marketplace(site).await);

    site.errand("register-broker").await.expect_success();
    order(site, "second").await;
    let run = site.errand("deregister-broker").await.expect_status(1);
    let is_refused = run.stderr.contains("exit status 1");
    assert!(is_refused, "{run:?}");
    let errand = "delete-all-service-instances-and-deregister-broker";
    site.errand(errand).await.expect_success();
    assert_eq!(director.deployments().await, Vec::<String>::new());
    assert!(!is_in_the_marketplace(site).await);
}

/// And who is down does not pass for up.
async fn goes_down(site: &Site) {
    site.drain().await;
    site.vm.monit_stop("broker").await;
    assert_eq!(site.vm.processes("broker"), Vec::new());
    assert!(!site.vm.pid_file("broker").exists());
    let log = site.vm.log("broker", "drain.log");
    assert!(log.contains("has ended"), "{log}");

    let patient = site.vm.root().join("jobs/broker/bin/post-start");
    let patient = fs::read_to_string(patient).unwrap();
    let hasty = format!("{} --timeout 1\n", patient.trim_end());
    site.vm
        .write_executable("jobs/broker/bin/hasty-post-start", &hasty);
    let run = site.run("broker", "hasty-post-start").await;
    let run = run.expect_status(1);
    let said = "no connection could be established";
    assert!(run.stderr.contains(said), "{}", run.stderr);
}

async fn is_in_the_marketplace(site: &Site) -> bool {
    let marketplace = site.foundation.cf().run(&["marketplace"]).await;
    let marketplace = marketplace.succeeded();
    marketplace.contains("redis") && marketplace.contains("small")
}

async fn order(site: &Site, name: &str) {
    let order = ["create-service", "redis", "small", name, "--wait"];
    site.foundation.cf().run(&order).await.succeeded();
}

/// How many instances there are, by what the service-metrics release collects.
async fn counted_instances(site: &Site) -> u64 {
    let run = site.run("service-metrics-adapter", "collect-service-metrics");
    let metrics = run.await.expect_success().output;
    let metrics: Vec<Value> = serde_json::from_str(&metrics).unwrap();
    let key = "/on-demand-broker/redis/total_instances";
    let total = metrics.iter().find(|metric| metric["key"] == key);
    total.unwrap_or_else(|| panic!("{metrics:?}"))["value"]
        .as_u64()
        .unwrap()
}
