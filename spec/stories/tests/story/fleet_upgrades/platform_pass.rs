//! Upgrades go through the Cloud Controller, so that it knows of them (`spec/contracts/errands.md` §4.1, §4.4).

use odb_stories::{
    BrokerConfiguration, Errand, ErrandConfiguration, Fault, FoundationSetup, TaskFault,
};
use reqwest::Method;
use serde_json::json;

use super::{Fleet, UPGRADE, expect_summary, foundations, own_texts};

fn at_version(
    version: &'static str,
) -> impl FnOnce(BrokerConfiguration<'_>) -> BrokerConfiguration<'_> {
    move |broker| {
        broker.with(
            "/service_catalog/plans/0/maintenance_info",
            json!({ "version": version }),
        )
    }
}

/// A fleet at version 1.0.0 of a plan that is at 2.0.0 by now, as the Cloud Controller knows, too.
async fn behind(setup: FoundationSetup, count: usize) -> Fleet {
    let mut fleet = Fleet::on(setup, count, at_version("1.0.0")).await;
    fleet.replace_broker(at_version("2.0.0")).await;
    let file = fleet.file().with_plans(&[("small", "enable", None)]);
    let run = Errand::new(&fleet.foundation, "register-broker").configured(&file);
    let _ = run.run().await.expect_status(0);
    fleet
}

fn file(fleet: &Fleet) -> ErrandConfiguration {
    fleet.file().with("/maintenance_info_present", json!(true))
}

async fn version_of(fleet: &Fleet, location: usize) -> String {
    let path = format!("/v3/service_instances/{}", fleet.instances[location]);
    let (status, found) = fleet.controller.send(Method::GET, &path, None).await;
    assert_eq!(status, 200, "{found}");
    let version = found["maintenance_info"]["version"].as_str();
    version.expect("it has one").to_owned()
}

#[tokio::test]
async fn an_instance_is_upgraded_through_the_platform_and_deployed_once() {
    for setup in foundations() {
        let fleet = behind(setup, 2).await;
        let control = fleet.foundation.control();
        let before = control.latest_call().await;
        let run = fleet.run(UPGRADE, &file(&fleet)).await.expect_status(0);
        let calls = control.broker_calls(before).await;
        let looks = calls.iter().filter(|call| {
            call.path.contains("/service_plans/") && call.path.matches('/').count() == 3
        });
        assert_eq!(
            looks.count(),
            1,
            "a plan's version is asked for once: {calls:#?}"
        );
        let texts = own_texts(&run);
        let passes: Vec<_> = texts
            .iter()
            .filter(|text| text.starts_with("Upgrading all"))
            .collect();
        assert_eq!(
            passes,
            [
                "Upgrading all instances via CF",
                "Upgrading all instances via BOSH"
            ]
        );
        for (location, id) in fleet.instances.iter().enumerate() {
            assert!(version_of(&fleet, location).await.starts_with("2.0.0"));
            assert_eq!(fleet.deployments_of(location).await, 1);
            for text in [
                format!("[{id}] Waiting for operation to complete"),
                format!("[{id}] Result: already upgraded through the platform - operation skipped"),
            ] {
                assert!(texts.contains(&text), "{text}: {texts:#?}");
            }
        }
        let again = fleet.run(UPGRADE, &file(&fleet)).await.expect_status(0);
        let skipped = format!(
            "[{}] Result: instance already up to date - operation skipped",
            fleet.instances[0]
        );
        assert!(own_texts(&again).contains(&skipped), "{again:?}");
        assert_eq!(
            fleet.deployments_of(0).await,
            2,
            "what the platform cannot see comes through the broker"
        );
    }
}

/// Weakness 4 of `spec/contracts/errands.md` §11.1: busy was a failure at once.
#[tokio::test]
async fn an_instance_that_is_busy_on_the_platform_is_tried_again() {
    for setup in foundations() {
        let fleet = behind(setup, 1).await;
        fleet.hold(0).await;
        let path = format!("/v3/service_instances/{}", fleet.instances[0]);
        // Its user has asked for the upgrade.
        let upgrade = json!({ "maintenance_info": { "version": plan_version(&fleet).await } });
        let (status, answer) = fleet
            .controller
            .send(Method::PATCH, &path, Some(&upgrade))
            .await;
        assert_eq!(status, 202, "{answer}");
        let file = file(&fleet).with("/attempt_limit", json!(30));
        let errand = fleet.errand(UPGRADE, &file).start();
        errand.says("Result: operation in progress").await;
        fleet.foundation.control().clear_task_faults().await;
        let run = errand.ended().await.expect_status(0);
        run.expect_said("Attempt 2/30");
    }
}

async fn plan_version(fleet: &Fleet) -> String {
    let (status, found) = fleet
        .controller
        .send(Method::GET, "/v3/service_plans?names=small", None)
        .await;
    assert_eq!(status, 200, "{found}");
    let version = found["resources"][0]["maintenance_info"]["version"].as_str();
    version.expect("the plan has one").to_owned()
}

#[tokio::test]
async fn after_a_failure_on_the_platform_nothing_goes_through_the_broker() {
    for setup in foundations() {
        let fleet = behind(setup, 2).await;
        fleet.fail(0).await;
        let run = fleet.run(UPGRADE, &file(&fleet)).await.expect_status(1);
        let texts = own_texts(&run);
        assert!(!texts.contains(&"Upgrading all instances via BOSH".to_owned()));
        let id = &fleet.instances[0];
        let last = run.last_text();
        assert!(
            last.starts_with(&format!("[{id}] Operation failed: ")),
            "{last}"
        );
        expect_summary(&run, "successful operations: 1;");
    }
}

/// The upgrade has ended, with any outcome, when it is requested again.
#[tokio::test]
async fn an_upgrade_whose_answer_is_lost_is_deployed_once() {
    for setup in foundations() {
        let fleet = behind(setup, 1).await;
        lose_the_answer(&fleet).await;
        let run = fleet.run(UPGRADE, &file(&fleet)).await.expect_status(0);
        run.expect_said("retrying in");
        assert_eq!(fleet.deployments_of(0).await, 1, "{run:?}");
        assert!(version_of(&fleet, 0).await.starts_with("2.0.0"));
    }
}

#[tokio::test]
async fn an_upgrade_whose_answer_is_lost_and_that_fails_is_not_asked_for_again() {
    for setup in foundations() {
        let fleet = behind(setup, 1).await;
        fleet.fail(0).await;
        lose_the_answer(&fleet).await;
        let run = fleet.run(UPGRADE, &file(&fleet)).await.expect_status(1);
        run.expect_said("retrying in");
        assert_eq!(fleet.deployments_of(0).await, 1, "{run:?}");
    }
}

/// The next answer of the Cloud Controller to the wish for an upgrade does not arrive.
async fn lose_the_answer(fleet: &Fleet) {
    let guid = &fleet.instances[0];
    for (method, path) in [
        ("PATCH", format!("/v3/service_instances/{guid}")),
        ("PUT", format!("/v2/service_instances/{guid}")),
    ] {
        fleet
            .foundation
            .control()
            .set(
                Fault::of("cloud-controller", &format!("{method} {path}"))
                    .drops("after")
                    .times(1),
            )
            .await;
    }
}

/// The Cloud Controller refuses to upgrade what was never made.
#[tokio::test]
async fn an_instance_that_was_never_made_keeps_no_other_from_being_upgraded() {
    for setup in foundations() {
        let fleet = behind(setup, 1).await;
        fleet
            .foundation
            .control()
            .set_task(TaskFault::at_start().fails(400_001, "no disk space left"))
            .await;
        let plan = fleet.controller.plan("small").await;
        let order = fleet.controller.order("never-made", &plan).await;
        let failed = fleet.controller.end(&order).await;
        assert!(failed.is_err(), "{failed:?}");

        let run = fleet.run(UPGRADE, &file(&fleet)).await;

        let texts = own_texts(&run);
        let through_broker = "Upgrading all instances via BOSH".to_owned();
        assert!(texts.contains(&through_broker), "{run:?}");
        assert!(version_of(&fleet, 0).await.starts_with("2.0.0"));
        assert_eq!(fleet.deployments_of(0).await, 1);
    }
}
