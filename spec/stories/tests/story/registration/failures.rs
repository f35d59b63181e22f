//! The broker is made known, and something is in the way.

use odb_stories::{Errand, Foundation};
use serde_json::json;

use super::{GENERATIONS, Generation, Scene, expect_text};

#[tokio::test]
async fn a_broker_that_is_not_up_is_waited_for() {
    for generation in GENERATIONS {
        let mut scene = Scene::of(generation).await;
        scene.broker.kill();
        let configuration = scene.configuration();
        let errand = Errand::new(&scene.foundation, "register-broker").configured(&configuration);
        let running = errand.start();
        running
            .says("waiting for the broker to serve its catalog")
            .await;
        assert!(scene.changes(0).await.is_empty());

        scene.broker.start_again().await;

        let run = running.ended().await.expect_status(0);
        expect_text(&run, "the broker serves its catalog");
        assert_eq!(scene.service_access().await.len(), 2);
    }
}

#[tokio::test]
async fn a_catalog_that_the_platform_could_not_read_is_read_when_the_broker_is_back() {
    for generation in GENERATIONS {
        let mut scene = Scene::of(generation).await;
        scene.broker.kill();
        let configuration = scene.configuration();
        let running = Errand::new(&scene.foundation, "register-broker")
            .configured(&configuration)
            .with(&["--wait-for-broker", "15"])
            .start();
        running.says("retrying in").await;

        scene.broker.start_again().await;

        let run = running.ended().await.expect_status(0);
        expect_text(&run, "failed to create service broker redis-broker: ");
        assert_eq!(scene.service_brokers().await.len(), 1);
        assert_eq!(scene.service_access().await.len(), 2);
    }
}

#[tokio::test]
async fn an_unreachable_broker_is_reported_and_the_next_run_cleans_up() {
    for generation in GENERATIONS {
        let mut scene = Scene::of(generation).await;
        scene.broker.kill();
        let configuration = scene.configuration();

        let impatient = ["--wait-for-broker", "0"];
        let run = scene.register_with(&configuration, &impatient).await;

        let run = run.expect_status(1);
        expect_text(&run, "warning: no catalog at");
        let said = run.last_text();
        assert!(
            said.starts_with(
                "failed to execute register-broker: failed to create service broker redis-broker: "
            ) && said.contains("could not be reached"),
            "{said}"
        );
        assert_eq!(scene.service_brokers().await.len(), generation.or(1, 0));

        scene.broker.start_again().await;
        let run = scene.register(&configuration).await.expect_status(0);
        expect_text(
            &run,
            generation.or("updating it", "creating service broker `redis-broker`"),
        );
        assert_eq!(scene.service_brokers().await.len(), 1);
    }
}

#[tokio::test]
async fn a_password_that_the_broker_does_not_take_is_not_given_to_the_platform() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let configuration = scene
            .configuration()
            .with("/broker_password", "not-the-password".into());

        let run = scene.register(&configuration).await.expect_status(1);

        let said = run.last_text();
        assert!(
            said.contains("the broker rejects `broker_username` with `broker_password`"),
            "{said}"
        );
        assert_eq!(scene.changes(0).await.len(), 0);
        assert!(!run.stderr.contains("not-the-password"), "{}", run.stderr);
    }
}

#[tokio::test]
async fn an_answer_that_was_lost_does_not_leave_the_broker_half_registered() {
    for (generation, moment) in [
        (Generation::V3, "before"),
        (Generation::V3, "after"),
        (Generation::V2, "before"),
        (Generation::V2, "after"),
    ] {
        let scene = Scene::of(generation).await;
        let path = generation.or("/v3/service_brokers", "/v2/service_brokers");
        let fault = json!({
            "server": "cloud-controller",
            "requests": { "method": "POST", "path": path },
            "times": 1,
            "effect": { "kind": "drop", "moment": moment },
        });
        let fault = scene.foundation.control().set_fault(&fault).await;

        let run = scene.register(&scene.configuration()).await;

        let run = run.expect_status(0);
        assert!(
            scene
                .foundation
                .control()
                .fault(fault.id)
                .await
                .has_struck()
        );
        expect_text(
            &run,
            match moment {
                "after" => "updating it",
                _ => "creating service broker",
            },
        );
        assert_eq!(scene.service_brokers().await.len(), 1);
        let access = scene.service_access().await;
        assert!(
            access.contains(&"redis-broker redis small public".to_owned()),
            "{access:#?}"
        );
    }
}

#[tokio::test]
async fn access_that_cannot_be_settled_is_reported_with_its_plan() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let requests = generation.or(
            json!({ "method": "PATCH", "path": "/v3/service_plans/*/visibility" }),
            json!({ "method": "PUT", "path": "/v2/service_plans/*" }),
        );
        let fault = json!({
            "server": "cloud-controller",
            "requests": requests,
            "effect": { "kind": "answer", "status": 500 },
        });
        scene.foundation.control().set_fault(&fault).await;

        let run = scene
            .register(&scene.configuration())
            .await
            .expect_status(1);

        let said = run.last_text();
        assert!(
            said.contains("failed to update service access for plan ")
                && said.contains("(`small`)")
                && said.contains("status 500"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_signal_ends_the_waiting() {
    let mut scene = Scene::on(Foundation::bare().start().await).await;
    scene.broker.kill();
    let configuration = scene.configuration();
    let errand = Errand::new(&scene.foundation, "register-broker").configured(&configuration);
    let mut running = errand.start();
    running
        .says("waiting for the broker to serve its catalog")
        .await;

    running.terminate();

    let run = running.ended().await.expect_status(1);
    run.expect_said_last("stopped by a signal");
}
