//! The command line: our own, and that of the Go broker.
//!
//! The exit status is 0 for success, 1 for errors of the configuration or of upstreams, 2 for an invalid command line.

use std::{ffi::OsString, path::PathBuf, process};

use clap::{Args, Parser, Subcommand, ValueEnum};
use on_demand_broker::{
    preflight::check::{self, AdapterCalls, Colour, Reach},
    telemetry::LogFilter,
};

/// Provision service instances on demand.
///
/// The broker connects a platform that uses the Open Service Broker API to a BOSH Director.
#[derive(Debug, Parser)]
#[command(name = "on-demand-broker", version, about)]
#[command(
    after_help = "Examples:\n  on-demand-broker serve --config broker.yml\n  on-demand-broker check --config broker.yml --online\n  on-demand-broker doctor --config broker.yml"
)]
pub(crate) struct Arguments {
    /// Log filter of `serve`: a level, or a list of `target=level`.
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
    /// Serve the Open Service Broker API until a signal arrives.
    ///
    /// `on-demand-broker -configFilePath FILE`, the command line of the Go broker, does the same.
    ///
    /// The log goes to standard output: JSON lines, or text on a terminal. Before the first request the broker
    /// checks its configuration and its upstreams. It logs everything that is wrong and exits with status 1. After
    /// SIGTERM or SIGINT the exit status is 0.
    #[command(
        after_help = "Examples:\n  on-demand-broker serve --config broker.yml\n  on-demand-broker serve --config broker.yml --log debug"
    )]
    Serve {
        /// Path of the configuration, `broker.yml`.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Log filter: a level, or a list of `target=level`; also accepted before `serve`.
        #[arg(long = "log", value_name = "FILTER")]
        log_filter: Option<LogFilter>,
    },
    /// Check a configuration without serving.
    ///
    /// Prints errors, which keep the broker from starting, and warnings, such as unknown keys, to standard output.
    /// Each finding names file, line, column and key, what is wrong and what is expected. No secret is printed, not
    /// even a part of one.
    ///
    /// The check covers the file, the platforms' rules for a catalog, certificates and keys, and the service
    /// adapter: its schemas, with `enable_plan_schemas`, and a manifest for a trial order of each plan. Nothing is
    /// deployed. With `--online` it also sends requests to the upstreams, as at a start.
    ///
    /// On a terminal each finding is shown with its line of the file, with secrets hidden. `NO_COLOR` switches
    /// colours off.
    ///
    /// Exit status: 0 no errors (there may be warnings), 1 errors, 2 usage error, 130 interrupted.
    #[command(
        after_help = "Examples:\n  on-demand-broker check --config broker.yml\n  on-demand-broker check --config broker.yml --online --format json\n  on-demand-broker check --config - --elsewhere < broker.yml"
    )]
    Check(Check),
    /// Probe every upstream of a broker and report problems with remedies.
    ///
    /// Probes the configured upstreams at the same time and changes nothing: Director, Cloud Controller, their
    /// UAAs, each CredHub, the service instances API and the service adapter. Checks names, connections,
    /// certificates, answers, versions, clocks, credentials, and the rights that enabled features need. No secret
    /// is printed.
    ///
    /// Exit status: 0 no errors (there may be warnings), 1 errors, 2 usage error, 130 interrupted.
    #[command(
        after_help = "Examples:\n  on-demand-broker doctor --config broker.yml\n  on-demand-broker doctor --config broker.yml --timeout 10 --format json"
    )]
    Doctor(Doctor),
    /// Print the JSON Schema of `broker.yml`, or a reference of every key
    ///
    /// The schema is draft-07. Save it as `broker.schema.json` beside `broker.yml` and put this line at the top of
    /// `broker.yml`: editors with a YAML language server then explain keys and underline errors.
    ///
    ///   # yaml-language-server: $schema=broker.schema.json
    #[command(verbatim_doc_comment)]
    #[command(
        after_help = "Examples:\n  on-demand-broker schema > broker.schema.json\n  on-demand-broker schema --format markdown > keys.md"
    )]
    Schema {
        /// Output format.
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
    /// Path of the configuration, `broker.yml`; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// Check for a broker on another machine: read no file that the configuration names, and do not run the
    /// adapter.
    #[arg(long, conflicts_with = "online")]
    elsewhere: bool,
    /// Also check the upstreams: Director, Cloud Controller and others that are configured. Changes nothing there.
    #[arg(long)]
    online: bool,
    /// Run the adapter for its schemas and a trial order of each plan.
    #[arg(long, value_enum, value_name = "on|off", default_value_t = Switch::On)]
    adapter: Switch,
    /// Log filter, to standard error: a level, or a list of `target=level`. Default: no log.
    ///
    /// `odb_engine_bosh::adapter=info` shows what the adapter says on its standard error.
    #[arg(long = "log", value_name = "FILTER")]
    pub(crate) log_filter: Option<LogFilter>,
}

