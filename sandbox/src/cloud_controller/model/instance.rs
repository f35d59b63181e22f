//! Service instances and their bindings: what users have ordered.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    AppGuid, BindingGuid, InstanceGuid, JobOperation, Keyed, LastOperation, MaintenanceInfo,
    Metadata, Plan, PlanGuid, RouteGuid, SpaceGuid,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Instance {
    pub(crate) guid: InstanceGuid,
    pub(crate) space: SpaceGuid,
    pub(crate) plan: PlanGuid,
    pub(crate) name: String,
    pub(crate) tags: Vec<String>,
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
    pub(crate) dashboard_url: Option<String>,
    /// Further spaces whose members see and bind it.
    pub(crate) shared_spaces: BTreeSet<SpaceGuid>,
    pub(crate) metadata: Metadata,
    pub(crate) broker_metadata: Option<BrokerMetadata>,
    pub(crate) last_operation: LastOperation,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// Labels and attributes that a broker gave an instance (OSB API, "Service Instance Metadata").
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BrokerMetadata {
    #[serde(default)]
    pub(crate) labels: Map<String, Value>,
    #[serde(default)]
    pub(crate) attributes: Map<String, Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Binding {
    pub(crate) guid: BindingGuid,
    pub(crate) instance: InstanceGuid,
    pub(crate) name: Option<String>,
    pub(crate) kind: BindingKind,
    /// The broker's answer: all members of the details. Empty until the creation has succeeded.
    pub(crate) details: Option<Map<String, Value>>,
    pub(crate) metadata: Metadata,
    pub(crate) last_operation: LastOperation,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BindingKind {
    App(AppGuid),
    Key,
    Route(RouteGuid),
}

impl BindingKind {
    pub(crate) fn creation(&self) -> JobOperation {
        match self {
            Self::App(_) => JobOperation::CreateBinding,
            Self::Key => JobOperation::CreateKey,
            Self::Route(_) => JobOperation::CreateRouteBinding,
        }
    }

    pub(crate) fn deletion(&self) -> JobOperation {
        match self {
            Self::App(_) => JobOperation::DeleteBinding,
            Self::Key => JobOperation::DeleteKey,
            Self::Route(_) => JobOperation::DeleteRouteBinding,
        }
    }
}

impl Instance {
    /// Whether the plan has moved on since the instance was made or upgraded.
    pub(crate) fn upgrade_available(&self, plan: &Plan) -> bool {
        fn version(info: Option<&MaintenanceInfo>) -> Option<&str> {
            info.map(|info| info.version.as_str())
        }
        version(self.maintenance_info.as_ref()) != version(plan.maintenance_info.as_ref())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstanceKey {
    Plan(PlanGuid),
    Space(SpaceGuid),
    SharedInto(SpaceGuid),
    Name(SpaceGuid, String),
}

impl Keyed for Instance {
    type Key = InstanceKey;

    fn keys(&self) -> Vec<InstanceKey> {
        let own = [
            InstanceKey::Plan(self.plan.clone()),
            InstanceKey::Space(self.space.clone()),
            InstanceKey::Name(self.space.clone(), self.name.clone()),
        ];
        let shared = self.shared_spaces.iter().cloned();
        own.into_iter()
            .chain(shared.map(InstanceKey::SharedInto))
            .collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BindingKey {
    Instance(InstanceGuid),
    App(AppGuid),
    Route(RouteGuid),
}

impl Keyed for Binding {
    type Key = BindingKey;

    fn keys(&self) -> Vec<BindingKey> {
        let instance = BindingKey::Instance(self.instance.clone());
        match &self.kind {
            BindingKind::App(app) => vec![instance, BindingKey::App(app.clone())],
            BindingKind::Route(route) => vec![instance, BindingKey::Route(route.clone())],
            BindingKind::Key => vec![instance],
        }
    }
}
