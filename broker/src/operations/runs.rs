//! The way of an errand through all service instances: begun, found again, ended.

use jiff::Timestamp;
use odb_api_types::management::{LatestRun, Run, RunId, RunKind, RunOutcome};

use super::{Operations, RequestContext};
use crate::bosh::RunFault;

impl Operations {
    /// Begins a run, which takes the place of the one before.
    #[tracing::instrument(name = "begin_run", skip_all)]
    pub async fn begin_run(
        &self,
        request_context: RequestContext,
        kind: RunKind,
    ) -> Result<Run, RunFault> {
        let call = request_context.call();
        let runs = self.instances.runs();
        runs.begin(&call, kind, Timestamp::now()).await
    }

    /// The latest run of a kind, if there has been one.
    #[tracing::instrument(name = "latest_run", skip_all)]
    pub async fn latest_run(
        &self,
        request_context: RequestContext,
        kind: RunKind,
    ) -> Result<Option<LatestRun>, RunFault> {
        let call = request_context.call();
        self.instances.runs().latest(&call, kind).await
    }

    /// Writes down how a run has ended.
    #[tracing::instrument(name = "end_run", skip_all)]
    pub async fn end_run(
        &self,
        request_context: RequestContext,
        run: RunId,
        outcome: RunOutcome,
    ) -> Result<Run, RunFault> {
        let call = request_context.call();
        self.instances.runs().end(&call, run, outcome).await
    }
}
