//! The lists of the Go broker's management API (`spec/contracts/broker-behaviour.md` §6): `GET /mgmt/service_instances`
//! and `GET /mgmt/orphan_deployments`. Where there is no service instance the first list is `null`.

use serde::{Deserialize, Serialize};

use crate::ids::{InstanceId, PlanId};

/// A service instance that the platform knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedInstance {
    /// The service instance.
    pub service_instance_id: InstanceId,
    /// Its plan, by its id in the catalog.
    pub plan_id: PlanId,
    /// The space that it is in, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_guid: Option<String>,
}

/// A deployment without a service instance in the platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedOrphan {
    /// The deployment's name, `service-instance_` and the id of the instance that it was.
    pub deployment_name: String,
}
