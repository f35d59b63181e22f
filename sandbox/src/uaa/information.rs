//! The public information of a UAA (`spec/contracts/platform-apis.md`, "Information endpoints").

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method,
        header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
    },
    web::{Data, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    Uaa,
    caller::json_answer,
    tokens::{Form, Rejection, authenticated},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/info").route(get().to(info)))
        .service(resource("/login").route(get().to(login)))
        .service(resource("/token_key").route(get().to(token_key)))
        .service(resource("/token_keys").route(get().to(token_keys)));
}

async fn info(uaa: Data<Uaa>) -> HttpResponse {
    json_answer(&facts(&uaa))
}

/// A page for browsers, the content of `/info` for other clients.
async fn login(uaa: Data<Uaa>, request: HttpRequest) -> HttpResponse {
    let accept = request.headers().get(ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let wants_page = accept.is_some_and(|accept| accept.contains("text/html"));
    if !wants_page {
        return json_answer(&facts(&uaa));
    }
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/html;charset=UTF-8"))
        .body(LOGIN_PAGE)
}

const LOGIN_PAGE: &str = "<!DOCTYPE html>
<html><head><title>Sandbox</title></head>
<body><h1>Welcome!</h1><p>Use <code>cf login</code>.</p></body></html>
";

/// Without the prompt for a passcode, which is there only with an external identity provider.
fn facts(uaa: &Uaa) -> Value {
    let url = uaa.url();
    json!({
        "app": {"version": "77.20.0"},
        "links": {
            "uaa": url, "passwd": format!("{url}/forgot_password"), "login": url,
            "register": format!("{url}/create_account"),
        },
        "zone_name": "uaa",
        "entityID": url,
        "commit_id": "0000000",
        "idpDefinitions": {},
        "prompts": {"username": ["text", "Email"], "password": ["password", "Password"]},
        "timestamp": "2024-11-05T10:15:30+0000",
        "showLoginLinks": true,
    })
}

async fn token_key(uaa: Data<Uaa>, request: HttpRequest) -> actix_web::Result<HttpResponse> {
    must_be_known(&uaa, &request)?;
    Ok(json_answer(&uaa.key().jwk()))
}

async fn token_keys(uaa: Data<Uaa>, request: HttpRequest) -> actix_web::Result<HttpResponse> {
    must_be_known(&uaa, &request)?;
    Ok(json_answer(&json!({"keys": [uaa.key().jwk()]})))
}

/// Public, but credentials in the request must be valid.
fn must_be_known(uaa: &Uaa, request: &HttpRequest) -> Result<(), Rejection> {
    if request.method() == Method::GET && request.headers().contains_key(AUTHORIZATION) {
        authenticated(&uaa.directory(), request, &Form::default())?;
    }
    Ok(())
}
