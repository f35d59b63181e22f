//! The command line: `odb-errand NAME …`, or an errand's own name with the flags of the Go program.
//!
//! | file | contents |
//! | --- | --- |
//! | `go_flags` | converts the flags of Go programs to ours; values of flags |
//! | `config_file` | the file of most errands |
//!
//! A usage error ends the program with exit status 2.

mod config_file;
mod go_flags;

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write},
    path::Path,
    process,
};

use clap::{
    CommandFactory, FromArgMatches, Parser, Subcommand, builder::StyledStr, error::ErrorKind,
};

use odb_api_types::management::RunKind;

use crate::{
    Dependencies, ExitStatus,
    delete_all::DeleteAllServiceInstances,
    deregister::DeregisterBroker,
    fleet::{FleetFlags, operate},
    metrics::CollectServiceMetrics,
    operation::{CancelOperation, ShowOperation},
    orphans::OrphanDeployments,
    post_start::BrokerPostStart,
    purge::DeleteAllAndDeregister,
    register::RegisterBroker,
};

pub use config_file::UsageError;
pub(crate) use config_file::{ConfigTexts, load};
pub(crate) use go_flags::{duration, go_boolean};

use go_flags::Extras;

/// The errands. Each declares its flags in its own file.
#[derive(Debug, Subcommand)]
enum Errand {
    OrphanDeployments(OrphanDeployments),
    CancelOperation(CancelOperation),
    #[command(name = "operation")]
    ShowOperation(ShowOperation),
    CollectServiceMetrics(CollectServiceMetrics),
    BrokerPostStart(BrokerPostStart),
    /// Upgrade every service instance to the current plan, releases and adapter
    ///
    /// Canaries first, then the others, some at a time. A busy instance is retried later. A failed instance does not
    /// stop the others, unless it is a canary.
    ///
    /// Exit status: 0 every instance is done (instances that are gone or have no deployment do not count); 1 an
    /// instance is not, and the last line has the reason; 2 usage error.
    #[command(
        after_help = "Examples:\n  odb-errand upgrade-all-service-instances --config errands.yml --dry-run\n  odb-errand upgrade-all-service-instances --config errands.yml --max-failures 2%\n  odb-errand upgrade-all-service-instances --config errands.yml --continue --retry-failed"
    )]
    UpgradeAllServiceInstances(FleetFlags),
    /// Recreate the VMs of every service instance
    ///
    /// Canaries first, then the others, some at a time. A busy instance is retried later. A failed instance does not
    /// stop the others, unless it is a canary.
    ///
    /// Exit status: 0 every instance is done (instances that are gone or have no deployment do not count); 1 an
    /// instance is not, and the last line has the reason; 2 usage error.
    #[command(
        after_help = "Examples:\n  odb-errand recreate-all-service-instances --config errands.yml --dry-run\n  odb-errand recreate-all-service-instances --config errands.yml --max-failures 2%\n  odb-errand recreate-all-service-instances --config errands.yml --continue --retry-failed"
    )]
    RecreateAllServiceInstances(FleetFlags),
    RegisterBroker(RegisterBroker),
    DeregisterBroker(DeregisterBroker),
    DeleteAllServiceInstances(DeleteAllServiceInstances),
    #[command(name = "delete-all-service-instances-and-deregister-broker")]
    DeleteAllAndDeregister(DeleteAllAndDeregister),
}

impl Errand {
    async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        match self {
            Self::OrphanDeployments(errand) => errand.run(dependencies).await,
            Self::CancelOperation(errand) => errand.run(dependencies).await,
            Self::ShowOperation(errand) => errand.run(dependencies).await,
            Self::CollectServiceMetrics(errand) => errand.run(dependencies).await,
            Self::BrokerPostStart(errand) => errand.run(dependencies).await,
            Self::UpgradeAllServiceInstances(flags) => {
                Box::pin(operate(RunKind::Upgrade, &flags, dependencies)).await
            }
            Self::RecreateAllServiceInstances(flags) => {
                Box::pin(operate(RunKind::Recreate, &flags, dependencies)).await
            }
            Self::RegisterBroker(errand) => errand.run(dependencies).await,
            Self::DeregisterBroker(errand) => errand.run(dependencies).await,
            Self::DeleteAllServiceInstances(errand) => errand.run(dependencies).await,
            Self::DeleteAllAndDeregister(errand) => errand.run(dependencies).await,
        }
    }
}

