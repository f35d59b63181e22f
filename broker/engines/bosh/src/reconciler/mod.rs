//! Carries an operation from its submission to its outcome.
//!
//! | file | contents |
//! | --- | --- |
//! | `operation` | an operation in flight, as types |
//! | `reconciler`, `reconcilers` | the reconciler of one operation, and all of them |
//! | `observer`, `next_step`, `narrative` | the results of its tasks, the next step, the progress text for users |
//! | `traces` | what the Director's audit and the deployment show of an operation whose tasks are dropped |
//! | `retry` | retries calls during transient errors |
//! | `resume` | resumes the operations of an earlier process |
//! | `residual_resources`, `abandoned_writes` | what to remove after a delete, and after abandoned operations |

pub(crate) mod abandoned_writes;
pub(crate) mod control_loop;
pub(crate) mod narrative;
pub(crate) mod next_step;
pub(crate) mod observer;
pub(crate) mod operation;
pub(crate) mod reconcilers;
pub(crate) mod residual_resources;
pub(crate) mod resume;
pub(crate) mod retry;
pub(crate) mod traces;
