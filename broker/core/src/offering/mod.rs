//! The pure rules of the offering: no I/O, no clock.
//!
//! | file | decides |
//! | --- | --- |
//! | `catalog` | the catalog for platforms |
//! | `update` | what an update request means |
//! | `binding` | whether an adapter's binding is valid |
//! | `plan_schemas`, `parameter_schema` | whether parameters are valid for a plan |
//! | `quotas` | whether one more instance fits |

mod binding;
mod catalog;
mod parameter_schema;
mod plan_schemas;
mod quotas;
mod update;

pub use binding::{InvalidBinding, Unannounced, check_binding};
pub use catalog::{CatalogError, catalog};
pub use odb_config::{MaintenanceConflict, PlanVersion, check_maintenance_version};
pub use parameter_schema::{InvalidParameters, ParameterSchema, SchemaError};
pub use plan_schemas::{BrokenSchema, ParametersOf, PlanSchemas, Schemas};
pub use quotas::{QuotaExceeded, Total, Usage, check_quotas, totals_needed};
pub use update::{
    PlanMovement, ProposedUpdate, RequestedParameters, UpdateMeaning, UpdateRefused,
    meaning_of_update,
};
