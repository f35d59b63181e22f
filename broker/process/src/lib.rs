//! One supervised child process. It leads a process group of its own, has a deadline, and its output is bounded; its
//! group is killed and reaped when it ends, and the processes that left the group are found.
//!
//! Everything here blocks. Asynchronous callers run a [`ChildProcess`] on a thread for blocking work and cancel it
//! through a pipe.
//!
//! | file | holds |
//! | --- | --- |
//! | `child_process` | starts, feeds, reads and ends one child |
//! | `output` | what is kept of a stream, and how much is too much |
//! | `adopted` | orphaned processes that this process adopts as their subreaper |
//! | `marked` | processes that carry the mark of a call in their environment |
//! | `proc_fs` | what Linux reports of processes |
//! | `watchdog` | kills the groups of a process that is killed itself |

mod adopted;
mod child_process;
mod marked;
mod output;
mod proc_fs;
mod watchdog;

use std::ffi::OsStr;

pub use adopted::{Event, adopt_orphans, end_all_orphans};
pub use child_process::{ChildProcess, Ended, Orphans, Outcome, ProcessError};
pub use output::{Capture, Lines, Sink, Stream, TooMuch};
pub use watchdog::{start_watchdog, watch};

/// The variables that a child inherits from its parent's environment.
const INHERITED: [&str; 13] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Whether a child inherits this variable from its parent's environment by default.
pub fn is_inherited(variable: &OsStr) -> bool {
    INHERITED.iter().any(|inherited| variable == *inherited)
}
