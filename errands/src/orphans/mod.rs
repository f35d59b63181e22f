//! `orphan-deployments`: deployments that no service instance of the platform stands behind (`spec/contracts/errands.md` §7),
//! why that is so, and their end.
//!
//! | file | holds |
//! | --- | --- |
//! | `table` | what people read of them |
//! | `confirmation` | that somebody means it |
//! | `deletion` | their end, one by one |

mod confirmation;
mod deletion;
mod table;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use odb_api_types::{ids::InstanceId, management::OrphanDeployment};
use odb_clients::ServiceError;
use odb_config::errands::BrokerOnly;
use serde::Serialize;

use crate::{
    Dependencies, ExitStatus,
    broker_api::{BrokerApi, BrokerApiRejection, ListedOrphan},
    command_line::{ConfigTexts, load},
};
use confirmation::confirm;
use deletion::Deletion;

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some("-configPath must be given as argument"),
    unreadable: None,
    invalid: Some("failed to unmarshal errand config"),
};

/// What is said of an instance that was named.
const NO_ORPHAN: &str =
    "it is no orphan: the platform knows the instance, or there is no such deployment";

/// What the Go errand says of a failing list.
const NOT_LISTED: &str = "error retrieving orphan deployments";

/// The first sentence is the Go errand's.
const DETECTED: &str = "Orphan BOSH deployments detected with no corresponding service instance in the platform. See why with \
                        --explain before you delete any, and make sure that their data is not needed.";

/// Lists deployments that no service instance of the platform stands behind, and deletes them if wanted
///
/// Standard output has a JSON array of their names. Deployments that another broker has marked are not listed, nor is anything
/// as long as the broker cannot learn of all service instances.
///
/// Exit status: 0 there are none, or they have been deleted; 10 there are some; 1 it could not be found out, or not all were
/// deleted that should have been; 2 the command line means nothing.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct OrphanDeployments {
    /// The configuration, with a section `broker_api`.
    #[arg(long, alias = "configPath", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Tells of each one whose it is, how it came about and how old it is, in a table on standard error.
    #[arg(long)]
    explain: bool,
    /// Only the deployment of this service instance; can be given several times. One that is no orphan is told of.
    #[arg(long = "instance", value_name = "ID", value_parser = instance_id)]
    instances: Vec<InstanceId>,
    /// How standard output is written; `json` has all that is known of each, or with --delete what became of each.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Output::Names)]
    output: Output,
    /// Deletes them one by one, as the platform would delete their instances. Deletions that another run has begun are waited
    /// for. Their number has to be given, or on a terminal to be typed.
    #[arg(long, conflicts_with = "explain")]
    delete: bool,
    /// How many there are to delete. With another number nothing is deleted.
    #[arg(long, value_name = "COUNT", requires = "delete")]
    confirm: Option<usize>,
    /// Deletes those too that nobody has marked: they may be another broker's.
    #[arg(long, requires = "delete")]
    include_unmarked: bool,
    /// The plan, by name or id, that those are on that nobody has marked: its pre-delete errands are run on them.
    #[arg(long, value_name = "PLAN", requires = "include_unmarked")]
    plan: Option<String>,
    /// Deletes also where the platform knows no plan of the offering, which makes every deployment look like an orphan.
    #[arg(long, requires = "delete")]
    offering_is_gone: bool,
    /// Passes over failing pre-delete errands and over VMs that do not answer. On those that nobody has marked none are run,
    /// unless --plan names their plan.
    #[arg(long, requires = "delete")]
    force: bool,
}

/// What standard output has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// An array of names, as the Go errand prints it.
    Names,
    /// All that is known.
    Json,
}

impl OrphanDeployments {
    /// Runs the errand.
    pub async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let file = self.config.as_deref();
        let config = load(file, &FILE_TEXTS, BrokerOnly::load, dependencies)?;
        let timeout = Some(BrokerApi::USUAL_TIMEOUT);
        let broker =
            BrokerApi::connect(&config.broker_api, timeout, console).context(NOT_LISTED)?;
        if self.delete {
            let deletion = Deletion {
                broker,
                instances: self.instances,
                include_unmarked: self.include_unmarked,
                plan: self.plan,
                offering_is_gone: self.offering_is_gone,
                force: self.force,
                confirmed: self.confirm,
            };
            return deletion.run(dependencies, self.output).await;
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
        let all = explained(dependencies, broker).await?;
        let (orphans, unauthenticated_clients) = only(&self.instances, all);
        for instance in unauthenticated_clients {
            dependencies
                .console
                .say(format_args!("service-instance_{instance}: {NO_ORPHAN}"));
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

/// All that the broker knows of them.
async fn explained(
    dependencies: &Dependencies,
    broker: &BrokerApi,
) -> anyhow::Result<Vec<OrphanDeployment>> {
    match dependencies
        .unless_stopped(broker.explained_orphans())
        .await?
    {
        Err(error) if error.is_unknown_route() => Err(no_such_route(error)),
        orphans => orphans.context(NOT_LISTED),
    }
}

fn no_such_route(error: ServiceError) -> anyhow::Error {
    anyhow::Error::new(error)
        .context("the broker has no /mgmt/v1/orphan_deployments: it is older than this errand, or a Go broker")
}

fn status(dependencies: &Dependencies, are_there: bool) -> ExitStatus {
    if are_there {
        dependencies.console.say(DETECTED);
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

/// The orphans of these instances, or all where none is named; and those that are named and have none.
fn only(
    named: &[InstanceId],
    orphans: Vec<OrphanDeployment>,
) -> (Vec<OrphanDeployment>, Vec<InstanceId>) {
    let unauthenticated_clients = named.iter().filter(|instance| {
        let is_of = |orphan: &OrphanDeployment| orphan.service_instance_id == **instance;
        !orphans.iter().any(is_of)
    });
    let unauthenticated_clients = unauthenticated_clients.cloned().collect();
    let is_meant =
        |orphan: &OrphanDeployment| named.is_empty() || named.contains(&orphan.service_instance_id);
    (
        orphans.into_iter().filter(is_meant).collect(),
        unauthenticated_clients,
    )
}

fn instance_id(text: &str) -> Result<InstanceId, String> {
    InstanceId::try_from(text.to_owned()).map_err(|error| error.to_string())
}

/// JSON on a line of its own.
fn line(value: &impl Serialize) -> String {
    let mut line =
        serde_json::to_string(value).expect("it has text for keys, and nothing fails in it");
    line.push('\n');
    line
}
