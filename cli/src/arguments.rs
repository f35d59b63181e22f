//! The command line: nouns and verbs.

use clap::{Parser, Subcommand};
use odb_errand::{Console, Dependencies, ExitStatus, Screen, until_stopped};

use crate::{
    broker::BrokerCommand,
    contexts::{ContextCommand, Selection},
    environment::Environment,
    instance::InstanceCommand,
    offer::OfferCommand,
    orphan::OrphanCommand,
    output::{Output, OutputFlags},
    plan::{PlanCommand, Quota},
    rollout::RolloutCommand,
    shell::{Completion, Man},
    watch::Watch,
};

/// Operate on-demand brokers: service instances, rollouts, orphans, plans, offers
///
/// Select a broker with a context (`odb context set`), with flags, or with `ODB_CONTEXT`, `ODB_URL`,
/// `ODB_USERNAME`, `ODB_PASSWORD` and `ODB_CA_CERT`. Flags win over the environment, and that over the file of contexts
/// (`$ODB_CONFIG`, or `~/.config/odb/config.yml`).
///
/// Results go to standard output, messages to standard error. Exit status: 0 done; 1 failed; 2 usage error; 10 an
/// operation is in progress, or an orphan remains.
#[derive(Debug, Parser)]
#[command(name = "odb", version, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  odb context set production --url https://broker.example.com --username broker\n  odb instance list --state outdated\n  odb rollout start --dry-run"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(subcommand)]
    Instance(InstanceCommand),
    #[command(subcommand)]
    Rollout(RolloutCommand),
    #[command(subcommand)]
    Orphan(OrphanCommand),
    #[command(subcommand)]
    Broker(BrokerCommand),
    #[command(subcommand)]
    Plan(PlanCommand),
    Quota(Quota),
    Watch(Watch),
    #[command(subcommand)]
    Offer(OfferCommand),
    #[command(subcommand)]
    Context(ContextCommand),
    Completion(Completion),
    Man(Man),
}

impl Arguments {
    pub(crate) async fn run(self, environment: Environment) -> anyhow::Result<ExitStatus> {
        let output = Output::of(&self.output, &environment);
        let dependencies = Dependencies::new(Console::plain(Screen::of_stderr()));
        let programs = environment.get("PATH");
        let selection = &self.selection.within(environment);
        let (output, with) = (&output, &dependencies);
        match self.command {
            Command::Instance(command) => {
                until_stopped(with, command.run(selection, output, with)).await
            }
            Command::Rollout(command) => {
                until_stopped(with, command.run(selection, output, with)).await
            }
            Command::Orphan(command) => {
                until_stopped(with, command.run(selection, output, with)).await
            }
            Command::Broker(command) => {
                until_stopped(with, command.run(selection, output, with)).await
            }
            Command::Plan(command) => {
                until_stopped(with, command.run(selection, output, with)).await
            }
            Command::Quota(command) => {
                until_stopped(with, command.run(selection, output, with)).await
            }
            // Ctrl-C is its end, and no interruption.
            Command::Watch(command) => command.run(selection, output, &with.console).await,
            Command::Offer(command) => {
                until_stopped(with, command.run(programs, output, with)).await
            }
            Command::Context(command) => command.run(selection, output),
            Command::Completion(command) => command.run(output),
            Command::Man(command) => command.run(output),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn no_flag_takes_a_password() {
        let mut command = Arguments::command();
        command.build();
        let mut commands = vec![command];
        while let Some(command) = commands.pop() {
            for argument in command.get_arguments() {
                assert_ne!(
                    argument.get_long(),
                    Some("password"),
                    "{}",
                    command.get_name()
                );
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn flags_of_the_broker_and_of_the_output_may_follow_the_verb() {
        for line in [
            &[
                "odb",
                "instance",
                "list",
                "--context",
                "a",
                "--context",
                "b",
                "-o",
                "json",
            ][..],
            &["odb", "-o", "json", "instance", "list", "--no-headers"],
            &["odb", "rollout", "start", "--max-failures", "2%", "--all"],
            &["odb", "orphan", "delete", "--confirm", "2"],
        ] {
            assert!(Arguments::try_parse_from(line).is_ok(), "{line:?}");
        }
        for line in [
            &["odb", "instance", "lst"][..],
            &["odb", "completion", "powershell"],
            &[
                "odb",
                "instance",
                "list",
                "--all-contexts",
                "--context",
                "a",
            ],
        ] {
            assert_eq!(Arguments::try_parse_from(line).unwrap_err().exit_code(), 2);
        }
    }
}
