//! `/vms`: the VMs of the process CPI, by the ids that the Director shows as `vm_cid`.

use actix_web::{
    Responder,
    web::{self, Data, Json, Path, ServiceConfig},
};
use serde_json::{Value, json};

use super::{Control, rejection::Rejection};
use crate::cpi::{NoSuchVm, VmCid};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(web::resource("/vms").route(web::get().to(list)))
        .service(
            web::resource("/vms/{vm}")
                .route(web::get().to(show))
                .route(web::delete().to(kill)),
        )
        .service(web::resource("/vms/{vm}/agent").route(web::delete().to(kill_agent)))
        .service(web::resource("/vms/{vm}/revive").route(web::post().to(revive)));
}

async fn list(control: Data<Control>) -> impl Responder {
    let vms = control.controls.cpi.vms();
    let all: Vec<Value> = vms.iter().map(|vm| view(&control, vm)).collect();
    Json(all)
}

async fn show(control: Data<Control>, vm: Path<String>) -> Result<impl Responder, Rejection> {
    let vm = found(&control, &vm)?;
    Ok(Json(view(&control, &vm)))
}

/// Loses the VM and all that runs on it. Its disk stays.
async fn kill(control: Data<Control>, vm: Path<String>) -> Result<impl Responder, Rejection> {
    let vm = found(&control, &vm)?;
    control.controls.cpi.kill_vm(&vm).await?;
    Ok(Json(view(&control, &vm)))
}

/// The processes on the VM keep running without an agent.
async fn kill_agent(control: Data<Control>, vm: Path<String>) -> Result<impl Responder, Rejection> {
    let vm = found(&control, &vm)?;
    control.controls.cpi.kill_agent(&vm)?;
    Ok(Json(view(&control, &vm)))
}

async fn revive(control: Data<Control>, vm: Path<String>) -> Result<impl Responder, Rejection> {
    let vm = found(&control, &vm)?;
    control.controls.cpi.revive(&vm)?;
    Ok(Json(view(&control, &vm)))
}

fn found(control: &Control, name: &str) -> Result<VmCid, Rejection> {
    let vms = control.controls.cpi.vms();
    vms.into_iter()
        .find(|vm| vm.to_string() == name)
        .ok_or_else(|| Rejection::not_found("VM", &name))
}

fn view(control: &Control, vm: &VmCid) -> Value {
    let cpi = &control.controls.cpi;
    json!({
        "vm_cid": vm.to_string(),
        "lost": !cpi.has_vm(vm),
        "healthy": cpi.is_healthy(vm),
        "processes": cpi.processes(vm),
    })
}

impl From<NoSuchVm> for Rejection {
    fn from(NoSuchVm(vm): NoSuchVm) -> Self {
        Self::not_found("VM", &vm)
    }
}
