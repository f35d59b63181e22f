//! `upgrade-all-service-instances` and `recreate-all-service-instances`: one operation on every service instance of a
//! fleet (`spec/contracts/errands.md` §4).
//!
//! ```text
//! errand ─► run ──► pass ─► crate::runner ─► odb_rollout::Engine   which instance is next: no I/O
//!              │        │       └────► through_broker, through_platform        the calls
//!              │        └► progress, console, report
//!              └► listing, resumption, dry_run
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `run` | the passes of a run, and what surrounds them |
//! | `options` | the operator's options, and whether broker and Director support them |
//! | `listing` | the instances of a pass, and which of them are selected |
//! | `pass` | one pass over the instances, and its rows |
//! | `through_broker`, `through_platform` | how operations are requested and polled |
//! | `look_up` | the current state of an instance, and its health |
//! | `resumption` | runs that are continued |
//! | `lease` | one process at a time carries out a run |
//! | `dry_run` | what would change |

mod dry_run;
mod lease;
mod listing;
mod look_up;
mod options;
mod pass;
mod resumption;
mod run;
mod through_broker;
mod through_platform;

use odb_api_types::management::RunKind;
use odb_config::errands::Fleet as FleetFile;

use crate::{
    Dependencies, ExitStatus,
    command_line::{ConfigTexts, load},
    report::Report,
};
pub(crate) use options::FleetFlags;
use run::FleetRun;

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some("-configPath must be given as argument"),
    unreadable: None,
    invalid: None,
};

/// Performs the operation on every instance that is selected.
pub(crate) async fn operate(
    operation: RunKind,
    flags: &FleetFlags,
    dependencies: &Dependencies,
) -> anyhow::Result<ExitStatus> {
    let mut report = Report::of(match operation {
        RunKind::Upgrade => "upgrade-all-service-instances",
        RunKind::Recreate => "recreate-all-service-instances",
    });
    let file = flags.config.as_deref();
    let begun = load(file, &FILE_TEXTS, FleetFile::load, dependencies)
        .and_then(|file| FleetRun::new(operation, file, flags, dependencies));
    match begun {
        Ok(run) => run.complete(report).await,
        Err(error) => {
            // With `--output json` a document is printed in every case.
            let ended = Err(error);
            report.end(&ended, flags.output, dependencies)?;
            ended
        }
    }
}
