//! Credentials in the runtime CredHub, which only the application reads (`spec/contracts/broker-behaviour.md` §3.15).

use odb_stories::{Foundation, Redis, new_id};
use serde_json::{Value, json};

use super::Scene;

#[tokio::test]
async fn an_application_gets_a_reference_that_it_alone_may_read() {
    let scene = Scene::secure().await;
    let credhub = scene.foundation.runtime_credhub();
    let (platform, binding, app) = (scene.broker.platform(), new_id(), new_id());
    let (path, actor) = (scene.path(&binding), format!("mtls-app:{app}"));
    scene.answer_with(
        r#"{"credentials":{"password":"hunter2","port":12345678901234567890},"syslog_drain_url":"syslog://logs"}"#,
    );

    let bound = platform.bind_app(&scene.instance, &binding, &app).await;

    assert_eq!(
        bound.expect_status(201).json(),
        json!({ "credentials": { "credhub-ref": path }, "syslog_drain_url": "syslog://logs" })
    );
    assert_eq!(
        credhub.value(&path).await,
        Some(json!({ "password": "hunter2", "port": 12_345_678_901_234_567_890_u64 }))
    );
    assert_eq!(credhub.permitted(&path, &actor).await, ["read"]);
    assert!(
        !scene
            .broker
            .log()
            .iter()
            .any(|line| line.mentions("hunter2"))
    );

    let unbound = platform.unbind(&scene.instance, &binding).await;
    assert_eq!(unbound.expect_status(200).json(), json!({}));
    assert_eq!(scene.stored().await, Vec::<String>::new());
    assert_eq!(credhub.permitted(&path, &actor).await, Vec::<String>::new());
}

/// At every place where the request can name the reader; a binding without credentials needs none.
#[tokio::test]
async fn the_app_that_the_request_names_may_read_and_a_request_without_one_is_rejected() {
    let scene = Scene::secure().await;
    let platform = scene.broker.platform();
    let credhub = scene.foundation.runtime_credhub();
    let bare = || {
        let mut body = scene.body("bind_resource", Value::Null);
        body["app_guid"] = Value::Null;
        body
    };
    let with = |app: Value, resource: Value| {
        let mut body = bare();
        body["app_guid"] = app;
        body["bind_resource"] = resource;
        body
    };

    for (body, actor) in [
        (with(json!("top"), Value::Null), "mtls-app:top"),
        (
            with(json!("top"), json!({ "app_guid": "nested" })),
            "mtls-app:top",
        ),
        (
            with(json!(""), json!({ "app_guid": "nested" })),
            "mtls-app:nested",
        ),
        (
            with(
                Value::Null,
                json!({ "credential_client_id": "cc_service_key_client" }),
            ),
            "uaa-client:cc_service_key_client",
        ),
    ] {
        let binding = new_id();
        let path = scene.path(&binding);
        let bound = platform.bind_with(&scene.instance, &binding, &body).await;
        let credentials = &bound.expect_status(201).json()["credentials"];
        assert_eq!(*credentials, json!({ "credhub-ref": path }), "{body}");
        assert_eq!(credhub.permitted(&path, actor).await, ["read"], "{body}");
    }

    let (asked, stored) = (scene.noted(), scene.stored().await);
    for resource in [
        Value::Null,
        json!({}),
        json!({ "credential_client_id": "" }),
    ] {
        let body = with(Value::Null, resource);
        let refused = platform.bind_with(&scene.instance, &new_id(), &body).await;
        assert_eq!(refused.expect_status(422).error(), "RequiresApp", "{body}");
        assert!(refused.description().contains("CredHub"), "{refused:?}");
    }
    assert_eq!(scene.noted(), asked, "the adapter was asked");
    assert_eq!(scene.stored().await, stored);

    // A route service has an address; unexpected credentials are not shown.
    scene.answer_with(
        r#"{"credentials":{"password":"hunter2"},"route_service_url":"https://route.example.com"}"#,
    );
    let binding = new_id();
    let body = with(Value::Null, json!({ "route": "app.example.com" }));
    let bound = platform.bind_with(&scene.instance, &binding, &body).await;
    assert_eq!(
        bound.expect_status(201).json(),
        json!({
            "credentials": { "credhub-ref": scene.path(&binding) },
            "route_service_url": "https://route.example.com",
        })
    );
}

/// A platform may purge an instance with bindings, which are then never unbound.
#[tokio::test]
async fn what_bindings_have_in_credhub_goes_with_their_instance() {
    let scene = Scene::secure().await;
    let credhub = scene.foundation.runtime_credhub();
    let (platform, app) = (scene.broker.platform(), new_id());
    let bindings = [new_id(), new_id()];
    for binding in &bindings {
        let bound = platform.bind_app(&scene.instance, binding, &app).await;
        bound.expect_status(201);
    }
    let path = scene.path(&bindings[0]);
    let of_go_broker = scene.path(&new_id());
    let of_another = of_go_broker.replace(&scene.instance, &format!("{}-b", scene.instance));
    for name in [&of_go_broker, &of_another] {
        credhub.set(name, &json!({})).await;
    }

    let token = platform.deprovision(&scene.instance).await.accepted();
    platform.succeeds(&scene.instance, &token).await;
    assert_eq!(scene.stored().await, [of_another]);
    let actor = format!("mtls-app:{app}");
    assert_eq!(credhub.permitted(&path, &actor).await, Vec::<String>::new());

    // A repeated request deletes what an earlier one left, although the deployment is gone.
    credhub.set(&of_go_broker, &json!({})).await;
    platform
        .deprovision(&scene.instance)
        .await
        .expect_status(410);
    assert!(!scene.stored().await.contains(&of_go_broker));
}

/// The Cloud Controller reads for the user of a service key what the reference means, as the client that it names in
/// the request: the broker must have let that client read, and without the permission the key cannot be used.
#[tokio::test]
async fn a_developer_uses_a_service_key_whose_credentials_are_in_credhub() {
    let foundation = Foundation::start().await;
    let broker = foundation.broker().with_secure_bindings().start().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    cf.run(&["create-service", "redis", "small", "cache", "--wait"])
        .await
        .succeeded();

    cf.run(&["create-service-key", "cache", "key", "--wait"])
        .await
        .succeeded();
    let key = cf.run(&["service-key", "cache", "key", "--json"]).await;
    let credentials: Value = serde_json::from_str(&key.succeeded()).unwrap();
    let mut redis = Redis::connect(&credentials).await;
    assert_eq!(redis.command(&["PING"]).await, "PONG");
    let credhub = foundation.runtime_credhub();
    let names = credhub.names_like("/c/").await;
    let reference = names.iter().find(|name| name.ends_with("/credentials"));
    let reference = reference.unwrap_or_else(|| panic!("{names:?}"));
    let reader = "uaa-client:cc_service_key_client";
    assert_eq!(credhub.permitted(reference, reader).await, ["read"]);

    credhub.forbid(reference, reader).await;
    let refused = cf.run(&["service-key", "cache", "key", "--json"]).await;
    let error = refused.failed();
    assert!(
        error.contains("Fetching credentials from CredHub failed"),
        "{error}"
    );
    cf.run(&["delete-service-key", "cache", "key", "--wait"])
        .await
        .succeeded();
    let left = credhub.names_like("/c/").await;
    assert_eq!(left, Vec::<String>::new());
}
