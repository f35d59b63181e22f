//! Links of the Director for consumers outside of all deployments, with recorded answers.

use std::sync::atomic::{AtomicUsize, Ordering};

use odb_clients::{
    FailureKind,
    director::{AddressFilter, InstanceHealth, LinkId, LinkProviderId},
};

use serde_json::{Value, json};

use crate::foundation::{Reply, call, director};

const PROVIDERS: &str = r#"[
    {"id":"7","name":"tiny-conn","shared":true,"deployment":"service-instance_d4","link_provider_definition":{"type":"tiny","name":"tiny-conn"},"owner_object":{"type":"job","name":"tiny","info":{"instance_group":"srv"}}},
    {"id":"8","name":"manual","shared":false,"deployment":"service-instance_d4","link_provider_definition":{"type":"tiny","name":"manual"},"owner_object":{"type":"manual","name":"x"}}
]"#;

fn link() -> LinkId {
    "7".parse().unwrap()
}

#[tokio::test]
async fn the_providers_of_a_deployment_are_reported_with_their_instance_groups() {
    let (server, director) = director(|_| Reply::ok(PROVIDERS)).await;

    let found = director
        .link_providers(&call(), &"service-instance_d4".parse().unwrap())
        .await
        .unwrap();

    let reported: Vec<_> = found
        .iter()
        .map(|provider| {
            let group = provider.instance_group.as_deref();
            (
                provider.id.as_str(),
                provider.name.as_str(),
                provider.shared,
                group,
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            ("7", "tiny-conn", true, Some("srv")),
            ("8", "manual", false, None)
        ]
    );
    assert_eq!(
        server.lines(),
        ["GET /link_providers?deployment=service-instance_d4"]
    );
}

#[tokio::test]
async fn a_link_is_made_for_an_outsider_and_again_when_the_answer_is_lost() {
    let calls = AtomicUsize::new(0);
    let (server, director) = director(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::HangUp,
        _ => Reply::ok(
            r#"{"id":"7","name":"tiny-conn","link_consumer_id":"8","link_provider_id":"7","created_at":"2026-11-21 02:16:11 UTC"}"#,
        ),
    })
    .await;
    let provider: LinkProviderId = "7".parse().unwrap();

    let made = director.create_link(&call(), &provider, "binding-1").await;

    assert_eq!(made.unwrap(), link());
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for request in seen {
        assert_eq!(request.line(), "POST /links");
        assert_eq!(request.header("content-type"), "application/json");
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let owner = json!({ "name": "binding-1", "type": "external" });
        let link = json!({ "link_provider_id": "7", "link_consumer": { "owner_object": owner } });
        assert_eq!(body, link);
    }
}

#[tokio::test]
async fn a_provider_that_is_not_shared_is_a_rejection() {
    let (_server, director) = director(|_| {
        Reply::status(
            403,
            r#"{"code":810009,"description":"Provider not `shared`"}"#,
        )
    })
    .await;

    let error = director
        .create_link(&call(), &"2".parse().unwrap(), "b")
        .await
        .unwrap_err();

    assert!(
        matches!(error.kind, FailureKind::Refused { .. }),
        "{error:?}"
    );
    assert_eq!(error.code(), Some(810_009));
}

#[tokio::test]
async fn an_address_is_asked_for_with_zones_and_health() {
    let (server, director) =
        director(|_| Reply::ok(r#"{"address":"q-a1s3.srv.default.service-instance-d4.bosh"}"#))
            .await;
    let narrow = AddressFilter {
        azs: vec!["z1".to_owned(), "z 2&".to_owned()],
        health: Some(InstanceHealth::Healthy),
    };

    for filter in [AddressFilter::default(), narrow] {
        let found = director.link_address(&call(), &link(), &filter).await;
        assert_eq!(
            found.unwrap(),
            "q-a1s3.srv.default.service-instance-d4.bosh"
        );
    }

    assert_eq!(
        server.lines(),
        [
            "GET /link_address?link_id=7",
            "GET /link_address?link_id=7&azs%5B%5D=z1&azs%5B%5D=z+2%26&status=healthy"
        ]
    );
}

#[tokio::test]
async fn a_link_is_deleted_or_was_not_there() {
    let calls = AtomicUsize::new(0);
    let (server, director) = director(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::status(204, ""),
        1 => Reply::status(404, r#"{"code":810000,"description":"Invalid link id: 7"}"#),
        _ => Reply::status(404, "Not Found: /links/7"),
    })
    .await;

    for _ in 0..2 {
        director.delete_link(&call(), &link()).await.unwrap();
    }
    // A proxy's 404 does not mean that the link is gone.
    director.delete_link(&call(), &link()).await.unwrap_err();
    assert_eq!(server.lines()[0], "DELETE /links/7");
}
