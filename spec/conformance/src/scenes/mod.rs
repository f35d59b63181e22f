//! Sequences with a service instance, run once for all checks that need them.
//!
//! | scene | steps |
//! | --- | --- |
//! | `creation` | an instance is ordered, the order repeated and contradicted, the operation polled to its end |
//! | `change` | it is moved to another plan, or gets other parameters |
//! | `bindings` | bindings are created in several ways, and deleted |
//! | `deletion` | it is deleted |
//! | `cut_short` | another one is deleted during its creation |

mod bindings;
mod change;
mod creation;
mod cut_short;
mod deletion;

pub(super) use bindings::Bindings;
pub(super) use change::Change;
pub(super) use creation::Creation;
pub(super) use cut_short::CutShort;
pub(super) use deletion::Deletion;
