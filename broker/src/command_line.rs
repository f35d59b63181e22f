//! The command line: our own, and that of the Go broker.
//!
//! The exit status is 0 when all is well, 1 when something is wrong with the configuration or its world, 2 when the command
//! line means nothing.

use std::{ffi::OsString, path::PathBuf, process};

use clap::{Args, Parser, Subcommand, ValueEnum};
use on_demand_broker::{
    check::{self, Reach},
    telemetry::LogFilter,
};

/// Brings service instances about on demand.
///
/// A service broker between a platform that speaks the Open Service Broker API and a BOSH Director.
#[derive(Debug, Parser)]
#[command(name = "on-demand-broker", version, about)]
pub(crate) struct Arguments {
    /// What `serve` logs: a level, or a list of `target=level`.
    #[arg(
        long = "log",
        value_name = "FILTER",
        default_value = "info,actix_server=warn,actix_http=off"
    )]
    pub(crate) log_filter: LogFilter,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, PartialEq, Subcommand)]
pub(crate) enum Command {
    /// Answer requests until a signal comes.
    ///
    /// `on-demand-broker -configFilePath FILE`, as the Go broker is started, does the same.
    ///
    /// The log goes to standard output, as lines of JSON unless that is a terminal. Before the first request is taken, the
    /// configuration is checked and all neighbours are asked; what is wrong is logged, all of it at once, and the exit
    /// status is 1. After SIGTERM or SIGINT it is 0.
    Serve {
        /// The configuration, `broker.yml`.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// What is logged: a level, or a list of `target=level`. It may also stand before `serve`.
        #[arg(long = "log", value_name = "FILTER")]
        log_filter: Option<LogFilter>,
    },
    /// Say everything that is wrong with a configuration, without serving.
    ///
    /// Faults, which keep the broker from working, and remarks, such as keys that nobody knows, are printed to standard
    /// output, each with file, line, column and key, what is wrong and what would be right. No secret is printed, not even a
    /// part of one.
    ///
    /// Looked at are the file, the rules that platforms have for a catalog, certificates and keys, the adapter's executable
    /// and, with `enable_plan_schemas`, what the adapter says of its plans. No neighbour is asked: neither Director nor
    /// Cloud Controller, UAA or CredHub; `--online` asks them as a start does.
    ///
    /// Exit status: 0 no faults (there may be remarks), 1 faults, 2 the command line means nothing.
    Check(Check),
    /// Try every neighbour of a broker, without changing anything, and say what is wrong and what to do.
    ///
    /// Director, Cloud Controller, their UAAs, each CredHub, the service instances API and the service adapter, as far as they are
    /// configured: names, connections, certificates, answers, versions, clocks, credentials, and the rights that each feature
    /// needs which is switched on. All of them at once: one that hangs holds nobody up. No secret is printed.
    ///
    /// Exit status: 0 all is well (there may be warnings), 1 something keeps the broker from working, 2 the command line means
    /// nothing, 130 interrupted.
    Doctor(Doctor),
    /// Print what a configuration may hold: the JSON Schema of `broker.yml`, for editors, or every key, for people
    ///
    /// The schema is of draft-07. Where the file `broker.schema.json` lies beside `broker.yml`, this line at the top of
    /// `broker.yml` makes editors with a YAML language server explain keys and underline faults:
    ///
    ///   # yaml-language-server: $schema=broker.schema.json
    #[command(verbatim_doc_comment)]
    Schema {
        /// What is printed.
        #[arg(long, value_enum, default_value_t = SchemaFormat::Json)]
        format: SchemaFormat,
    },
    /// Kill the adapters that run when the broker is killed. For `serve`, which starts it.
    #[command(hide = true, name = WATCHDOG)]
    Watchdog,
}

/// The subcommand of the process that ends adapters after the broker.
pub(crate) const WATCHDOG: &str = "watchdog";

#[derive(Debug, PartialEq, Args)]
pub(crate) struct Check {
    /// The configuration, `broker.yml`; `-` reads it from standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// How findings are printed.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// The broker will run on another machine: look at no file that the configuration names, and do not run the adapter.
    #[arg(long, conflicts_with = "online")]
    elsewhere: bool,
    /// Ask the neighbours, too: Director, Cloud Controller and whoever else is configured. Nothing is changed there.
    #[arg(long)]
    online: bool,
    /// What is logged, to standard error: a level, or a list of `target=level`. Else nothing is.
    ///
    /// `on_demand_broker::adapter=info` shows what the adapter says on its standard error.
    #[arg(long = "log", value_name = "FILTER")]
    pub(crate) log_filter: Option<LogFilter>,
}

#[derive(Debug, PartialEq, Args)]
pub(crate) struct Doctor {
    /// The configuration, `broker.yml`; `-` reads it from standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// How findings are printed.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// How long each call may take, in seconds; everything together takes five times as long at most.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) timeout: u64,
    /// What is logged, to standard error: a level, or a list of `target=level`. Else nothing is.
    #[arg(long = "log", value_name = "FILTER")]
    pub(crate) log_filter: Option<LogFilter>,
}

impl Check {
    /// How far the check goes.
    pub(crate) fn reach(&self) -> Reach {
        match (self.elsewhere, self.online) {
            (true, _) => Reach::File,
            (false, false) => Reach::Machine,
            (false, true) => Reach::Neighbours,
        }
    }
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// A line for each, for people and editors
    Text,
    /// One JSON document, for programs
    Json,
}

/// What is printed of the configuration's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaFormat {
    /// The JSON Schema of `broker.yml`
    Json,
    /// A table of each section of `broker.yml` and of the errands' files, in Markdown
    Markdown,
}

impl From<ReportFormat> for check::Format {
    fn from(format: ReportFormat) -> Self {
        match format {
            ReportFormat::Text => Self::Text,
            ReportFormat::Json => Self::Json,
        }
    }
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
            log_filter: None,
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
