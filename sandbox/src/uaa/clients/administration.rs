//! Create, read, update, delete, list.

use actix_web::{
    http::StatusCode,
    web::{self, ServiceConfig},
};
use serde_json::{Value, json};

use super::{
    ClientBody, ClientRejection, READ, Response, WRITE,
    rules::{created, known, parsed, updated},
};
use crate::uaa::{
    caller::{Call, json_answer, json_answer_with},
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
async fn list(call: Call) -> Response {
    call.caller.must_have_any(READ)?;
    let directory = call.uaa.directory();
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

async fn create(call: Call) -> Response {
    call.caller.must_have_any(WRITE)?;
    let body = parsed(&call.body)?;
    let mut directory = call.uaa.directory();
    let client = created(&directory, &call.caller, body)?;
    let shown = Value::Object(client.shown());
    directory.keep(client);
    Ok(json_answer_with(StatusCode::CREATED, &shown))
}

async fn read(call: Call) -> Response {
    call.caller.must_have_any(READ)?;
    let shown = known(&call.uaa.directory(), &call.client)?.shown();
    Ok(json_answer(&Value::Object(shown)))
}

async fn update(call: Call) -> Response {
    call.caller.must_have_any(WRITE)?;
    let body: ClientBody = parsed(&call.body)?;
    if body.id() != call.client {
        return Err(ClientRejection::OtherClient {
            named: body.id().to_owned(),
            addressed: call.client,
        });
    }
    let mut directory = call.uaa.directory();
    let client = updated(&directory, &call.caller, body)?;
    let shown = Value::Object(client.shown());
    directory.keep(client);
    Ok(json_answer(&shown))
}

async fn delete(call: Call) -> Response {
    call.caller.must_have_any(WRITE)?;
    let mut directory = call.uaa.directory();
    let mut shown = known(&directory, &call.client)?.shown();
    directory.clients.remove(&call.client);
    directory.save();
    shown.insert("approvals_deleted".to_owned(), true.into());
    Ok(json_answer(&Value::Object(shown)))
}
