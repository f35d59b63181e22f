//! Carries an operation from its submission to its outcome.
//!
//! | file | contents |
//! | --- | --- |
//! | `operation` | an operation in flight, as types |
//! | `reconcilers`, `control_loop` | all reconcilers, and one with its operation |
//! | `observer`, `next_step`, `narrative` | the results of its tasks, the next step, the texts for users |
//! | `stopping` | cancels tasks, and waits for requests that may still arrive |
//! | `history` | what the Director's audit and the deployment show of an operation whose tasks are dropped |
//! | `failure`, `outcome` | why an operation has failed; recording and publishing how it has ended |
//! | `cleanup` | what to remove after a success, a delete, and an operation that was not submitted |
//! | `context` | what every step needs, with the retries of calls during transient errors |

pub(crate) mod cleanup;
mod context;
mod control_loop;
pub(crate) mod failure;
pub(crate) mod history;
pub(crate) mod narrative;
pub(crate) mod next_step;
pub(crate) mod observer;
pub(crate) mod operation;
mod outcome;
pub(crate) mod reconcilers;
mod stopping;
