//! What the Cloud Controller has, and the JSON that both versions of its API share.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::SecretString;
use serde::Deserialize;

use super::{
    AppGuid, BindingGuid, BrokerGuid, InstanceGuid, JobGuid, OfferingGuid, OrganizationGuid,
    PlanGuid, SpaceGuid,
};
use crate::http::cut;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CfBroker {
    pub guid: BrokerGuid,
    /// No other broker has it.
    pub name: String,
    /// The broker's address for the Cloud Controller.
    pub url: String,
}

#[derive(Clone, Debug)]
pub struct BrokerRegistration {
    pub name: String,
    /// The broker's address for the Cloud Controller.
    pub url: String,
    pub username: String,
    pub password: SecretString,
}

/// A plan, as the Cloud Controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfPlan {
    pub guid: PlanGuid,
    /// The offering of one broker.
    pub offering: OfferingGuid,
    pub name: String,
    /// In the broker's catalog.
    pub unique_id: String,
}

/// A plan of one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedPlan {
    pub guid: PlanGuid,
    /// The id of its service offering in the broker's catalog. Several brokers may offer the same.
    pub offering: String,
    pub name: String,
    /// In the broker's catalog.
    pub unique_id: String,
    /// Whether the catalog still contains it. A removed plan remains while it has service instances.
    pub is_active: bool,
    /// The version of its `maintenance_info`, where it has one.
    pub maintenance_version: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanVisibility {
    /// All organizations.
    Public,
    /// Administrators alone.
    Admin,
    /// These organizations, by their ids, with their names where they are known. Never empty.
    Organizations(BTreeMap<OrganizationGuid, Option<String>>),
    /// The space that the broker belongs to. This cannot be changed.
    Space,
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedVisibility {
    /// All organizations.
    Public,
    /// Administrators alone.
    Admin,
    /// These organizations and no others. The Cloud Controller refuses an empty set.
    Organizations(BTreeSet<OrganizationGuid>),
}

impl WantedVisibility {
    /// It is already so.
    pub fn is(&self, visibility: &PlanVisibility) -> bool {
        match (self, visibility) {
            (Self::Public, PlanVisibility::Public) | (Self::Admin, PlanVisibility::Admin) => true,
            (Self::Organizations(wanted), PlanVisibility::Organizations(there)) => {
                wanted.iter().eq(there.keys())
            }
            _ => false,
        }
    }
}

/// A managed service instance, as the Cloud Controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfInstance {
    pub guid: InstanceGuid,
    /// The user's name for it, unique in its space.
    pub name: Option<String>,
    /// During an update to another plan it is the old one.
    pub plan: PlanGuid,
    pub space: SpaceGuid,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
    /// The space's name, if the query requests names and the space still exists.
    pub space_name: Option<String>,
    /// The organization that the space is in, likewise.
    pub organization: Option<OrganizationGuid>,
    /// The organization's name, likewise.
    pub organization_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfOperation {
    pub kind: CfOperationKind,
    pub state: CfOperationState,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CfOperationKind {
    Create,
    Update,
    Delete,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CfOperationState {
    /// The platform has not called the broker yet, or the broker has not answered. Version 2 of the API also reports
    /// [`CfOperationState::InProgress`] for this.
    Initial,
    #[serde(rename = "in progress")]
    InProgress,
    Succeeded,
    Failed,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfLastOperation {
    /// The instance's name, for people.
    pub name: String,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
    /// Its description; may be empty. 2 KiB at most.
    pub description: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    Done,
    /// A job is at it, and knows in the end why it failed.
    Job(JobGuid),
    /// The broker works asynchronously. Only reading the object shows the outcome.
    UnderWay,
}

/// What decides whether an instance can be upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfVersionedInstance {
    pub plan: PlanGuid,
    /// The version that the Cloud Controller takes it to be of, if it has one.
    pub version: Option<String>,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
    /// Its description; may be empty. 2 KiB at most.
    pub description: String,
    /// When it last changed, in the Cloud Controller's own notation, if reported: distinguishes one operation from the
    /// next.
    pub changed: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upgrading {
    /// The broker works on it: the last operation of the instance shows the outcome.
    Begun,
    /// There is nothing to upgrade.
    UpToDate,
    /// The broker has refused or failed at once.
    Failed {
        /// May be empty. 2 KiB at most.
        description: String,
    },
    /// The answer has an unknown state.
    Unknown {
        /// Empty if there is none.
        state: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfBinding {
    /// Version 2 has no id for a route binding; this is then the id of the route.
    pub guid: BindingGuid,
    pub kind: CfBindingKind,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CfBindingKind {
    App(AppGuid),
    /// None: it is a service key.
    Key,
    /// A route, the requests of which go through the instance.
    Route,
}

/// `{}` where there is none.
#[derive(Default, Deserialize)]
pub(super) struct MaintenanceInfo {
    pub(super) version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct PlanVersion {
    pub(super) maintenance_info: Option<MaintenanceInfo>,
}

/// The same in both versions, but that v3 has `{}` and v2 `null` where nothing is known.
#[derive(Default, Deserialize)]
pub(super) struct WireOperation {
    #[serde(rename = "type")]
    kind: Option<CfOperationKind>,
    pub(super) state: Option<CfOperationState>,
    description: Option<String>,
    updated_at: Option<String>,
}

impl WireOperation {
    pub(super) fn known(self) -> Option<CfOperation> {
        let (kind, state) = self.kind.zip(self.state)?;
        Some(CfOperation { kind, state })
    }

    pub(super) fn description(&self) -> String {
        cut(self.description.as_deref().unwrap_or_default())
    }
}

#[derive(Deserialize)]
pub(super) struct Status {
    #[serde(default)]
    name: String,
    last_operation: Option<WireOperation>,
}

impl From<Status> for CfLastOperation {
    fn from(status: Status) -> Self {
        let reported = status.last_operation.unwrap_or_default();
        Self {
            name: status.name,
            description: reported.description(),
            last_operation: reported.known(),
        }
    }
}

/// An instance with what its public forms need.
pub(super) struct Found {
    pub(super) instance: CfInstance,
    version: Option<String>,
    description: String,
    changed: Option<String>,
}

impl Found {
    pub(super) fn of(
        (guid, name): (InstanceGuid, Option<String>),
        plan: PlanGuid,
        space: SpaceGuid,
        info: Option<MaintenanceInfo>,
        reported: Option<WireOperation>,
    ) -> Self {
        let reported = reported.unwrap_or_default();
        Self {
            version: info.and_then(|info| info.version),
            description: reported.description(),
            changed: reported.updated_at.clone(),
            instance: CfInstance {
                guid,
                name,
                plan,
                space,
                last_operation: reported.known(),
                space_name: None,
                organization: None,
                organization_name: None,
            },
        }
    }
}

impl From<Found> for CfVersionedInstance {
    fn from(found: Found) -> Self {
        Self {
            plan: found.instance.plan,
            version: found.version,
            last_operation: found.instance.last_operation,
            description: found.description,
            changed: found.changed,
        }
    }
}
