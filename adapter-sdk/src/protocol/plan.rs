use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::absence::{empty_as_none, null_as_default};
use super::max_in_flight::{MaxInFlight, Percentage};
use super::violations::{Inspection, Violations, join};

/// A plan as an adapter sees it (`spec/contracts/adapter-protocol.md`, "Plan").
///
/// There is no id and no name in it. Properties may hold secrets, so formatting shows their names
/// only.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// Properties of the catalog and of the plan.
    #[serde(default, deserialize_with = "null_as_default")]
    pub properties: Map<String, Value>,
    /// Errands that run after a deployment and before a deletion.
    #[serde(default, deserialize_with = "null_as_default")]
    pub lifecycle_errands: LifecycleErrands,
    /// Instance groups that the operator provides for.
    pub instance_groups: Vec<PlanInstanceGroup>,
    /// The update block to write into manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<PlanUpdate>,
}

/// Errands that run after a deployment and before a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LifecycleErrands {
    /// After each deployment.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub post_deploy: Vec<LifecycleErrand>,
    /// Before the deployment is deleted.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub pre_delete: Vec<LifecycleErrand>,
}

/// One lifecycle errand.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LifecycleErrand {
    /// Name of the errand's job.
    pub name: String,
    /// Where it runs, as `group` or `group/index-or-id`. With any, the errand is colocated there;
    /// without, it has an instance group of its own.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub instances: Vec<String>,
}

/// An instance group as the plan provides for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanInstanceGroup {
    /// Name of the group.
    pub name: String,
    /// VM type of the cloud config.
    pub vm_type: String,
    /// VM extensions of the cloud config.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub vm_extensions: Vec<String>,
    /// Disk type of the cloud config.
    #[serde(
        default,
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub persistent_disk_type: Option<String>,
    /// Number of instances, at least 1.
    pub instances: u32,
    /// Networks of the cloud config.
    pub networks: Vec<String>,
    /// Availability zones of the cloud config, at least one.
    pub azs: Vec<String>,
    /// `service` or `errand`; not checked by the protocol.
    #[serde(
        default,
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub lifecycle: Option<String>,
    /// Earlier names of the group.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub migrated_from: Vec<MigratedFrom>,
}

/// An earlier name of an instance group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct MigratedFrom {
    /// The name.
    pub name: String,
}

/// The update block that an operator wants in manifests of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanUpdate {
    /// How many instances are updated before all others.
    #[serde(default)]
    pub canaries: u32,
    /// How long the Director watches canaries, in milliseconds, as `from-to`.
    #[serde(default)]
    pub canary_watch_time: String,
    /// How long the Director watches the others, in milliseconds, as `from-to`.
    #[serde(default)]
    pub update_watch_time: String,
    /// How many instances are updated at once.
    pub max_in_flight: MaxInFlight,
    /// Whether instance groups are updated one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<bool>,
    /// `serial` or `parallel`: how availability zones take part in the first deployment.
    #[serde(
        default,
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub initial_deploy_az_update_strategy: Option<String>,
}

impl Plan {
    /// A plan of these instance groups, without properties, errands or update block.
    pub fn new(instance_groups: Vec<PlanInstanceGroup>) -> Self {
        Self {
            instance_groups,
            ..Self::default()
        }
    }

    /// The instance group of that name.
    pub fn instance_group(&self, name: &str) -> Option<&PlanInstanceGroup> {
        self.instance_groups.iter().find(|group| group.name == name)
    }

    /// Rules that a document must keep before it is decoded.
    pub(super) fn inspect(document: &Value) -> Result<(), Violations> {
        let mut inspection = Inspection::default();
        if let Some(plan) = inspection.object(document, "plan") {
            for (nth, group) in inspection
                .required_array(plan, "", "instance_groups")
                .iter()
                .enumerate()
            {
                inspect_instance_group(&mut inspection, group, &format!("instance_groups[{nth}]"));
            }
            if let Some(Value::Object(update)) = plan.get("update") {
                inspect_max_in_flight(&mut inspection, update.get("max_in_flight"));
            }
        }
        inspection.finish()
    }
}

fn inspect_instance_group(inspection: &mut Inspection, group: &Value, path: &str) {
    let Some(group) = inspection.object(group, path) else {
        return;
    };
    inspection.required_text(group, path, "name");
    inspection.required_text(group, path, "vm_type");
    let instances = group.get("instances").and_then(Value::as_u64);
    if instances.is_none_or(|instances| instances == 0) {
        inspection.violate(&join(path, "instances"), "must be an integer of at least 1");
    }
    inspection.required_array(group, path, "networks");
    inspection.required_array(group, path, "azs");
    if group
        .get("azs")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
    {
        inspection.violate(&join(path, "azs"), "must not be empty");
    }
}

fn inspect_max_in_flight(inspection: &mut Inspection, max_in_flight: Option<&Value>) {
    let holds = match max_in_flight {
        Some(Value::Number(number)) => number.as_u64().is_some(),
        Some(Value::String(text)) => Percentage::occurs_in(text),
        _ => false,
    };
    if !holds {
        inspection.violate("update.max_in_flight", "must be an integer or a percentage");
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("properties", &self.properties.keys().collect::<Vec<_>>())
            .field("lifecycle_errands", &self.lifecycle_errands)
            .field("instance_groups", &self.instance_groups)
            .field("update", &self.update)
            .finish()
    }
}

impl LifecycleErrands {
    /// These errands after each deployment, those before the deletion.
    pub fn new(post_deploy: Vec<LifecycleErrand>, pre_delete: Vec<LifecycleErrand>) -> Self {
        Self {
            post_deploy,
            pre_delete,
        }
    }
}

impl LifecycleErrand {
    /// An errand with an instance group of its own.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            instances: Vec::new(),
        }
    }

    /// An errand colocated on these instances.
    pub fn colocated(name: impl Into<String>, instances: Vec<String>) -> Self {
        Self {
            name: name.into(),
            instances,
        }
    }
}

impl PlanInstanceGroup {
    /// A group with what every group needs.
    pub fn new(
        name: impl Into<String>,
        vm_type: impl Into<String>,
        instances: u32,
        networks: Vec<String>,
        azs: Vec<String>,
    ) -> Self {
        Self {
            name: name.into(),
            vm_type: vm_type.into(),
            vm_extensions: Vec::new(),
            persistent_disk_type: None,
            instances,
            networks,
            azs,
            lifecycle: None,
            migrated_from: Vec::new(),
        }
    }
}

impl MigratedFrom {
    /// That earlier name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

impl PlanUpdate {
    /// An update block with the one value that the protocol demands.
    pub fn new(max_in_flight: MaxInFlight) -> Self {
        Self {
            canaries: 0,
            canary_watch_time: String::new(),
            update_watch_time: String::new(),
            max_in_flight,
            serial: None,
            initial_deploy_az_update_strategy: None,
        }
    }
}
