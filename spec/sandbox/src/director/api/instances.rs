//! The VMs and instances of a deployment, as the Director remembers them (no task is needed).

use std::net::Ipv4Addr;

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::{Refusal, answer, caller::Caller, submission::deployment};
use crate::{
    cpi::VmCid,
    director::{
        Director,
        deployments::{Instance, Lifecycle},
        ids::{GroupName, InstanceId},
    },
};

#[derive(Serialize)]
struct Located<'a> {
    agent_id: Option<Uuid>,
    cid: Option<&'a VmCid>,
    job: &'a GroupName,
    index: u32,
    id: InstanceId,
    az: Option<&'a str>,
    ips: Vec<Ipv4Addr>,
    vm_created_at: Option<String>,
}

#[derive(Serialize)]
struct VmView<'a> {
    #[serde(flatten)]
    located: Located<'a>,
    active: bool,
    permanent_nats_credentials: bool,
}

#[derive(Serialize)]
struct InstanceView<'a> {
    #[serde(flatten)]
    located: Located<'a>,
    expects_vm: bool,
}

/// Instances that have a VM.
pub(super) async fn vms(
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
) -> Result<HttpResponse, Refusal> {
    let (_, row) = deployment(&director, name.into_inner())?;
    caller.may_read(&row)?;
    let with_vm = row
        .instances
        .iter()
        .filter(|instance| instance.vm.is_some());
    let shown: Vec<VmView<'_>> = with_vm
        .map(|instance| VmView {
            located: located(instance),
            active: true,
            permanent_nats_credentials: false,
        })
        .collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// All instances, those of errand groups included.
pub(super) async fn instances(
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
) -> Result<HttpResponse, Refusal> {
    let (_, row) = deployment(&director, name.into_inner())?;
    caller.may_read(&row)?;
    let shown: Vec<InstanceView<'_>> = row
        .instances
        .iter()
        .map(|instance| InstanceView {
            located: located(instance),
            expects_vm: instance.lifecycle == Lifecycle::Service && instance.vm.is_some(),
        })
        .collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

fn located(instance: &Instance) -> Located<'_> {
    let vm = instance.vm.as_ref();
    Located {
        agent_id: vm.map(|vm| vm.agent_id),
        cid: vm.map(|vm| &vm.cid),
        job: &instance.group,
        index: instance.index,
        id: instance.id,
        az: instance.az.as_deref(),
        ips: vm.map(crate::cpi::Vm::address).into_iter().collect(),
        vm_created_at: vm.map(|vm| in_seconds(vm.created_at)),
    }
}

fn in_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
