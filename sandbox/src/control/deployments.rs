//! `/deployments/NAME/processes` and `/names/NAME`: where the VMs of deployments are, and what runs on them.

use actix_web::{
    Responder,
    web::{self, Data, Json, Path, ServiceConfig},
};
use serde_json::{Value, json};

use super::{Control, rejection::Rejection};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(web::resource("/deployments/{name}/processes").route(web::get().to(processes)))
        .service(web::resource("/names/{name}").route(web::get().to(resolve)));
}

/// Of every VM, whether or not its agent answers.
async fn processes(
    control: Data<Control>,
    name: Path<String>,
) -> Result<impl Responder, Rejection> {
    let controls = &control.controls;
    let vms = controls.director.deployed_vms(&name);
    let vms = vms.ok_or_else(|| Rejection::not_found("deployment", &*name))?;
    let views = vms.iter().map(|deployed| {
        json!({
            "instance": deployed.instance,
            "vm_cid": deployed.vm,
            "processes": controls.cpi.processes(&deployed.vm),
        })
    });
    Ok(Json(views.collect::<Vec<Value>>()))
}

/// Resolves a name as BOSH DNS does. An unknown name has no address.
async fn resolve(control: Data<Control>, name: Path<String>) -> Result<impl Responder, Rejection> {
    let addresses = control.controls.director.resolve(&name);
    let addresses = addresses.map_err(|error| Rejection::bad(&error))?;
    Ok(Json(json!({"name": *name, "addresses": addresses})))
}
