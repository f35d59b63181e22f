//! `orphan-deployments`: lists deployments without a service instance in the platform (`spec/contracts/errands.md` §7)
//! with the reason, and deletes them.
//!
//! | file | contents |
//! | --- | --- |
//! | `table` | the table for operators |
//! | `deletion` | deletes them one by one |

mod deletion;
mod table;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use odb_api_types::{
    ids::InstanceId,
    management::{ListedOrphan, OrphanDeployment},
};
use odb_config::errands::BrokerOnly;
use serde::Serialize;

use crate::{
    Dependencies, ExitStatus,
    broker_api::{BrokerApi, BrokerApiRejection},
    command_line::{ConfigTexts, load},
    operation::instance_id,
};
use deletion::Deletion;
pub use deletion::{DeletionOrder, delete_orphans};
pub use table::rows as orphan_rows;

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some("-configPath must be given as argument"),
    unreadable: None,
    invalid: Some("failed to unmarshal errand config"),
};

const NO_ORPHAN: &str =
    "it is not an orphan: the platform has the instance, or the deployment does not exist";

const NOT_LISTED: &str = "error retrieving orphan deployments";

/// The first sentence is that of the Go errand.
const DETECTED: &str = "Orphan BOSH deployments detected with no corresponding service instance in the platform. Check the reasons with --explain before you delete one, and make sure that its data is not needed.";

/// List deployments without a service instance in the platform, and delete them on request
///
/// Prints a JSON array of their names to standard output. Deployments of other brokers are not listed. Nothing is
/// listed while the broker cannot list all service instances.
///
/// Exit status: 0 there are none, or they are deleted; 10 there are some; 1 the list is not available, or not all
/// were deleted; 2 usage error.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(
    after_help = "Examples:\n  odb-errand orphan-deployments --config errands.yml --explain\n  odb-errand orphan-deployments --config errands.yml --delete --confirm 2"
)]
pub(crate) struct OrphanDeployments {
    /// Path of a configuration with a section `broker_api`.
    #[arg(long, alias = "configPath", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print a table of owners, causes and ages to standard error.
    #[arg(long)]
    explain: bool,
    /// Only the deployment of this service instance; repeatable. An instance that is no orphan is reported.
    #[arg(long = "instance", value_name = "ID", value_parser = instance_id)]
    instances: Vec<InstanceId>,
    /// Output format; `json` has all details, or with --delete the result of each deletion.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Output::Names)]
    output: Output,
    /// Delete them one by one, as the platform deletes instances. Waits for deletions that another run has begun.
    /// Needs their number: --confirm, or typed on a terminal.
    #[arg(long, conflicts_with = "explain")]
    delete: bool,
    /// Expected number of deletions. With another number nothing is deleted.
    #[arg(long, value_name = "COUNT", requires = "delete")]
    confirm: Option<usize>,
    /// Also delete unmarked deployments, which may belong to another broker.
    #[arg(long, requires = "delete")]
    include_unmarked: bool,
    /// Plan of the unmarked deployments, by name or id: its pre-delete errands run before the deletion.
    #[arg(long, value_name = "PLAN", requires = "include_unmarked")]
    plan: Option<String>,
    /// Delete even if the platform has no plan of the offering, which makes every deployment look like an orphan.
    #[arg(long, requires = "delete")]
    offering_is_gone: bool,
    /// Ignore failing pre-delete errands and unresponsive VMs. Unmarked deployments run no errands without --plan.
    #[arg(long, requires = "delete")]
    force: bool,
}

/// The format of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// An array of names, as the Go errand prints it.
    Names,
    /// All that is known.
    Json,
}

impl OrphanDeployments {
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let file = self.config.as_deref();
        let config = load(file, &FILE_TEXTS, BrokerOnly::load, dependencies)?;
        let timeout = Some(BrokerApi::USUAL_TIMEOUT);
        let broker =
            BrokerApi::connect(&config.broker_api, timeout, console).context(NOT_LISTED)?;
        if self.delete {
            let output = self.output;
            let order = DeletionOrder {
                instances: self.instances,
                confirm: self.confirm,
                include_unmarked: self.include_unmarked,
                plan: self.plan,
                offering_is_gone: self.offering_is_gone,
                force: self.force,
            };
            let deletion = Deletion {
                broker: &broker,
                order: &order,
            };
            return deletion.run(dependencies, output).await;
        }
        if self.explain || self.output == Output::Json || !self.instances.is_empty() {
            return self.explain(dependencies, &broker).await;
        }
        let orphans = dependencies.unless_stopped(broker.orphans()).await?;
        let orphans = orphans.context(NOT_LISTED)?;
        dependencies.print(&line(&orphans))?;
        Ok(status(
            dependencies,
            orphans.is_some_and(|orphans| !orphans.is_empty()),
        ))
    }

    async fn explain(
        &self,
        dependencies: &Dependencies,
        broker: &BrokerApi,
    ) -> anyhow::Result<ExitStatus> {
        let (orphans, missing) = named(&self.instances, explained(dependencies, broker).await?);
        for instance in missing {
            let console = &dependencies.console;
            console.log(format_args!("service-instance_{instance}: {NO_ORPHAN}"));
        }
        match self.output {
            Output::Json => dependencies.print(&line(&orphans))?,
            Output::Names => {
                table::show(dependencies, &orphans);
                dependencies.print(&line(&names(&orphans)))?;
            }
        }
        Ok(status(dependencies, !orphans.is_empty()))
    }
}

/// The orphans of the named instances, or all where none is named; and those that are named and have none.
fn named(
    named: &[InstanceId],
    orphans: Vec<OrphanDeployment>,
) -> (Vec<OrphanDeployment>, Vec<InstanceId>) {
    let has_orphan = |instance: &&InstanceId| {
        let mut orphans = orphans.iter();
        orphans.any(|orphan| orphan.service_instance_id == **instance)
    };
    let missing = named.iter().filter(|instance| !has_orphan(instance));
    let missing = missing.cloned().collect();
    let is_meant =
        |orphan: &OrphanDeployment| named.is_empty() || named.contains(&orphan.service_instance_id);
    (orphans.into_iter().filter(is_meant).collect(), missing)
}

async fn explained(
    dependencies: &Dependencies,
    broker: &BrokerApi,
) -> anyhow::Result<Vec<OrphanDeployment>> {
    let listed = dependencies.unless_stopped(broker.explained_orphans());
    match listed.await? {
        Err(error) if error.is_unknown_route() => Err(anyhow::Error::new(error).context(
            "the broker has no /mgmt/v1/orphan_deployments: it is older than this errand, or a Go broker",
        )),
        orphans => orphans.context(NOT_LISTED),
    }
}

fn status(dependencies: &Dependencies, are_there: bool) -> ExitStatus {
    if are_there {
        dependencies.console.log(DETECTED);
        ExitStatus::Special
    } else {
        ExitStatus::Success
    }
}

fn names(orphans: &[OrphanDeployment]) -> Vec<ListedOrphan> {
    let listed = orphans.iter().map(|orphan| ListedOrphan {
        deployment_name: orphan.deployment_name.clone(),
    });
    listed.collect()
}

fn line(value: &impl Serialize) -> String {
    let mut line =
        serde_json::to_string(value).expect("it has text for keys, and nothing fails in it");
    line.push('\n');
    line
}
