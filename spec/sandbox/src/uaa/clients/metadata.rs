//! `/oauth/clients/{id}/meta`: what the page of applications shows of a client.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Bytes, Data, Path, ServiceConfig},
};
use serde_json::{Map, Value, json};

use super::{ClientRefusal, WRITE, body::parsed};
use crate::uaa::{Uaa, answer::json_answer, caller::Caller, directory::Registration};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(web::resource("/oauth/clients/meta").route(web::get().to(list)))
        .service(
            web::resource("/oauth/clients/{client}/meta")
                .route(web::get().to(read))
                .route(web::put().to(update)),
        );
}

async fn list(uaa: Data<Uaa>, request: HttpRequest) -> Result<HttpResponse, ClientRefusal> {
    Caller::of(&uaa, &request)?;
    let directory = uaa.directory();
    let clients = directory.clients.values();
    let shown: Vec<_> = clients.map(metadata).map(Value::Object).collect();
    Ok(json_answer(&json!(shown)))
}

async fn read(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
) -> Result<HttpResponse, ClientRefusal> {
    Caller::of(&uaa, &request)?;
    let id = id.into_inner();
    match uaa.directory().clients.get(&id) {
        Some(client) => Ok(json_answer(&Value::Object(metadata(client)))),
        None => Err(ClientRefusal::NoMetadata(id)),
    }
}

async fn update(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, ClientRefusal> {
    Caller::of(&uaa, &request)?.must_have_any(WRITE)?;
    let id = id.into_inner();
    let mut sent: Map<String, Value> = parsed(&body)?;
    let named = sent.shift_remove("clientId");
    if let Some(named) = named.as_ref().and_then(Value::as_str)
        && named != id
    {
        return Err(ClientRefusal::Invalid(format!(
            "Client ID in body {{{named}}} does not match URL path {{{id}}}"
        )));
    }
    let mut directory = uaa.directory();
    let client = directory.clients.get_mut(&id);
    let client = client.ok_or(ClientRefusal::NoMetadata(id))?;
    client.metadata = Some(sent);
    let shown = Value::Object(metadata(client));
    directory.save();
    Ok(json_answer(&shown))
}

fn metadata(client: &Registration) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("clientId".to_owned(), json!(client.id));
    if let Some(name) = client.additional.get("name") {
        shown.insert("clientName".to_owned(), name.clone());
    }
    shown.insert("showOnHomePage".to_owned(), false.into());
    shown.extend(client.metadata.clone().unwrap_or_default());
    shown
}
