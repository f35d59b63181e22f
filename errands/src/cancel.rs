//! `cancel-operation`: cancels the operation in progress on a service instance.

use std::{iter, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use clap::Args;
use odb_api_types::{
    ids::InstanceId,
    management::{OperationState, OperationStatus},
};

use crate::{
    Dependencies, ExitStatus,
    broker_api::{BrokerApi, BrokerApiRejection},
    console::harmless,
    operation::{instance_id, is_same},
    waiting::follow,
};

const PAUSE: Duration = Duration::from_secs(1);

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
    /// Path of a configuration with a section `broker_api`, such as that of `orphan-deployments`.
    #[arg(long, alias = "configPath", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Id of the service instance (`cf service NAME --guid`).
    #[arg(long, value_name = "ID", value_parser = instance_id)]
    instance: InstanceId,
    /// Do not wait for the end.
    #[arg(long)]
    no_wait: bool,
}

impl CancelOperation {
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let broker = BrokerApi::load(self.config.as_deref(), dependencies)?;
        let work = self.cancel(dependencies, &broker);
        dependencies.unless_stopped(work).await?
    }

    async fn cancel(
        &self,
        dependencies: &Dependencies,
        broker: &BrokerApi,
    ) -> anyhow::Result<ExitStatus> {
        let (console, instance) = (&dependencies.console, &self.instance);
        let failed = || format!("the operation on service instance {instance} was not cancelled");
        let before = match broker.operation(instance).await {
            Err(error) if error.is_unknown_route() => {
                return Err(anyhow::Error::new(error).context(
                    "the broker cannot cancel operations: it is older than this errand, or a Go broker",
                ));
            }
            before => before.with_context(failed)?,
        };
        if before.state != OperationState::InProgress {
            bail!(
                "{}: no operation in progress. Last: {}",
                failed(),
                before.description
            );
        }
        let warning = broker
            .cancel_operation(instance)
            .await
            .with_context(failed)?;
        console.say(format_args!("cancelling: {}", before.description));
        if let Some(warning) = warning {
            console.say(format_args!("{}", harmless(&warning)));
        }
        if self.no_wait {
            return Ok(ExitStatus::Success);
        }
        match self.end(broker, &before).await? {
            Some(end) => console.say(format_args!("ended: {}", end.description)),
            None => console.say("ended: the service instance does not exist"),
        }
        Ok(ExitStatus::Success)
    }

    /// Waits until the operation is not in progress any more; a later one may be.
    async fn end(
        &self,
        broker: &BrokerApi,
        before: &OperationStatus,
    ) -> anyhow::Result<Option<OperationStatus>> {
        let look = async || match broker.operation(&self.instance).await {
            Ok(found) => {
                let goes_on = is_same(&found, before) && found.state == OperationState::InProgress;
                Ok((!goes_on).then_some(Some(found)))
            }
            Err(error) if error.is_gone() => Ok(Some(None)),
            Err(error) => Err(error),
        };
        follow(
            iter::repeat(PAUSE),
            look,
            BrokerApiRejection::is_transient_or_restart,
        )
        .await
        .context("the operation is being cancelled; its end is not yet known")
    }
}
