//! The parts of the Cloud Controller's answers that these commands use (`spec/contracts/platform-apis.md`, "Cloud
//! Controller v3").

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One kind of guid per kind of resource: a plan's does not compile where an instance's is wanted.
macro_rules! guid {
    ($($(#[$about:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
        #[serde(transparent)]
        pub(super) struct $name(String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

guid!(
    OrganizationGuid,
    SpaceGuid,
    AppGuid,
    BrokerGuid,
    OfferingGuid,
    PlanGuid,
    InstanceGuid,
    BindingGuid
);

/// One page of a list.
#[derive(Debug, Deserialize)]
pub(super) struct Page<T> {
    pub(super) pagination: Pagination,
    pub(super) resources: Vec<T>,
    #[serde(default)]
    pub(super) included: Included,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pagination {
    pub(super) next: Option<Link>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Link {
    pub(super) href: String,
}

/// Resources that come along with those that were asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the API's names")]
pub(super) struct Included {
    pub(super) service_plans: Vec<Plan>,
    pub(super) service_offerings: Vec<Offering>,
    pub(super) service_brokers: Vec<IncludedBroker>,
}

/// A service broker that comes along; its guid does so only where `fields` asked for it.
#[derive(Debug, Deserialize)]
pub(super) struct IncludedBroker {
    guid: Option<BrokerGuid>,
    pub(super) name: String,
}

impl Included {
    pub(super) fn append(&mut self, mut other: Self) {
        self.service_plans.append(&mut other.service_plans);
        self.service_offerings.append(&mut other.service_offerings);
        self.service_brokers.append(&mut other.service_brokers);
    }

    pub(super) fn plan(&self, guid: &PlanGuid) -> Option<&Plan> {
        self.service_plans.iter().find(|plan| &plan.guid == guid)
    }

    pub(super) fn offering(&self, guid: &OfferingGuid) -> Option<&Offering> {
        self.service_offerings
            .iter()
            .find(|offering| &offering.guid == guid)
    }

    pub(super) fn broker(&self, guid: &BrokerGuid) -> Option<&IncludedBroker> {
        self.service_brokers
            .iter()
            .find(|broker| broker.guid.as_ref() == Some(guid))
    }
}

/// The other end of a relationship.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct To<Guid> {
    data: Related<Guid>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Related<Guid> {
    guid: Guid,
}

impl<Guid> To<Guid> {
    pub(super) fn new(guid: Guid) -> Self {
        Self {
            data: Related { guid },
        }
    }

    pub(super) fn guid(&self) -> &Guid {
        &self.data.guid
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Organization {
    pub(super) guid: OrganizationGuid,
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Space {
    pub(super) guid: SpaceGuid,
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct App {
    pub(super) guid: AppGuid,
}

#[derive(Debug, Deserialize)]
pub(super) struct Broker {
    pub(super) guid: BrokerGuid,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) url: String,
}

/// The visibility of a plan.
#[derive(Debug, Deserialize)]
pub(super) struct Visibility {
    #[serde(default)]
    pub(super) organizations: Vec<Organization>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Offering {
    pub(super) guid: OfferingGuid,
    pub(super) name: String,
    pub(super) relationships: Option<OfferingRelationships>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OfferingRelationships {
    pub(super) service_broker: To<BrokerGuid>,
}

/// A plan. An included plan has only the members of `fields`.
#[derive(Debug, Deserialize)]
pub(super) struct Plan {
    pub(super) guid: PlanGuid,
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) free: Option<bool>,
    /// `public`, `organization`, `space` or `admin`.
    #[serde(default)]
    pub(super) visibility_type: String,
    #[serde(default)]
    pub(super) maintenance_info: MaintenanceInfo,
    pub(super) relationships: Option<PlanRelationships>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PlanRelationships {
    pub(super) service_offering: To<OfferingGuid>,
}

/// `{}` where there is none.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct MaintenanceInfo {
    pub(super) version: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Instance {
    pub(super) guid: InstanceGuid,
    pub(super) name: String,
    #[serde(default)]
    pub(super) last_operation: LastOperation,
    #[serde(default)]
    pub(super) maintenance_info: MaintenanceInfo,
    #[serde(default)]
    pub(super) upgrade_available: bool,
    pub(super) dashboard_url: Option<String>,
    pub(super) relationships: InstanceRelationships,
}

impl Instance {
    /// The plan; a user-provided service instance has none.
    pub(super) fn plan(&self) -> Option<&PlanGuid> {
        self.relationships.service_plan.as_ref().map(To::guid)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct InstanceRelationships {
    pub(super) service_plan: Option<To<PlanGuid>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Binding {
    pub(super) guid: BindingGuid,
}

/// The credentials of a binding, shown only to its owner.
#[derive(Deserialize)]
pub(super) struct BindingDetails {
    pub(super) credentials: Box<serde_json::value::RawValue>,
}

/// Anything that operations are performed on.
#[derive(Debug, Deserialize)]
pub(super) struct Operated {
    #[serde(default)]
    pub(super) last_operation: LastOperation,
}

/// The latest operation; `{}` where it is not known.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LastOperation {
    #[serde(rename = "type")]
    pub(super) kind: Option<OperationKind>,
    pub(super) state: Option<OperationState>,
    pub(super) description: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OperationKind {
    Create,
    Update,
    Delete,
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum OperationState {
    #[serde(rename = "initial")]
    Initial,
    #[serde(rename = "in progress")]
    InProgress,
    #[serde(rename = "succeeded")]
    Succeeded,
    #[serde(rename = "failed")]
    Failed,
    #[serde(other)]
    Unknown,
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Unknown => "operation",
        })
    }
}

impl fmt::Display for OperationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initial => "accepted",
            Self::InProgress => "in progress",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "in an unknown state",
        })
    }
}

/// `create in progress`; nothing when no operation is known.
impl fmt::Display for LastOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.state) {
            (Some(kind), Some(state)) => write!(f, "{kind} {state}"),
            _ => Ok(()),
        }
    }
}

impl LastOperation {
    /// True when the broker is done with it.
    pub(super) fn has_ended(&self) -> bool {
        matches!(
            self.state,
            Some(OperationState::Succeeded | OperationState::Failed)
        )
    }

    /// The broker's description.
    pub(super) fn description(&self) -> Option<&str> {
        self.description
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Job {
    pub(super) operation: JobOperation,
    pub(super) state: JobState,
    #[serde(default)]
    pub(super) errors: Vec<ApiError>,
    #[serde(default)]
    pub(super) warnings: Vec<Warning>,
    #[serde(default)]
    links: BTreeMap<String, Link>,
}

/// The state of a job, as far as these commands distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum JobOperation {
    #[serde(rename = "service_instance.create")]
    CreateInstance,
    #[serde(rename = "service_instance.delete")]
    DeleteInstance,
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum JobState {
    Processing,
    Polling,
    Complete,
    Failed,
}

#[derive(Debug, Deserialize)]
pub(super) struct Warning {
    pub(super) detail: String,
}

impl Job {
    /// The service instance or binding that the job works on; linked while it exists.
    pub(super) fn operated(&self) -> Option<&Link> {
        [
            "service_instances",
            "service_instance",
            "service_credential_binding",
        ]
        .iter()
        .find_map(|kind| self.links.get(*kind))
    }
}

/// The body of an error.
#[derive(Debug, Deserialize)]
pub(super) struct Errors {
    pub(super) errors: Vec<ApiError>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ApiError {
    pub(super) code: i64,
    pub(super) title: String,
    pub(super) detail: String,
}
