//! `upgrade-all-service-instances` and `recreate-all-service-instances`: one operation on every service instance of a
//! fleet (`spec/contracts/errands.md` §4).
//!
//! ```text
//! errand ─► run ──► pass ─► runner ─► odb_rollout::Engine   which instance is next: no I/O
//!              │        │       └────► through_broker, through_platform        the calls
//!              │        └► progress, console, report
//!              └► members, current, resumption, dry_run
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | `runner` | carries out what the engine wants |
//! | `through_broker`, `through_platform` | how operations are asked for and after |
//! | `pass` | one pass over the instances |
//! | `run` | the passes of a run, and what surrounds them |
//! | `listing`, `members`, `current` | the instances, as listed and as they are |
//! | `wanted` | what the operator wants, held against what the broker can do |
//! | `resumption` | runs that are continued |
//! | `dry_run` | what would change |
//! | `director_version` | whether the Director can recreate |
//! | `health` | whether an instance runs |
//! | `flags` | the flags |

mod current;
mod director_version;
mod dry_run;
mod flags;
mod health;
mod listing;
mod members;
mod options;
mod pass;
mod resumption;
mod run;
mod runner;
mod through_broker;
mod through_platform;

use clap::Args;
use odb_config::errands::Fleet as FleetFile;

use crate::{
    Dependencies, ExitStatus,
    broker_api::FleetOperation,
    command_line::{ConfigTexts, load},
    report::OutputFormat,
};
use flags::FleetFlags;
use run::{FleetRun, report_of};

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some("-configPath must be given as argument"),
    unreadable: None,
    invalid: None,
};

/// Upgrade every service instance to the current plan, releases and adapter
///
/// Canaries first, then the others, some at a time. A busy instance is retried later. A failed instance does not
/// stop the others, unless it is a canary.
///
/// Exit status: 0 every instance is done (instances that are gone or have no deployment do not count); 1 an
/// instance is not, and the last line has the reason; 2 usage error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand upgrade-all-service-instances --config upgrade.yml --dry-run\n  odb-errand upgrade-all-service-instances --config upgrade.yml --max-failures 2%\n  odb-errand upgrade-all-service-instances --config upgrade.yml --continue --retry-failed"
)]
pub struct UpgradeAll {
    #[command(flatten)]
    flags: FleetFlags,
}

/// Recreate the VMs of every service instance
///
/// Canaries first, then the others, some at a time. A busy instance is retried later. A failed instance does not
/// stop the others, unless it is a canary.
///
/// Exit status: 0 every instance is done (instances that are gone or have no deployment do not count); 1 an
/// instance is not, and the last line has the reason; 2 usage error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand recreate-all-service-instances --config upgrade.yml --dry-run\n  odb-errand recreate-all-service-instances --config upgrade.yml --max-failures 2%\n  odb-errand recreate-all-service-instances --config upgrade.yml --continue --retry-failed"
)]
pub struct RecreateAll {
    #[command(flatten)]
    flags: FleetFlags,
}

impl UpgradeAll {
    /// Runs the errand.
    pub async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        operate(FleetOperation::Upgrade, &self.flags, dependencies).await
    }
}

impl RecreateAll {
    /// Runs the errand.
    pub async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        operate(FleetOperation::Recreate, &self.flags, dependencies).await
    }
}

async fn operate(
    operation: FleetOperation,
    flags: &FleetFlags,
    dependencies: &Dependencies,
) -> anyhow::Result<ExitStatus> {
    let begun = load(
        flags.config.as_deref(),
        &FILE_TEXTS,
        FleetFile::load,
        dependencies,
    )
    .and_then(|file| FleetRun::new(operation, file, flags, dependencies));
    match begun {
        Ok(run) => run.complete().await,
        Err(error) => {
            // With `--output json` a document is printed in every case.
            if flags.output == OutputFormat::Json {
                let mut report = report_of(operation);
                report.note("error", format!("{error:#}"));
                dependencies.print(&report.document())?;
            }
            Err(error)
        }
    }
}
