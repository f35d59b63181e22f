//! `/faults`: injected faults of servers.

use actix_web::{
    HttpResponse, Responder,
    http::header::LOCATION,
    web::{self, Data, Json, Path, ServiceConfig},
};

use super::{Control, rejection::Rejection};
use crate::faults::{AddFaultError, Fault, FaultId, SetFault};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/faults")
            .route(web::get().to(list))
            .route(web::post().to(add))
            .route(web::delete().to(clear_all)),
    )
    .service(
        web::resource("/faults/{id}")
            .route(web::get().to(show))
            .route(web::delete().to(clear)),
    );
}

async fn list(control: Data<Control>) -> impl Responder {
    Json(control.controls.faults.list())
}

async fn add(control: Data<Control>, fault: Json<Fault>) -> Result<HttpResponse, Rejection> {
    let set = control.controls.faults.add(fault.into_inner())?;
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, format!("/faults/{}", set.id)))
        .json(set))
}

async fn show(control: Data<Control>, id: Path<FaultId>) -> Result<Json<SetFault>, Rejection> {
    let found = control.controls.faults.get(*id);
    found.map(Json).ok_or_else(|| no_error(*id))
}

/// Answers with what was cleared: how often it has struck is known for the last time.
async fn clear(control: Data<Control>, id: Path<FaultId>) -> Result<Json<SetFault>, Rejection> {
    let cleared = control.controls.faults.clear(*id);
    cleared.map(Json).ok_or_else(|| no_error(*id))
}

async fn clear_all(control: Data<Control>) -> impl Responder {
    Json(control.controls.faults.clear_all())
}

fn no_error(id: FaultId) -> Rejection {
    Rejection::not_found("fault", &id)
}

impl From<AddFaultError> for Rejection {
    fn from(error: AddFaultError) -> Self {
        match error {
            AddFaultError::Unusable(error) => Self::bad(&error),
            AddFaultError::TooMany => Self::Conflict(error.to_string()),
        }
    }
}
