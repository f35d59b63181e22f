//! The request's part of an operation: everything that can fail, then the hand-over to the Director.
//!
//! | file | holds |
//! | --- | --- |
//! | `create`, `update`, `upgrade`, `recreate`, `delete` | one operation each |
//! | `current` | what an update or upgrade finds |
//! | `preparation`, `submit_order` | manifest, checks, dashboard; then operation record, configs, submission |
//! | `submission` | handing over exactly once |
//! | `client` | the instance's UAA client, around what may fail before the hand-over |
//! | `cancel` | the end of an operation that an operator has had enough of |

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
