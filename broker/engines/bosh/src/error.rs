//! Errors of all operations on instances.

use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use odb_api_types::{code::Code, ids::PlanId};
use odb_clients::{
    FailureKind, InvalidText, ServiceError,
    director::{DeploymentName, PutConfigError, SubmitError, TaskId},
};
use odb_core::engine::{EngineError, EngineErrorKind};

use crate::{
    adapter::AdapterError,
    instance_clients::ClientError,
    manifest::difference::{ManifestDifference, UnreadableManifest},
    reconciler::cleanup::CleanupError,
    records::operation_record::RecordError,
};

/// Errors before an operation is submitted, for every kind of operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    /// It is no YAML, or no manifest. Reported by line and column, because a manifest holds secrets.
    #[error("the adapter's manifest cannot be read: {error}")]
    ManifestUnreadable { error: String },
    #[error("the adapter's manifest is named `{found}`; it must be `{expected}`")]
    WrongName {
        found: String,
        expected: DeploymentName,
    },
    /// It would deploy another version tomorrow than today.
    #[error(
        "the adapter's manifest asks for {what} `{name}` in version `{version}`; exact versions are needed"
    )]
    FloatingVersion {
        what: &'static str,
        name: String,
        version: String,
    },
    #[error(
        "the adapter returned BOSH configs, but `broker.disable_bosh_configs` is set, or the Director does not permit the broker to write them"
    )]
    ConfigsDisabled,
    #[error("the adapter returned a BOSH config whose type cannot be used")]
    ConfigType(#[source] InvalidText),
    #[error("could not write a BOSH config of the adapter")]
    WriteConfig { source: PutConfigError },
    #[error("could not {action}")]
    Director {
        action: &'static str,
        source: ServiceError,
    },
    /// The Director would refuse the placeholder, late and without saying why.
    #[error(
        "the adapter's manifest has `((odb_secret:{name}))`, but no secret of that name came with it"
    )]
    SecretMissing { name: String },
    #[error(
        "the adapter's secret `{name}` is {found}; it must be a text that is not empty, or an object"
    )]
    SecretKind { name: String, found: &'static str },
    #[error(
        "the adapter's secrets `{one}` and `{other}` differ in case only, which CredHub ignores: give one of them another name"
    )]
    SecretsSameButForCase { one: String, other: String },
    /// It could be written, and no manifest could refer to it.
    #[error(
        "the adapter's secret would be `{path}`, to which no manifest can refer: the Director takes letters, digits, `-`, `_` \
         and slashes; change its name, or the id of offering or instance"
    )]
    SecretUnreferable { path: String },
    #[error("cannot store the adapter's secret")]
    SecretName(#[from] InvalidText),
    #[error("could not {action}")]
    CredHub {
        action: &'static str,
        source: ServiceError,
    },
    #[error(
        "could not find out what the deployed manifest refers to: could not read the variables of the deployment"
    )]
    Variables(#[source] ServiceError),
    #[error(
        "could not find out what the deployed manifest refers to: could not read the secret behind `{reference}`"
    )]
    Reference {
        reference: String,
        source: ServiceError,
    },
    /// The plan's bindings need an address that the deployment does not have.
    #[error(
        "`binding_with_dns` entry `{entry}` asks for link provider `{provider}` of instance group `{group}`, which {problem}"
    )]
    NoLink {
        entry: String,
        provider: String,
        group: String,
        problem: &'static str,
    },
    /// The instance is deleted, but residual resources remain.
    #[error("could not remove what the instance leaves behind")]
    Residues { source: CleanupError },
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("could not submit the work to the Director")]
    Submit(#[source] SubmitError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("the time of the request was used up before the work was submitted to the Director")]
    OutOfTime,
    #[error("the deployment belongs to another team of the Director")]
    Foreign,
    #[error("another operation on the service instance is in progress")]
    Busy,
    #[error("the service instance has no deployment")]
    NotFound,
    #[error("the service instance exists with other attributes, or its creation has failed")]
    Taken,
    #[error("could not check for pending changes")]
    Compare(#[from] UnreadableManifest),
    /// The update would include pending changes of the operator. Values that may be secret are left out.
    #[error("the operator has changed the service since the instance was deployed: {difference}")]
    PendingChanges { difference: ManifestDifference },
    #[error("the plan `{plan}` is not in the configuration")]
    UnknownPlan { plan: PlanId },
    #[error("no operation on the service instance is in progress")]
    NothingInProgress,
    /// A deleted deployment cannot be restored.
    #[error("the deployment is already deleted, and its other resources are being deleted")]
    TooLateToCancel,
    /// Another process works on it, or the operation has no record.
    #[error(
        "the Director's task {task} locks the deployment, and no recorded operation of this broker started it"
    )]
    Unrecorded { task: TaskId },
    #[error("another request changed the operation each time it was to be cancelled")]
    Unsteady,
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
            Self::ManifestUnreadable { .. }
            | Self::WrongName { .. }
            | Self::FloatingVersion { .. }
            | Self::SecretMissing { .. }
            | Self::SecretKind { .. }
            | Self::SecretsSameButForCase { .. }
            | Self::SecretUnreferable { .. }
            | Self::SecretName(_)
            | Self::Compare(_)
            | Self::ConfigsDisabled
            | Self::ConfigType(_) => EngineErrorKind::Internal(Code::Manifest),
            Self::NoLink { .. } => EngineErrorKind::Internal(Code::DnsLink),
            Self::Record(RecordError::NotUnderstood { .. }) => {
                EngineErrorKind::Internal(Code::OperationRecord)
            }
            Self::Director { .. } => EngineErrorKind::Unavailable(Code::Director),
            Self::OutOfTime
            | Self::WriteConfig { .. }
            | Self::Submit(_)
            | Self::Variables(_)
            | Self::Record(_) => EngineErrorKind::Internal(Code::Director),
            Self::CredHub { .. } | Self::Reference { .. } => {
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
            Self::NothingInProgress => EngineErrorKind::NothingInProgress,
            Self::TooLateToCancel => EngineErrorKind::NotCancellable(
                "The operation can no longer be cancelled: the deployment is already deleted, and its other resources are being deleted."
                    .to_owned(),
            ),
            Self::Unrecorded { task } => EngineErrorKind::NotCancellable(format!(
                "Task {task} of the Director locks the service instance, and no recorded operation of the broker started it. If \
                 that task is not needed, cancel it at the Director: bosh cancel-task {task}."
            )),
            Self::Unsteady => EngineErrorKind::NotCancellable(
                "Another request changed the operation each time it was to be cancelled. Try again in a moment."
                    .to_owned(),
            ),
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
            Self::Client(error) => error.source_of_uaa().is_some_and(ServiceError::is_timeout),
            Self::Director { source, .. }
            | Self::CredHub { source, .. }
            | Self::Variables(source)
            | Self::Reference { source, .. }
            | Self::WriteConfig {
                source: PutConfigError::Director { source },
            }
            | Self::Submit(SubmitError::NotSent { source })
            | Self::Record(RecordError::Read(source) | RecordError::Write(source)) => {
                source.is_timeout()
            }
            _ => false,
        }
    }
}

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error)
    }
}

