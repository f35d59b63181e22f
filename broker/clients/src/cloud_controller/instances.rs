//! Service instances in the Cloud Controller: their attributes, dependent objects and operations.

use serde::Deserialize;

use super::{
    AppGuid, BindingGuid, InstanceGuid, JobGuid, OrganizationGuid, PlanGuid, SpaceGuid,
    jobs::Accepted,
};
use crate::http::cut;

/// A managed service instance, as the Cloud Controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfInstance {
    /// The instance id.
    pub guid: InstanceGuid,
    /// The plan. During an update to another plan it is the old one.
    pub plan: PlanGuid,
    /// The space.
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

/// The last operation on a service instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfOperation {
    /// What.
    pub kind: CfOperationKind,
    /// How far it is.
    pub state: CfOperationState,
}

/// The kind of an operation on a service instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CfOperationKind {
    /// It was ordered.
    Create,
    /// It was changed.
    Update,
    /// It was given up.
    Delete,
    /// Something that this client does not know.
    Unknown(String),
}

/// How far an operation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CfOperationState {
    /// The platform has not called the broker yet, or the broker has not answered. Version 2 of the API also reports
    /// [`CfOperationState::InProgress`] for this.
    Initial,
    /// The broker is at it.
    InProgress,
    /// It ended well.
    Succeeded,
    /// It failed.
    Failed,
    /// A state that this client does not know.
    Unknown(String),
}

/// The state of a service instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfLastOperation {
    /// Its name, for people.
    pub name: String,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
    /// Its description; may be empty. 2 KiB at most.
    pub description: String,
}

/// A binding of a service instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfBinding {
    /// Its id. Version 2 has no id for a route binding; this is then the id of the route.
    pub guid: BindingGuid,
    /// The consumer of the binding.
    pub kind: CfBindingKind,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
}

/// The consumer of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CfBindingKind {
    /// An application.
    App(AppGuid),
    /// None: it is a service key.
    Key,
    /// A route, the requests of which go through the instance.
    Route,
}

/// The result of a deletion request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone.
    Done,
    /// A job is at it, and knows in the end why it failed.
    Job(JobGuid),
    /// The broker works asynchronously. Only reading the object shows the outcome.
    UnderWay,
}

/// What decides whether an instance can be upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfVersionedInstance {
    /// Its plan.
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

/// The result of an upgrade request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upgrading {
    /// The broker works on it: the last operation of the instance shows the outcome.
    Begun,
    /// There is nothing to upgrade.
    UpToDate,
    /// The broker has refused or failed at once.
    Failed {
        /// Its description; may be empty. 2 KiB at most.
        description: String,
    },
    /// The answer has an unknown state.
    Unknown {
        /// The state; empty if there is none.
        state: String,
    },
}

impl From<Accepted> for Deletion {
    fn from(accepted: Accepted) -> Self {
        match accepted {
            Accepted::Done { .. } => Self::Done,
            Accepted::Job(job) => Self::Job(job),
        }
    }
}

/// The same in both versions, but that v3 has `{}` and v2 `null` where nothing is known.
#[derive(Deserialize)]
pub(super) struct WireOperation {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) state: Option<String>,
}

impl WireOperation {
    pub(super) fn known(self) -> Option<CfOperation> {
        let (kind, state) = self.kind.zip(self.state)?;
        Some(CfOperation {
            kind: match kind.as_str() {
                "create" => CfOperationKind::Create,
                "update" => CfOperationKind::Update,
                "delete" => CfOperationKind::Delete,
                _ => CfOperationKind::Unknown(kind),
            },
            state: match state.as_str() {
                "initial" => CfOperationState::Initial,
                "in progress" => CfOperationState::InProgress,
                "succeeded" => CfOperationState::Succeeded,
                "failed" => CfOperationState::Failed,
                _ => CfOperationState::Unknown(state),
            },
        })
    }
}

/// The instance in the answers of both versions.
#[derive(Deserialize)]
pub(super) struct WireInstanceStatus {
    #[serde(default)]
    name: String,
    #[serde(default)]
    last_operation: Option<WireLastOperation>,
}

#[derive(Deserialize)]
struct WireLastOperation {
    #[serde(flatten)]
    operation: WireOperation,
    description: Option<String>,
}

impl From<WireInstanceStatus> for CfLastOperation {
    fn from(wire: WireInstanceStatus) -> Self {
        let (last_operation, description) = wire.last_operation.map_or((None, None), |last| {
            (last.operation.known(), last.description)
        });
        Self {
            name: wire.name,
            last_operation,
            description: cut(&description.unwrap_or_default()),
        }
    }
}

/// `{}` where there is none.
#[derive(Default, Deserialize)]
pub(super) struct MaintenanceInfo {
    pub(super) version: Option<String>,
}

/// `last_operation` with its description.
#[derive(Default, Deserialize)]
pub(super) struct ReportedOperation {
    #[serde(rename = "type")]
    kind: Option<String>,
    pub(super) state: Option<String>,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
}

impl CfVersionedInstance {
    pub(super) fn of(
        plan: PlanGuid,
        info: Option<MaintenanceInfo>,
        reported: Option<ReportedOperation>,
    ) -> Self {
        let ReportedOperation {
            kind,
            state,
            description,
            updated_at,
        } = reported.unwrap_or_default();
        Self {
            plan,
            version: info.and_then(|info| info.version),
            last_operation: WireOperation { kind, state }.known(),
            description: cut(&description.unwrap_or_default()),
            changed: updated_at,
        }
    }
}

/// The body of an upgrade request, in both versions.
pub(super) fn wanted(version: &str) -> serde_json::Value {
    serde_json::json!({ "maintenance_info": { "version": version } })
}
