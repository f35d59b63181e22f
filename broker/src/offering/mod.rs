//! The pure rules of the offering: no I/O, no clock.
//!
//! | file | decides |
//! | --- | --- |
//! | `catalog` | what platforms read |
//! | `version` | the version of a plan, and whether a platform means it |
//! | `update` | what an update request means |
//! | `schemas` | whether parameters fit a plan |
//! | `quotas` | whether one more instance fits |

mod catalog;
mod quotas;
mod schemas;
mod update;
mod version;

pub use catalog::{CatalogFault, catalog};
pub use quotas::{QuotaExceeded, Usage, check_quotas};
pub use schemas::{InvalidParameters, ParameterSchema, PlanSchemas, SchemaFault};
pub use update::{
    PlanMovement, RequestedParameters, UpdateMeaning, UpdateQuestion, UpdateRefused,
    meaning_of_update,
};
pub use version::{MaintenanceConflict, PlanVersion, check_maintenance_version};