/// The Director knows the broker and does not let it.
pub(crate) fn is_not_allowed(error: &ServiceError) -> bool {
    matches!(error.kind, FailureKind::NotAllowed { .. })
}

fn kind_of_adapter(error: &AdapterError) -> EngineErrorKind {
    let code = error.code();
    match error {
        AdapterError::Hung { .. } => EngineErrorKind::TimedOut(code),
        AdapterError::NoLocation { .. } => EngineErrorKind::OutOfTime,
        AdapterError::Answer {
            call: Subcommand::CreateBinding,
            ..
        } => EngineErrorKind::UnusableBinding(code),
        AdapterError::Start { .. }
        | AdapterError::ArgumentsTooLong { .. }
        | AdapterError::TooMuchOutput { .. }
        | AdapterError::Read { .. }
        | AdapterError::Answer { .. } => EngineErrorKind::Internal(code),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_dashboard_has_a_message_for_the_user_of_a_creation_only() {
        let message = EngineErrorKind::UserMessage("no such size".to_owned());
        let internal = EngineErrorKind::Internal(Code::AdapterFailed);
        for (call, code, of_update, of_creation) in [
            (
                Subcommand::DashboardUrl,
                ExitCode::Failure,
                &internal,
                &message,
            ),
            (
                Subcommand::DashboardUrl,
                ExitCode::Other(7),
                &internal,
                &message,
            ),
            (
                Subcommand::DashboardUrl,
                ExitCode::BindingExists,
                &internal,
                &internal,
            ),
            (
                Subcommand::GenerateManifest,
                ExitCode::Failure,
                &message,
                &message,
            ),
            (
                Subcommand::GenerateManifest,
                ExitCode::Other(7),
                &message,
                &message,
            ),
            (
                Subcommand::GenerateManifest,
                ExitCode::BindingExists,
                &internal,
                &internal,
            ),
        ] {
            let failed = || {
                Error::Adapter(AdapterError::Failed {
                    call,
                    code,
                    status: "exit status: 1".to_owned(),
                    for_user: Some("no such size".to_owned()),
                    last_words: None,
                })
            };
            assert_eq!(
                EngineError::from(failed()).kind(),
                of_update,
                "{call} {code:?}"
            );
            assert_eq!(
                failed().of_creation().kind(),
                of_creation,
                "{call} {code:?}"
            );
        }
    }
}
