//! `/tokens/SERVER`: which tokens are good for nothing.

use actix_web::{
    Responder,
    web::{self, Data, Json, Path, ServiceConfig},
};
use serde::Deserialize;
use serde_json::json;

use super::{Control, rejection::Rejection};
use crate::{
    faults::ServerName,
    uaa::{Tokens, Uaa},
};

/// Which tokens are withdrawn: those of a client, or all.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Withdrawn {
    client: Option<String>,
}

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(web::resource("/tokens/{server}").route(web::delete().to(revoke)));
}

/// The answers of all who check them are as to a token whose key is gone.
async fn revoke(
    control: Data<Control>,
    server: Path<ServerName>,
    withdrawn: web::Query<Withdrawn>,
) -> Result<impl Responder, Rejection> {
    let tokens = match withdrawn.into_inner().client {
        Some(client) => Tokens::OfClient(client),
        None => Tokens::All,
    };
    uaa(&control, *server)?.revoke_tokens(&tokens);
    Ok(Json(json!({})))
}

fn uaa(control: &Control, server: ServerName) -> Result<&Uaa, Rejection> {
    match server {
        ServerName::BoshUaa => Ok(&control.controls.bosh_uaa),
        ServerName::CfUaa => Ok(&control.controls.cf_uaa),
        _ => Err(Rejection::Bad(
            "only `bosh-uaa` and `cf-uaa` give out tokens".to_owned(),
        )),
    }
}
