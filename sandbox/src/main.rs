//! `odb-sandbox`: a foundation on one machine.

use std::{io::Write, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use odb_sandbox::{
    cf,
    commands::{CallsArgs, EnvArgs, FaultArgs, ResetArgs, SeedArgs},
    cpi::Processes,
    dev_loop::{DevLoop, DevLoopArgs, DevLoopOptions, TiedArgs},
    foundation::{BuiltInJobs, Foundation, FoundationSettings, Persistence, UpOptions, wipe},
    net::NetAddress,
    rsa_keys,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// SIGHUP is signal 1, the lowest bit of the masks in proc(5).
const HANGUP_BIT: u64 = 1;

/// Run a Cloud Foundry with BOSH Director, UAA and CredHub on one machine.
#[derive(Debug, Parser)]
#[command(version)]
#[command(
    after_help = "Examples:\n  odb-sandbox up --state ./foundation\n  odb-sandbox up --broker broker.yml --adapter ./my-adapter\n  odb-sandbox cf marketplace"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a foundation and keep it up until SIGTERM, Ctrl-C or the end of the terminal (SIGHUP).
    ///
    /// Prints `ready PATH` when every server answers; PATH is a JSON file with addresses and credentials.
    #[command(
        after_help = "Examples:\n  odb-sandbox up\n  odb-sandbox up --state ./foundation --broker broker.yml --adapter ./my-adapter"
    )]
    Up(Box<Up>),
    /// Order services as with the cf command line.
    #[command(
        after_help = "Examples:\n  odb-sandbox cf marketplace\n  odb-sandbox cf create-service redis small cache --wait\n  odb-sandbox cf --as admin service-brokers"
    )]
    Cf(cf::CfArgs),
    /// Inject faults into servers of a running foundation
    #[command(
        after_help = "Examples:\n  odb-sandbox fault add director drop --method POST --path /deployments --times 1\n  odb-sandbox fault list\n  odb-sandbox fault clear --all"
    )]
    Fault(Box<FaultArgs>),
    /// List the latest requests to the servers of a running foundation.
    #[command(after_help = "Examples:\n  odb-sandbox calls --server director")]
    Calls(CallsArgs),
    /// Print environment variables for bosh, credhub, cf and uaa, secrets included.
    #[command(after_help = "Examples:\n  eval \"$(odb-sandbox env)\"")]
    Env(EnvArgs),
    /// Replace a used foundation with a fresh one.
    #[command(after_help = "Examples:\n  odb-sandbox reset --state ./foundation")]
    Reset(ResetArgs),
    /// Create thousands of service instances without ordering them.
    #[command(after_help = "Examples:\n  odb-sandbox seed --broker redis --instances 5000")]
    Seed(SeedArgs),
    /// Become a program that ends with the sandbox.
    #[command(hide = true)]
    Tied(TiedArgs),
}

