//! One call of an adapter's executable. Whatever the adapter does, the call ends, is bounded in time
//! and output, and nothing that it started is left behind.
//!
//! | file | holds |
//! | --- | --- |
//! | `program` | which executable a path means |
//! | `call` | what a process is given |
//! | `adapter_process` | runs it as a broker does, as a supervised child (`odb-process`) |
//! | `ended` | how it ended |

mod adapter_process;
mod call;
mod ended;
mod program;

pub use adapter_process::{AdapterProcess, StartError};
pub use call::ProcessCall;
pub use ended::{End, Ended};
pub use program::{Program, ProgramError};
