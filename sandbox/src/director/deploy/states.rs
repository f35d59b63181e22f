//! The states that a call requests for instances beside an update (`PUT /deployments/NAME/jobs/…?state=`).
//!
//! The task that asks the agents of VMs how they are (`?format=full`).

use std::net::Ipv4Addr;

use futures_util::{FutureExt, StreamExt, stream};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{agents::AgentClient, error::ManifestError};
use crate::{
    cpi::{AgentState, DiskCid, VmCid},
    director::{
        deployments::{Deployment, Instance, InstanceSpec, InstanceState},
        ids::{GroupName, InstanceId},
        tasks::{OutputType, TaskFailure, TaskRun},
    },
};

/// A wish for the instances of one group or of all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::director) struct StateChange {
    pub(in crate::director) groups: ChangedGroups,
    /// The state as in the call; the task parses it.
    pub(in crate::director) state: String,
}

/// Which instances a wish is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::director) enum ChangedGroups {
    All,
    Group(GroupName),
    Instance(GroupName, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requested {
    Nothing,
    OfAll(Action),
    OfOne(u32, Action),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Start,
    Stop,
    /// Stop, and give the VM up.
    Detach,
    Restart,
    Recreate,
}

impl StateChange {
    pub(super) fn of_group(&self, group: &GroupName) -> Result<Requested, ManifestError> {
        let action = Action::read(&self.state);
        match &self.groups {
            ChangedGroups::Group(other) | ChangedGroups::Instance(other, _) if other != group => {
                Ok(Requested::Nothing)
            }
            ChangedGroups::All | ChangedGroups::Group(_) => match action {
                Some(action) => Ok(Requested::OfAll(action)),
                None => Err(ManifestError::InvalidGroupState {
                    group: group.clone(),
                    state: self.state.clone(),
                }),
            },
            ChangedGroups::Instance(_, index) => match action {
                Some(action) => Ok(Requested::OfOne(*index, action)),
                None => Err(ManifestError::InvalidInstanceState {
                    group: group.clone(),
                    index: *index,
                    state: self.state.clone(),
                }),
            },
        }
    }
}

impl Requested {
    pub(super) fn of(self, index: u32) -> Option<Action> {
        match self {
            Self::OfAll(action) => Some(action),
            Self::OfOne(only, action) if only == index => Some(action),
            Self::OfOne(..) | Self::Nothing => None,
        }
    }
}

impl Action {
    fn read(state: &str) -> Option<Self> {
        match state {
            "started" => Some(Self::Start),
            "stopped" => Some(Self::Stop),
            "detached" => Some(Self::Detach),
            "restart" => Some(Self::Restart),
            "recreate" => Some(Self::Recreate),
            _ => None,
        }
    }

    pub(super) fn leads_to(self) -> InstanceState {
        match self {
            Self::Start | Self::Restart | Self::Recreate => InstanceState::Started,
            Self::Stop => InstanceState::Stopped,
            Self::Detach => InstanceState::Detached,
        }
    }
}

/// So many agents are asked at a time.
const AT_ONCE: usize = 32;

/// Which instances are asked for.
#[derive(Serialize, Deserialize)]
pub(in crate::director) struct VmStateOrder {
    pub(in crate::director) listed: Listed,
}

/// Whether instances without a VM are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum Listed {
    Vms,
    Instances,
}

#[derive(Serialize)]
struct InstanceLine<'a> {
    vm_cid: Option<&'a VmCid>,
    active: Option<bool>,
    vm_created_at: Option<String>,
    cloud_properties: Value,
    disk_cid: Option<&'a DiskCid>,
    disk_cids: Vec<&'a DiskCid>,
    ips: Vec<Ipv4Addr>,
    dns: [String; 0],
    agent_id: Option<Uuid>,
    job_name: &'a GroupName,
    index: u32,
    job_state: Option<String>,
    state: &'static str,
    vm_type: Option<String>,
    vitals: Value,
    processes: Value,
    az: Option<&'a str>,
    id: InstanceId,
    bootstrap: bool,
    ignore: bool,
    stemcell: StemcellOfVm,
}

#[derive(Serialize)]
struct StemcellOfVm {
    name: Option<String>,
    version: Option<String>,
    api_version: Option<u32>,
}

/// Writes a line per instance into the task's result. An agent that does not answer fails nothing.
pub(in crate::director) async fn retrieve_vm_state(
    run: &TaskRun,
    order: &VmStateOrder,
) -> Result<String, TaskFailure> {
    let director = &run.director.inner;
    let row = director
        .deployments
        .find(run.deployment.as_ref())
        .unwrap_or_default();
    let listed = row
        .instances
        .iter()
        .filter(|instance| order.listed == Listed::Instances || instance.vm.is_some());
    let mut lines = Vec::new();
    for instance in listed {
        lines.push(line(run, &row, instance).boxed());
    }
    let mut lines = stream::iter(lines).buffer_unordered(AT_ONCE);
    while let Some(line) = run.unless_cancelled(lines.next()).await? {
        director
            .tasks
            .write_line(run.task, OutputType::Result, &line);
    }
    Ok(String::new())
}

async fn line(run: &TaskRun, row: &Deployment, instance: &Instance) -> String {
    let vm = instance.vm.as_ref();
    let state = match vm {
        None => None,
        Some(vm) => Some(AgentClient::new(run, vm, instance.name()).state().await),
    };
    let (job_state, vitals, processes) = match state {
        None => (None, Value::Null, json!([])),
        Some(Err(_)) => (
            Some("unresponsive agent".to_owned()),
            Value::Null,
            json!([]),
        ),
        Some(Ok(state)) => reported(&state),
    };
    let spec = instance.spec.clone().unwrap_or_else(InstanceSpec::nothing);
    let disk = instance.disk.as_ref().map(|disk| &disk.cid);
    let line = InstanceLine {
        vm_cid: vm.map(|vm| &vm.cid),
        active: vm.map(|_| true),
        vm_created_at: vm.map(|vm| in_seconds(vm.created_at)),
        cloud_properties: spec.cloud_properties,
        disk_cid: disk,
        disk_cids: disk.into_iter().collect(),
        ips: instance.ips(),
        dns: [],
        agent_id: vm.map(|vm| vm.agent_id),
        job_name: &instance.group,
        index: instance.index,
        job_state,
        state: instance.state.name(),
        vm_type: spec.vm_type,
        vitals,
        processes,
        az: instance.az.as_deref(),
        id: instance.id,
        bootstrap: row.is_bootstrap(instance),
        ignore: instance.is_ignored(),
        stemcell: StemcellOfVm {
            name: spec.stemcell.as_ref().map(|stemcell| stemcell.name.clone()),
            version: spec.stemcell.map(|stemcell| stemcell.version),
            api_version: None,
        },
    };
    serde_json::to_string(&line).expect("lines are texts and numbers")
}

fn reported(state: &AgentState) -> (Option<String>, Value, Value) {
    let state = serde_json::to_value(state).expect("states are texts and numbers");
    let part = |key: &str| state.get(key).cloned().unwrap_or_default();
    (
        part("job_state").as_str().map(str::to_owned),
        part("vitals"),
        part("processes"),
    )
}

/// A time as lists of VMs have it.
pub(in crate::director) fn in_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
