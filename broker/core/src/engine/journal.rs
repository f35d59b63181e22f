//! The journal of rollouts, which lets a later process continue one. There is one entry for each kind of rollout,
//! written when the rollout begins and when it ends, and while a process holds its lease. One process at a time carries
//! out a rollout of each kind.

use std::error::Error;

use async_trait::async_trait;
use jiff::Timestamp;
use odb_api_types::management::{
    BeginRun, EndRun, LatestRun, Lease, LeaseRun, Run, RunId, RunKind,
};
use odb_clients::http::Call;

#[async_trait]
pub trait Journal: Send + Sync {
    /// Begins a rollout, which replaces the latest one of its kind unless that is being carried out.
    async fn begin(
        &self,
        call: &Call,
        begin: BeginRun,
        now: Timestamp,
    ) -> Result<Run, JournalError>;

    async fn latest(
        &self,
        call: &Call,
        kind: RunKind,
        now: Timestamp,
    ) -> Result<Option<LatestRun>, JournalError>;

    /// Takes the lease of a rollout, or renews it. Safe to repeat.
    async fn lease(
        &self,
        call: &Call,
        id: RunId,
        lease: LeaseRun,
        now: Timestamp,
    ) -> Result<Run, JournalError>;

    /// Requests the process that carries out a rollout to stop. Safe to repeat.
    async fn request_stop(
        &self,
        call: &Call,
        id: RunId,
        now: Timestamp,
    ) -> Result<Run, JournalError>;

    /// Records the end of a rollout. A failed one may be continued and succeed; a succeeded one is final. Safe to
    /// repeat.
    async fn end(
        &self,
        call: &Call,
        id: RunId,
        end: EndRun,
        now: Timestamp,
    ) -> Result<Run, JournalError>;
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
    #[error("another request changed the run at the same moment")]
    Overtaken,
    #[error(
        "another process, `{}`, carries out the {kind} run `{id}`: it began at {} and reported last at {}. Stop it, or wait: \
         without another report its lease ends at {}",
        lease.holder, lease.since, lease.renewed, lease.end()
    )]
    Leased {
        id: RunId,
        kind: RunKind,
        lease: Box<Lease>,
    },
    #[error(
        "the {kind} run `{id}` that began at {began} has not succeeded: continue it, or replace it"
    )]
    Unfinished {
        id: RunId,
        kind: RunKind,
        began: Timestamp,
    },
    #[error("no process carries out run `{id}`: there is nothing to stop")]
    NotRunning { id: RunId },
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
