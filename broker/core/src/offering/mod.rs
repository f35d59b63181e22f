//! The pure rules of the offering: no I/O, no clock.
//!
//! | file | decides |
//! | --- | --- |
//! | `catalog` | the catalog for platforms, and why a request does not fit it |
//! | `update` | what an update request means |
//! | `binding` | whether an adapter's binding is valid |
//! | `schemas` | whether parameters are valid for a plan |
//! | `quotas` | whether one more instance fits |

mod binding;
mod catalog;
mod quotas;
mod schemas;
mod update;

pub use binding::{InvalidBinding, check_binding};
pub use catalog::{CatalogError, catalog};
pub use odb_config::{PlanVersion, check_maintenance_version};
pub use quotas::{QuotaExceeded, QuotaUse, Total, Usage, check_quotas, quota_uses, totals_needed};
pub use schemas::{
    BrokenSchema, InvalidParameters, ParameterSchema, ParametersOf, PlanSchemas, SchemaError,
    Schemas,
};
pub use update::{ProposedUpdate, UpdateMeaning, meaning_of_update};
