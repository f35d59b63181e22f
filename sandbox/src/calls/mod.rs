//! The latest calls to every server of a foundation: the caller, the request and the outcome.
//!
//! | module | contents |
//! | --- | --- |
//! | `call` | the record of a call; the identity that a caller claims |
//! | `record` | the recorded calls; records every request, with or without an injected fault |

mod call;
mod record;

pub use call::{Call, CallNumber, Outcome};
pub use record::Calls;
pub(crate) use record::{ConnectionCut, note};
