//! The broker is made known.

use std::collections::BTreeSet;

use odb_stories::ErrandConfiguration;
use serde_json::json;

use super::{GENERATIONS, Generation, Scene, expect_text};

#[tokio::test]
async fn a_broker_is_registered_and_its_plans_have_the_access_of_the_file() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;

        let run = scene.register(&scene.configuration()).await;

        let run = run.expect_status(0);
        assert_eq!(
            scene.service_brokers().await,
            [format!("redis-broker {}", scene.broker.url())]
        );
        assert_eq!(
            scene.service_access().await,
            [
                "redis-broker redis large admin",
                "redis-broker redis small public"
            ]
        );
        assert_eq!(
            scene.changes(0).await,
            generation.or(
                [
                    "POST /v3/service_brokers",
                    "PATCH /v3/service_plans/GUID/visibility",
                ],
                ["POST /v2/service_brokers", "PUT /v2/service_plans/GUID"],
            )
        );
        expect_text(&run, "plan `small`: access was none, is now public");
        expect_text(&run, "plan `large`: access is none, as before");
        assert!(
            run.last_text().starts_with("FINISHED REGISTER BROKER"),
            "{run:?}"
        );
        let order = ["create-service", "redis", "small", "cache", "--wait"];
        scene.foundation.cf().run(&order).await.succeeded();
    }
}

#[tokio::test]
async fn each_request_and_each_token_is_reported_before_it_is_asked_for() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let before = scene.latest_call().await;

        let run = scene.register(&scene.configuration()).await;

        let run = run.expect_status(0);
        let texts = run.texts();
        let wanted = "no valid UAA token found in cache, obtaining a new one";
        let obtained = "obtained UAA token, expires in 1200 seconds";
        for text in [wanted, obtained] {
            let times = texts.iter().filter(|line| **line == text).count();
            assert_eq!(times, 1, "{texts:#?}");
        }
        let url = &scene.foundation.description().cloud_controller.url;
        let reported: Vec<_> = texts
            .iter()
            .filter_map(|text| text.split_once(&format!(" {url}")))
            .map(|(method, path)| format!("{method} {path}"))
            .collect();
        let calls = scene.foundation.control().broker_calls(before).await;
        let asked: Vec<_> = calls
            .iter()
            .filter(|call| call.server == "cloud-controller")
            .map(|call| match call.query.as_str() {
                "" => format!("{} {}", call.method, call.path),
                query => format!("{} {}?{query}", call.method, call.path),
            })
            .collect();
        assert_eq!(reported, asked);
        let servers: BTreeSet<_> = calls.iter().map(|call| call.server.as_str()).collect();
        assert_eq!(servers, BTreeSet::from(["cf-uaa", "cloud-controller"]));
    }
}

#[tokio::test]
async fn a_second_run_has_the_catalog_read_again_and_leaves_what_is_right() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let configuration = scene.configuration();
        scene.succeed(&configuration).await;
        let (brokers, first) = (scene.service_brokers().await, scene.latest_call().await);

        let run = scene.register(&configuration).await.expect_status(0);

        assert_eq!(
            scene.changes(first).await,
            [generation.or(
                "PATCH /v3/service_brokers/GUID",
                "PUT /v2/service_brokers/GUID"
            )]
        );
        assert_eq!(scene.service_brokers().await, brokers);
        expect_text(&run, "plan `small`: access is public, as before");
        expect_text(
            &run,
            "service broker `redis-broker` is registered: updating it",
        );
    }
}

fn as_user(
    configuration: ErrandConfiguration,
    username: &str,
    password: &str,
) -> ErrandConfiguration {
    configuration.with(
        "/cf/uaa/authentication",
        json!({ "user_credentials": { "username": username, "password": password } }),
    )
}

#[tokio::test]
async fn wrong_credentials_are_reported_and_nothing_is_changed() {
    let scene = Scene::of(Generation::V3).await;
    let secret = "/cf/uaa/authentication/client_credentials/client_secret";
    let wrong_client = scene.configuration().with(secret, "not-the-secret".into());
    let wrong_user = as_user(scene.configuration(), "admin", "not-the-password");

    for configuration in [wrong_client, wrong_user] {
        let run = scene.register(&configuration).await.expect_status(1);

        let said = run.last_text();
        assert!(
            said.starts_with(
                "failed to execute register-broker: failed to retrieve list of brokers: "
            ) && said.contains("status 401"),
            "{said}"
        );
        assert!(!run.stderr.contains("not-the-"), "{}", run.stderr);
    }
    assert!(scene.service_brokers().await.is_empty());
}

#[tokio::test]
async fn a_user_without_permission_to_register_brokers_is_rejected() {
    for generation in GENERATIONS {
        const PASSWORD: &str = "a-developers-password";
        let foundation = generation
            .setup()
            .with_password_of_users(PASSWORD)
            .start()
            .await;
        let scene = Scene::on(foundation).await;
        let configuration = as_user(scene.configuration(), "developer", PASSWORD);

        let run = scene.register(&configuration).await.expect_status(1);

        let said = run.last_text();
        assert!(
            said.contains("failed to create service broker redis-broker: ")
                && said.contains("status 403"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn the_certificates_of_the_platform_are_verified_unless_that_is_switched_off() {
    let scene = Scene::of(Generation::V3).await;
    let unknown = scene.configuration().with("/cf/root_ca_cert", json!(null));
    let run = scene.register(&unknown).await.expect_status(1);
    run.expect_said_last("TLS handshake");

    let switched_off = unknown.with("/cf/disable_ssl_cert_verification", true.into());
    let run = scene.register(&switched_off).await.expect_status(0);
    expect_text(&run, "certificates are not verified");
}

#[tokio::test]
async fn a_rehearsal_reports_what_would_change_and_changes_nothing() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let configuration = scene.configuration();

        let dry = ["--dry-run"];
        let run = scene.register_with(&configuration, &dry).await;
        let run = run.expect_status(0);
        expect_text(&run, "service broker `redis-broker` would be created");
        expect_text(&run, "plan `small`: the platform does not have it yet");
        assert!(scene.changes(0).await.is_empty());

        scene.succeed(&configuration).await;
        let registered = scene.latest_call().await;
        let turned = scene
            .configuration()
            .with_plans(&[("small", "disable", None), ("large", "manual", None)]);
        let run = scene.register_with(&turned, &dry).await.expect_status(0);
        expect_text(&run, "is registered: it would be updated");
        expect_text(&run, "plan `small`: access is public, would be none");
        expect_text(&run, "plan `large`: access is unchanged");
        assert_eq!(run.last_text(), "nothing was changed");
        assert!(scene.changes(registered).await.is_empty());
    }
}
