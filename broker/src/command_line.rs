//! The command line: our own, and that of the Go broker.

use std::{ffi::OsString, path::PathBuf, process};

use clap::{Parser, Subcommand};
use on_demand_broker::telemetry::LogFilter;

/// Brings service instances about on demand.
#[derive(Debug, Parser)]
#[command(name = "on-demand-broker", version, about)]
pub(crate) struct Arguments {
    /// What to log: a level, or a list of `target=level`.
    #[arg(
        long = "log",
        value_name = "FILTER",
        default_value = "info,actix_server=warn",
        global = true
    )]
    pub(crate) log_filter: LogFilter,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Answer requests until a signal comes.
    ///
    /// `on-demand-broker -configFilePath FILE`, as the Go broker is started, does the same.
    Serve {
        /// The configuration, `broker.yml`.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
}

/// The one flag of the Go broker.
const LEGACY_FLAG: &str = "configFilePath";

impl Arguments {
    /// Understands the command line, or says what is wrong with it and ends the process.
    pub(crate) fn parse_or_exit(arguments: impl Iterator<Item = OsString>) -> Self {
        Self::try_parse_any(arguments).unwrap_or_else(|error| {
            // Nothing can be done about a closed stderr.
            let _ = error.print();
            process::exit(error.exit_code())
        })
    }

    fn try_parse_any(arguments: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(modern(arguments.collect()))
    }
}

/// Turns the Go broker's flag, in one or two dashes, with a space or `=`, into our own words.
fn modern(arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(first) = arguments.get(1).and_then(|argument| argument.to_str()) else {
        return arguments;
    };
    let Some(flag) = first.strip_prefix("--").or_else(|| first.strip_prefix('-')) else {
        return arguments;
    };
    let serve = [arguments[0].clone(), "serve".into()];
    if flag == LEGACY_FLAG {
        let rest = arguments[2..].iter().cloned();
        serve
            .into_iter()
            .chain(["--config".into()])
            .chain(rest)
            .collect()
    } else if let Some(path) = flag
        .strip_prefix(LEGACY_FLAG)
        .and_then(|rest| rest.strip_prefix('='))
    {
        let rest = arguments[2..].iter().cloned();
        serve
            .into_iter()
            .chain([format!("--config={path}").into()])
            .chain(rest)
            .collect()
    } else {
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Command, clap::Error> {
        let words = ["on-demand-broker"].iter().chain(words).map(OsString::from);
        Arguments::try_parse_any(words).map(|arguments| arguments.command)
    }

    #[test]
    fn the_go_brokers_command_line_still_works() {
        let expected = Command::Serve {
            config: "b.yml".into(),
        };
        for words in [
            &["serve", "--config", "b.yml"][..],
            &["-configFilePath", "b.yml"],
            &["--configFilePath", "b.yml"],
            &["-configFilePath=b.yml"],
            &["--configFilePath=b.yml"],
        ] {
            assert_eq!(parse(words).unwrap(), expected, "{words:?}");
        }
    }

    #[test]
    fn a_missing_path_is_refused() {
        for words in [
            &["-configFilePath"][..],
            &["serve"],
            &[],
            &["-configFile", "b.yml"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
