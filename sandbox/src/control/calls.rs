//! `/calls`: the latest calls of all servers.

use actix_web::{
    Responder,
    web::{self, Data, Json, Query, ServiceConfig},
};
use serde::Deserialize;

use super::Control;
use crate::{calls::CallNumber, faults::ServerName};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(web::resource("/calls").route(web::get().to(list)));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    #[serde(default)]
    after: CallNumber,
    server: Option<ServerName>,
}

async fn list(control: Data<Control>, choice: Query<Choice>) -> impl Responder {
    Json(control.controls.calls.list(choice.after, choice.server))
}
