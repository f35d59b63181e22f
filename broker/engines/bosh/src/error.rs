//! Errors of all operations on instances.

use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use odb_api_types::{code::Code, ids::PlanId};
use odb_clients::{
    InvalidText, ServiceError,
    director::{PutConfigError, SubmitError},
};
use odb_core::engine::{EngineError, EngineErrorKind};

use crate::{
    adapter::AdapterError,
    bindings::dns::NoLink,
    instance_clients::ClientError,
    manifest::{
        checks::ManifestError,
        difference::{ManifestDifference, UnreadableManifest},
    },
    reconciler::residual_resources::CleanupError,
    records::operation_records::{ReadRecordError, WriteRecordError},
    secrets::{ResolveError, SecretError},
};

/// Errors before an operation is submitted, for every kind of operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The service adapter gave no answer, or none that can be used.
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    /// The adapter's manifest may not be deployed.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The adapter returned configs though they are switched off.
    #[error(
        "the adapter returned BOSH configs, but `broker.disable_bosh_configs` is set, or the Director does not let us write them"
    )]
    ConfigsDisabled,
    /// The adapter returned a config of a type that cannot be.
    #[error("the adapter returned a BOSH config whose type cannot be used")]
    ConfigType(#[source] InvalidText),
    /// A config of the adapter was not written.
    #[error("could not write a BOSH config of the adapter")]
    WriteConfig {
        /// Why.
        #[source]
        source: PutConfigError,
    },
    /// The Director did not answer, or rejected the request.
    #[error("could not {action}")]
    Director {
        /// The attempted action.
        action: &'static str,
        /// The Director's error, or the lack of an answer.
        #[source]
        source: ServiceError,
    },
    /// The adapter's secrets cannot be kept.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The Director's CredHub did not answer, or rejected the request.
    #[error("could not {action}")]
    CredHub {
        /// The attempted action.
        action: &'static str,
        /// CredHub's error, or the lack of an answer.
        #[source]
        source: ServiceError,
    },
    /// The secrets of the instance are not known.
    #[error("could not find out what the deployed manifest refers to")]
    Resolve(#[from] ResolveError),
    /// The plan's bindings need an address that the deployment does not have.
    #[error(transparent)]
    NoLink(#[from] NoLink),
    /// The instance is deleted, but residual resources remain.
    #[error("could not remove what the instance leaves behind")]
    Residues {
        /// Why.
        #[source]
        source: CleanupError,
    },
    /// Something is wrong with the instance's UAA client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The Director did not take the work.
    #[error("could not submit the work to the Director")]
    Submit(#[source] SubmitError),
    /// The operation record could not be read.
    #[error(transparent)]
    ReadRecord(#[from] ReadRecordError),
    /// The operation could not be written down.
    #[error(transparent)]
    OperationRecord(#[from] WriteRecordError),
    /// The time of the request was used up before anything was submitted.
    #[error("the time of the request was used up before the work was submitted to the Director")]
    OutOfTime,
    /// The deployment's name belongs to another team.
    #[error("the deployment belongs to another team of the Director")]
    Foreign,
    /// Another operation is in progress.
    #[error("another operation on the service instance is in progress")]
    Busy,
    /// There is no such instance.
    #[error("the service instance has no deployment")]
    NotFound,
    /// An instance with other attributes has the id.
    #[error("the service instance exists with other attributes, or its creation has failed")]
    Taken,
    /// The deployed manifest cannot be compared with a new one.
    #[error("could not check for pending changes")]
    Compare(#[from] UnreadableManifest),
    /// The update would include pending changes of the operator.
    #[error("the operator has changed the service since the instance was deployed: {difference}")]
    PendingChanges {
        /// The locations, without values that may be secret.
        difference: ManifestDifference,
    },
    /// The plan is no longer in the configuration.
    #[error("the plan `{plan}` is not in the configuration")]
    UnknownPlan {
        /// The plan's id.
        plan: PlanId,
    },
}

impl Error {
    pub(crate) fn director(action: &'static str) -> impl FnOnce(ServiceError) -> Self {
        move |source| Self::Director { action, source }
    }

    pub(crate) fn credhub(action: &'static str) -> impl FnOnce(ServiceError) -> Self {
        move |source| Self::CredHub { action, source }
    }

    /// A secret or a config of the instance was sent, and may be there or arrive late.
    pub(crate) fn may_have_written(&self) -> bool {
        match self {
            Self::CredHub { source, .. }
            | Self::WriteConfig {
                source: PutConfigError::Director { source },
            } => source.may_have_taken_effect(),
            _ => false,
        }
    }

    /// The kind, which decides the answer to a request.
    fn kind(&self) -> EngineErrorKind {
        match self {
            _ if self.is_timeout() => EngineErrorKind::OutOfTime,
            Self::Adapter(error) => kind_of_adapter(error),
            Self::Manifest(_)
            | Self::Secret(_)
            | Self::Compare(_)
            | Self::ConfigsDisabled
            | Self::ConfigType(_) => EngineErrorKind::Internal(Code::Manifest),
            Self::NoLink(_) => EngineErrorKind::Internal(Code::DnsLink),
            Self::ReadRecord(ReadRecordError::NotUnderstood { .. }) => {
                EngineErrorKind::Internal(Code::OperationRecord)
            }
            Self::Director { .. } => EngineErrorKind::Unavailable(Code::Director),
            Self::OutOfTime
            | Self::WriteConfig { .. }
            | Self::Submit(_)
            | Self::ReadRecord(_)
            | Self::Resolve(ResolveError::Variables(_))
            | Self::OperationRecord(_) => EngineErrorKind::Internal(Code::Director),
            Self::CredHub { .. } | Self::Resolve(ResolveError::CredHub { .. }) => {
                EngineErrorKind::Internal(Code::CredHub)
            }
            Self::Client(ClientError::Foreign) => EngineErrorKind::Foreign(Code::InstanceClient),
            Self::Client(_) => EngineErrorKind::Internal(Code::InstanceClient),
            Self::Residues { .. } => EngineErrorKind::CleanUp,
            Self::Foreign => EngineErrorKind::Foreign(Code::ForeignDeployment),
            Self::Busy => EngineErrorKind::Busy,
            Self::NotFound => EngineErrorKind::NotFound,
            Self::Taken => EngineErrorKind::Taken,
            Self::PendingChanges { .. } => EngineErrorKind::PendingChanges,
            Self::UnknownPlan { .. } => EngineErrorKind::UnknownPlan,
        }
    }

    /// The same for a creation, whose user expects a dashboard.
    pub(crate) fn of_creation(self) -> EngineError {
        let kind = match &self {
            Self::Adapter(AdapterError::Failed {
                code: ExitCode::Failure | ExitCode::Other(_),
                for_user: Some(for_user),
                ..
            }) => EngineErrorKind::UserMessage(for_user.clone()),
            _ => self.kind(),
        };
        EngineError::new(kind, self)
    }

    /// The time of the request was used up, wherever that was noticed, and nothing was submitted.
    fn is_timeout(&self) -> bool {
        match self {
            Self::OutOfTime => true,
            Self::Resolve(ResolveError::CredHub { source, .. }) => source.is_timeout(),
            Self::Client(error) => error.is_timeout(),
            Self::Director { source, .. }
            | Self::CredHub { source, .. }
            | Self::Resolve(ResolveError::Variables(source))
            | Self::WriteConfig {
                source: PutConfigError::Director { source },
            }
            | Self::Submit(SubmitError::NotSent { source })
            | Self::OperationRecord(WriteRecordError::Director(source))
            | Self::ReadRecord(ReadRecordError::Director(source)) => source.is_timeout(),
            Self::Adapter(_)
            | Self::Manifest(_)
            | Self::ConfigsDisabled
            | Self::ConfigType(_)
            | Self::WriteConfig { .. }
            | Self::Secret(_)
            | Self::NoLink(_)
            | Self::Residues { .. }
            | Self::Submit(_)
            | Self::OperationRecord(_)
            | Self::ReadRecord(_)
            | Self::Foreign
            | Self::Busy
            | Self::NotFound
            | Self::Taken
            | Self::Compare(_)
            | Self::PendingChanges { .. }
            | Self::UnknownPlan { .. } => false,
        }
    }
}

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error)
    }
}

fn kind_of_adapter(error: &AdapterError) -> EngineErrorKind {
    match error {
        AdapterError::Start { .. } | AdapterError::ArgumentsTooLong { .. } => {
            EngineErrorKind::Internal(Code::AdapterStart)
        }
        AdapterError::Hung { .. } => EngineErrorKind::TimedOut(Code::AdapterHung),
        AdapterError::NoLocation { .. } => EngineErrorKind::OutOfTime,
        AdapterError::TooMuchOutput { .. } => EngineErrorKind::Internal(Code::AdapterOutput),
        AdapterError::Answer {
            call: Subcommand::CreateBinding,
            ..
        } => EngineErrorKind::UnusableBinding(Code::AdapterAnswer),
        AdapterError::Read { .. } | AdapterError::Answer { .. } => {
            EngineErrorKind::Internal(Code::AdapterAnswer)
        }
        AdapterError::Failed {
            call,
            code,
            for_user,
            ..
        } => kind_of_failed_adapter(*call, *code, for_user.as_deref()),
    }
}

/// The meaning of an exit code depends on the adapter call (`spec/contracts/adapter-protocol.md` §1.6). A code that
/// does not belong to the call is an error for the operator: an order must not look like one for an existing instance
/// because of a dashboard. An error about the dashboard of an existing instance is not the user's, either.
fn kind_of_failed_adapter(
    call: Subcommand,
    code: ExitCode,
    for_user: Option<&str>,
) -> EngineErrorKind {
    match (call, code, for_user) {
        (Subcommand::CreateBinding, ExitCode::BindingExists, _) => EngineErrorKind::BindingExists,
        (Subcommand::CreateBinding, ExitCode::AppGuidRequired, _) => EngineErrorKind::AppRequired,
        (Subcommand::DeleteBinding, ExitCode::BindingNotFound, _) => {
            EngineErrorKind::UnknownBinding
        }
        (call, ExitCode::Failure | ExitCode::Other(_), Some(for_user))
            if call != Subcommand::DashboardUrl =>
        {
            EngineErrorKind::UserMessage(for_user.to_owned())
        }
        _ => EngineErrorKind::Internal(Code::AdapterFailed),
    }
}
