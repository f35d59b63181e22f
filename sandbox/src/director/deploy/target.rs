//! The change of one instance.

use std::net::Ipv4Addr;

use aws_lc_rs::digest;

use super::{
    agents::AgentClient,
    cloud::NetworkKind,
    plan::{PlannedDisk, PlannedGroup},
    spec::{DeployOptions, DiskRequest, SilentAgents},
    states::Action,
    vms::{self, Agent},
};
use crate::{
    cpi::Vm,
    director::{
        deployments::{Attention, Digest, Instance, InstanceSpec, InstanceState, PersistentDisk},
        ids::{GroupName, InstanceId},
        tasks::{TaskFailure, TaskRun},
    },
};

#[derive(Clone)]
pub(super) struct TargetInstance {
    pub(super) id: InstanceId,
    pub(super) group: GroupName,
    pub(super) index: u32,
    pub(super) label: String,
    pub(super) az: Option<String>,
    pub(super) attention: Attention,
    /// Its desired state so far.
    pub(super) previous_state: InstanceState,
    pub(super) state: InstanceState,
    pub(super) vm: Vm,
    pub(super) vm_plan: VmPlan,
    pub(super) restart: Restart,
    pub(super) spec: InstanceSpec,
    pub(super) machine: Digest,
    pub(super) vips: Vec<Ipv4Addr>,
    pub(super) disk: Option<PersistentDisk>,
    pub(super) disk_plan: DiskPlan,
    pub(super) applied: Option<Digest>,
}

#[derive(Clone)]
pub(super) enum VmPlan {
    Keep,
    /// It is only reserved so far.
    Create,
    Replace {
        previous: Vm,
        agent: Agent,
    },
}

/// Whether jobs are restarted although nothing else calls for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    No,
    Yes,
}

#[derive(Clone)]
pub(super) enum DiskPlan {
    /// It stays as it is; there may be none.
    Keep,
    /// A new one, which takes over the data of the former one if there is one.
    Create(PlannedDisk),
    /// None any more.
    Remove,
}

/// The target for an instance. Reserves a VM when it needs a new one.
pub(super) async fn target(
    run: &TaskRun,
    instance: &Instance,
    location: usize,
    group: &PlannedGroup,
    spec: InstanceSpec,
    options: &DeployOptions,
) -> Result<TargetInstance, TaskFailure> {
    let action = group.requested.of(instance.index);
    let static_address = static_address(group, location, NetworkKind::Manual);
    let machine = machine_digest(group, &spec, static_address);
    let (vm, vm_plan) = match &instance.vm {
        None => {
            let vm = vms::reserve(run, instance, static_address)?;
            (vm, VmPlan::Create)
        }
        Some(vm) => {
            let agent = agent(run, instance, vm, options).await?;
            let is_wanted = action == Some(Action::Recreate) || options.vms.replaces(vm.created_at);
            let has_other_address = static_address.is_some_and(|address| address != vm.address());
            // The machine of an adopted VM is unknown.
            let differs = instance
                .machine
                .as_ref()
                .is_some_and(|made_for| *made_for != machine);
            let is_replaced = instance.attention == Attention::Managed
                && (is_wanted || differs || agent == Agent::Silent);
            if is_replaced {
                let successor = if has_other_address {
                    vms::reserve(run, instance, static_address)?
                } else {
                    run.director.inner.cpi.reserve_successor(vm)
                };
                let previous = vm.clone();
                (successor, VmPlan::Replace { previous, agent })
            } else {
                (vm.clone(), VmPlan::Keep)
            }
        }
    };
    Ok(TargetInstance {
        id: instance.id,
        group: instance.group.clone(),
        index: instance.index,
        label: instance.label(),
        az: instance.az.clone(),
        attention: instance.attention,
        previous_state: instance.state,
        state: action.map_or(instance.state, Action::leads_to),
        vm,
        vm_plan,
        restart: if action == Some(Action::Restart) {
            Restart::Yes
        } else {
            Restart::No
        },
        spec,
        machine,
        vips: static_address_of_vips(group, location),
        disk: instance.disk.clone(),
        disk_plan: disk_plan(instance, group, options.disks),
        applied: instance.applied.clone(),
    })
}

impl TargetInstance {
    /// Its name in records and errors: `group/id`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.group, self.id)
    }

    /// Whether deploys leave it alone.
    pub(super) fn is_ignored(&self) -> bool {
        self.attention == Attention::Ignored
    }

    /// Whether a VM is to be made before anything is updated.
    pub(super) fn lacks_vm(&self) -> bool {
        !self.is_ignored()
            && matches!(self.vm_plan, VmPlan::Create)
            && self.state != InstanceState::Detached
    }

    /// Whether anything but its jobs calls for an update.
    pub(super) fn is_changed(&self) -> bool {
        let stays_detached = self.state == InstanceState::Detached
            && self.previous_state == InstanceState::Detached
            && matches!(self.vm_plan, VmPlan::Create);
        if stays_detached {
            return false;
        }
        !matches!(self.vm_plan, VmPlan::Keep)
            || self.restart == Restart::Yes
            || self.state != self.previous_state
            || !matches!(self.disk_plan, DiskPlan::Keep)
    }
}

/// Asks the agent of a VM whether it answers. One that does not fails the task, unless such VMs are to be replaced.
async fn agent(
    run: &TaskRun,
    instance: &Instance,
    vm: &Vm,
    options: &DeployOptions,
) -> Result<Agent, TaskFailure> {
    if instance.attention == Attention::Ignored {
        return Ok(Agent::Answers);
    }
    let client = AgentClient::new(run, vm, instance.name());
    match client.answers().await {
        Ok(()) => Ok(Agent::Answers),
        Err(failure) => match options.silent_agents {
            SilentAgents::Fail => Err(failure),
            SilentAgents::Replace => Ok(Agent::Silent),
        },
    }
}

fn machine_digest(
    group: &PlannedGroup,
    spec: &InstanceSpec,
    static_address: Option<Ipv4Addr>,
) -> Digest {
    let mut hash = digest::Context::new(&digest::SHA256);
    hash.update(spec.cloud_properties.to_string().as_bytes());
    if let Some(stemcell) = &spec.stemcell {
        hash.update(stemcell.joined().as_bytes());
    }
    hash.update(group.vm_settings().as_bytes());
    if let Some(address) = static_address {
        hash.update(&address.octets());
    }
    hash.finish().into()
}

fn static_address(group: &PlannedGroup, location: usize, kind: NetworkKind) -> Option<Ipv4Addr> {
    let mut networks = group.networks.iter().filter(|network| network.kind == kind);
    networks.find_map(|network| network.static_addresses.as_ref()?.get(location).copied())
}

fn static_address_of_vips(group: &PlannedGroup, location: usize) -> Vec<Ipv4Addr> {
    static_address(group, location, NetworkKind::Vip)
        .into_iter()
        .collect()
}

fn disk_plan(instance: &Instance, group: &PlannedGroup, request: DiskRequest) -> DiskPlan {
    match (&instance.disk, &group.disk) {
        (None, None) => DiskPlan::Keep,
        (Some(_), None) => DiskPlan::Remove,
        (Some(disk), Some(wanted))
            if request == DiskRequest::Keep
                && disk.size == wanted.size
                && disk.cloud_properties == wanted.cloud_properties =>
        {
            DiskPlan::Keep
        }
        (_, Some(wanted)) => DiskPlan::Create(wanted.clone()),
    }
}
