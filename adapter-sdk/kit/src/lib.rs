//! Test kit for service adapters in any language. The executable `odb-adapter` is its command line.
//!
//! | module | holds |
//! | --- | --- |
//! | `process` | one call of an adapter's executable: bounded in time and output, with nothing left behind |
//! | `inputs` | what an adapter is asked with: `adapter-check.yml`, `broker.yml` |
//! | `check` | `odb-adapter check`: is an adapter true to the protocol? |
//! | `new` | `odb-adapter new`: the beginning of an adapter |
//! | `run` | `odb-adapter run`: one subcommand by hand |
//! | `command_line` | what the executable is asked for |

pub mod check;
pub mod command_line;
pub mod inputs;
pub mod new;
pub mod process;
pub mod run;
