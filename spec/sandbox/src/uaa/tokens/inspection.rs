//! `/check_token` and `/introspect`: asking the UAA about a token (`spec/contracts/platform-apis.md`, "Inspecting and
//! revoking tokens").

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Bytes, Data, ServiceConfig},
};
use serde_json::{Value, json};

use super::{
    claims::Claims,
    client_authentication::{Form, authenticated},
    refusal::Refusal,
    validation::Purpose,
};
use crate::uaa::{
    Uaa,
    answer::{joined, json_answer},
    caller::{Caller, Denied},
};

/// The authority of servers that check tokens.
const RESOURCE: &str = "uaa.resource";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/check_token")
            .route(web::post().to(check_token))
            .route(web::get().to(check_token))
            .route(web::route().to(unsupported)),
    )
    .service(
        web::resource("/introspect")
            .route(web::post().to(introspect))
            .route(web::route().to(unsupported)),
    );
}

async fn unsupported(request: HttpRequest) -> Result<HttpResponse, Refusal> {
    Err(Refusal::MethodNotAllowed(request.method().to_string()))
}

async fn check_token(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> actix_web::Result<HttpResponse> {
    let form = Form::of(&request, &body);
    client_may_ask(&uaa, &request)?;
    let token = form
        .get("token")
        .ok_or(Refusal::ParameterMissing("token"))?;
    // The client has shown who it is, so a bad token is its mistake, not a lack of rights.
    let claims = uaa
        .validated(token, Purpose::Access)
        .map_err(|problem| Denied::Token(problem, StatusCode::BAD_REQUEST))?;
    let wanted = form.get("scopes").unwrap_or_default().split(',');
    let missing: Vec<_> = wanted
        .filter(|scope| !scope.is_empty() && !claims.scope.contains(*scope))
        .collect();
    if missing.is_empty() {
        Ok(json_answer(&json!(claims)))
    } else {
        Err(Denied::ScopesMissing(joined(missing, " ")).into())
    }
}

async fn introspect(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> actix_web::Result<HttpResponse> {
    if Caller::has_bearer(&request) {
        Caller::of(&uaa, &request)?.must_have_any(&[RESOURCE])?;
    } else {
        client_may_ask(&uaa, &request)?;
    }
    let form = Form::of(&request, &body);
    let token = form
        .get("token")
        .ok_or(Refusal::ParameterMissing("token"))?;
    let active = uaa.validated(token, Purpose::Access).ok();
    Ok(json_answer(&introspected(active.as_ref())))
}

fn introspected(claims: Option<&Claims>) -> Value {
    match claims {
        None => json!({"active": false}),
        Some(claims) => {
            let mut body = json!(claims);
            body["active"] = true.into();
            body
        }
    }
}

fn client_may_ask(uaa: &Uaa, request: &HttpRequest) -> actix_web::Result<()> {
    let client = authenticated(&uaa.directory(), request, &Form::default())?;
    if client.client.authorities.contains(RESOURCE) {
        Ok(())
    } else {
        Err(Denied::Access.into())
    }
}
