use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::reading::{Inspection, UnknownKeys, Violations, empty_as_none, join, null_as_default};

/// A plan in the form for adapters (`spec/contracts/adapter-protocol.md`, "Plan").
///
/// It has no id and no name. Properties may hold secrets, so formatting shows their names only. Unknown members are
/// kept at every level, in `other`.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Plan {
    /// Properties of the catalog and of the plan.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub properties: Map<String, Value>,
    /// Errands that run after a deployment and before a deletion.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<LifecycleErrands>")]
    pub lifecycle_errands: LifecycleErrands,
    /// Instance groups that the operator provides for.
    pub instance_groups: Vec<PlanInstanceGroup>,
    /// The update block to write into manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<PlanUpdate>,
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
}

/// Errands that run after a deployment and before a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct LifecycleErrands {
    /// After each deployment.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<LifecycleErrand>>")]
    pub post_deploy: Vec<LifecycleErrand>,
    /// Before the deployment is deleted.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<LifecycleErrand>>")]
    pub pre_delete: Vec<LifecycleErrand>,
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
}

/// One lifecycle errand.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct LifecycleErrand {
    /// Name of the errand's job.
    pub name: String,
    /// Where the errand runs, as `group` or `group/index-or-id`. If set, the errand is colocated there; if empty, it
    /// has its own instance group.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<String>>")]
    pub instances: Vec<String>,
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
}

/// An instance group as the plan provides for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PlanInstanceGroup {
    /// Name of the group.
    #[schemars(length(min = 1))]
    pub name: String,
    /// VM type of the cloud config.
    #[schemars(length(min = 1))]
    pub vm_type: String,
    /// VM extensions of the cloud config.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Option<Vec<String>>")]
    pub vm_extensions: Vec<String>,
    /// Disk type of the cloud config.
    #[serde(
        default,
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub persistent_disk_type: Option<String>,
    /// Number of instances, at least 1.
    #[schemars(range(min = 1))]
    pub instances: u32,
    /// Networks of the cloud config.
    pub networks: Vec<String>,
    /// Availability zones of the cloud config, at least one.
    #[schemars(length(min = 1))]
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
    #[schemars(with = "Option<Vec<MigratedFrom>>")]
    pub migrated_from: Vec<MigratedFrom>,
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
}

/// An earlier name of an instance group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct MigratedFrom {
    /// The name.
    pub name: String,
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
}

/// The update block that an operator wants in manifests of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Keys that the protocol does not know yet, kept.
    #[serde(flatten)]
    pub other: UnknownKeys,
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

/// Of a count of instances.
const TOO_BIG: &str = "must be at most 4294967295";

fn inspect_instance_group(inspection: &mut Inspection, group: &Value, path: &str) {
    let Some(group) = inspection.object(group, path) else {
        return;
    };
    inspection.required_text(group, path, "name");
    inspection.required_text(group, path, "vm_type");
    let instances = group.get("instances").and_then(Value::as_u64);
    match instances {
        None | Some(0) => {
            inspection.violate(&join(path, "instances"), "must be an integer of at least 1");
        }
        Some(instances) if instances > u64::from(u32::MAX) => {
            inspection.violate(&join(path, "instances"), TOO_BIG);
        }
        Some(_) => {}
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
    const PATH: &str = "update.max_in_flight";
    let holds = match max_in_flight {
        Some(Value::Number(number)) => match number.as_u64() {
            Some(count) if count > u64::from(u32::MAX) => {
                inspection.violate(PATH, TOO_BIG);
                return;
            }
            count => count.is_some(),
        },
        Some(Value::String(text)) => Percentage::occurs_in(text),
        _ => false,
    };
    if !holds {
        inspection.violate(PATH, "must be an integer or a percentage");
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("properties", &self.properties.keys().collect::<Vec<_>>())
            .field("lifecycle_errands", &self.lifecycle_errands)
            .field("instance_groups", &self.instance_groups)
            .field("update", &self.update)
            .finish_non_exhaustive()
    }
}

impl LifecycleErrands {
    /// These errands after each deployment, those before the deletion.
    pub fn new(post_deploy: Vec<LifecycleErrand>, pre_delete: Vec<LifecycleErrand>) -> Self {
        Self {
            post_deploy,
            pre_delete,
            other: UnknownKeys::default(),
        }
    }

    /// Every errand: those after a deployment, then those before the deletion.
    pub fn all(&self) -> impl Iterator<Item = &LifecycleErrand> {
        self.post_deploy.iter().chain(&self.pre_delete)
    }
}

impl LifecycleErrand {
    /// Names of the instance groups that the errand is colocated in, in the order of `instances`.
    pub fn instance_groups(&self) -> impl Iterator<Item = &str> {
        self.instances.iter().map(|instance| {
            instance
                .split_once('/')
                .map_or(&**instance, |(group, _)| group)
        })
    }

    /// An errand with its own instance group.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            instances: Vec::new(),
            other: UnknownKeys::default(),
        }
    }

    /// An errand colocated on these instances.
    pub fn colocated(name: impl Into<String>, instances: Vec<String>) -> Self {
        Self {
            name: name.into(),
            instances,
            other: UnknownKeys::default(),
        }
    }
}

impl PlanInstanceGroup {
    /// A group with the required members.
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
            other: UnknownKeys::default(),
        }
    }
}

impl MigratedFrom {
    /// An earlier name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            other: UnknownKeys::default(),
        }
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
            other: UnknownKeys::default(),
        }
    }
}

/// How many instances of a group are updated at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MaxInFlight {
    /// So many.
    Count(u32),
    /// So much of the group.
    Percentage(Percentage),
}

/// A share of an instance group, such as `25%`. Kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(
    description = "A share of an instance group, such as `25%`.",
    extend("pattern" = "[0-9]%")
)]
pub struct Percentage(String);

/// A text without a percentage in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an integer or a percentage")]
pub struct InvalidPercentage;

impl Percentage {
    /// The text as written to a manifest.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text is digits and a percent sign and nothing else, which a Director asks for.
    pub fn is_plain(&self) -> bool {
        self.0
            .strip_suffix('%')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    }

    /// Whether the text contains digits followed by a percent sign. The Go SDK checks nothing more, so `about 25% or
    /// so` passes (`spec/contracts/adapter-protocol.md`, "Plan").
    pub(super) fn occurs_in(text: &str) -> bool {
        text.match_indices('%')
            .any(|(at, _)| text[..at].ends_with(|c: char| c.is_ascii_digit()))
    }
}

impl TryFrom<String> for Percentage {
    type Error = InvalidPercentage;

    fn try_from(text: String) -> Result<Self, InvalidPercentage> {
        if Self::occurs_in(&text) {
            Ok(Self(text))
        } else {
            Err(InvalidPercentage)
        }
    }
}

impl From<Percentage> for String {
    fn from(percentage: Percentage) -> Self {
        percentage.0
    }
}
