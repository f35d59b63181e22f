//! What carries an operation from its hand-over to its end.
//!
//! | file | holds |
//! | --- | --- |
//! | `operation` | an operation in flight, as types |
//! | `driver`, `drivers` | what follows one operation, and all of them |
//! | `observer`, `next_step`, `narrative` | what its tasks came to, what follows, what users read meanwhile |
//! | `traces` | what the Director's audit and the deployment show of an operation whose tasks are dropped |
//! | `insistence` | asking until there is an answer |
//! | `resume` | picking up what an earlier process left |
//! | `leftovers`, `sweeps` | what to remove after a delete; and of operations that were given up |

pub(crate) mod driver;
pub(crate) mod drivers;
pub(crate) mod insistence;
pub(crate) mod leftovers;
pub(crate) mod narrative;
pub(crate) mod next_step;
pub(crate) mod observer;
pub(crate) mod operation;
pub(crate) mod resume;
pub(crate) mod sweeps;
pub(crate) mod traces;
