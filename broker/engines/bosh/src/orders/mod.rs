//! The request's part of an operation: everything that can fail, then the submission to the Director.
//!
//! | file | contents |
//! | --- | --- |
//! | `create`, `update`, `upgrade`, `recreate`, `delete` | one operation each |
//! | `current` | the state before an update or upgrade |
//! | `preparation`, `submit_order` | manifest, checks, dashboard; then operation record, configs, submission |
//! | `submission` | submitting exactly once |
//! | `client` | the instance's UAA client, created before and restored after a failure |
//! | `cancel` | cancelling an operation |

pub(crate) mod cancel;
pub(crate) mod client;
pub(crate) mod create;
pub(crate) mod current;
pub(crate) mod delete;
pub(crate) mod preparation;
pub(crate) mod recreate;
pub(crate) mod submission;
pub(crate) mod submit_order;
pub(crate) mod update;
pub(crate) mod upgrade;
