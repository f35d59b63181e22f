//! Carries an operation from its submission to its outcome.
//!
//! | file | holds |
//! | --- | --- |
//! | `operation` | an operation in flight, as types |
//! | `driver`, `drivers` | what follows one operation, and all of them |
//! | `observer`, `next_step`, `narrative` | what its tasks came to, what follows, what users read meanwhile |
//! | `traces` | what the Director's audit and the deployment show of an operation whose tasks are dropped |
//! | `retry` | retries calls that fail for a while |
//! | `resume` | resumes the operations of an earlier process |
//! | `residual_resources`, `sweeps` | what to remove after a delete; and of operations that were given up |

pub(crate) mod driver;
pub(crate) mod drivers;
pub(crate) mod narrative;
pub(crate) mod next_step;
pub(crate) mod observer;
pub(crate) mod operation;
pub(crate) mod residual_resources;
pub(crate) mod resume;
pub(crate) mod retry;
pub(crate) mod sweeps;
pub(crate) mod traces;
