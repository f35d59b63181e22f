use std::path::{Path, PathBuf};

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

    /// The same, keeping the input of calls that findings speak of in a folder. It holds the secrets
    /// of the inputs.
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
        session.check_everything();
        session.finish()
    }
}

impl Session<'_> {
    fn check_everything(&mut self) {
        let ordered = self.check_orders();
        self.check_subcommands();
        if ordered.is_empty() {
            return;
        }
        self.check_stability(&ordered);
        let schemas = self.check_schemas(&ordered);
        self.check_forms(&ordered[0]);
        self.check_malformed(&ordered[0]);
        self.check_parameters(&ordered);
        self.check_refused_parameters(&ordered, schemas.as_ref());
        self.check_plan_changes();
        self.check_bindings(&ordered);
        self.check_dashboard(&ordered[0]);
    }
}