#[derive(Debug, Args)]
struct Up {
    /// Configuration of the foundation. Default: the built-in one with its jobs (`manifests/sandbox`).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder for certificates, VMs and foundation.json. Default: a temporary folder, removed at the end.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Folder with jobs for VMs; repeatable. Default: the folder `jobs` beside the configuration.
    #[arg(long, value_name = "DIR")]
    jobs: Vec<PathBuf>,
    #[command(flatten)]
    dev_loop: DevLoopArgs,
    /// Loopback net, such as 127.80.3.0. Default: a free one.
    #[arg(long, value_name = "NET")]
    net: Option<NetAddress>,
    /// Run the processes of VMs as this user (as root only).
    #[arg(long, value_name = "USER")]
    job_user: Option<String>,
    /// Create VMs without processes.
    #[arg(long)]
    no_processes: bool,
    /// Take RSA keys from this folder and store new ones there, which saves seconds.
    #[arg(long, value_name = "DIR")]
    rsa_keys: Option<PathBuf>,
    /// Log filter: error, warn, info, debug, trace, or a filter by module. Default: `info`, or `warn` with a
    /// broker.
    #[arg(long, value_name = "LEVEL")]
    log: Option<EnvFilter>,
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
        Command::Tied(arguments) => Err(arguments.run().into()),
    };
    done.unwrap_or_else(|error| {
        // Nothing can be done about a closed stderr.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}

impl Up {
    async fn run(self) -> anyhow::Result<ExitCode> {
        let log = match (self.log.clone(), self.dev_loop.is_wanted()) {
            (Some(log), _) => log,
            (None, true) => EnvFilter::new("warn"),
            (None, false) => EnvFilter::new("info,actix_server=warn"),
        };
        tracing_subscriber::fmt()
            .with_env_filter(log)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .init();
        if let Some(folder) = self.rsa_keys {
            rsa_keys::keep_in(folder);
        }
        let settings = match &self.config {
            Some(file) => FoundationSettings::load(file)?,
            None => FoundationSettings::built_in()?,
        };
        // Both live until the end of this function, and their folders with them.
        let (built_in, temporary);
        let (state, persistence) = if let Some(folder) = &self.state {
            (folder.as_path(), Persistence::Kept)
        } else {
            temporary = tempfile::tempdir().context("could not make a temporary folder")?;
            (temporary.path(), Persistence::Forgotten)
        };
        let mut jobs = self.jobs.clone();
        match &self.config {
            Some(file) if jobs.is_empty() => jobs.push(file.with_file_name("jobs")),
            Some(_) => {}
            None => {
                built_in = BuiltInJobs::unpack().context("could not unpack the built-in jobs")?;
                jobs.insert(0, built_in.folder());
            }
        }
        let state = std::path::absolute(state)?;
        let dev_loop = self.dev_loop.options(&jobs, &state)?;
        let options = UpOptions {
            state,
            jobs: dev_loop.as_ref().map_or(jobs, DevLoopOptions::jobs),
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
        let mut signals = Signals::listen()?;
        let mut net = None;
        loop {
            let foundation = Foundation::start_on(net, settings.clone(), options.clone()).await?;
            match stay_up(&foundation, dev_loop.as_ref(), &mut signals).await {
                Ok(Wanted::End) => {
                    tracing::info!("stopping");
                    foundation.stop().await;
                    return Ok(ExitCode::SUCCESS);
                }
                Ok(Wanted::Reset) => {
                    tracing::info!("starting anew");
                    net = Some(foundation.stop().await);
                    let state = options.state.clone();
                    tokio::task::spawn_blocking(move || wipe(&state)).await??;
                }
                Err(error) => {
                    foundation.stop().await;
                    return Err(error);
                }
            }
        }
    }
}

/// The next state of a foundation.
enum Wanted {
    End,
    Reset,
}

/// Keeps the foundation up, and a broker beside it if there is one, until a signal or a reset.
async fn stay_up(
    foundation: &Foundation,
    dev_loop: Option<&DevLoopOptions>,
    signals: &mut Signals,
) -> anyhow::Result<Wanted> {
    let Some(options) = dev_loop else {
        print_ready(foundation);
        return Ok(wanted(foundation, signals).await);
    };
    let mut dev_loop = DevLoop::new(foundation, options.clone())?;
    let working = async {
        dev_loop.ready().await;
        print_ready(foundation);
        dev_loop.keep_up().await;
    };
    let wanted = tokio::select! {
        () = working => Wanted::End,
        wanted = wanted(foundation, signals) => wanted,
    };
    dev_loop.stop().await;
    Ok(wanted)
}

async fn wanted(foundation: &Foundation, signals: &mut Signals) -> Wanted {
    tokio::select! {
        () = signals.next() => Wanted::End,
        () = foundation.reset_wanted() => Wanted::Reset,
    }
}

/// The parent process may have stopped reading after the first line.
fn print_ready(foundation: &Foundation) {
    let ready = foundation.description_file().display();
    if let Err(error) = writeln!(std::io::stdout(), "ready {ready}") {
        tracing::warn!(%error, "the reader of the ready line is gone");
    }
}

/// The signals that end the process.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// The terminal is gone. None where that is ignored, as `nohup` has it.
    hangup: Option<Signal>,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: if ignores_hangup()? {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            },
        })
    }

    async fn next(&mut self) {
        let Self {
            terminate,
            interrupt,
            hangup,
        } = self;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            Some(()) = async { hangup.as_mut()?.recv().await } => {}
        }
    }
}

/// Whether the process was started with SIGHUP ignored (`SigIgn` in proc(5)).
fn ignores_hangup() -> std::io::Result<bool> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    Ok(ignored.is_some_and(|mask| mask & HANGUP_BIT != 0))
}
