//! `/oauth/clients/restricted`: clients that get none of the rights that the UAA itself gives meaning to.

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Bytes, Data, Path, ServiceConfig},
};
use serde_json::json;

use super::{
    ClientBody, ClientRefusal, READ, WRITE,
    administration::{created, updated},
    body::parsed,
};
use crate::uaa::{Uaa, answer::json_answer, caller::Caller};

/// The scopes of a UAA; a segment may be `*`.
const SCOPES: [&str; 25] = [
    "zones.read",
    "zones.write",
    "zones.*.admin",
    "zones.*.read",
    "zones.*.clients.admin",
    "zones.*.clients.read",
    "zones.*.clients.write",
    "zones.*.scim.read",
    "zones.*.scim.write",
    "zones.*.scim.create",
    "zones.*.idps.read",
    "idps.read",
    "idps.write",
    "clients.admin",
    "clients.read",
    "clients.secret",
    "clients.write",
    "scim.create",
    "scim.read",
    "scim.userids",
    "scim.write",
    "scim.zones",
    "groups.update",
    "oauth.login",
    "uaa.admin",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/oauth/clients/restricted")
            .route(web::get().to(list))
            .route(web::post().to(create)),
    )
    .service(web::resource("/oauth/clients/restricted/{client}").route(web::put().to(update)));
}

async fn list(uaa: Data<Uaa>, request: HttpRequest) -> Result<HttpResponse, ClientRefusal> {
    Caller::of(&uaa, &request)?.must_have_any(READ)?;
    Ok(json_answer(&json!(SCOPES)))
}

async fn create(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, ClientRefusal> {
    let caller = Caller::of(&uaa, &request)?;
    caller.must_have_any(WRITE)?;
    created(&uaa, &caller, unrestricted(parsed(&body)?)?)
}

async fn update(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, ClientRefusal> {
    let caller = Caller::of(&uaa, &request)?;
    caller.must_have_any(WRITE)?;
    let body = unrestricted(parsed(&body)?)?;
    updated(&uaa, &caller, id.into_inner(), body)
}

fn unrestricted(body: ClientBody) -> Result<ClientBody, ClientRefusal> {
    let restricted = |rights: &BTreeSet<String>, kind: &str| {
        let found = rights.iter().find(|right| is_restricted(right));
        found.map(|right| ClientRefusal::Invalid(format!("{right} is a restricted {kind}.")))
    };
    match restricted(&body.scope, "scope").or_else(|| restricted(&body.authorities, "authority")) {
        None => Ok(body),
        Some(refusal) => Err(refusal),
    }
}

fn is_restricted(right: &str) -> bool {
    SCOPES.iter().any(|scope| match scope.split_once('*') {
        None => right == *scope,
        Some((before, after)) => right
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|zone| !zone.is_empty()),
    })
}
