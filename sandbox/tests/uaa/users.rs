//! Users and groups.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{ADMIN, Server, decoded};

fn person(name: &str) -> Value {
    json!({
        "userName": name, "password": "p", "origin": "",
        "name": {"familyName": name, "givenName": name}, "emails": [{"primary": true, "value": name}],
    })
}

#[tokio::test]
async fn a_new_user_logs_in_with_the_default_groups() {
    let server = Server::start();
    let admin = server.client_token(ADMIN).await;

    let made = server
        .send(Method::POST, "/Users", &admin, &person("jane"))
        .await;
    let again = server
        .send(Method::POST, "/Users", &admin, &person("Jane"))
        .await;

    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(
        (&made.body["userName"], &made.body["origin"]),
        (&json!("jane"), &json!("uaa"))
    );
    assert_eq!(made.body["schemas"], json!(["urn:scim:schemas:core:1.0"]));
    assert_eq!(made.header("ETag"), "\"0\"");
    assert!(!made.text.contains("password\""), "{}", made.text);
    assert_eq!(again.rejection(), (409, "scim_resource_already_exists"));
    assert_eq!(again.body["message"], "Username already in use: Jane");
    assert_eq!(again.body["user_id"], made.body["id"]);
    let claims = decoded(&server.log_in("jane", "p").await.access_token(), 1);
    assert_eq!(claims["user_id"], made.body["id"]);
    assert!(
        claims["scope"]
            .as_array()
            .unwrap()
            .contains(&json!("cloud_controller.read"))
    );
}

#[tokio::test]
async fn a_user_is_found_changed_and_deleted() {
    let server = Server::start();
    let admin = server.client_token(ADMIN).await;
    let made = server
        .send(Method::POST, "/Users", &admin, &person("jane"))
        .await;
    let path = format!("/Users/{}", made.body["id"].as_str().unwrap());

    let found = server
        .get(
            "/Users?filter=userName+eq+%22JANE%22+and+origin+eq+%22uaa%22",
            &admin,
        )
        .await;
    let without_version = server
        .send(Method::PUT, &path, &admin, &person("joan"))
        .await;
    let put = |version: &'static str| {
        server
            .request(Method::PUT, &path)
            .bearer_auth(&admin)
            .header("If-Match", version)
            .body(person("joan").to_string())
    };
    let stale = crate::server::Response::to(put("7")).await;
    let changed = crate::server::Response::to(put("*")).await;
    let deleted = server
        .send(Method::DELETE, &path, &admin, &Value::Null)
        .await;

    assert_eq!(
        (&found.body["totalResults"], &found.body["itemsPerPage"]),
        (&json!(1), &json!(100))
    );
    assert_eq!(found.body["resources"][0], made.body);
    assert_eq!(without_version.rejection(), (400, "scim"));
    assert_eq!(stale.rejection(), (409, "scim_resource_conflict"));
    assert_eq!(
        (&changed.body["userName"], changed.header("ETag")),
        (&json!("joan"), "\"1\"")
    );
    assert_eq!(deleted.body["userName"], "joan");
    assert_eq!(
        server
            .send(Method::DELETE, &path, &admin, &Value::Null)
            .await
            .rejection(),
        (404, "scim_resource_not_found")
    );
    assert_eq!(
        server.log_in("joan", "p").await.rejection(),
        (401, "invalid_client")
    );
}

#[tokio::test]
async fn a_user_of_another_identity_provider_does_not_log_in_here() {
    let server = Server::start();
    let admin = server.client_token(ADMIN).await;
    let mut body = person("developer");
    body["origin"] = "ldap".into();
    body["password"] = Value::Null;

    let made = server.send(Method::POST, "/Users", &admin, &body).await;
    let again = server.send(Method::POST, "/Users", &admin, &body).await;

    assert_eq!(
        (made.status.as_u16(), &made.body["origin"]),
        (201, &json!("ldap"))
    );
    assert_eq!(again.rejection(), (409, "scim_resource_already_exists"));
    let login = server.log_in("developer", "password").await;
    let claims = decoded(&login.access_token(), 1);
    assert_ne!(
        claims["user_id"], made.body["id"],
        "the UAA's own user of that name"
    );
}

#[tokio::test]
async fn a_user_changes_its_own_password_and_a_trusted_client_every_one() {
    let server = Server::start();
    let admin = server.client_token(ADMIN).await;
    let developer = server.log_in("developer", "password").await.access_token();
    let path = format!(
        "/Users/{}/password",
        decoded(&developer, 1)["user_id"].as_str().unwrap()
    );
    let change = async |token: &str, old: &str, new: &str| {
        let body = json!({"oldPassword": old, "password": new});
        server.send(Method::PUT, &path, token, &body).await
    };

    assert_eq!(
        change(&developer, "wrong", "new").await.rejection(),
        (400, "invalid_password")
    );
    let changed = change(&developer, "password", "new").await;
    assert_eq!(
        changed.text,
        r#"{"status":"ok","message":"password updated"}"#
    );
    assert_eq!(server.log_in("developer", "new").await.status, 200);
    assert_eq!(
        change(&developer, "new", "newer").await.rejection(),
        (401, "invalid_token")
    );
    assert_eq!(change(&admin, "", "newest").await.status, 200);
    assert_eq!(server.log_in("developer", "newest").await.status, 200);
}

#[tokio::test]
async fn membership_in_a_group_is_a_scope() {
    let server = Server::start();
    let admin = server.client_token(ADMIN).await;
    let developer = server.log_in("developer", "password").await.access_token();
    let user = decoded(&developer, 1)["user_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let group = server
        .get("/Groups?filter=displayName+eq+%22scim.read%22", &admin)
        .await;
    let members = format!(
        "/Groups/{}/members",
        group.body["resources"][0]["id"].as_str().unwrap()
    );
    let body = json!({"origin": "uaa", "type": "USER", "value": user});

    let added = server.send(Method::POST, &members, &admin, &body).await;
    let again = server.send(Method::POST, &members, &admin, &body).await;
    let token = server.log_in("developer", "password").await.access_token();
    let allowed = server.get("/Users", &token).await;
    let removed = server
        .send(
            Method::DELETE,
            &format!("{members}/{user}"),
            &admin,
            &Value::Null,
        )
        .await;
    let afterwards = server.get("/Users", &token).await;

    assert_eq!((added.status.as_u16(), &added.body), (201, &body));
    assert_eq!(again.rejection(), (409, "member_already_exists"));
    assert_eq!(allowed.status, 200);
    assert_eq!(removed.status, 200);
    assert_eq!(
        afterwards.rejection(),
        (401, "invalid_token"),
        "its scope has been revoked"
    );
}

#[tokio::test]
async fn a_group_is_made_once() {
    let server = Server::start();
    let admin = server.client_token(ADMIN).await;
    let body = json!({"displayName": "cache.admin", "description": "may flush"});

    let made = server.send(Method::POST, "/Groups", &admin, &body).await;
    let again = server.send(Method::POST, "/Groups", &admin, &body).await;

    assert_eq!(made.status, 201);
    assert_eq!(made.body["description"], "may flush");
    assert_eq!(again.rejection(), (409, "scim_resource_already_exists"));
}