#[derive(Debug, PartialEq, Args)]
pub(crate) struct Doctor {
    /// Path of the configuration, `broker.yml`; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// Timeout of each call, in seconds. The complete run takes at most five times as long
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) timeout: u64,
    /// Log filter, to standard error: a level, or a list of `target=level`. Default: no log.
    #[arg(long = "log", value_name = "FILTER")]
    pub(crate) log_filter: Option<LogFilter>,
}

impl Check {
    /// How much the check covers.
    pub(crate) fn reach(&self) -> Reach {
        match (self.elsewhere, self.online) {
            (true, _) => Reach::File,
            (false, false) => Reach::Machine,
            (false, true) => Reach::Upstreams,
        }
    }

    /// Whether the check runs the adapter.
    pub(crate) fn adapter_calls(&self) -> AdapterCalls {
        match self.adapter {
            Switch::On => AdapterCalls::Made,
            Switch::Off => AdapterCalls::LeftOut,
        }
    }

    /// How findings are printed: with the lines of the file for people at a terminal.
    pub(crate) fn format_on(
        &self,
        is_terminal: bool,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> check::Format {
        if self.format == ReportFormat::Json || !is_terminal {
            return self.format.into();
        }
        // https://no-color.org
        let is_unwanted = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_impossible = variable("TERM").is_some_and(|terminal| terminal == "dumb");
        check::Format::Snippets(if is_unwanted || is_impossible {
            Colour::Off
        } else {
            Colour::On
        })
    }
}

/// Whether the check runs the adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// Run it
    On,
    /// Do not run it: skip schemas and trial orders
    Off,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// A line for each, for people and editors
    Text,
    /// One JSON document, for programs
    Json,
}

/// The format of the configuration's keys.
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
    /// Parses the command line, or prints the error and ends the process.
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

/// Converts the Go broker's flag, with one or two dashes, a space or `=`, to our own.
fn modern(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let first = arguments.get(1).and_then(|argument| argument.to_str());
    let flag = first.and_then(|first| first.strip_prefix("--").or(first.strip_prefix('-')));
    let config = match flag.and_then(|flag| flag.strip_prefix(LEGACY_FLAG)) {
        Some(rest) if rest.is_empty() || rest.starts_with('=') => format!("--config{rest}"),
        Some(_) | None => return arguments,
    };
    arguments.splice(1..2, ["serve".into(), config.into()]);
    arguments
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
    fn a_check_runs_the_adapter_unless_it_is_switched_off() {
        for (words, calls) in [
            (&["check", "--config", "b.yml"][..], AdapterCalls::Made),
            (
                &["check", "--config", "b.yml", "--adapter", "on"],
                AdapterCalls::Made,
            ),
            (
                &["check", "--config", "b.yml", "--adapter=off"],
                AdapterCalls::LeftOut,
            ),
        ] {
            let Command::Check(check) = parse(words).unwrap() else {
                panic!("{words:?}");
            };
            assert_eq!(check.adapter_calls(), calls, "{words:?}");
        }
    }

    #[test]
    fn lines_of_the_file_are_for_terminals_and_colours_for_those_that_want_them() {
        use check::Format;

        let format = |words: &[&str], is_terminal, variables: &[(&str, &str)]| {
            let Command::Check(check) = parse(words).unwrap() else {
                panic!("{words:?}");
            };
            check.format_on(is_terminal, |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.into())
            })
        };
        let text = &["check", "--config", "b.yml"];
        let json = &["check", "--config", "b.yml", "--format", "json"];
        assert_eq!(format(text, false, &[]), Format::Text);
        assert_eq!(format(json, true, &[]), Format::Json);
        for (variables, colour) in [
            (&[][..], Colour::On),
            (&[("TERM", "xterm-256color"), ("NO_COLOR", "")], Colour::On),
            (&[("NO_COLOR", "1")], Colour::Off),
            (&[("TERM", "dumb")], Colour::Off),
        ] {
            assert_eq!(format(text, true, variables), Format::Snippets(colour));
        }
    }

    #[test]
    fn a_usage_error_has_status_2_and_a_hint_to_help() {
        for words in [
            &["-configFilePath"][..],
            &["serve"],
            &["check"],
            &["doctor"],
            &[],
            &["conquer"],
            &["-configFile", "b.yml"],
            &["check", "--config", "b.yml", "--format", "poem"],
            &["check", "--config", "b.yml", "--elsewhere", "--online"],
            &["schema", "b.yml"],
            &["doctor", "--config", "b.yml", "--timeout", "0"],
            &["doctor", "--config", "b.yml", "--format", "xml"],
        ] {
            let error = parse(words).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{words:?}");
            assert!(error.to_string().contains("--help"), "{words:?}: {error}");
        }
        for words in [&["--help"][..], &["serve", "--help"], &["check", "--help"]] {
            assert_eq!(parse(words).unwrap_err().exit_code(), 0, "{words:?}");
        }
    }
}
