//! The public `/info`, and `/version`, which needs authentication.

use actix_web::{
    HttpResponse,
    web::{self, Data, ServiceConfig},
};
use serde_json::json;

use super::view;
use crate::credhub::{CredHub, Session};

const NAME: &str = "CredHub";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/info", web::get().to(info))
        .route("/version", web::get().to(version));
}

async fn info(credhub: Data<CredHub>) -> HttpResponse {
    let behaviour = credhub.behaviour();
    let mut app = json!({"name": NAME});
    if behaviour.is_legacy() {
        app["version"] = json!(behaviour.version.to_string());
    }
    view::ok(&json!({"auth-server": {"url": credhub.inner.uaa_url}, "app": app}))
}

async fn version(_: Session, credhub: Data<CredHub>) -> HttpResponse {
    view::ok(&json!({"version": credhub.behaviour().version.to_string()}))
}
