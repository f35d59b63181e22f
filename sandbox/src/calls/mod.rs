//! The latest calls of every server of a foundation: who asked for what, and what came of it.
//!
//! | module | what it has |
//! | --- | --- |
//! | `call` | what is remembered of a call |
//! | `caller` | who a caller says it is |
//! | `record` | the calls that are remembered |
//! | `noting` | how they get there: every request passes by, faults or no faults |

mod call;
mod caller;
mod noting;
mod record;

pub use call::{Call, CallNumber, Outcome};
pub(crate) use noting::{ConnectionCut, note};
pub use record::Calls;
