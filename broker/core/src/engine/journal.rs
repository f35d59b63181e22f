//! The journal of rollouts, which lets a later process continue one. There is one entry for each kind of rollout,
//! written when the rollout begins and when it ends.

use std::error::Error;

use async_trait::async_trait;
use jiff::Timestamp;
use odb_api_types::management::{LatestRun, Run, RunId, RunKind, RunOutcome};
use odb_clients::http::Call;

#[async_trait]
pub trait Journal: Send + Sync {
    async fn begin(&self, call: &Call, kind: RunKind, now: Timestamp) -> Result<Run, JournalError>;

    async fn latest(&self, call: &Call, kind: RunKind) -> Result<Option<LatestRun>, JournalError>;

    /// Records the end of a rollout. A failed one may be continued and succeed; a succeeded one is final. Safe to
    /// repeat.
    async fn end(&self, call: &Call, id: RunId, outcome: RunOutcome) -> Result<Run, JournalError>;
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// There is nothing to keep it in.
    #[error("runs are not recorded, because {0}")]
    NotKept(&'static str),
    #[error("run `{id}` does not exist")]
    Unknown { id: RunId },
    #[error("run `{id}` is not the latest of its kind, if it ever was one")]
    Superseded { id: RunId },
    #[error("run `{id}` has already succeeded")]
    Succeeded { id: RunId },
    #[error("another run was begun or ended at the same moment")]
    Overtaken,
    /// A newer broker, or a person, wrote it; the text says where.
    #[error("{0} is not one that this broker understands; begin a new run, which replaces it")]
    NotUnderstood(String),
    #[error("could not {activity}")]
    Failed {
        activity: &'static str,
        is_timeout: bool,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl JournalError {
    pub fn is_timeout(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                is_timeout: true,
                ..
            }
        )
    }
}
