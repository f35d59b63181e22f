//! What a UAA tells anybody (`spec/contracts/platform-apis.md`, "Information endpoints").

use actix_web::{
    HttpResponse, Responder,
    web::{Data, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{Uaa, refusal::JSON};

pub(super) fn routes(app: &mut ServiceConfig) {
    for path in ["/info", "/login"] {
        app.service(resource(path).route(get().to(info)));
    }
    for path in [
        "/.well-known/openid-configuration",
        "/oauth/token/.well-known/openid-configuration",
    ] {
        app.service(resource(path).route(get().to(openid_configuration)));
    }
    app.service(resource("/token_key").route(get().to(token_key)))
        .service(resource("/token_keys").route(get().to(token_keys)))
        .service(resource("/healthz").route(get().to(async || "ok")));
}

async fn info(uaa: Data<Uaa>) -> impl Responder {
    let url = &uaa.0.url;
    answer(&json!({
        "app": {"version": "77.20.0"},
        "links": {
            "uaa": url, "login": url, "passwd": format!("{url}/forgot_password"),
            "register": format!("{url}/create_account"),
        },
        "zone_name": "uaa",
        "entityID": url,
        "commit_id": "0000000",
        "idpDefinitions": {},
        "prompts": {"username": ["text", "Email"], "password": ["password", "Password"]},
        "timestamp": "2024-11-05T10:15:30+0000",
        "showLoginLinks": true,
    }))
}

async fn openid_configuration(uaa: Data<Uaa>) -> impl Responder {
    let url = &uaa.0.url;
    answer(&json!({
        "issuer": format!("{url}/oauth/token"),
        "authorization_endpoint": format!("{url}/oauth/authorize"),
        "token_endpoint": format!("{url}/oauth/token"),
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": ["RS256", "HS256"],
        "userinfo_endpoint": format!("{url}/userinfo"),
        "jwks_uri": format!("{url}/token_keys"),
        "end_session_endpoint": format!("{url}/logout.do"),
        "scopes_supported": ["openid", "profile", "email", "phone", "roles", "user_attributes"],
        "response_types_supported": ["code", "code id_token", "id_token", "token id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "HS256"],
        "id_token_encryption_alg_values_supported": ["none"],
        "claim_types_supported": ["normal"],
        "claims_supported": [
            "sub", "user_name", "origin", "iss", "auth_time", "amr", "acr", "client_id", "aud", "zid", "grant_type",
            "user_id", "azp", "scope", "exp", "iat", "jti", "rev_sig", "cid", "given_name", "family_name",
            "phone_number", "email",
        ],
        "claims_parameter_supported": false,
        "service_documentation": "https://docs.cloudfoundry.org/api/uaa/",
        "ui_locales_supported": ["en-US"],
        "code_challenge_methods_supported": ["S256", "plain"],
    }))
}

async fn token_key(uaa: Data<Uaa>) -> impl Responder {
    answer(&uaa.0.signer.jwk())
}

async fn token_keys(uaa: Data<Uaa>) -> impl Responder {
    answer(&json!({"keys": [uaa.0.signer.jwk()]}))
}

fn answer(body: &Value) -> HttpResponse {
    HttpResponse::Ok().content_type(JSON).body(body.to_string())
}
