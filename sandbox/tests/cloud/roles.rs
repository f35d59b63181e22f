//! The rights of roles.

use serde_json::json;

use crate::{client::Api, platform::Platform};

/// Gives a user a role, together with the required one in the organization.
async fn give(platform: &Platform, user: &str, kind: &str) -> Api {
    let admin = &platform.admin;
    let api = platform.log_in(user).await;
    // With their first call they become known.
    api.get("/v3/spaces").await;
    let user = json!({"data": {"username": user, "origin": "uaa"}});
    let organization = json!({"data": {"guid": platform.organization}});
    let member = json!({"type": "organization_user", "relationships": {"user": user, "organization": organization}});
    admin.post("/v3/roles", &member).await;
    let location = if kind.starts_with("space") {
        json!({"user": user, "space": {"data": {"guid": platform.space}}})
    } else {
        json!({"user": user, "organization": organization})
    };
    let role = json!({"type": kind, "relationships": location});
    let given = admin.post("/v3/roles", &role).await;
    assert!(
        given.status == 201 || kind == "organization_user",
        "{}",
        given.body
    );
    api
}

#[tokio::test]
async fn what_is_seen_may_still_not_be_changed_and_what_is_not_seen_is_not_there() {
    let (platform, _broker) = Platform::with_broker().await;
    let guid = platform.instance("small", "db").await;
    let path = format!("/v3/service_instances/{guid}");
    let order = platform.order("small", "other").await;
    for (role, seen, changed, ordered) in [
        ("space_auditor", 200, 403, 403),
        ("space_manager", 200, 403, 403),
        ("space_supporter", 200, 403, 403),
        ("organization_manager", 200, 403, 403),
        ("organization_auditor", 404, 404, 422),
        ("organization_user", 404, 404, 422),
    ] {
        let user = give(&platform, &format!("{role}-user"), role).await;

        let look = user.get(&path).await;
        let change = user.patch(&path, &json!({"tags": ["x"]})).await;
        let answer = user.post("/v3/service_instances", &order).await;

        let seen_and_done = [look, change, answer].map(|answer| answer.status.as_u16());
        assert_eq!(seen_and_done, [seen, changed, ordered], "{role}");
    }
}

#[tokio::test]
async fn credentials_are_for_developers() {
    let (platform, _broker) = Platform::with_broker().await;
    let user = &platform.developer;
    let guid = platform.instance("small", "db").await;
    let answer = platform.asks_for_key(&guid).await;
    user.completed(&answer).await;
    let auditor = give(&platform, "space_auditor-user", "space_auditor").await;
    let listed = auditor.get("/v3/service_credential_bindings").await;
    let path = format!(
        "/v3/service_credential_bindings/{}/details",
        listed.body["resources"][0]["guid"].as_str().unwrap()
    );

    assert_eq!(auditor.get(&path).await.status, 404);
    assert_eq!(user.get(&path).await.status, 200);
}
