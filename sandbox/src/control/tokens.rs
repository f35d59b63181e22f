//! `/tokens/SERVER`: how long tokens live, which of them are good for nothing, and by which key they are signed.

use std::time::Duration;

use actix_web::{
    Responder,
    web::{self, Data, Json, Path, ServiceConfig},
};
use serde::Deserialize;
use serde_json::json;

use super::{Control, rejection::Rejection};
use crate::{
    durations,
    faults::ServerName,
    uaa::{TokenLives, Tokens, Uaa},
};

/// How long tokens live from now on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lives {
    #[serde(with = "durations")]
    access: Duration,
    #[serde(with = "durations")]
    refresh: Duration,
}

/// Which tokens are withdrawn: those of a client, or all.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Withdrawn {
    client: Option<String>,
}

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(web::resource("/tokens/{server}/lives").route(web::put().to(set_lives)))
        .service(web::resource("/tokens/{server}").route(web::delete().to(revoke)))
        .service(web::resource("/tokens/{server}/key").route(web::post().to(rotate_key)));
}

async fn set_lives(
    control: Data<Control>,
    server: Path<ServerName>,
    lives: Json<Lives>,
) -> Result<impl Responder, Rejection> {
    let Lives { access, refresh } = lives.into_inner();
    let lives = TokenLives { access, refresh };
    uaa(&control, *server)?.set_token_lives(lives);
    Ok(Json(json!({})))
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

/// Servers that look up keys continue to work; the Director keeps its configured key.
async fn rotate_key(
    control: Data<Control>,
    server: Path<ServerName>,
) -> Result<impl Responder, Rejection> {
    let uaa = uaa(&control, *server)?.clone();
    let rotated = web::block(move || uaa.rotate_key()).await;
    match rotated {
        Ok(Ok(key)) => Ok(Json(json!({"key": key}))),
        Ok(Err(error)) => Err(Rejection::Conflict(error.to_string())),
        Err(error) => Err(Rejection::Conflict(error.to_string())),
    }
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
