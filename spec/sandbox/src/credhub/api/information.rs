//! What anybody may ask: `/info`, `/health`, and `/management`, which deployments bind to a port of their own; and
//! `/version`, for which one must be known.

use actix_web::{
    HttpResponse,
    web::{self, Bytes, Data, ServiceConfig},
};
use serde_json::{Value, json};

use super::view;
use crate::credhub::{CredHub, Refusal, Session, Writing, members::Members};

const NAME: &str = "CredHub";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/info", web::get().to(info))
        .route("/health", web::get().to(health))
        .route("/version", web::get().to(version))
        .service(
            web::resource("/management")
                .route(web::get().to(management))
                .route(web::post().to(manage)),
        );
}

async fn info(credhub: Data<CredHub>) -> HttpResponse {
    let conduct = credhub.conduct();
    let mut app = json!({"name": NAME});
    if conduct.is_legacy() {
        app["version"] = json!(conduct.version.to_string());
    }
    view::ok(&json!({"auth-server": {"url": credhub.inner.uaa_url}, "app": app}))
}

async fn health() -> HttpResponse {
    view::ok(&json!({"status": "UP"}))
}

async fn version(_: Session, credhub: Data<CredHub>) -> HttpResponse {
    view::ok(&json!({"version": credhub.conduct().version.to_string()}))
}

async fn management(credhub: Data<CredHub>) -> HttpResponse {
    view::ok(&shown(credhub.conduct().writing))
}

async fn manage(credhub: Data<CredHub>, body: Bytes) -> Result<HttpResponse, Refusal> {
    let mut members = Members::read(&body)?;
    let read_only = members.flag("read_only_mode")?.unwrap_or(false);
    members.end()?;
    let writing = if read_only {
        Writing::Refused
    } else {
        Writing::Allowed
    };
    credhub.set_writing(writing);
    Ok(view::ok(&shown(writing)))
}

fn shown(writing: Writing) -> Value {
    json!({"read_only_mode": writing == Writing::Refused})
}
