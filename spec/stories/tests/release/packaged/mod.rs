//! The release on a VM: unpacked, compiled and rendered as Director and agent do, run as bpm and monit do, on a
//! sandbox.
//!
//! | module | what |
//! | --- | --- |
//! | `life` | from pre-start to drain, with every errand |
//! | `drain` | how the broker is stopped |
//! | `foundations` | each of three manifests |
//! | `site` | the VM, and the sandbox around it |
//! | `watch` | who looks at the process list meanwhile |

mod drain;
mod foundations;
mod life;
mod site;
mod watch;

use std::time::Duration;

/// How long what is waited for may take. Most of it takes a second.
const TIMEOUT: Duration = Duration::from_mins(1);
