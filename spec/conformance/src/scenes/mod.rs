//! What is played with a service instance, once for all checks that look at it.
//!
//! | scene | what happens |
//! | --- | --- |
//! | `creation` | an instance is ordered, repeated, contradicted, followed to its end |
//! | `change` | it is moved to another plan, or gets other parameters |
//! | `bindings` | credentials are asked for in several ways, and given back |
//! | `deletion` | it is deleted |
//! | `cut_short` | another one is deleted while it is being made |

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
