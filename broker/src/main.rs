//! The broker's process: parse arguments, load the configuration, run the start-up checks, serve, shut down.

mod command_line;

use std::{ffi::OsString, io::IsTerminal, process::ExitCode, time::Duration};

use command_line::{Arguments, Command};
use on_demand_broker::{
    api::{AppState, FLUSH, Server},
    code::Code,
    config::{Config, LoadError},
    operations::Lifecycle,
    start_up::{self, Parts},
    telemetry::{Chain, LogFormat, start_log},
};
use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
};

/// How long after the end of its grace period the process may hang on to its threads.
const LAST_GASP: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let arguments = Arguments::parse_or_exit(std::env::args_os());
    let format = if std::io::stdout().is_terminal() {
        LogFormat::Text
    } else {
        LogFormat::Json
    };
    start_log(format, &arguments.log_filter);
    let Command::Serve { config } = arguments.command;
    match load(&config).and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Fatal) => ExitCode::FAILURE,
    }
}

/// The log says why.
struct Fatal;

fn fatal(code: Code, error: &(dyn std::error::Error + 'static)) -> Fatal {
    tracing::error!(%code, error = %Chain(error), "the broker cannot run");
    Fatal
}

fn load(file: &std::path::Path) -> Result<Config, Fatal> {
    match Config::load(file) {
        Ok(loaded) => {
            for remark in &loaded.remarks {
                tracing::warn!(%remark, "odd configuration");
            }
            Ok(loaded.config)
        }
        Err(LoadError::Invalid(invalid)) => {
            for remark in &invalid.remarks {
                tracing::warn!(%remark, "odd configuration");
            }
            for problem in &invalid.problems {
                tracing::error!(code = %Code::ConfigurationInvalid, %problem, "wrong configuration");
            }
            Err(Fatal)
        }
        Err(error @ LoadError::Unreadable { .. }) => {
            Err(fatal(Code::ConfigurationUnreadable, &error))
        }
    }
}

fn serve(config: Config) -> Result<(), Fatal> {
    let runtime = Runtime::new().map_err(|error| fatal(Code::Internal, &error))?;
    let served = runtime.block_on(run(&runtime, config));
    runtime.shutdown_timeout(LAST_GASP);
    served
}

async fn run(runtime: &Runtime, config: Config) -> Result<(), Fatal> {
    let mut signals = Signals::listen()?;
    let lifecycle = Lifecycle::new(runtime.handle().clone());
    // Dropped half-way, the start takes the adapters that it has asked along.
    let started = tokio::select! {
        started = start(&config, &lifecycle) => started?,
        () = signals.next() => {
            tracing::info!("stopped before the start was complete");
            return Ok(());
        }
    };
    let Started {
        parts,
        server,
        scheme,
    } = started;
    let patience = config.broker.shutdown_timeout;
    let app = AppState {
        operations: parts.operations,
        lifecycle: lifecycle.clone(),
        credentials: config.broker.credentials,
        request_budget: config.broker.timings.request_budget,
        error_detail: config.broker.error_detail,
        instance_fetching: config.broker.instance_fetching,
        organization_and_space: config.broker.organization_and_space,
    };
    let (handle, serving) = server
        .run(app)
        .map_err(|error| fatal(Code::Listen, &error))?;
    let mut serving = runtime.spawn(serving);
    tracing::info!(address = %config.broker.listen, scheme, "listening");

    tokio::select! {
        ended = &mut serving => {
            let error = ended.map_or_else(std::io::Error::other, |ended| ended.err().unwrap_or_else(|| std::io::Error::other("the server has ended")));
            return Err(fatal(Code::Internal, &error));
        }
        () = signals.next() => {}
    }
    tracing::info!(patience_s = patience.as_secs(), "shutting down");
    // Closes the listener at once. Idle connections that a client keeps open are not waited for.
    let stopped = handle.stop(true);
    let cut_off = lifecycle.drain(patience).await;
    if tokio::time::timeout(FLUSH, stopped).await.is_err() {
        tracing::debug!("connections were still open");
    }
    if cut_off > 0 {
        tracing::warn!(
            requests = cut_off,
            "the grace period is over, requests were cut off"
        );
    }
    tracing::info!("stopped");
    Ok(())
}

/// A broker that could serve.
struct Started {
    parts: Parts,
    server: Server,
    scheme: &'static str,
}

async fn start(config: &Config, lifecycle: &Lifecycle) -> Result<Started, Fatal> {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let mut parts = start_up::start(config, environment, lifecycle)
        .await
        .map_err(|faults| {
            for fault in faults {
                tracing::error!(code = %fault.code(), error = %Chain(&fault), "a start-up check failed");
            }
            Fatal
        })?;
    let tls = parts.tls.take();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let server =
        Server::listen(config.broker.listen, tls).map_err(|error| fatal(Code::Listen, &error))?;
    start_up::resume(&parts.instances, lifecycle, config.broker.timings).await;

    if config.broker.startup_banner {
        tracing::info!("on-demand broker {}", env!("CARGO_PKG_VERSION"));
    }
    Ok(Started {
        parts,
        server,
        scheme,
    })
}

/// What asks the process to end.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Fatal> {
        let listen = |kind| signal(kind).map_err(|error| fatal(Code::Internal, &error));
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
