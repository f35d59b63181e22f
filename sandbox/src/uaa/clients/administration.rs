//! Create, read, update, delete, list.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Bytes, Data, Path, Query, ServiceConfig},
};
use serde_json::Value;

use super::{
    ClientBody, ClientRejection, READ, WRITE,
    rules::{created, known, parsed, updated},
};
use crate::uaa::{
    Uaa,
    caller::{Caller, json_answer, json_answer_with},
    directory::Registration,
    scim::{ItemsPerPage, Kind, ListQuery},
};

const KIND: Kind = Kind {
    attributes: &[
        "client_id",
        "scope",
        "resource_ids",
        "authorized_grant_types",
        "redirect_uri",
        "autoapprove",
        "authorities",
        "access_token_validity",
        "refresh_token_validity",
        "name",
        "lastModified",
    ],
    sorted_by: "client_id",
    schema: "http://cloudfoundry.org/schema/scim/oauth-clients-1.0",
    items_per_page: ItemsPerPage::Found,
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

async fn list(
    uaa: Data<Uaa>,
    request: HttpRequest,
    query: Query<ListQuery>,
) -> Result<HttpResponse, ClientRejection> {
    Caller::of(&uaa, &request)?.must_have_any(READ)?;
    let directory = uaa.directory();
    let clients = directory.clients.values().map(Registration::shown);
    let page = query.page(&KIND, clients.map(Value::Object).collect())?;
    Ok(json_answer(&page))
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
