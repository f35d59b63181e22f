//! The broker is forgotten.

use odb_stories::Errand;
use serde_json::json;

use super::{GENERATIONS, Generation, Scene};

#[tokio::test]
async fn a_broker_is_forgotten_with_its_plans() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        scene.succeed(&scene.configuration()).await;
        let registered = scene.latest_call().await;

        let run = scene.deregister("redis-broker").await.expect_status(0);

        assert_eq!(run.last_text(), "FINISHED DEREGISTER BROKER");
        assert_eq!(
            scene.changes(registered).await,
            [generation.or(
                "DELETE /v3/service_brokers/GUID",
                "DELETE /v2/service_brokers/GUID"
            )]
        );
        // The errand has waited for that.
        assert!(scene.service_brokers().await.is_empty());
    }
}

#[tokio::test]
async fn a_broker_that_is_not_there_is_forgotten_already() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        scene.succeed(&scene.configuration()).await;

        let run = scene.deregister("redis").await.expect_status(0);

        let texts = run.texts();
        assert_eq!(
            texts[texts.len() - 2..],
            [
                "No service broker found with name: redis",
                "FINISHED DEREGISTER BROKER"
            ]
        );
        assert_eq!(scene.service_brokers().await.len(), 1);
    }
}

#[tokio::test]
async fn the_configuration_file_may_name_the_broker() {
    let scene = Scene::of(Generation::V3).await;
    let configuration = scene.configuration();
    scene.succeed(&configuration).await;
    let file = scene.foundation.folder().join("whole.yml");
    configuration.write_whole(&file);

    let errand = Errand::new(&scene.foundation, "deregister-broker");
    let run = errand
        .with(&["--config", &file.display().to_string()])
        .run()
        .await;

    assert_eq!(
        run.expect_status(0).last_text(),
        "FINISHED DEREGISTER BROKER"
    );
    assert!(scene.service_brokers().await.is_empty());
}

#[tokio::test]
async fn a_broker_in_use_stays_and_the_errand_says_how_many_use_it() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let plans = [("small", "enable", None), ("large", "enable", None)];
        let configuration = scene.configuration().with_plans(&plans);
        scene.succeed(&configuration).await;
        for (plan, name) in [("small", "one"), ("small", "two"), ("large", "three")] {
            let order = ["create-service", "redis", plan, name, "--wait"];
            scene.foundation.cf().run(&order).await.succeeded();
        }

        let run = scene.deregister("redis-broker").await.expect_status(1);

        let said = run.last_text();
        assert!(
            said.starts_with("Failed to deregister broker with redis-broker with guid "),
            "{said}"
        );
        for part in [
            "3 service instances",
            "2 of plan `small`",
            "1 of plan `large`",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(scene.service_brokers().await.len(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_was_lost_is_looked_up() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        scene.succeed(&scene.configuration()).await;
        let path = generation.or("/v3/service_brokers/*", "/v2/service_brokers/*");
        let fault = json!({
            "server": "cloud-controller",
            "requests": { "method": "DELETE", "path": path },
            "times": 1,
            "effect": { "kind": "drop", "moment": "after" },
        });
        let fault = scene.foundation.control().set_fault(&fault).await;

        let run = scene.deregister("redis-broker").await.expect_status(0);

        assert!(
            scene
                .foundation
                .control()
                .fault(fault.id)
                .await
                .has_struck()
        );
        assert_eq!(run.last_text(), "FINISHED DEREGISTER BROKER");
        assert!(scene.service_brokers().await.is_empty());
    }
}
