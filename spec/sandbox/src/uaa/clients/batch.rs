//! `/oauth/clients/tx`: many clients at once, all or none.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Bytes, Data, ServiceConfig},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    ADMIN, ClientBody, ClientRefusal, body::parsed, change::Changes, secrets::SecretChange,
};
use crate::uaa::{Uaa, answer::json_answer_with, caller::Caller};

pub(super) fn routes(app: &mut ServiceConfig) {
    let at = |path: &str| web::resource(format!("/oauth/clients/tx{path}"));
    app.service(
        at("")
            .route(web::post().to(create))
            .route(web::put().to(update)),
    )
    .service(at("/delete").route(web::post().to(delete)))
    .service(at("/modify").route(web::post().to(modify)))
    .service(at("/secret").route(web::post().to(change_secrets)));
}

async fn create(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, ClientRefusal> {
    let create = |changes: &mut Changes<'_>, client| Ok(changes.create(client)?.shown());
    all(&uaa, &request, &body, StatusCode::CREATED, create)
}

async fn update(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, ClientRefusal> {
    let update = |changes: &mut Changes<'_>, client| Ok(changes.update(client)?.shown());
    all(&uaa, &request, &body, StatusCode::OK, update)
}

async fn delete(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, ClientRefusal> {
    let delete = |changes: &mut Changes<'_>, client: ClientBody| {
        Ok(without_approvals(changes.delete(client.id())?.shown()))
    };
    all(&uaa, &request, &body, StatusCode::OK, delete)
}

async fn modify(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, ClientRefusal> {
    all(&uaa, &request, &body, StatusCode::OK, modified)
}

/// Does to one client what its `action` says.
fn modified(
    changes: &mut Changes<'_>,
    body: ClientBody,
) -> Result<Map<String, Value>, ClientRefusal> {
    let action = body.action.clone().unwrap_or_default();
    let mut shown = match action.as_str() {
        "add" => changes.create(body)?.shown(),
        "update" => changes.update(body)?.shown(),
        "delete" => without_approvals(changes.delete(body.id())?.shown()),
        "update,secret" | "secret" => {
            let mut client = if action == "secret" {
                changes.client(body.id())?.clone()
            } else {
                changes.update(body.clone())?
            };
            client.set_secret(body.client_secret.unwrap_or_default());
            without_approvals(changes.keep(client).shown())
        }
        _ => return Err(ClientRefusal::Invalid("Invalid action.".to_owned())),
    };
    shown.insert("action".to_owned(), action.into());
    Ok(shown)
}

async fn change_secrets(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, ClientRefusal> {
    let change = |changes: &mut Changes<'_>, change: SecretChange| {
        let mut client = changes.client(&change.client_id)?.clone();
        change.replace_in(&mut client);
        Ok(without_approvals(changes.keep(client).shown()))
    };
    all(&uaa, &request, &body, StatusCode::OK, change)
}

/// Does the same to all entries of the body. The first refusal leaves everything as it was.
fn all<T: DeserializeOwned>(
    uaa: &Uaa,
    request: &HttpRequest,
    body: &[u8],
    status: StatusCode,
    mut change: impl FnMut(&mut Changes<'_>, T) -> Result<Map<String, Value>, ClientRefusal>,
) -> Result<HttpResponse, ClientRefusal> {
    let caller = Caller::of(uaa, request)?;
    caller.must_have_any(ADMIN)?;
    let entries: Vec<T> = parsed(body)?;
    if entries.is_empty() {
        return Err(ClientRefusal::NotFound(String::new()));
    }
    let mut directory = uaa.directory();
    let mut changes = Changes::new(&mut directory, &caller);
    let mut shown = Vec::new();
    for entry in entries {
        shown.push(Value::Object(change(&mut changes, entry)?));
    }
    changes.make();
    Ok(json_answer_with(status, &Value::Array(shown)))
}

fn without_approvals(mut shown: Map<String, Value>) -> Map<String, Value> {
    shown.insert("approvals_deleted".to_owned(), true.into());
    shown
}
