//! Offerings and plans as read from catalogs, and what users have ordered of them.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    AppGuid, BindingGuid, BrokerGuid, InstanceGuid, LastOperation, OfferingGuid, OrganizationGuid,
    PlanGuid, SpaceGuid,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Offering {
    pub(crate) guid: OfferingGuid,
    pub(crate) broker: BrokerGuid,
    /// The id that the broker gave it, unique within that broker only.
    pub(crate) catalog_id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    /// Whether the catalog still has it.
    pub(crate) available: bool,
    pub(crate) features: BTreeSet<Feature>,
    pub(crate) tags: Vec<String>,
    pub(crate) requires: Vec<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// What an offering can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Feature {
    Bindable,
    PlanUpdateable,
    InstancesRetrievable,
    BindingsRetrievable,
    AllowContextUpdates,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) guid: PlanGuid,
    pub(crate) offering: OfferingGuid,
    /// The id that the broker gave it, unique within that broker only.
    pub(crate) catalog_id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) visibility: Visibility,
    /// Whether the catalog still has it.
    pub(crate) available: bool,
    pub(crate) free: bool,
    pub(crate) bindable: Option<bool>,
    /// Whether instances may move away to another plan, if the plan has a say of its own in it.
    pub(crate) updateable: Option<bool>,
    pub(crate) maximum_polling_duration: Option<Duration>,
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
    pub(crate) schemas: Value,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MaintenanceInfo {
    pub(crate) version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

/// Who sees a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Visibility {
    Admin,
    Public,
    /// Members of these organizations, of which there is at least one.
    Organizations(BTreeSet<OrganizationGuid>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Instance {
    pub(crate) guid: InstanceGuid,
    pub(crate) space: SpaceGuid,
    pub(crate) plan: PlanGuid,
    pub(crate) name: String,
    pub(crate) tags: Vec<String>,
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
    pub(crate) dashboard_url: Option<String>,
    pub(crate) last_operation: LastOperation,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Binding {
    pub(crate) guid: BindingGuid,
    pub(crate) instance: InstanceGuid,
    pub(crate) name: Option<String>,
    pub(crate) kind: BindingKind,
    /// What the broker gave: everything that the details show. Nothing before the creation has succeeded.
    pub(crate) details: Option<Map<String, Value>>,
    pub(crate) last_operation: LastOperation,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BindingKind {
    App(AppGuid),
    Key,
}

impl Offering {
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }
}

impl Instance {
    /// Whether the plan has moved on since the instance was made or upgraded.
    pub(crate) fn upgrade_available(&self, plan: &Plan) -> bool {
        let version =
            |info: &Option<MaintenanceInfo>| info.as_ref().map(|info| info.version.clone());
        plan.maintenance_info.is_some()
            && version(&self.maintenance_info) != version(&plan.maintenance_info)
    }
}
