//! Errors with hints.

use std::path::PathBuf;

use reqwest::StatusCode;
use thiserror::Error;

use super::{
    client::ClientError,
    foundation::FoundationError,
    job::{JobError, JobOperation},
    lookup::Available,
};

/// Why a command failed.
#[derive(Debug, Error)]
pub(super) enum CfError {
    #[error(transparent)]
    Foundation(#[from] FoundationError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Job(#[from] JobError),
    #[error("service broker `{0}` not found")]
    NoBroker(String),
    #[error("organization `{0}` not found{1}")]
    NoOrganization(String, Available),
    #[error("space `{0}` not found{1}")]
    NoSpace(String, Available),
    #[error("app `{0}` not found{1}")]
    NoApp(String, Available),
    #[error("unknown offering `{0}`{1}")]
    NoOffering(String, Available),
    #[error("more than one service broker has an offering `{0}`")]
    AmbiguousOffering(String),
    #[error("unknown plan `{plan}` of offering `{offering}`{available}")]
    NoPlan {
        offering: String,
        plan: String,
        available: Available,
    },
    #[error("{brokers} service brokers have a plan `{plan}` of an offering `{offering}`")]
    AmbiguousPlan {
        offering: String,
        plan: String,
        brokers: usize,
    },
    #[error("unknown plan `{0}`{1}")]
    NoOtherPlan(String, Available),
    #[error("service instance `{0}` not found{1}")]
    NoInstance(String, Available),
    #[error("service instance `{instance}` has no key `{key}`")]
    NoKey { instance: String, key: String },
    #[error("parameters must be a JSON object, or a file that holds one")]
    Parameters {
        #[source]
        source: serde_json::Error,
    },
    #[error("could not read the parameters from `{}`", path.display())]
    ReadParameters {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("could not read the password from {from}")]
    ReadPassword {
        from: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the password from {from} is empty")]
    EmptyPassword { from: String },
    #[error("`{0}` is not a path: it must start with `/`")]
    NotAPath(String),
    #[error("could not write to standard output")]
    Print {
        #[source]
        source: std::io::Error,
    },
}

const NAME_TAKEN: &str = "The service instance name is taken";
const BROKER_NAME_TAKEN: &str = "Name must be unique";
const OPERATION_IN_PROGRESS: i64 = 60016;
const BROKER_HAS_INSTANCES: i64 = 270_010;

impl CfError {
    /// A hint on what the user can do, if one is known.
    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Foundation(FoundationError::Read { .. }) => Some(
                "start a foundation with `odb-sandbox up`, then name its file with --foundation or ODB_FOUNDATION".into(),
            ),
            Self::Client(error) => client_hint(error),
            Self::Job(error) => job_hint(error),
            Self::NoOffering(..) | Self::NoPlan { .. } => Some(
                "`odb-sandbox cf marketplace` lists what you can order; an administrator opens an offering with \
                 `odb-sandbox cf --as admin enable-service-access OFFERING`"
                    .into(),
            ),
            Self::NoInstance(..) => Some("`odb-sandbox cf services` lists the service instances of the space".into()),
            Self::NoApp(..) => Some("`odb-sandbox cf create-app NAME` makes one to bind to".into()),
            _ => None,
        }
    }
}

fn client_hint(error: &ClientError) -> Option<String> {
    match error {
        ClientError::NoResponse { .. } => {
            Some("is the sandbox still running? `odb-sandbox up` starts a new one".into())
        }
        ClientError::LoginRefused { .. } => Some(
            "the foundation may have been restarted since its `foundation.json` was written".into(),
        ),
        ClientError::Refused {
            status: StatusCode::FORBIDDEN,
            ..
        } => Some("some commands need `--as admin`".into()),
        ClientError::Refused {
            error: Some(error), ..
        } => match error.code {
            OPERATION_IN_PROGRESS => Some(in_progress_hint()),
            _ if error.detail.contains("operation in progress") => Some(in_progress_hint()),
            BROKER_HAS_INSTANCES => Some("delete the service instances of the broker first".into()),
            _ if error.detail.starts_with(NAME_TAKEN) => {
                Some("choose another name, or delete that service instance first".into())
            }
            _ if error.detail.starts_with(BROKER_NAME_TAKEN) => Some(
                "a broker stays on record even when its registration failed; \
                 `odb-sandbox cf --as admin delete-service-broker NAME` removes it"
                    .into(),
            ),
            _ => None,
        },
        _ => None,
    }
}

fn in_progress_hint() -> String {
    "wait for the operation in progress to end; `odb-sandbox cf service NAME` shows it".into()
}

fn job_hint(error: &JobError) -> Option<String> {
    match error {
        JobError::Client(error) => client_hint(error),
        JobError::Failed { operation: JobOperation::CreateInstance, .. } => Some(
            "order again under the same name, or remove what failed with `odb-sandbox cf delete-service NAME`".into(),
        ),
        JobError::Failed { operation: JobOperation::DeleteInstance, .. } => {
            Some("the service instance is still there; repeat the command once the cause is gone".into())
        }
        JobError::Failed { operation: JobOperation::Other, .. } => None,
        JobError::TimedOut { after } => Some(format!(
            "the operation continues; `odb-sandbox cf service NAME` shows it, --timeout waits longer than {} s",
            after.as_secs()
        )),
    }
}