/// A parsed command line.
#[derive(Debug)]
pub struct CommandLine {
    /// The errand's name, the prefix of its messages.
    pub program: String,
    pub(crate) form: Form,
    errand: Errand,
}

/// Run the operator's errands against an on-demand broker.
///
/// Each errand is also a program under its own name with the flags of the Go program: `ln -s odb-errand
/// register-broker`. Flags may have one dash or two.
///
/// Results go to standard output, logs to standard error. Exit status: 0 done, 1 not (all) done, 2 usage error;
/// errands that use 10 explain it.
#[derive(Debug, Parser)]
#[command(name = "odb-errand", version, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  odb-errand register-broker --config errands.yml\n  odb-errand upgrade-all-service-instances --config errands.yml --dry-run\n  odb-errand operation --config errands.yml --instance 5f3c1a2e --follow"
)]
struct Program {
    #[command(subcommand)]
    errand: Errand,
}

/// How the program was called: errors name the flags of that form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `odb-errand NAME`.
    Own,
    /// By the errand's name, as the Go programs are.
    Go,
}

impl CommandLine {
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        self.errand.run(dependencies).await
    }

    /// Parses the command line, or prints the error and ends the process.
    pub fn parse_or_exit(arguments: impl Iterator<Item = OsString>) -> Self {
        let (form, words) = Form::of(arguments.collect());
        Self::parse(form, &words).unwrap_or_else(|error| {
            let is_help = error.kind() == ErrorKind::DisplayHelp;
            // Nothing can be done about a closed stream.
            let _ = if is_help && form == Form::Go {
                write!(io::stderr(), "{}", error.render())
            } else {
                error.print()
            };
            if error.use_stderr() && !error.render().to_string().contains("Usage: ") {
                let _ = writeln!(io::stderr(), "\n{}", usage(&words));
            }
            process::exit(error.exit_code())
        })
    }

    fn parse(form: Form, words: &[OsString]) -> Result<Self, clap::Error> {
        let matches = Program::command().try_get_matches_from(words)?;
        let program = matches.subcommand_name().unwrap_or_default().to_owned();
        let errand = Errand::from_arg_matches(&matches)?;
        Ok(Self {
            program,
            form,
            errand,
        })
    }
}

impl Form {
    /// Determines how the program was called, and converts the words to our own form.
    fn of(mut words: Vec<OsString>) -> (Self, Vec<OsString>) {
        let command = Program::command();
        let called = words.first().map(Path::new).and_then(Path::file_name);
        let form = if called.is_some_and(|name| is_errand(&command, name)) {
            words.insert(0, "odb-errand".into());
            words[1] = Path::new(&words[1]).file_name().unwrap_or_default().into();
            Self::Go
        } else {
            Self::Own
        };
        let name = words.get(1).and_then(|name| name.to_str());
        if let Some(errand) = name.and_then(|name| command.find_subcommand(name)) {
            let extras = match form {
                Self::Go => Extras::Ignored,
                Self::Own => Extras::Refused,
            };
            let flags = words.split_off(2);
            words.extend(go_flags::modern(errand, flags, extras));
        }
        (form, words)
    }
}

/// How the errand is used that the words name.
fn usage(words: &[OsString]) -> StyledStr {
    let mut program = Program::command();
    program.build();
    let name = words.get(1).and_then(|name| name.to_str());
    match name.and_then(|name| program.find_subcommand_mut(name)) {
        Some(errand) => errand.render_usage(),
        None => program.render_usage(),
    }
}

fn is_errand(command: &clap::Command, name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| command.find_subcommand(name).is_some())
}

#[cfg(test)]
mod tests;
