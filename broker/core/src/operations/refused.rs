//! Why something is not done, whichever operation it is. `api/refused` has the answer to each.

use odb_api_types::ids::{InstanceId, PlanId};

use super::{LockTimeout, SourceError, secure_bindings::SecureBindingError};
use crate::{
    engine::{EngineError, JournalError},
    offering::{CatalogError, InvalidBinding, InvalidParameters, QuotaExceeded},
};

#[derive(Debug, thiserror::Error)]
pub enum Refused {
    // The request is invalid.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(
        "the platform did not send `accepts_incomplete=true`, and every operation takes longer than a request"
    )]
    AsyncRequired,
    #[error("`{member}` is not a JSON object")]
    NotAnObject { member: &'static str },
    #[error(transparent)]
    Parameters(#[from] InvalidParameters),

    // Not now.
    #[error(transparent)]
    Lock(#[from] LockTimeout),
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error("could not count the service instances")]
    CountSource(#[source] Box<SourceError>),
    #[error("could not count the service instances")]
    CountInstances(#[source] EngineError),

    // The instance, or its operation in progress.
    #[error(transparent)]
    Instance(#[from] EngineError),
    #[error(transparent)]
    Journal(#[from] JournalError),

    // Bindings.
    #[error("the service does not support bindings of backup agents")]
    BackupAgent,
    #[error(
        "the request names neither an application nor a `credential_client_id` that could read credentials in the runtime \
         CredHub"
    )]
    NoReader,
    #[error(
        "the ids of service instance and binding cannot be part of a name in CredHub: they are too long together, or have a `~`"
    )]
    UnstorableIds,
    #[error("the binding exists, made by another request")]
    BindingTaken,
    #[error("the runtime CredHub does not have the binding")]
    NoSuchBinding,
    #[error(transparent)]
    InvalidBinding(#[from] InvalidBinding),
    #[error("could not find out whether the binding exists")]
    LookUpBinding(#[source] SecureBindingError),
    #[error("the credentials could not be handed out through the runtime CredHub")]
    KeepBinding(#[source] SecureBindingError),
    #[error(
        "the service does not have the binding, but the runtime CredHub may still have its credentials"
    )]
    RemoveBinding(#[source] SecureBindingError),

    // Which instances there are.
    #[error(
        "cannot list service instances: neither `cf` nor `service_instances_api` is configured"
    )]
    NoSource,
    #[error(transparent)]
    Source(Box<SourceError>),
    #[error("the service instances API has no organizations to filter by")]
    NoOrganizations,
    #[error("unknown plan `{name}`; available: {}", available.join(", "))]
    UnknownPlan {
        name: String,
        available: Vec<String>,
    },
    #[error("neither the platform nor the Director knows the service instance")]
    UnknownInstance,
    #[error("the Cloud Controller knows no plan of the offering: is the broker registered there?")]
    NotRegistered,

    // The deletion of an orphan.
    #[error("the platform has service instance `{0}`: its deployment is not an orphan")]
    NoOrphan(InstanceId),
    #[error(
        "the deployment of service instance `{0}` is unmarked and may belong to another broker"
    )]
    Unmarked(InstanceId),
    #[error(
        "operation records cannot be read, so that it is not known whether another broker has marked the deployment of service instance \
         `{0}`"
    )]
    MarksUnreadable(InstanceId),
    #[error(
        "the plan of the unmarked deployment of service instance `{0}` is unknown, and plans of the offering have pre-delete \
         errands"
    )]
    OrphanPlanUnknown(InstanceId),
    #[error("the offering has no plan `{0}`")]
    NoSuchPlan(PlanId),
    #[error("the deployment of service instance `{0}` is marked as another offering's")]
    OfAnotherBroker(InstanceId),
    #[error(
        "the platform knows no plan of this offering: the broker is not registered there, or the configuration names another \
         foundation"
    )]
    OfferingUnknown,
}

impl Refused {
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Lock(_) => true,
            Self::CountSource(error) | Self::Source(error) => error.is_timeout(),
            Self::CountInstances(error) | Self::Instance(error) => error.is_timeout(),
            Self::Journal(error) => error.is_timeout(),
            Self::LookUpBinding(error) => error.is_timeout(),
            _ => false,
        }
    }
}

// Boxed, because a result is as large as its largest error.

impl From<SourceError> for Refused {
    fn from(error: SourceError) -> Self {
        Self::Source(Box::new(error))
    }
}
