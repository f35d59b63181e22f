//! Create, read, update, delete, list.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Bytes, Data, Path, ServiceConfig},
};
use serde_json::{Value, json};

use super::{
    ClientBody, ClientRejection, READ, WRITE,
    rules::{created, known, parsed, updated},
};
use crate::uaa::{
    Uaa,
    caller::{Caller, json_answer, json_answer_with},
    directory::Registration,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/oauth/clients")
            .route(web::get().to(list))
            .route(web::post().to(create)),
    )
    .service(
        web::resource("/oauth/clients/{client}")
            .route(web::get().to(read))
            .route(web::put().to(update))
            .route(web::delete().to(delete)),
    );
}

/// All clients on one page, whatever the query is.
async fn list(uaa: Data<Uaa>, request: HttpRequest) -> Result<HttpResponse, ClientRejection> {
    Caller::of(&uaa, &request)?.must_have_any(READ)?;
    let directory = uaa.directory();
    let clients: Vec<_> = directory
        .clients
        .values()
        .map(Registration::shown)
        .collect();
    Ok(json_answer(&json!({
        "startIndex": 1, "itemsPerPage": clients.len(), "totalResults": clients.len(), "resources": clients,
        "schemas": ["http://cloudfoundry.org/schema/scim/oauth-clients-1.0"],
    })))
}

async fn create(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, ClientRejection> {
    let caller = Caller::of(&uaa, &request)?;
    caller.must_have_any(WRITE)?;
    let body = parsed(&body)?;
    let mut directory = uaa.directory();
    let client = created(&directory, &caller, body)?;
    let shown = Value::Object(client.shown());
    directory.clients.insert(client.id.clone(), client);
    directory.save();
    Ok(json_answer_with(StatusCode::CREATED, &shown))
}

async fn read(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
) -> Result<HttpResponse, ClientRejection> {
    Caller::of(&uaa, &request)?.must_have_any(READ)?;
    let shown = known(&uaa.directory(), &id)?.shown();
    Ok(json_answer(&Value::Object(shown)))
}

async fn update(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, ClientRejection> {
    let caller = Caller::of(&uaa, &request)?;
    caller.must_have_any(WRITE)?;
    let body: ClientBody = parsed(&body)?;
    let addressed = id.into_inner();
    if body.id() != addressed {
        let named = body.id().to_owned();
        return Err(ClientRejection::OtherClient { named, addressed });
    }
    let mut directory = uaa.directory();
    let client = updated(&directory, &caller, body)?;
    let shown = Value::Object(client.shown());
    directory.clients.insert(addressed, client);
    directory.save();
    Ok(json_answer(&shown))
}

async fn delete(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
) -> Result<HttpResponse, ClientRejection> {
    Caller::of(&uaa, &request)?.must_have_any(WRITE)?;
    let mut directory = uaa.directory();
    let mut shown = known(&directory, &id)?.shown();
    directory.clients.remove(&*id);
    directory.save();
    shown.insert("approvals_deleted".to_owned(), true.into());
    Ok(json_answer(&Value::Object(shown)))
}
