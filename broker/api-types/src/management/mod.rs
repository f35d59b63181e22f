//! The JSON of the management API, as types: the broker answers with them, the operator's errands read them
//! (`spec/openapi/management.yaml`).

mod dry_run;
mod instance;
mod inventory;
mod run_counts;
mod runs;

pub use crate::ids::Target;
pub use dry_run::*;
pub use instance::*;
pub use inventory::*;
pub use run_counts::*;
pub use runs::*;
