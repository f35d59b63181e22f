//! `cancel-operation`: cancels the operation in progress on a service instance.

use anyhow::{Context, bail};
use clap::Args;
use odb_api_types::{
    ids::InstanceId,
    management::{OperationState, OperationStatus},
};

use super::{OfInstance, follow, is_same};
use crate::{
    Dependencies, ExitStatus,
    broker_api::{BrokerApi, BrokerApiRejection},
    console::harmless,
};

/// Cancel the operation in progress on a service instance, and wait for its end
///
/// The broker begins no further step, and the Director's task ends at its next checkpoint. The platform then shows
/// the operation as failed.
///
/// Exit status: 0 no operation is in progress any more, or, with --no-wait, the cancellation is accepted; 1 the
/// operation could not be cancelled, or its result is unknown; 2 usage error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand cancel-operation --config errands.yml --instance 5f3c1a2e"
)]
pub(crate) struct CancelOperation {
    #[command(flatten)]
    of: OfInstance,
    /// Do not wait for the end.
    #[arg(long)]
    no_wait: bool,
}

impl CancelOperation {
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let broker = self.of.broker(dependencies)?;
        let (instance, waits) = (&self.of.instance, !self.no_wait);
        let work = async {
            let before = broker.operation(instance).await;
            let before = self
                .of
                .understood(before, "cannot cancel", || failed(instance))?;
            cancel_and_wait(dependencies, &broker, &before, waits).await
        };
        dependencies.unless_stopped(work).await?
    }
}

fn failed(instance: &InstanceId) -> String {
    format!("the operation on service instance {instance} was not cancelled")
}

/// Cancels an operation in progress; `waits` for its end.
pub async fn cancel_and_wait(
    dependencies: &Dependencies,
    broker: &BrokerApi,
    before: &OperationStatus,
    waits: bool,
) -> anyhow::Result<ExitStatus> {
    let (console, instance) = (&dependencies.console, &before.service_instance_id);
    if before.state != OperationState::InProgress {
        bail!(
            "{}: no operation in progress. Last: {}",
            failed(instance),
            before.description
        );
    }
    let cancelling = broker.cancel_operation(instance).await;
    let warning = cancelling.with_context(|| failed(instance))?;
    console.log(format_args!("cancelling: {}", before.description));
    if let Some(warning) = warning {
        console.log(format_args!("{}", harmless(&warning)));
    }
    if !waits {
        return Ok(ExitStatus::Success);
    }
    match end(broker, before).await? {
        Some(end) => console.log(format_args!("ended: {}", end.description)),
        None => console.log("ended: the service instance does not exist"),
    }
    Ok(ExitStatus::Success)
}

/// Waits until the operation is not in progress any more; a later one may be.
async fn end(
    broker: &BrokerApi,
    before: &OperationStatus,
) -> anyhow::Result<Option<OperationStatus>> {
    let look = async || match broker.operation(&before.service_instance_id).await {
        Ok(found) => {
            let goes_on = is_same(&found, before) && found.state == OperationState::InProgress;
            Ok((!goes_on).then_some(Some(found)))
        }
        Err(error) if error.is_gone() => Ok(Some(None)),
        Err(error) => Err(error),
    };
    let end = follow(look).await;
    end.context("the operation is being cancelled; its end is not yet known")
}
