//! The pure rules of the offering: no I/O, no clock.

mod catalog;
mod maintenance;
mod quotas;

pub use catalog::{CatalogFault, catalog};
pub use maintenance::{MaintenanceConflict, check_maintenance_version};
pub use quotas::{QuotaExceeded, Usage, check_quotas};
