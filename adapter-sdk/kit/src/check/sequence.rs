use std::path::{Path, PathBuf};

use super::probes::bindings::check_bindings;
use super::probes::dashboards::check_dashboard;
use super::probes::forms::check_forms;
use super::probes::malformed::check_malformed;
use super::probes::orders::check_orders;
use super::probes::parameters::check_parameters;
use super::probes::plan_changes::check_plan_changes;
use super::probes::refused_parameters::check_refused_parameters;
use super::probes::schemas::check_schemas;
use super::probes::stability::check_stability;
use super::probes::subcommands::check_subcommands;
use super::report::Report;
use super::session::Session;
use crate::inputs::Inputs;
use crate::process::{AdapterProcess, Program};

/// Checks an adapter with these inputs.
///
/// In an author's own test:
///
/// ```
/// # use std::{fs, os::unix::fs::PermissionsExt as _};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("adapter");
/// # fs::write(&path, "#!/bin/sh\ncat >/dev/null\necho 'not yet' >&2\nexit 10\n")?;
/// # fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
/// # let inputs = "service_deployment: {releases: [], stemcells: []}\nplans: [{name: small, instance_groups: []}]\n";
/// # fs::write(folder.path().join("adapter-check.yml"), inputs)?;
/// use odb_adapter_kit::check::check;
/// use odb_adapter_kit::inputs::Inputs;
/// use odb_adapter_kit::process::Program;
///
/// let report = check(&Program::at(&path)?, &Inputs::beside(&path)?);
/// // A test would say: assert!(report.is_clean(), "{report}");
/// assert_eq!(report.error_ids(), ["C-01", "P-07"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(program: &Program, inputs: &Inputs) -> Report {
    Check::new(program.clone(), inputs.clone()).run()
}

/// A check that is about to be made.
#[derive(Debug, Clone)]
pub struct Check {
    program: Program,
    inputs: Inputs,
    adapter: PathBuf,
    keep: Option<PathBuf>,
}

impl Check {
    /// A check of that adapter with these inputs.
    pub fn new(program: Program, inputs: Inputs) -> Self {
        Self {
            adapter: program.executable().to_owned(),
            program,
            inputs,
            keep: None,
        }
    }

    /// The same under another name in the report.
    #[must_use]
    pub fn named(self, adapter: &Path) -> Self {
        Self {
            adapter: adapter.to_owned(),
            ..self
        }
    }

    /// The same, saving the input of calls with findings in a folder. It contains the secrets of the inputs.
    #[must_use]
    pub fn keeping(self, folder: impl Into<PathBuf>) -> Self {
        Self {
            keep: Some(folder.into()),
            ..self
        }
    }

    /// Asks the adapter everything. This takes some hundred calls at most.
    pub fn run(self) -> Report {
        let process = self.inputs.environment.iter().fold(
            AdapterProcess::new(self.program).with_deadline(self.inputs.deadline),
            |process, (name, value)| process.with_variable(name, value),
        );
        let mut session = Session::new(self.adapter, process, &self.inputs, self.keep);
        check_everything(&mut session);
        session.finish()
    }
}

fn check_everything(session: &mut Session<'_>) {
    let ordered = check_orders(session);
    check_subcommands(session);
    if ordered.is_empty() {
        return;
    }
    check_stability(session, &ordered);
    let schemas = check_schemas(session, &ordered);
    check_forms(session, &ordered[0]);
    check_malformed(session, &ordered[0]);
    check_parameters(session, &ordered);
    check_refused_parameters(session, &ordered, schemas.as_ref());
    check_plan_changes(session);
    check_bindings(session, &ordered);
    check_dashboard(session, &ordered[0]);
}
