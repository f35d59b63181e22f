//! The operation of one instance: following it, cancelling it, beginning one.

use anyhow::{Context, bail};
use clap::Args;
use odb_api_types::management::{InventoryEntry, OperationStatus, RunKind};
use odb_clients::http::StatusCode;
use odb_errand::{
    BrokerApi, BrokerApiRejection, Dependencies, ExitStatus, cancel_and_wait, operation_result,
    operation_text,
};

use crate::{
    names::{OfInstance, name},
    output::Output,
    typed::quoted,
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
    pub(super) begin: Begin,
}

/// Recreate the VMs of a service instance
///
/// Follows the recreation to its end. A service with one VM is down meanwhile.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  odb instance recreate orders-cache")]
pub(crate) struct Recreate {
    #[command(flatten)]
    pub(super) begin: Begin,
}

// Without a comment of its own: it would replace that of the command.
#[derive(Debug, Args)]
pub(super) struct Begin {
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
            shown(broker, first, self.follow, output, dependencies).await
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

impl Begin {
    pub(super) async fn run(
        &self,
        kind: RunKind,
        broker: &BrokerApi,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let entry = self.of.find(broker).await?;
        let name = quoted(name(&entry));
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
        shown(broker, first, true, output, dependencies).await
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

/// Prints an operation, after its end if `follows` is set, and returns how it has ended.
pub(super) async fn shown(
    broker: &BrokerApi,
    first: OperationStatus,
    follows: bool,
    output: &Output,
    dependencies: &Dependencies,
) -> anyhow::Result<ExitStatus> {
    let (last, status) = operation_result(dependencies, broker, first, follows).await?;
    if let Some(last) = &last {
        output.print_text(last, &operation_text(last))?;
    }
    Ok(status)
}
