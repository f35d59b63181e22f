//! `delete-all-service-instances` (`spec/contracts/errands.md` §5): every service instance of the offering is deleted,
//! several at a time, and one that cannot be does not keep the others.
//!
//! | file | holds |
//! | --- | --- |
//! | `fleet` | all of them, from the list to the last count |
//! | `selection` | which of them |
//! | `deleter` | one of them, as the rollout engine has its turn come |
//! | `bindings` | its bindings |
//! | `rules` | what the Cloud Controller's answers mean |

mod bindings;
mod deleter;
mod fleet;
mod rules;
mod selection;

use std::path::PathBuf;

use clap::Args;
use odb_config::errands::Deletion;

use crate::{
    Dependencies, ExitStatus, cloud_controller,
    command_line::{ConfigTexts, load},
    report::Report,
};

pub(crate) use fleet::{Fleet, How};
pub(crate) use selection::Selection;

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: None,
    unreadable: Some("Error reading config file"),
    invalid: Some("Invalid config file"),
};

/// Delete the service instances of an offering, with their bindings and keys
///
/// Deletes them through the Cloud Controller, several at a time. An instance that cannot be deleted does not stop
/// the others. Running deletions are waited for, failed ones are repeated. After SIGTERM or SIGINT the errand
/// starts no more deletions; running ones continue, and the next run follows them.
///
/// Exit status: 0 all instances are gone (at least from the platform with --purge-failed); 1 some are not, and
/// standard error lists them with reasons; 2 usage error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand delete-all-service-instances --config errands.yml --dry-run\n  odb-errand delete-all-service-instances --config errands.yml --space dev --yes"
)]
pub(crate) struct DeleteAllServiceInstances {
    /// Path of the errand's configuration.
    #[arg(long, alias = "configFilePath", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of the broker in the Cloud Controller; needed only if several brokers have the offering.
    #[arg(long, alias = "brokerName", value_name = "NAME")]
    broker_name: Option<String>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    how: How,
}

impl DeleteAllServiceInstances {
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let file = self.config.as_deref();
        let config = load(file, &FILE_TEXTS, Deletion::load, dependencies)?;
        let controller = cloud_controller::connect(&config.cloud_foundry, &dependencies.console)?;
        let fleet = Fleet {
            errand: "delete-all-service-instances",
            controller,
            broker_name: self.broker_name.or_else(|| config.broker_name.clone()),
            config,
            selection: self.selection,
            how: self.how,
            includes_new_arrivals: false,
            dependencies,
        };
        fleet.say_configuration();
        let mut report = fleet.report();
        let ended = delete_all(&fleet, &mut report).await;
        fleet.summarize(ended, &mut report)
    }
}

async fn delete_all(fleet: &Fleet<'_>, report: &mut Report) -> anyhow::Result<()> {
    let plans = fleet.plans().await?;
    if let Some(chosen) = fleet.outlook(&plans, report).await? {
        fleet.delete(&plans, chosen, report).await?;
        fleet.say_finished("FINISHED DELETES", report);
    }
    Ok(())
}
