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
//! | `people` | what a person reads of a run, instead of the lines of the Go errand |
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
mod people;
mod resumption;
mod run;
mod through_broker;
mod through_platform;

use odb_api_types::management::RunKind;
use odb_config::errands::Fleet as FleetFile;

use crate::{
    Dependencies, ExitStatus,
    command_line::{ConfigTexts, load},
    report::{OutputFormat, Report},
};
pub(crate) use options::FleetFlags;
use run::FleetRun;

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some("-configPath must be given as argument"),
    unreadable: None,
    invalid: None,
};

/// How a run is displayed.
#[derive(Clone, Debug)]
pub struct View {
    /// The format of standard output.
    pub output: OutputFormat,
    /// Whether a person reads the lines of the Go errand, too.
    pub is_verbose: bool,
    /// What to type next.
    pub next: NextCommands,
}

/// The commands that a person may type after a run.
#[derive(Clone, Debug)]
pub struct NextCommands {
    /// After a dry run that would change something.
    pub begin: String,
    /// After a run that has not succeeded.
    pub resume: String,
}

/// Performs the operation on every instance that is selected, for the errand of the Go name.
pub(crate) async fn operate(
    operation: RunKind,
    flags: &FleetFlags,
    dependencies: &Dependencies,
) -> anyhow::Result<ExitStatus> {
    let errand = errand(operation);
    let file = flags.config.as_deref();
    let path = file.map(|file| file.display().to_string());
    let again = format!("odb-errand {errand} --config {}", path.unwrap_or_default());
    let view = View {
        output: flags.output,
        is_verbose: flags.verbose,
        next: NextCommands {
            resume: format!("{again} --continue --retry-failed"),
            begin: again,
        },
    };
    let begun = load(file, &FILE_TEXTS, FleetFile::load, dependencies).map(|mut file| {
        file.run = flags.over(std::mem::take(&mut file.run));
        file
    });
    roll_out_of(operation, begun, view, dependencies).await
}

/// Performs the operation on every instance that `file.run` selects.
pub async fn roll_out(
    operation: RunKind,
    file: FleetFile,
    view: View,
    dependencies: &Dependencies,
) -> anyhow::Result<ExitStatus> {
    roll_out_of(operation, Ok(file), view, dependencies).await
}

async fn roll_out_of(
    operation: RunKind,
    file: anyhow::Result<FleetFile>,
    view: View,
    dependencies: &Dependencies,
) -> anyhow::Result<ExitStatus> {
    let mut report = Report::of(errand(operation));
    let output = view.output;
    let begun = file.and_then(|file| FleetRun::new(operation, file, view, dependencies));
    match begun {
        Ok(run) => run.complete(report).await,
        Err(error) => {
            // With `--output json` a document is printed in every case.
            let ended = Err(error);
            report.end(&ended, output, dependencies)?;
            ended
        }
    }
}

fn errand(operation: RunKind) -> &'static str {
    match operation {
        RunKind::Upgrade => "upgrade-all-service-instances",
        RunKind::Recreate => "recreate-all-service-instances",
    }
}
