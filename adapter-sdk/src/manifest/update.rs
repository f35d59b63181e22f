use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FreeMap;
use crate::protocol::{MaxInFlight, PlanUpdate};

/// How instances are updated. Inside an instance group each key may be left out, in the manifest's
/// own block the first four must be there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Update {
    /// How many instances are updated before all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canaries: Option<u32>,
    /// How long the Director watches canaries, in milliseconds, as `from-to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_watch_time: Option<String>,
    /// How long the Director watches the others, in milliseconds, as `from-to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_watch_time: Option<String>,
    /// How many instances are updated at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<MaxInFlight>,
    /// Whether instance groups are updated one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<bool>,
    /// In which order VMs are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_strategy: Option<VmStrategy>,
    /// How availability zones take part in the first deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_deploy_az_update_strategy: Option<InitialDeployAzUpdateStrategy>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl From<&PlanUpdate> for Update {
    fn from(update: &PlanUpdate) -> Self {
        let stated = |time: &String| Some(time.clone()).filter(|time| !time.is_empty());
        Self {
            canaries: Some(update.canaries),
            canary_watch_time: stated(&update.canary_watch_time),
            update_watch_time: stated(&update.update_watch_time),
            max_in_flight: Some(update.max_in_flight.clone()),
            serial: update.serial,
            vm_strategy: None,
            initial_deploy_az_update_strategy: update
                .initial_deploy_az_update_strategy
                .clone()
                .map(InitialDeployAzUpdateStrategy::from),
            other: FreeMap::new(),
        }
    }
}

/// In which order a VM is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(extend("examples" = ["delete-create", "create-swap-delete"]))]
pub enum VmStrategy {
    /// `delete-create`: the Director deletes the old VM first.
    DeleteCreate,
    /// `create-swap-delete`: the new one comes first.
    CreateSwapDelete,
    /// Something that the model does not know.
    Unknown(String),
}

words!(VmStrategy { DeleteCreate = "delete-create", CreateSwapDelete = "create-swap-delete" });

/// How availability zones take part in the first deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(extend("examples" = ["serial", "parallel"]))]
pub enum InitialDeployAzUpdateStrategy {
    /// `serial`: one after the other.
    Serial,
    /// `parallel`: all at once.
    Parallel,
    /// Something that the model does not know.
    Unknown(String),
}

words!(InitialDeployAzUpdateStrategy { Serial = "serial", Parallel = "parallel" });
