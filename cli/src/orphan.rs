//! `odb orphan`: deployments without a service instance.

use clap::{Args, Subcommand};
use odb_errand::{BrokerApi, DeletionOrder, Dependencies, ExitStatus, delete_orphans, orphan_rows};

use crate::{
    brokers,
    contexts::Selection,
    names::as_instance_id,
    output::{Output, Table},
};

/// List deployments without a service instance in the platform, and delete them
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  odb orphan list\n  odb orphan delete --confirm 2")]
pub(crate) enum OrphanCommand {
    /// List orphans with owner, age and reason
    ///
    /// Deployments of other brokers are not listed. Nothing is listed while the broker cannot list all service
    /// instances.
    #[command(after_help = "Examples:\n  odb orphan list\n  odb orphan list -o json")]
    List,
    Delete(Delete),
}

/// Delete orphans one by one, as the platform deletes instances
///
/// Exit status: 0 they are deleted; 1 one could not be deleted; 10 one remains.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb orphan delete --confirm 2\n  odb orphan delete service-instance_5f3c1a2e --confirm 1"
)]
pub(crate) struct Delete {
    /// Only these deployments, `service-instance_ID` or the id alone. Default: all.
    #[arg(value_name = "DEPLOYMENT")]
    deployments: Vec<String>,
    /// Expected number of deletions, instead of typing it at the prompt.
    #[arg(long, value_name = "COUNT")]
    confirm: Option<usize>,
    /// Also delete unmarked deployments, which may belong to another broker.
    #[arg(long)]
    include_unmarked: bool,
    /// Plan of the unmarked deployments, by name or id: its pre-delete errands run before the deletion.
    #[arg(long, value_name = "PLAN", requires = "include_unmarked")]
    plan: Option<String>,
    /// Delete even if the platform has no plan of the offering, which makes every deployment look like an orphan.
    #[arg(long)]
    offering_is_gone: bool,
    /// Ignore failing pre-delete errands and unresponsive VMs.
    #[arg(long)]
    force: bool,
}

impl OrphanCommand {
    pub(crate) async fn run(
        self,
        selection: &Selection,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let broker = brokers::one(selection, &dependencies.console)?.api;
        match self {
            Self::List => {
                let work = list(&broker, output, dependencies);
                dependencies.unless_stopped(work).await?
            }
            Self::Delete(command) => {
                let order = command.order()?;
                delete_orphans(dependencies, &broker, &order).await
            }
        }
    }
}

async fn list(
    broker: &BrokerApi,
    output: &Output,
    dependencies: &Dependencies,
) -> anyhow::Result<ExitStatus> {
    let orphans = broker.explained_orphans().await?;
    let headings = ["DEPLOYMENT", "OWNER", "AGE", "REASON", "LAST OPERATION"];
    let mut table = Table::new(&headings);
    for row in orphan_rows(&orphans) {
        table.add(row);
    }
    output.print(&orphans, &table)?;
    if output.is_for_people() {
        dependencies.console.log(match orphans.len() {
            0 => "No orphans".to_owned(),
            count => format!("Next: odb orphan delete --confirm {count}"),
        });
    }
    Ok(ExitStatus::Success)
}

impl Delete {
    fn order(self) -> anyhow::Result<DeletionOrder> {
        let ids = self.deployments.iter().map(|name| {
            let id = name.strip_prefix("service-instance_").unwrap_or(name);
            as_instance_id(id)
        });
        Ok(DeletionOrder {
            instances: ids.collect::<anyhow::Result<_>>()?,
            confirm: self.confirm,
            include_unmarked: self.include_unmarked,
            plan: self.plan,
            offering_is_gone: self.offering_is_gone,
            force: self.force,
        })
    }
}
