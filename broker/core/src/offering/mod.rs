//! The pure rules of the offering: no I/O, no clock.

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
