//! `/task-faults`: what happens to tasks of the Director.

use actix_web::{
    HttpResponse, Responder,
    http::header::LOCATION,
    web::{self, Data, Json, Path, ServiceConfig},
};
use serde_json::json;

use super::{Control, rejection::Rejection};
use crate::director::{TaskFault, TaskFaultId};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/task-faults")
            .route(web::get().to(list))
            .route(web::post().to(arm))
            .route(web::delete().to(disarm_all)),
    )
    .service(web::resource("/task-faults/{id}").route(web::delete().to(disarm)));
}

/// A fault that has been injected leaves the list, unless it holds a task.
async fn list(control: Data<Control>) -> impl Responder {
    Json(control.controls.director.armed())
}

async fn arm(control: Data<Control>, fault: Json<TaskFault>) -> impl Responder {
    let id = control.controls.director.arm(fault.into_inner());
    let id = json!(id);
    HttpResponse::Created()
        .insert_header((LOCATION, format!("/task-faults/{id}")))
        .json(json!({"id": id}))
}

async fn disarm(
    control: Data<Control>,
    id: Path<TaskFaultId>,
) -> Result<impl Responder, Rejection> {
    if control.controls.director.disarm(*id) {
        return Ok(Json(json!({"id": *id})));
    }
    Err(Rejection::not_found("task fault", &json!(*id)))
}

async fn disarm_all(control: Data<Control>) -> impl Responder {
    let armed = control.controls.director.armed();
    control.controls.director.disarm_all();
    Json(armed)
}
