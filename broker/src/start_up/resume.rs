//! Picks up what an earlier process left in progress.

use odb_platform::{director::DirectorError, http::Call};

use crate::{
    bosh::Instances, code::Code, config::Timings, operations::Lifecycle, telemetry::Chain,
};

/// Picks up what an earlier process left in progress. While it cannot be looked up the broker serves all the same, and
/// looks again.
pub async fn resume(instances: &Instances, lifecycle: &Lifecycle, timings: Timings) {
    if try_to_resume(instances, &timings).await {
        return;
    }
    let (instances, stopping) = (instances.clone(), lifecycle.stopping());
    lifecycle.runtime().spawn(async move {
        let again = async {
            loop {
                tokio::time::sleep(timings.longest_retry).await;
                if try_to_resume(&instances, &timings).await {
                    return;
                }
            }
        };
        stopping.run_until_cancelled(again).await;
    });
}

async fn try_to_resume(instances: &Instances, timings: &Timings) -> bool {
    match instances.resume(&Call::within(timings.start_up)).await {
        Ok(0) => true,
        Ok(count) => {
            tracing::info!(count, "going on with operations of an earlier process");
            true
        }
        Err(error @ DirectorError::NotAllowed { .. }) => {
            tracing::warn!(
                code = %Code::Resume,
                error = %Chain(&error),
                "operations of an earlier process cannot be looked up; they go on when they are asked about"
            );
            true
        }
        Err(error) => {
            tracing::error!(
                code = %Code::Resume,
                error = %Chain(&error),
                "operations of an earlier process could not be looked up, trying again"
            );
            false
        }
    }
}
