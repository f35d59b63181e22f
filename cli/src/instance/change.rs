//! The operation of one instance: following it, cancelling it, beginning one.

use anyhow::{Context, bail};
use clap::Args;
use odb_api_types::management::{InventoryEntry, OperationState, OperationStatus, RunKind};
use odb_clients::http::StatusCode;
use odb_errand::{
    BrokerApi, BrokerApiRejection, Dependencies, ExitStatus, Seen, cancel_and_wait,
    follow_operation, operation_text,
};

use crate::{
    names::{OfInstance, name},
    output::Output,
};

/// Show the latest operation of a service instance: stages, Director tasks and steps
///
/// Exit status: 0 it succeeded; 1 it failed, or is unknown; 10 it is in progress (without --follow).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb instance operation orders-cache --follow\n  odb instance operation orders-cache -o json"
)]
pub(crate) struct Operation {
    #[command(flatten)]
    of: OfInstance,
    /// Follow the operation until it ends.
    #[arg(short, long)]
    follow: bool,
}

/// Cancel the operation in progress on a service instance, and wait for its end
///
/// The broker begins no further step, and the Director's task ends at its next checkpoint.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  odb instance cancel orders-cache")]
pub(crate) struct Cancel {
    #[command(flatten)]
    of: OfInstance,
    /// Do not wait for the end.
    #[arg(long)]
    no_wait: bool,
}

/// Upgrade a service instance to what its plan deploys now
///
/// Follows the upgrade to its end. Ctrl-C ends the command, not the upgrade.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb instance upgrade orders-cache\n  odb instance upgrade orders-cache --no-wait"
)]
pub(crate) struct Upgrade {
    #[command(flatten)]
    begin: Begin,
}

/// Recreate the VMs of a service instance
///
/// Follows the recreation to its end. A service with one VM is down meanwhile.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  odb instance recreate orders-cache")]
pub(crate) struct Recreate {
    #[command(flatten)]
    begin: Begin,
}

// Without a comment of its own: it would replace that of the command.
#[derive(Debug, Args)]
struct Begin {
    #[command(flatten)]
    of: OfInstance,
    /// Do not wait for the end.
    #[arg(long)]
    no_wait: bool,
}

impl Operation {
    pub(super) async fn run(
        &self,
        broker: &BrokerApi,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let work = async {
            let entry = self.of.find(broker).await?;
            let first = latest(broker, &entry).await?;
            if self.follow {
                return follow(broker, first, output, dependencies).await;
            }
            output.print_text(&first, &operation_text(&first))?;
            Ok(Seen::Reported(first).summary().1)
        };
        dependencies.unless_stopped(work).await?
    }
}

impl Cancel {
    pub(super) async fn run(
        &self,
        broker: &BrokerApi,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let work = async {
            let entry = self.of.find(broker).await?;
            let before = latest(broker, &entry).await?;
            cancel_and_wait(dependencies, broker, &before, !self.no_wait).await
        };
        dependencies.unless_stopped(work).await?
    }
}

impl Upgrade {
    pub(super) async fn run(
        &self,
        broker: &BrokerApi,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let work = self
            .begin
            .run(RunKind::Upgrade, broker, output, dependencies);
        dependencies.unless_stopped(work).await?
    }
}

impl Recreate {
    pub(super) async fn run(
        &self,
        broker: &BrokerApi,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let work = self
            .begin
            .run(RunKind::Recreate, broker, output, dependencies);
        dependencies.unless_stopped(work).await?
    }
}

impl Begin {
    async fn run(
        &self,
        kind: RunKind,
        broker: &BrokerApi,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let entry = self.of.find(broker).await?;
        let name = name(&entry);
        let plan = entry.plan_id.as_ref();
        let plan = plan.with_context(|| format!("The plan of `{name}` is unknown"))?;
        let (id, space) = (&entry.service_instance_id, entry.space_guid.as_deref());
        let begun = match broker.begin(kind, id, plan, space).await {
            Ok(begun) => begun,
            Err(error) if error.status() == Some(StatusCode::CONFLICT) => {
                bail!(
                    "Another operation on `{name}` is in progress. Follow it with: odb instance operation {name} --follow"
                )
            }
            Err(error) if error.is_gone() => {
                bail!("`{name}` has no deployment: there is nothing to {kind}")
            }
            Err(error) => return Err(error.into()),
        };
        let console = &dependencies.console;
        if begun.is_none() {
            console.log(format_args!("{name} is up to date: nothing was done"));
            return Ok(ExitStatus::Success);
        }
        if self.no_wait {
            console.log(format_args!(
                "{kind} of {name} has begun. Follow it with: odb instance operation {name} --follow"
            ));
            return Ok(ExitStatus::Success);
        }
        let first = latest(broker, &entry).await?;
        follow(broker, first, output, dependencies).await
    }
}

async fn latest(broker: &BrokerApi, entry: &InventoryEntry) -> anyhow::Result<OperationStatus> {
    let name = name(entry);
    match broker.operation(&entry.service_instance_id).await {
        Ok(operation) => Ok(operation),
        Err(error) if error.is_unknown_route() => {
            bail!(
                "This broker shows no operations: it is older than this command line, or a Go broker"
            )
        }
        Err(error) if error.is_gone() => bail!("No operation recorded for `{name}`"),
        Err(error) => Err(error.into()),
    }
}

/// Follows an operation to its end, prints it, and returns how it has ended.
pub(super) async fn follow(
    broker: &BrokerApi,
    first: OperationStatus,
    output: &Output,
    dependencies: &Dependencies,
) -> anyhow::Result<ExitStatus> {
    let seen = if first.state == OperationState::InProgress {
        let seen = follow_operation(dependencies, broker, first).await;
        seen.context("the operation continues; its outcome is unknown")?
    } else {
        Seen::Reported(first)
    };
    let (text, status) = seen.summary();
    if let Some(text) = text {
        dependencies.console.log(text);
    }
    if let Seen::Reported(last) | Seen::Followed(last) = &seen {
        output.print_text(last, &operation_text(last))?;
    }
    Ok(status)
}
