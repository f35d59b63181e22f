//! Every state in which an instance is stuck, and the command that leads out of it (`docs/operators/stuck.md`): those
//! of the platform's users first, those of the operator where they do not help.

use std::collections::{BTreeMap, BTreeSet};

use odb_stories::{
    Broker, Cf, Errand, ErrandConfiguration, ErrandRun, Foundation, FoundationSetup, Odb, OdbRun,
    eventually,
};
use serde_json::{Value, json};

use crate::TIMEOUT;

const CACHE: &str = "cache";

#[tokio::test]
async fn a_creation_that_failed_is_deleted_by_its_user() {
    for setup in both_generations() {
        let stage = Stage::set(setup).await;
        stage.fail("Creating missing vms").await;

        stage
            .cf(&["create-service", "redis", "small", CACHE, "--wait"])
            .await
            .failed();

        stage.delete().await;
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn a_creation_that_hangs_is_cancelled_by_the_operator_and_deleted_by_its_user() {
    for location in [
        json!({ "place": "queue" }),
        json!({ "place": "step", "stage": "Creating missing vms" }),
    ] {
        let stage = Stage::set(Foundation::setup().with_director_admin()).await;
        stage
            .set_task_fault(&location, &json!({ "kind": "hold" }))
            .await;
        stage
            .cf(&["create-service", "redis", "small", CACHE])
            .await
            .succeeded();
        stage.is_begun("create deployment").await;

        let cancelled = stage.cancel().await;

        cancelled.expect_status(0);
        stage.last_operation_is("create failed").await;
        stage.delete().await;
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn a_creation_whose_worker_has_died_fails_and_is_deleted_by_its_user() {
    let stage = Stage::set(
        Foundation::setup()
            .with_director_admin()
            .with_impatient_workers(),
    )
    .await;
    let location = json!({ "place": "step", "stage": "Creating missing vms" });
    stage
        .set_task_fault(&location, &json!({ "kind": "kill_worker" }))
        .await;

    stage
        .cf(&["create-service", "redis", "small", CACHE, "--wait"])
        .await
        .failed();

    stage.delete().await;
    stage.expect_nothing_left().await;
}

#[tokio::test]
async fn a_deletion_that_failed_once_is_repeated_by_its_user() {
    for setup in both_generations() {
        for fault in ["Running errand", "Deleting instances"] {
            let stage = Stage::set(setup.clone()).await;
            stage.create().await;
            stage.fail(fault).await;
            stage.delete_in_vain().await;

            stage.delete().await;
            stage.expect_nothing_left().await;
        }
    }
}

#[tokio::test]
async fn a_deletion_that_an_errand_always_fails_is_forced_by_the_operator() {
    let foundation = Foundation::start_with_director_admin().await;
    let errands = json!({ "pre_delete": [{ "name": "no-such-errand" }] });
    let broker = foundation
        .broker()
        .with_lifecycle_errands(&errands)
        .start()
        .await;
    let stage = Stage::with(foundation, broker).await;
    stage.create().await;
    stage.delete_in_vain().await;
    stage.delete_in_vain().await;

    stage.purge_and_force().await;

    stage.expect_nothing_left().await;
}

#[tokio::test]
async fn a_deletion_that_a_dead_agent_fails_is_forced_by_the_operator() {
    let stage = Stage::set(Foundation::setup().with_director_admin()).await;
    stage.create().await;
    let (control, director) = (stage.foundation.control(), stage.foundation.director());
    let vms = director.vms(&stage.deployment().await).await;
    control.wait_for_agents("300ms").await;
    control.kill_agent(&vms[0]).await;
    stage.delete_in_vain().await;

    stage.purge_and_force().await;

    stage.expect_nothing_left().await;
}

#[tokio::test]
async fn a_deletion_that_hangs_is_cancelled_by_the_operator_and_repeated_by_its_user() {
    let stage = Stage::set(Foundation::setup().with_director_admin()).await;
    stage.create().await;
    let location = json!({ "place": "step", "stage": "Running errand" });
    stage
        .set_task_fault(&location, &json!({ "kind": "hold" }))
        .await;
    stage.cf(&["delete-service", CACHE]).await.succeeded();
    stage.is_begun("run errand").await;

    stage.cancel().await.expect_status(0);

    stage.last_operation_is("delete failed").await;
    stage.delete().await;
    stage.expect_nothing_left().await;
}

#[tokio::test]
async fn an_update_or_an_upgrade_that_failed_in_the_middle_is_repeated() {
    let stage = Stage::set(Foundation::setup().with_director_admin()).await;
    stage.create().await;
    stage.fail("Updating instance").await;
    let change = [
        "update-service",
        CACHE,
        "-c",
        r#"{"maxclients":222}"#,
        "--wait",
    ];
    stage.cf(&change).await.failed();

    stage.cf(&change).await.succeeded();

    stage.fail("Updating instance").await;
    let upgrade = async || stage.odb(&["instance", "upgrade", CACHE]).await;
    upgrade().await.expect_status(1);
    upgrade().await.expect_status(0);
    stage.delete().await;
    stage.expect_nothing_left().await;
}

#[tokio::test]
async fn an_instance_whose_deployment_is_gone_is_distinguished_and_deleted_by_its_user() {
    for setup in both_generations() {
        let stage = Stage::set(setup).await;
        stage.create().await;
        let deployment = stage.deployment().await;
        stage
            .foundation
            .director()
            .delete_deployment(&deployment)
            .await;

        let key = ["create-service-key", CACHE, "key", "--wait"];
        stage.cf(&key).await.failed();
        let platform = stage.broker.platform();
        let instance = stage.instance().await;
        let body = json!({ "plan_id": odb_stories::Order::small().member("plan_id") });
        let upgrade = platform.operate(&instance, "upgrade", &body).await;
        upgrade.expect_status(410);

        stage.delete().await;
        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn a_service_key_of_a_deployment_that_is_gone_is_deleted_by_its_user() {
    let stage = Stage::set(Foundation::setup().with_director_admin()).await;
    stage.create().await;
    let key = [CACHE, "key", "--wait"];
    let create = [&["create-service-key"][..], &key].concat();
    stage.cf(&create).await.succeeded();
    let deployment = stage.deployment().await;
    stage
        .foundation
        .director()
        .delete_deployment(&deployment)
        .await;

    let delete = [&["delete-service-key"][..], &key].concat();
    stage.cf(&delete).await.succeeded();

    stage.delete().await;
    stage.expect_nothing_left().await;
}

#[tokio::test]
async fn a_deployment_that_the_platform_has_forgotten_is_deleted_by_the_operator() {
    for setup in both_generations() {
        let stage = Stage::set(setup).await;
        stage.create().await;

        stage.purge().await;
        stage.delete_orphans().await.expect_status(0);

        stage.expect_nothing_left().await;
    }
}

#[tokio::test]
async fn a_hanging_creation_that_the_platform_has_forgotten_is_cancelled_and_deleted_by_the_operator()
 {
    let stage = Stage::set(Foundation::setup().with_director_admin()).await;
    let location = json!({ "place": "step", "stage": "Creating missing vms" });
    stage
        .set_task_fault(&location, &json!({ "kind": "hold" }))
        .await;
    stage
        .cf(&["create-service", "redis", "small", CACHE])
        .await
        .succeeded();
    stage.is_begun("create deployment").await;
    let instance = stage.instance().await;
    stage.purge().await;

    let cancelled = stage.cancel_operation(&instance).await;

    cancelled.expect_status(0);
    stage.delete_orphans().await.expect_status(0);
    stage.expect_nothing_left().await;
}

/// Issue 27 of the Go release: hundreds of orders had failed, and each had to be purged at the platform and deleted at
/// the Director by hand.
#[tokio::test]
async fn creations_that_failed_by_the_hundred_are_deleted_with_one_command() {
    let stage = Stage::set(Foundation::bare().with_director_admin()).await;
    let director = stage.foundation.director();
    stage.foundation.control().seed_fleet(200, 7).await;
    let before = stage.instances_by_state().await;
    let failed = before.iter().filter(|(_, state)| *state == "create failed");
    let failed: BTreeSet<String> = failed.map(|(id, _)| id.clone()).collect();
    assert!(
        failed.len() > 1 && failed.len() < before.len(),
        "{before:?}"
    );

    let said = ["--create-failed", "--yes", "--max-in-flight", "10"];
    let run = stage.errand("delete-all-service-instances", &said).await;

    expect_success(&run);
    let after = stage.instances_by_state().await;
    let gone: BTreeSet<String> = before
        .keys()
        .filter(|id| !after.contains_key(*id))
        .cloned()
        .collect();
    assert_eq!(gone, failed);
    let deployed = director.deployments().await;
    for instance in failed {
        assert!(!deployed.contains(&format!("service-instance_{instance}")));
    }
}

fn expect_success(run: &ErrandRun) {
    assert_eq!(run.status, Some(0), "{run:?}");
}

/// A foundation with a broker that is registered.
struct Stage {
    foundation: Foundation,
    broker: Broker,
    cf: Cf,
}

/// Version 3 of the Cloud Controller's API, and 2.
fn both_generations() -> [FoundationSetup; 2] {
    [
        Foundation::setup().with_director_admin(),
        Foundation::setup()
            .with_director_admin()
            .with_old_cloud_controller(),
    ]
}

impl Stage {
    async fn set(setup: FoundationSetup) -> Self {
        let foundation = setup.start().await;
        let broker = foundation.broker().start().await;
        Self::with(foundation, broker).await
    }

    async fn with(foundation: Foundation, broker: Broker) -> Self {
        let cf = foundation.cf();
        cf.register(&broker).await;
        Self {
            foundation,
            broker,
            cf,
        }
    }

    async fn cf(&self, arguments: &[&str]) -> odb_stories::CfOutput {
        self.cf.run(arguments).await
    }

    async fn create(&self) {
        self.cf(&["create-service", "redis", "small", CACHE, "--wait"])
            .await
            .succeeded();
    }

    async fn delete(&self) {
        self.cf(&["delete-service", CACHE, "--wait"])
            .await
            .succeeded();
    }

    async fn delete_in_vain(&self) {
        self.cf(&["delete-service", CACHE, "--wait"]).await.failed();
    }

    /// Has the platform forget the instance, and then the Director, whatever it says.
    async fn purge_and_force(&self) {
        let instance = self.instance().await;
        self.purge().await;
        let delete = ["orphan", "delete", &instance, "--force", "--confirm", "1"];
        self.odb(&delete).await.expect_status(0);
    }

    async fn purge(&self) {
        self.cf(&["--as", "admin", "purge-service-instance", CACHE])
            .await
            .succeeded();
    }

    async fn errand(&self, name: &str, arguments: &[&str]) -> ErrandRun {
        let configuration = ErrandConfiguration::of(&self.foundation, &self.broker);
        let errand = Errand::new(&self.foundation, name).configured(&configuration);
        errand.with(arguments).run().await
    }

    async fn odb(&self, arguments: &[&str]) -> OdbRun {
        let odb = Odb::of(&self.foundation, &self.broker).await;
        odb.run(arguments).await
    }

    async fn delete_orphans(&self) -> OdbRun {
        self.odb(&["orphan", "delete", "--confirm", "1"]).await
    }

    async fn cancel(&self) -> OdbRun {
        self.cancel_operation(CACHE).await
    }

    /// Runs the command. A held task continues once the Director has the cancellation: it ends at its next checkpoint.
    async fn cancel_operation(&self, instance: &str) -> OdbRun {
        let odb = Odb::of(&self.foundation, &self.broker).await;
        let running = odb.start(&["instance", "cancel", instance]);
        let director = self.foundation.director();
        eventually("the Director has it", TIMEOUT, async || {
            let tasks = director.tasks().await;
            let is_so = tasks.iter().any(|task| task["state"] == "cancelling");
            is_so.then_some(()).ok_or_else(|| format!("{tasks:?}"))
        })
        .await;
        self.foundation.control().clear_faults().await;
        running.ended().await
    }

    async fn instance(&self) -> String {
        self.row().await["guid"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    async fn deployment(&self) -> String {
        format!("service-instance_{}", self.instance().await)
    }

    async fn row(&self) -> Value {
        let path = format!("/v3/service_instances?names={CACHE}");
        let listed = self.cf(&["curl", &path]).await.succeeded();
        let listed: Value = serde_json::from_str(&listed).expect("it is JSON");
        listed["resources"][0].clone()
    }

    /// The platform's state of each instance: `create failed`.
    async fn instances_by_state(&self) -> BTreeMap<String, String> {
        let path = "/v3/service_instances?per_page=5000";
        let listed = self.cf(&["--as", "admin", "curl", path]).await.succeeded();
        let listed: Value = serde_json::from_str(&listed).expect("it is JSON");
        let rows = listed["resources"].as_array().cloned().unwrap_or_default();
        let reported = rows.iter().map(|row| {
            let word = |name: &str| row["last_operation"][name].as_str().unwrap_or_default();
            let id = row["guid"].as_str().unwrap_or_default().to_owned();
            (id, format!("{} {}", word("type"), word("state")))
        });
        reported.collect()
    }

    async fn last_operation_is(&self, wanted: &str) {
        eventually("the platform has it", TIMEOUT, async || {
            let row = self.row().await;
            let word = |name: &str| row["last_operation"][name].as_str().unwrap_or_default();
            let reported = format!("{} {}", word("type"), word("state"));
            (reported == wanted).then_some(()).ok_or(reported)
        })
        .await;
    }

    async fn fail(&self, stage: &str) {
        let location = json!({ "place": "step", "stage": stage });
        let effect = json!({ "kind": "fail", "code": 100, "message": "no more of it" });
        self.set_task_fault(&location, &effect).await;
    }

    async fn set_task_fault(&self, location: &Value, effect: &Value) {
        let fault = json!({ "at": location, "effect": effect });
        self.foundation.control().set_task_fault(&fault).await;
    }

    async fn is_begun(&self, description: &str) {
        let director = self.foundation.director();
        eventually("the Director has the task", TIMEOUT, async || {
            let tasks = director.tasks().await;
            let latest = tasks.last().cloned().unwrap_or_default();
            let text = latest["description"].as_str().unwrap_or_default();
            let is_at_work = latest["state"] == "queued" || latest["state"] == "processing";
            (is_at_work && text.starts_with(description))
                .then_some(())
                .ok_or_else(|| latest.to_string())
        })
        .await;
    }

    /// Neither the platform nor the Director knows anything any more.
    async fn expect_nothing_left(&self) {
        let director = self.foundation.director();
        eventually("nothing is left", TIMEOUT, async || {
            let mut left = (director.deployments().await, director.configs().await);
            // The latest run of an errand is recorded; it belongs to no instance.
            left.1.retain(|config| config["type"] != "odb-run");
            let is_nothing = left.0.is_empty() && left.1.is_empty();
            is_nothing.then_some(()).ok_or_else(|| format!("{left:?}"))
        })
        .await;
        assert_eq!(self.row().await, Value::Null);
    }
}
