//! `GET /mgmt/v1/service_instances/{id}/health`: how the VMs of a service instance are.

use serde::{Deserialize, Serialize};

use crate::ids::InstanceId;

/// How a service instance is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The service instance.
    pub service_instance_id: InstanceId,
    /// There are instances, and each is healthy.
    pub healthy: bool,
    /// The instances of the deployment, but for those that run errands.
    pub instances: Vec<InstanceHealth>,
}

/// The health of an instance of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceHealth {
    /// Its instance group.
    pub instance_group: String,
    /// Its UUID, if the Director reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its number in the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// It runs, and so does each of its processes.
    pub healthy: bool,
    /// In BOSH's words, such as `running`, `failing` or `unresponsive agent`; `no vm` where there should be one.
    pub state: String,
    /// The processes that its agent monitors.
    pub processes: Vec<ProcessHealth>,
}

/// How a process is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessHealth {
    /// Its name.
    pub name: String,
    /// In BOSH's words, such as `running` or `failing`.
    pub state: String,
}
