//! One supervised child process. It leads its own process group and has a deadline and a limit of output. When it ends,
//! its group is killed and reaped, and the processes that left the group are found.
//!
//! Everything here blocks. Asynchronous callers run a [`ChildProcess`] on a thread for blocking work and cancel it
//! through a pipe.
//!
//! | file | contents |
//! | --- | --- |
//! | `child_process` | starts, feeds, reads and ends one child |
//! | `output` | what is kept of a stream, and its limit |
//! | `adopted` | orphaned processes that this process adopts as their subreaper |
//! | `marked` | processes with the mark of a call in their environment |
//! | `proc_fs` | process information of Linux |
//! | `watchdog` | kills the groups of a killed process |

mod adopted;
mod child_process;
mod marked;
mod output;
mod proc_fs;
mod watchdog;

use std::ffi::OsStr;

pub use adopted::{Event, adopt_orphans, end_all_orphans};
pub use child_process::{ChildProcess, Ended, Limits, Orphans, Outcome, ProcessError};
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
