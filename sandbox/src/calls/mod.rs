//! The latest calls to every server of a foundation: the caller, the request and the outcome.
//!
//! | module | contents |
//! | --- | --- |
//! | `call` | the record of a call |
//! | `caller` | the identity that a caller claims |
//! | `record` | the recorded calls |
//! | `noting` | records every request, with or without an injected fault |

mod call;
mod caller;
mod noting;
mod record;

pub use call::{Call, CallNumber, Outcome};
pub(crate) use noting::{ConnectionCut, note};
pub use record::Calls;
