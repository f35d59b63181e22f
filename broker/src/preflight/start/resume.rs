//! Resumes the operations that an earlier process left in progress.

use odb_api_types::code::Code;
use odb_clients::http::Call;
use odb_config::{Config, Timings};
use odb_core::{engine::Engine, operations::Lifecycle};
use odb_redaction::Chain;

use crate::preflight::{instances, start::Parts};

/// Resumes the operations of an earlier process and reads what orders need, in the background: the broker serves
/// requests meanwhile. A request that needs it earlier reads it itself. Errors are retried.
pub fn resume(config: &Config, parts: &Parts, lifecycle: &Lifecycle) {
    let timings = config.broker.timings;
    let is_counted = instances::is_counted_at_start(config);
    let operations = parts.operations.clone();
    let stopping = lifecycle.stopping();
    lifecycle.runtime().spawn(async move {
        let work = async {
            while !try_to_resume(operations.engine(), &timings).await {
                tokio::time::sleep(timings.longest_retry).await;
            }
            // One after the other: each reads an operation record of every instance.
            if is_counted {
                instances::prepare(&operations, timings.start_up).await;
            }
            tracing::info!("resumed the operations of earlier processes");
        };
        stopping.run_until_cancelled(work).await;
    });
}

async fn try_to_resume(engine: &dyn Engine, timings: &Timings) -> bool {
    match engine.resume(&Call::within(timings.start_up)).await {
        Ok(0) => true,
        Ok(count) => {
            tracing::info!(count, "going on with operations of an earlier process");
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
