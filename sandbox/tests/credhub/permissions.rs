//! Permissions: every operation against every right, and the calls that grant and revoke rights.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    client::{Api, Response, members},
    foundation::Platform,
};

const OTHER: &str = r"  other_clients:
  - id: other
    secret: other-secret
    authorities: [credhub.read, credhub.write]
";

struct Stage {
    platform: Platform,
    admin: Api,
    other: Api,
}

/// A CredHub with an admin, and a client that may do nothing yet.
async fn stage(credhub: &str) -> Stage {
    let platform = Platform::with(OTHER, credhub).await;
    let access = platform.bosh();
    Stage {
        admin: platform.admin(&access).await,
        other: platform.client(&access, "other", "other-secret").await,
        platform,
    }
}

async fn grant(admin: &Api, path: &str, operations: &[&str]) -> Response {
    let body = json!({"path": path, "actor": "uaa-client:other", "operations": operations});
    admin.post("/api/v2/permissions", &body).await
}

/// The answer of each call to a client with only the rights of its row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_right_allows_its_calls_and_no_other() {
    let Stage { admin, other, .. } = stage("").await;
    let third = json!({"path": "/p/x/y", "actor": "uaa-client:third", "operations": ["read"]});
    let third = admin.post("/api/v2/permissions", &third).await.json();
    let id = third["uuid"].as_str().unwrap().to_owned();
    // Right, then the statuses of: get, find (how many), set, generate, delete of what is not there,
    // get permission by path, change it.
    let table = [
        (None, [404, 0, 403, 403, 404, 404, 404]),
        (Some("read"), [200, 1, 403, 403, 404, 404, 404]),
        (Some("write"), [404, 0, 200, 200, 404, 404, 404]),
        (Some("delete"), [404, 0, 403, 403, 204, 404, 404]),
        (Some("read_acl"), [404, 0, 403, 403, 404, 200, 404]),
        (Some("write_acl"), [404, 0, 403, 403, 404, 404, 200]),
    ];
    for (right, expected) in table {
        for path in ["/*", "/p/*", "/p/x/*"] {
            admin.set("/p/x/y", "value", json!("v")).await;
            admin.set("/p/x/gone", "value", json!("v")).await;
            let granted = match right {
                None => None,
                Some(right) => Some(grant(&admin, path, &[right]).await.json()),
            };
            let found = other.get("/api/v1/data?path=/p").await.ok();
            let found = found["credentials"].as_array().unwrap().len().min(1);
            let value = json!({"name": "/p/x/y", "type": "value", "value": "w"});
            let password = json!({"name": "/p/x/pw", "type": "password"});
            let change = json!({"path": "/p/x/y", "actor": "uaa-client:third", "operations": ["read", "write"]});
            let by_path = "/api/v2/permissions?path=/p/x/y&actor=uaa-client:third";
            let by_id = format!("/api/v2/permissions/{id}");
            let seen = [
                other.get("/api/v1/data?name=/p/x/y").await.status.as_u16(),
                u16::try_from(found).unwrap(),
                other.put("/api/v1/data", &value).await.status.as_u16(),
                other.post("/api/v1/data", &password).await.status.as_u16(),
                other
                    .delete("/api/v1/data?name=/p/x/gone")
                    .await
                    .status
                    .as_u16(),
                other.get(by_path).await.status.as_u16(),
                other.put(&by_id, &change).await.status.as_u16(),
            ];
            assert_eq!(seen, expected, "{right:?} on {path}");
            if let Some(granted) = granted {
                let id = granted["uuid"].as_str().unwrap();
                assert_eq!(
                    admin
                        .delete(&format!("/api/v2/permissions/{id}"))
                        .await
                        .ok(),
                    granted
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_may_not_be_read_is_not_distinguished_from_one_that_is_not_there() {
    let Stage { admin, other, .. } = stage("").await;
    let set = admin.set("/secret", "value", json!("v")).await;
    let id = set["id"].as_str().unwrap();
    for (there, not_there) in [
        (
            "/api/v1/data?name=/secret".to_owned(),
            "/api/v1/data?name=/none".to_owned(),
        ),
        (
            format!("/api/v1/data/{id}"),
            format!("/api/v1/data/{}", Uuid::new_v4()),
        ),
    ] {
        let (there, not_there) = (other.get(&there).await, other.get(&not_there).await);
        assert_eq!(
            (there.status, there.body),
            (not_there.status, not_there.body)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permission_is_given_changed_and_taken() {
    let Stage { admin, .. } = stage("").await;
    let given = grant(&admin, "/p/*", &["write", "read", "read"]).await;
    assert_eq!(given.status, 201);
    let given = given.json();
    assert_eq!(members(&given), ["path", "operations", "actor", "uuid"]);
    assert_eq!(given["operations"], json!(["read", "write"]));
    let again = grant(&admin, "/p/*", &["delete"]).await;
    assert_eq!(again.rejection(), (409, "A permission entry for this actor and path already exists. Please use PUT to update the permission entry.".to_owned()));

    let path = format!("/api/v2/permissions/{}", given["uuid"].as_str().unwrap());
    let query = "/api/v2/permissions?path=/p/*&actor=uaa-client:other";
    assert_eq!(admin.get(query).await.ok(), given);
    let mut changed =
        json!({"path": "/p/*", "actor": "uaa-client:other", "operations": ["delete"]});
    assert_eq!(
        admin.put(&path, &changed).await.ok()["operations"],
        json!(["delete"])
    );
    changed["actor"] = json!("uaa-client:third");
    assert_eq!(
        admin.put(&path, &changed).await.rejection(),
        (
            400,
            "The permission guid does not match the provided actor and path.".to_owned()
        )
    );
    assert_eq!(
        admin.delete(&path).await.ok()["operations"],
        json!(["delete"])
    );
    let gone = "The request includes a permission that does not exist.".to_owned();
    assert_eq!(admin.delete(&path).await.rejection(), (404, gone.clone()));
    assert_eq!(
        admin
            .put(&path, &given_without_id(&given))
            .await
            .rejection(),
        (404, gone)
    );
    assert_eq!(admin.get(query).await.status, 404);
}

fn given_without_id(given: &Value) -> Value {
    json!({"path": given["path"], "actor": given["actor"], "operations": given["operations"]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permission_that_cannot_be_is_refused_with_its_reason() {
    let Stage { admin, other, .. } = stage("").await;
    let own = json!({"path": "/p", "actor": "uaa-client:credhub-admin", "operations": ["read"]});
    let cases = [
        (
            own,
            400,
            "Modification of access control for the authenticated user is not allowed",
        ),
        (
            json!({"path": "/p", "actor": "a", "operations": ["fly"]}),
            422,
            "The provided operation is not supported",
        ),
        (
            json!({"path": "/p", "actor": "a", "operations": []}),
            400,
            "At least one operation",
        ),
        (
            json!({"path": "/p", "actor": "", "operations": ["read"]}),
            400,
            "You must specify an actor",
        ),
        (
            json!({"actor": "a", "operations": ["read"]}),
            400,
            "You must specify a path",
        ),
        (
            json!({"path": "/", "actor": "a", "operations": ["read"]}),
            400,
            "You must specify a path",
        ),
        (
            json!({"path": "/p//q", "actor": "a", "operations": ["read"]}),
            400,
            "cannot end with a '/'",
        ),
        (
            json!({"path": "/p*", "actor": "a", "operations": ["read"]}),
            400,
            "may only include",
        ),
        (
            json!({"path": "/p", "actor": "a", "operations": ["read"], "colour": 1}),
            422,
            "unrecognized parameter 'colour'",
        ),
    ];
    for (body, status, text) in cases {
        let (found, error) = admin.post("/api/v2/permissions", &body).await.rejection();
        assert_eq!(found, status, "{error}: {body}");
        assert!(error.contains(text), "{error} for {body}");
    }
    let third = json!({"path": "/p", "actor": "uaa-client:third", "operations": ["read"]});
    assert_eq!(other.post("/api/v2/permissions", &third).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_acls_every_authenticated_client_may_do_everything() {
    let Stage {
        other, platform, ..
    } = stage("    acls: disabled\n").await;
    other.set("/p", "value", json!("v")).await;
    assert_eq!(
        other.get("/api/v1/data?path=/").await.ok()["credentials"][0]["name"],
        "/p"
    );
    let own = json!({"path": "/p", "actor": "uaa-client:other", "operations": ["read"]});
    assert_eq!(other.post("/api/v2/permissions", &own).await.status, 201);
    assert_eq!(other.delete("/api/v1/data?name=/p").await.status, 204);
    let no_user = platform.no_user(&platform.bosh());
    assert_eq!(no_user.get("/api/v1/data?path=/").await.status, 401);
}
