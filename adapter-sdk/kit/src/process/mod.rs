//! One call of an adapter's executable. Whatever the adapter does, the call ends, is bounded in time
//! and output, and nothing that it started is left behind.
//!
//! | file | holds |
//! | --- | --- |
//! | `program` | which executable a path means |
//! | `call` | what a process is given |
//! | `adapter_process` | starts it, feeds it, reads it, ends it |
//! | `output` | a stream of the child, read to its end by a thread of its own |
//! | `strays` | what the adapter leaves behind |
//! | `ended` | how it ended |

mod adapter_process;
mod call;
mod ended;
mod output;
mod program;
mod strays;

pub use adapter_process::{AdapterProcess, StartError};
pub use call::ProcessCall;
pub use ended::{End, Ended};
pub use program::{Program, ProgramError};
