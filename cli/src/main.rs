//! `odb`, the operator's command line: nouns and verbs over the management API of one or several brokers.
//!
//! It shares its clients, the progress on the terminal and the rollout of a fleet with the errands. Guide:
//! `docs/operators/odb.md`.
//!
//! | module | contents |
//! | --- | --- |
//! | `arguments` | the command line |
//! | `contexts` | which brokers a command reaches, and with which credentials |
//! | `environment` | the variables of the process |
//! | `brokers` | the brokers of a command, connected |
//! | `names` | names that people type |
//! | `output` | tables, JSON and YAML |
//! | `instance`, `rollout`, `orphan`, `broker`, `plan`, `watch`, `offer` | the nouns |
//! | `shell` | completions and man pages |
//! | `typed` | commands to type next |

mod arguments;
mod broker;
mod brokers;
mod contexts;
mod environment;
mod instance;
mod names;
mod offer;
mod orphan;
mod output;
mod plan;
mod rollout;
mod shell;
mod typed;
mod watch;

use std::process::ExitCode;

use clap::Parser;
use odb_errand::{Console, ExitStatus, Screen};
use odb_redaction::Chain;
use tokio::runtime::Runtime;

use arguments::Arguments;
use environment::Environment;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let environment = Environment::of(std::env::vars_os());
    let status = match Runtime::new() {
        Ok(runtime) => {
            let status = runtime.block_on(Box::pin(arguments.run(environment)));
            // Does not wait for a thread that is blocked in a prompt.
            runtime.shutdown_background();
            status
        }
        Err(error) => Err(error.into()),
    };
    let status = status.unwrap_or_else(|error| {
        Console::plain(Screen::of_stderr()).log(Chain(error.as_ref()));
        ExitStatus::Failure
    });
    status.into()
}
