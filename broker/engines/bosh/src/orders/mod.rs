//! The request's part of an operation: everything that can fail, then the submission to the Director.
//!
//! | file | contents |
//! | --- | --- |
//! | `create`, `delete` | a new instance, and its end |
//! | `change` | orders for an existing instance: update, upgrade, recreate, preview |
//! | `preparation`, `submission` | UAA client, manifest, checks, dashboard; then operation record, configs, submission |
//! | `abandoned_writes` | operation records and UAA clients that may arrive after their operation was given up |
//! | `cancel` | cancelling an operation |

pub(crate) mod abandoned_writes;
pub(crate) mod cancel;
pub(crate) mod change;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod preparation;
pub(crate) mod submission;
