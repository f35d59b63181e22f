//! `odb instance`: the service instances of a broker.
//!
//! | file | contents |
//! | --- | --- |
//! | `list` | the instances, and what is known of each |
//! | `show` | one instance with its operation and its VMs |
//! | `change` | its operation: following, cancelling, upgrading, recreating |
//! | `delete` | its deletion |

mod change;
mod delete;
mod list;
mod show;

use clap::Subcommand;
use odb_api_types::management::RunKind;
use odb_errand::{Dependencies, ExitStatus};

use crate::{brokers, contexts::Selection, output::Output};
pub(crate) use list::{operation_cell, operation_kind};

/// List service instances and operate on one
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  odb instance list --state failed\n  odb instance show orders-cache --org acme\n  odb instance upgrade orders-cache"
)]
pub(crate) enum InstanceCommand {
    List(list::List),
    Show(show::Show),
    Operation(change::Operation),
    Cancel(change::Cancel),
    Upgrade(change::Upgrade),
    Recreate(change::Recreate),
    Delete(delete::Delete),
}

impl InstanceCommand {
    pub(crate) async fn run(
        self,
        selection: &Selection,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let one = || brokers::one(selection, console).map(|broker| broker.api);
        match self {
            Self::List(command) => {
                let brokers = brokers::all(selection, console)?;
                let work = command.run(&brokers, output, console);
                dependencies.unless_stopped(work).await?
            }
            Self::Show(command) => {
                let broker = one()?;
                let work = command.run(&broker, output);
                dependencies.unless_stopped(work).await?
            }
            Self::Operation(command) => command.run(&one()?, output, dependencies).await,
            Self::Cancel(command) => command.run(&one()?, dependencies).await,
            Self::Upgrade(command) => {
                let broker = one()?;
                let work = command
                    .begin
                    .run(RunKind::Upgrade, &broker, output, dependencies);
                dependencies.unless_stopped(work).await?
            }
            Self::Recreate(command) => {
                let broker = one()?;
                let work = command
                    .begin
                    .run(RunKind::Recreate, &broker, output, dependencies);
                dependencies.unless_stopped(work).await?
            }
            Self::Delete(command) => command.run(&one()?, output, dependencies).await,
        }
    }
}
