//! One call of an adapter's executable. The call always ends, is bounded in time and output, and leaves no process
//! behind.
//!
//! | file | contents |
//! | --- | --- |
//! | `program` | the executable of a path |
//! | `call` | the arguments and the stdin of a process |
//! | `adapter_process` | runs it as a broker does, as a supervised child (`odb-process`) |
//! | `ended` | its end |

mod adapter_process;
mod call;
mod ended;
mod program;

pub use adapter_process::{AdapterProcess, StartError};
pub use call::ProcessCall;
pub use ended::{End, Ended};
pub use program::{Program, ProgramError};
