//! The conformance suite as a command: read the command line, run, report.

mod command_line;
mod interruptions;
mod outlet;

use std::{
    io::{self, IsTerminal, Write},
    process::{ExitCode, exit},
};

use anyhow::Result;
use clap::Parser;
use command_line::{Arguments, PASSWORD_VARIABLE};
use interruptions::Interruptions;
use odb_conformance::{CheckResult, Report, RunState, Selection, Session, rules};
use outlet::Outlet;
use tokio::time::sleep;

/// Something is wrong with the broker, or with the run.
const FAILURE: i32 = 1;

/// The command line, or what it names, cannot be used.
const USAGE: u8 = 2;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.list {
        return list().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    // The one crypto provider of the process; there is no other before.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is read in main only"
    )]
    let password = std::env::var(PASSWORD_VARIABLE).ok();
    let Prepared {
        session,
        selection,
        outlets,
    } = match prepare(&arguments, password) {
        Ok(prepared) => prepared,
        Err(error) => {
            report_error(&error);
            return ExitCode::from(USAGE);
        }
    };
    if let Err(why) = session.look().await {
        say(&format!("nothing can be checked: {why}"));
        return ExitCode::FAILURE;
    }
    let report = tokio::select! {
        report = session.run(&selection, stop(&arguments), report) => report,
        () = second_interruption() => end_at_once(&session),
    };
    report_what_is_left(&report);
    let mut is_reported = true;
    for outlet in outlets {
        // A report that cannot be written is no reason to lose the others.
        if let Err(error) = outlet.publish(&report) {
            report_error(&error);
            is_reported = false;
        }
    }
    if report.is_good() && is_reported {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Prepared {
    session: Session,
    selection: Selection,
    outlets: Vec<Outlet>,
}

fn prepare(arguments: &Arguments, password: Option<String>) -> Result<Prepared> {
    Ok(Prepared {
        session: Session::new(arguments.target(password)?, arguments.settings()?),
        selection: arguments.selection()?,
        // Last, for it empties the files.
        outlets: Outlet::open_all(&arguments.report)?,
    })
}

/// Comes to an end when the run shall: at a signal, or when its time is up.
async fn stop(arguments: &Arguments) -> &'static str {
    let mut interruptions = Interruptions::listen();
    tokio::select! {
        () = interruptions.next() => "the run was interrupted",
        () = sleep(arguments.time_limit()) => "the time of the run was up",
    }
}

/// Returns after a second interruption, which also ends the clean-up.
async fn second_interruption() {
    let mut interruptions = Interruptions::listen();
    interruptions.next().await;
    say("what was made is being deleted; the next interruption leaves it behind");
    interruptions.next().await;
}

/// Nothing is waited for, not even for what the runtime has begun.
fn end_at_once(session: &Session) -> ! {
    for instance in session.instances() {
        say(&format!(
            "left behind: service instance {instance}: the run was interrupted twice"
        ));
    }
    exit(FAILURE)
}

/// Whatever happens to the reports, residual objects are printed for the caller.
fn report_what_is_left(report: &Report) {
    for left in &report.left_behind {
        say(&format!(
            "left behind: service instance {}: {}",
            left.instance, left.why
        ));
    }
}

fn report(result: &CheckResult) {
    if !io::stderr().is_terminal() {
        return;
    }
    let word = match result.state() {
        RunState::Passed => "passed",
        RunState::Failed => "FAILED",
        RunState::Warning => "warning",
        RunState::Skipped => "skipped",
    };
    say(&format!("{:<6} {word}", result.rule.id));
}

fn list() -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    for rule in rules() {
        writeln!(
            stdout,
            "{:<6} {}  {}",
            rule.id,
            rule.level.letter(),
            rule.text
        )?;
    }
    Ok(())
}

fn report_error(error: &anyhow::Error) {
    say(&format!("error: {error:#}"));
}

fn say(line: &str) {
    // Nothing can be done about a closed stderr.
    let _ = writeln!(io::stderr(), "{line}");
}
