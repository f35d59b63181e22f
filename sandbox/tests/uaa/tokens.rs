//! Which clients get a token.

use reqwest::Method;
use serde_json::json;

use crate::server::{BROKER, CF, Response, Server, decoded};

const CREDENTIALS: (&str, &str) = ("grant_type", "client_credentials");

/// Basic credentials, form, status and error.
type Row<'a> = (
    Option<(&'a str, &'a str)>,
    &'a [(&'a str, &'a str)],
    u16,
    &'a str,
);

#[tokio::test]
async fn a_client_gets_a_token_for_its_authorities() {
    let server = Server::start();

    let answer = server.token(Some(BROKER), &[CREDENTIALS]).await;

    assert_eq!(
        answer.header("Content-Type"),
        "application/json;charset=UTF-8"
    );
    assert_eq!(
        (answer.header("Cache-Control"), answer.header("Pragma")),
        ("no-store", "no-cache")
    );
    assert_eq!(
        answer.keys(),
        ["access_token", "token_type", "expires_in", "scope", "jti"]
    );
    let token = answer.access_token();
    let (header, claims) = (decoded(&token, 0), decoded(&token, 1));
    assert_eq!(header["jku"], format!("{}/token_keys", server.url));
    assert_eq!(
        (&header["alg"], &header["kid"], &header["typ"]),
        (&json!("RS256"), &json!("key-1"), &json!("JWT"))
    );
    for (claim, value) in [
        ("jti", answer.body["jti"].clone()),
        ("sub", json!("odb")),
        ("client_id", json!("odb")),
        ("cid", json!("odb")),
        ("azp", json!("odb")),
        ("grant_type", json!("client_credentials")),
        ("scope", json!(["clients.read", "cloud_controller.admin"])),
        (
            "authorities",
            json!(["clients.read", "cloud_controller.admin"]),
        ),
        ("aud", json!(["clients", "cloud_controller", "odb"])),
        ("iss", json!(format!("{}/oauth/token", server.url))),
        ("zid", json!("uaa")),
        ("client_auth_method", json!("client_secret_basic")),
    ] {
        assert_eq!(claims[claim], value, "{claim}");
    }
    assert!(claims.get("user_name").is_none());
}

#[tokio::test]
async fn a_client_may_send_its_secret_in_the_form_and_parameters_in_the_query() {
    let server = Server::start();
    let form = [
        CREDENTIALS,
        ("client_id", "odb"),
        ("client_secret", "s3cr%t+"),
    ];

    let by_form = server.token(None, &form).await;
    let path = "/oauth/token?grant_type=client_credentials";
    let by_query = server.form(path, Some(BROKER), &[]).await;
    let by_get = server
        .request(Method::GET, path)
        .basic_auth(BROKER.0, Some(BROKER.1));
    let by_get = Response::to(by_get).await;

    let claims = decoded(&by_form.access_token(), 1);
    assert_eq!(claims["client_auth_method"], "client_secret_post");
    assert_eq!(
        (by_query.status.as_u16(), by_get.status.as_u16()),
        (200, 200)
    );
}

#[tokio::test]
async fn other_methods_are_not_supported() {
    let server = Server::start();

    for method in [Method::PUT, Method::DELETE] {
        let answer = Response::to(server.request(method, "/oauth/token")).await;
        assert_eq!(answer.rejection(), (405, "method_not_allowed"));
    }
}

#[tokio::test]
async fn a_user_gets_what_groups_and_client_have_in_common() {
    let server = Server::start();

    let answer = server.log_in("Developer", "password").await;

    assert_eq!(
        answer.keys(),
        [
            "access_token",
            "token_type",
            "id_token",
            "refresh_token",
            "expires_in",
            "scope",
            "jti"
        ]
    );
    let claims = decoded(&answer.access_token(), 1);
    for (claim, value) in [
        ("user_name", json!("developer")),
        ("email", json!("developer")),
        ("origin", json!("uaa")),
        ("grant_type", json!("password")),
        ("client_auth_method", json!("none")),
        (
            "scope",
            json!([
                "cloud_controller.read",
                "cloud_controller.write",
                "openid",
                "password.write",
                "scim.me"
            ]),
        ),
    ] {
        assert_eq!(claims[claim], value, "{claim}");
    }
    assert_eq!(claims["sub"], claims["user_id"]);
    assert!(claims.get("authorities").is_none());
    let id = decoded(answer.body["id_token"].as_str().unwrap(), 1);
    assert_eq!((&id["aud"], &id["sub"]), (&json!(["cf"]), &claims["sub"]));
    let refresh = decoded(answer.body["refresh_token"].as_str().unwrap(), 1);
    assert!(refresh["jti"].as_str().unwrap().ends_with("-r"));
}

