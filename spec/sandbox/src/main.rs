//! `odb-sandbox`: a foundation on one machine.

use std::{io::Write, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use odb_sandbox::{
    cf,
    commands::{CallsArgs, EnvArgs, FaultArgs, ResetArgs, SeedArgs},
    cpi::Processes,
    foundation::{Foundation, FoundationSettings, Persistence, UpOptions, wipe},
    net::NetAddress,
};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// A foundation on one machine: Director, UAA and Cloud Controller with real processes.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a foundation and keep it up until SIGTERM or Ctrl-C.
    ///
    /// Prints `ready PATH` when everything answers; PATH is a JSON file with addresses and credentials.
    Up(Box<Up>),
    /// Order services as the cf command line does.
    Cf(cf::CfArgs),
    /// Make servers of a running foundation fail.
    Fault(Box<FaultArgs>),
    /// List what the servers of a running foundation were asked.
    Calls(CallsArgs),
    /// Print what shells and command lines need, secrets included.
    Env(EnvArgs),
    /// Put a fresh foundation in the place of a used one.
    Reset(ResetArgs),
    /// Seed thousands of service instances.
    Seed(SeedArgs),
}

#[derive(Debug, Args)]
struct Up {
    /// What the foundation is made of.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "manifests/sandbox/foundation.yml"
    )]
    config: PathBuf,
    /// The folder for certificates, VMs and foundation.json. Without it a temporary one, removed at the end.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The jobs that VMs can run. Without it the folder `jobs` beside the configuration.
    #[arg(long, value_name = "DIR")]
    jobs: Option<PathBuf>,
    /// The loopback net to take, such as 127.80.3.0. Without it a free one.
    #[arg(long, value_name = "NET")]
    net: Option<NetAddress>,
    /// Run the processes of VMs as this user (as root only).
    #[arg(long, value_name = "USER")]
    job_user: Option<String>,
    /// Make VMs without processes.
    #[arg(long)]
    no_processes: bool,
    /// What to log: error, warn, info, debug, trace, or a filter by module.
    #[arg(long, value_name = "LEVEL", default_value = "info,actix_server=warn")]
    log: EnvFilter,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Up(up) => Box::pin(up.run()).await,
        Command::Cf(arguments) => cf::run(arguments).await,
        Command::Fault(arguments) => arguments.run().await.map(|()| ExitCode::SUCCESS),
        Command::Calls(arguments) => arguments.run().await.map(|()| ExitCode::SUCCESS),
        Command::Env(arguments) => arguments.run().map(|()| ExitCode::SUCCESS),
        Command::Seed(arguments) => arguments.run().await.map(|()| ExitCode::SUCCESS),
        Command::Reset(arguments) => arguments.run().await.map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        // Nothing can be done about a closed stderr.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}

impl Up {
    async fn run(self) -> anyhow::Result<ExitCode> {
        tracing_subscriber::fmt()
            .with_env_filter(self.log)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .init();
        let settings = FoundationSettings::load(&self.config)?;
        // Lives until the end of this function, and the folder with it.
        let temporary;
        let (state, persistence) = if let Some(folder) = self.state {
            (folder, Persistence::Kept)
        } else {
            temporary = tempfile::tempdir().context("could not make a temporary folder")?;
            (temporary.path().to_owned(), Persistence::Forgotten)
        };
        let options = UpOptions {
            state: std::path::absolute(state)?,
            jobs: self
                .jobs
                .unwrap_or_else(|| self.config.with_file_name("jobs")),
            net: self.net,
            processes: if self.no_processes {
                Processes::None
            } else {
                Processes::Real
            },
            job_user: self.job_user,
            persistence,
        };
        // From here on a signal ends the foundation in good order, even while it starts.
        let (mut terminate, mut interrupt) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        let mut net = None;
        loop {
            let foundation = Foundation::start_on(net, settings.clone(), options.clone()).await?;
            let ready = foundation.description_file().display();
            // Whoever started it may have stopped reading after the first line.
            if let Err(error) = writeln!(std::io::stdout(), "ready {ready}") {
                tracing::warn!(%error, "nobody reads that the foundation is ready");
            }
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = foundation.reset_wanted() => {
                    tracing::info!("starting anew");
                    net = Some(foundation.stop().await);
                    let state = options.state.clone();
                    tokio::task::spawn_blocking(move || wipe(&state)).await??;
                    continue;
                }
            }
            tracing::info!("stopping");
            foundation.stop().await;
            return Ok(ExitCode::SUCCESS);
        }
    }
}
