//! Why a task fails, in the Director's numbers and words (`spec/contracts/director-api.md`, "Errors").

use serde_json::Value;
use uuid::Uuid;

use crate::{
    cpi::{JobName, VmError},
    director::{
        deploy::{AgentError, ManifestError},
        ids::{DeploymentName, GroupName, TaskId},
        ruby,
        variables::ReferenceError,
    },
};

/// A task's failure. The texts are a real Director's, which clients read and show.
#[derive(Debug, thiserror::Error)]
pub(in crate::director) enum TaskFailure {
    #[error("Task {0} cancelled")]
    Cancelled(TaskId),
    #[error(
        "Failed to acquire lock for lock:deployment:{deployment} uid: {uid}. Locking task id is {holder}, description: '{description}'"
    )]
    LockHeld {
        deployment: DeploymentName,
        uid: Uuid,
        holder: TaskId,
        description: String,
    },
    #[error("Required property '{property}' was not specified in object ({})", ruby::inspect(.object))]
    MissingProperty {
        property: &'static str,
        object: Value,
    },
    #[error(
        "Property '{property}' value ({}) did not match the required type '{expected}'",
        ruby::inspect(.value)
    )]
    WrongType {
        property: &'static str,
        value: Value,
        expected: &'static str,
    },
    #[error(
        "Invalid lifecycle '{lifecycle}' for '{group}', valid lifecycle profiles are: service, errand"
    )]
    InvalidLifecycle { group: GroupName, lifecycle: String },
    #[error("Release '{0}' doesn't exist")]
    NoSuchRelease(String),
    #[error("Release version '{name}/{version}' doesn't exist")]
    NoSuchReleaseVersion { name: String, version: String },
    #[error("{0}")]
    NoSuchStemcell(String),
    #[error("Instance group '{group}' references {what} '{name}'")]
    UnknownReference {
        group: GroupName,
        what: Reference,
        name: String,
    },
    #[error("Job '{job}' (instance group '{group}') references an unknown release '{release}'")]
    UnknownRelease {
        job: JobName,
        group: GroupName,
        release: String,
    },
    #[error("Job '{0}' not found in Template table")]
    NoSuchJob(JobName),
    #[error("The vm_extension '{0}' has not been configured in cloud-config.")]
    UnknownVmExtension(String),
    #[error("Failed to resolve links from deployment '{deployment}'. See errors below:\n  - {}", .errors.join("\n  - "))]
    Links {
        deployment: DeploymentName,
        errors: Vec<String>,
    },
    #[error(
        "Config Server failed to generate value for '{name}' with type '{kind}'. HTTP Code '{code}', Error: '{error}'"
    )]
    VariableGeneration {
        name: String,
        kind: String,
        code: u16,
        error: String,
    },
    #[error(
        "Failed to generate variable from config server: Director is not configured with a config server"
    )]
    ConfigServerOff,
    #[error(transparent)]
    VariableName(ReferenceError),
    #[error("Unable to render instance groups for deployment. Errors are:\n{0}")]
    Rendering(String),
    #[error(
        "Unknown CPI error 'Unknown' with message '{}' in '{method}' CPI method (CPI request ID: 'cpi-{request}')",
        chain(.source)
    )]
    Cpi {
        method: &'static str,
        request: u32,
        source: VmError,
    },
    #[error("Errand '{0}' doesn't exist")]
    NoSuchErrand(String),
    #[error("- Deployment '' doesn't exist")]
    NeverDeployed,
    #[error("No instances match selection criteria: {}", ruby::inspect(.0))]
    NoInstanceSelected(Value),
    #[error("{message}")]
    Armed { code: u32, message: String },
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error("{0}")]
    Unexpected(String),
}

/// The objects that an instance group refers to by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::director) enum Reference {
    VmType,
    Stemcell,
    DiskType,
    Network,
    AvailabilityZone,
}

impl TaskFailure {
    /// The error's number in the event log. Errors without a number have 100.
    pub(in crate::director) fn code(&self) -> u32 {
        match self {
            Self::Cancelled(_) => 10001,
            Self::NoSuchRelease(_) => 30005,
            Self::NoSuchReleaseVersion { .. } => 30006,
            Self::WrongType { .. } => 40000,
            Self::MissingProperty { .. } => 40001,
            Self::NoSuchStemcell(_) => 50003,
            Self::NeverDeployed => 70000,
            Self::NoSuchErrand(_) => 70009,
            Self::UnknownRelease { .. } => 140_002,
            Self::UnknownReference { what, .. } => what.code(),
            Self::InvalidLifecycle { .. } => 140_011,
            Self::VariableName(_) => 540_004,
            Self::VariableGeneration { .. } => 540_005,
            Self::ConfigServerOff => 540_007,
            Self::Armed { code, .. } => *code,
            Self::Manifest(fault) => fault.code(),
            Self::Agent(fault) => fault.code(),
            Self::LockHeld { .. }
            | Self::NoSuchJob(_)
            | Self::UnknownVmExtension(_)
            | Self::Links { .. }
            | Self::Rendering(_)
            | Self::Cpi { .. }
            | Self::NoInstanceSelected(_)
            | Self::Unexpected(_) => 100,
        }
    }
}

impl TaskFailure {
    /// A VM could not be made or given its files.
    pub(in crate::director) fn create_vm(source: VmError) -> Self {
        Self::cpi("create_vm", source)
    }

    /// A VM could not be deleted.
    pub(in crate::director) fn delete_vm(source: VmError) -> Self {
        Self::cpi("delete_vm", source)
    }

    fn cpi(method: &'static str, source: VmError) -> Self {
        Self::Cpi {
            method,
            request: rand::random_range(100_000..1_000_000),
            source,
        }
    }
}

impl Reference {
    fn code(self) -> u32 {
        match self {
            Self::VmType => 140_004,
            Self::Stemcell => 140_005,
            Self::DiskType => 140_012,
            Self::AvailabilityZone => 140_018,
            Self::Network => 150_001,
        }
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::VmType => "an unknown vm type",
            Self::Stemcell => "an unknown stemcell",
            Self::DiskType => "an unknown disk type",
            Self::Network => "an unknown network",
            Self::AvailabilityZone => "unknown availability zone",
        })
    }
}

/// An error with its causes in one line, as the Director shows errors of a CPI or an agent.
pub(in crate::director) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