#[tokio::test]
async fn a_refresh_token_is_kept_and_may_narrow_scopes() {
    let server = Server::start();
    let first = server.log_in("developer", "password").await;
    let refresh = first.body["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];

    let again = server.token(Some(CF), &form).await;
    let narrowed = server
        .token(Some(CF), &[form[0], form[1], ("scope", "openid")])
        .await;
    let widened = server
        .token(Some(CF), &[form[0], form[1], ("scope", "scim.read")])
        .await;
    let access = first.access_token();
    let misused = server
        .token(Some(CF), &[form[0], ("refresh_token", &access)])
        .await;

    assert_eq!(again.body["refresh_token"], refresh);
    assert_ne!(again.body["jti"], first.body["jti"]);
    assert_eq!(again.body["scope"], first.body["scope"]);
    assert_eq!(narrowed.body["scope"], "openid");
    assert_eq!(widened.rejection(), (400, "invalid_scope"));
    assert_eq!(misused.rejection(), (401, "invalid_token"));
}

#[tokio::test]
async fn a_client_with_a_lifetime_of_its_own_gets_such_tokens() {
    let server = Server::start();
    let admin = server.client_token(crate::server::ADMIN).await;
    let body = json!({
        "client_id": "short", "client_secret": "s", "authorized_grant_types": ["client_credentials"],
        "access_token_validity": 7,
    });
    server.post("/oauth/clients", &admin, &body).await;

    let short = decoded(&server.client_token(("short", "s")).await, 1);

    let life = short["exp"].as_i64().unwrap() - short["iat"].as_i64().unwrap();
    assert_eq!(life, 7);
}

#[tokio::test]
async fn refused_tokens_say_why() {
    let server = Server::start();
    let broker = Some(BROKER);
    let table: [Row<'_>; 10] = [
        (
            Some(("odb", "wrong")),
            &[CREDENTIALS],
            401,
            "invalid_client",
        ),
        (None, &[CREDENTIALS], 401, "invalid_client"),
        (broker, &[], 400, "invalid_request"),
        (
            broker,
            &[("grant_type", "magic")],
            400,
            "unsupported_grant_type",
        ),
        (
            broker,
            &[
                ("grant_type", "password"),
                ("username", "admin"),
                ("password", "password"),
            ],
            401,
            "invalid_client",
        ),
        (
            broker,
            &[CREDENTIALS, ("scope", "uaa.admin")],
            400,
            "invalid_scope",
        ),
        (
            broker,
            &[CREDENTIALS, ("client_id", "cf")],
            401,
            "invalid_client",
        ),
        (
            Some(CF),
            &[
                ("grant_type", "password"),
                ("username", "operator"),
                ("password", "wrong"),
            ],
            401,
            "invalid_client",
        ),
        (
            Some(CF),
            &[("grant_type", "refresh_token"), ("refresh_token", "x")],
            401,
            "invalid_token",
        ),
        (
            Some(CF),
            &[
                ("grant_type", "password"),
                ("username", "operator"),
                ("password", "password"),
                ("login_hint", r#"{"origin":"ldap"}"#),
            ],
            401,
            "invalid_client",
        ),
    ];
    for (basic, form, status, error) in table {
        let answer = server.token(basic, form).await;
        assert_eq!(answer.rejection(), (status, error), "{form:?}");
    }

    let wrong = server.token(Some(("odb", "wrong")), &[CREDENTIALS]).await;
    assert_eq!(
        wrong.header("WWW-Authenticate"),
        r#"Basic realm="UAA/client", error="unauthorized", error_description="Bad credentials""#
    );
    assert_eq!(wrong.body["error_description"], "Bad credentials");
    let scopes = server
        .token(broker, &[CREDENTIALS, ("scope", "uaa.admin")])
        .await;
    assert_eq!(scopes.body["scope"], "clients.read cloud_controller.admin");
}
