//! `odb-adapter check`: does an adapter conform to the protocol (`spec/contracts/adapter-protocol.md`)?
//!
//! The check calls the adapter as a broker would during the life of an instance, and checks the answers as the broker,
//! the Director and the Go SDK would.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the sequence of a check |
//! | `command` | the command line |
//! | `rules` | the rules for adapters, `docs/authors/check.md` in code |
//! | `session` | calls the adapter, applies the rules that hold for every call |
//! | `request`, `answers` | the requests, in both forms; the answers, and the instance that they make |
//! | `probes` | the parts of a check |
//! | `manifest_rules`, `scalars`, `secrets` | the rules for every manifest; values that must not be shown |
//! | `difference` | locations in documents, and where two documents differ |
//! | `findings`, `report` | the findings, merged, and the report |

mod answers;
pub(crate) mod command;
pub(crate) mod difference;
mod findings;
mod manifest_rules;
mod probes;
mod report;
mod request;
pub mod rules;
mod scalars;
mod secrets;
mod session;

use std::path::PathBuf;

pub use self::report::{Area, AreaReport, Finding, FindingCall, Report};
use self::session::Session;
use crate::inputs::Inputs;
use crate::process::Program;

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
pub struct Check {
    program: Program,
    inputs: Inputs,
    /// Its name in the report.
    adapter: PathBuf,
    /// Where the input of calls with findings is kept, secrets of the inputs included.
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

    /// Asks the adapter everything. This takes some hundred calls at most.
    pub fn run(self) -> Report {
        let mut session = Session::new(self.adapter, self.program, &self.inputs, self.keep);
        probes::check_everything(&mut session);
        session.finish()
    }
}
