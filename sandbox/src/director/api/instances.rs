//! The VMs and instances of a deployment: from the Director's records or, by a task, from their agents.

use std::net::Ipv4Addr;

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Data, Path, Query},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Rejection, answer,
    caller::Caller,
    submission::{Submission, deployment, submit},
};
use crate::{
    cpi::VmCid,
    director::{
        Director,
        deploy::{Listed, VmStateOrder, in_seconds},
        deployments::{Deployment, Instance},
        ids::{ContextId, DeploymentName, GroupName, InstanceId},
        tasks::{TaskKind, Work},
    },
};

#[derive(Deserialize)]
pub(super) struct Format {
    format: Option<String>,
}

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

pub(super) async fn vms(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
    format: Query<Format>,
) -> Result<HttpResponse, Rejection> {
    let (name, row) = deployment(&director, name.into_inner())?;
    caller.may_read(&row)?;
    if format.is_full() {
        return retrieve(&request, &director, caller, (name, &row), Listed::Vms);
    }
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
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
    format: Query<Format>,
) -> Result<HttpResponse, Rejection> {
    let (name, row) = deployment(&director, name.into_inner())?;
    caller.may_read(&row)?;
    if format.is_full() {
        return retrieve(&request, &director, caller, (name, &row), Listed::Instances);
    }
    let shown: Vec<InstanceView<'_>> = row
        .instances
        .iter()
        .map(|instance| InstanceView {
            located: located(instance),
            expects_vm: instance.expects_vm(),
        })
        .collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// Starts the task that asks the agents. A client cannot give it a context id.
fn retrieve(
    request: &HttpRequest,
    director: &Director,
    caller: Caller,
    (name, row): (DeploymentName, &Deployment),
    listed: Listed,
) -> Result<HttpResponse, Rejection> {
    let submission = Submission {
        kind: TaskKind::Vms,
        description: "retrieve vm-stats".to_owned(),
        deployment: name,
        teams: row.teams.clone(),
        context_id: ContextId::from(String::new()),
        work: Work::RetrieveVmState(VmStateOrder { listed }),
    };
    submit(director, request, caller, submission)
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
        ips: instance.ips(),
        vm_created_at: vm.map(|vm| in_seconds(vm.created_at)),
    }
}

impl Format {
    fn is_full(&self) -> bool {
        self.format.as_deref() == Some("full")
    }
}
