//! Test kit for service adapters in any language. The executable `odb-adapter` is its command line.
//!
//! | module | holds |
//! | --- | --- |
//! | `process` | one call of an adapter's executable: bounded in time and output, with nothing left behind |
//! | `inputs` | what an adapter is asked with: `adapter-check.yml`, `broker.yml` |
//! | `broker` | what a broker does around a call |
//! | `check` | `odb-adapter check`: is an adapter true to the protocol? |
//! | `new` | `odb-adapter new`: the beginning of an adapter |
//! | `run` | `odb-adapter run`: one subcommand by hand |
//! | `command_line` | what the executable is asked for |

mod broker;
pub mod check;
mod command_line;
pub mod inputs;
mod new;
pub mod process;
mod run;

pub use command_line::main;
