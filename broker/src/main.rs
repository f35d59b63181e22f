//! The broker's process: parse arguments, load the configuration, run the start-up checks, serve, shut down.

mod command_line;

use std::{
    ffi::OsString,
    fs,
    io::{self, IsTerminal, Read, Write},
    num::NonZero,
    path::Path,
    process::ExitCode,
    sync::Arc,
    thread,
    time::Duration,
};

use odb_api_types::code::Code;
use odb_clients::http::{observe_calls, trace::register_traces};
use odb_config::{Config, LoadError};
use odb_core::{metrics, operations::Lifecycle};
use odb_engine_bosh::adapter::{end_all_orphans, start_watchdog, watch, watch_for_orphans};
use odb_redaction::Chain;
use on_demand_broker::{
    api::{AppState, FLUSH, Server},
    preflight::{
        check::{self, Findings},
        doctor::{self, Diagnosis, Timeouts},
        start::{self, Parts},
    },
    private_memory::keep_memory_private,
    telemetry::{
        LogFilter, LogFormat, LogStream, RegisteredSpans, start_log, start_log_and_traces,
    },
    ui::Page,
};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::Semaphore,
};

use command_line::{Arguments, Check, Command, Doctor, SchemaFormat, WATCHDOG};

const MOST_WORKERS: usize = 4;

/// How long after the end of its grace period the process may hang on to its threads, and then export its last spans.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

const STANDARD_INPUT: &str = "-";

/// The exit status after an interrupt, as shells have it.
const INTERRUPTED: u8 = 130;

const LONGEST_INPUT: u64 = 64 << 20;

fn main() -> ExitCode {
    let arguments = Arguments::parse_or_exit(std::env::args_os());
    let is_private = keep_memory_private();
    match arguments.command {
        Command::Serve { config, log_filter } => {
            let filter = log_filter.unwrap_or(arguments.log_filter);
            serve_until_stopped(&config, &filter, is_private)
        }
        Command::Check(request) => check_and_report(&request),
        Command::Doctor(request) => examine_and_report(&request),
        Command::Schema { format } => print(&described(format), ExitCode::SUCCESS),
        Command::Watchdog => {
            watch(io::stdin().lock());
            ExitCode::SUCCESS
        }
    }
}

fn serve_until_stopped(config: &Path, filter: &LogFilter, is_private: io::Result<()>) -> ExitCode {
    let format = log_format(&io::stdout());
    let exporter = start_log_and_traces(LogStream::Stdout, format, filter);
    register_traces(&RegisteredSpans);
    if let Err(error) = is_private {
        tracing::warn!(error = %Chain(&error), "other processes of this user can read the broker's memory");
    }
    start_watchdog(&[WATCHDOG]);
    watch_for_orphans();
    let served = load(config).and_then(|loaded| serve(config, loaded));
    if let (Some(exporter), Ok(Ended::InGoodOrder)) = (exporter, &served) {
        exporter.flush(SHUTDOWN_GRACE);
    }
    match served {
        Ok(Ended::InGoodOrder) => ExitCode::SUCCESS,
        Ok(Ended::AtOnce) => ExitCode::from(INTERRUPTED),
        Err(Fatal) => ExitCode::FAILURE,
    }
}

fn log_format(stream: &impl IsTerminal) -> LogFormat {
    if stream.is_terminal() {
        LogFormat::Text
    } else {
        LogFormat::Json
    }
}

fn check_and_report(request: &Check) -> ExitCode {
    let file = named(&request.config);
    let checked = examined(
        &request.config,
        request.log_filter.as_ref(),
        async |source| {
            let how = (request.reach(), request.adapter_calls());
            let (environment, now) = (std::env::vars_os(), jiff::Timestamp::now());
            check::check(file, source, how, environment, now).await
        },
        |error| Findings::unreadable(file, error),
    );
    let Some(findings) = checked else {
        return ExitCode::from(INTERRUPTED);
    };
    let format = request.format_on(io::stdout().is_terminal(), |name| std::env::var_os(name));
    print(&findings.report(format), status(findings.is_fine()))
}

fn examine_and_report(request: &Doctor) -> ExitCode {
    let file = named(&request.config);
    let examined = examined(
        &request.config,
        request.log_filter.as_ref(),
        async |source| {
            let timeouts = Timeouts::of(Duration::from_secs(request.timeout));
            let (environment, now) = (std::env::vars_os(), jiff::Timestamp::now());
            doctor::examine(file, source, environment, timeouts, now).await
        },
        |error| Diagnosis::unreadable(file, error),
    );
    let Some(diagnosis) = examined else {
        return ExitCode::from(INTERRUPTED);
    };
    let report = diagnosis.report(request.format.into());
    print(&report, status(diagnosis.is_well()))
}

/// The result of an examination of a configuration; `None` after an interrupt, which leaves nothing behind: no upstream
/// was changed, and adapters are ended. Only findings are printed, unless a log filter is given.
fn examined<T>(
    config: &Path,
    log_filter: Option<&LogFilter>,
    examine: impl AsyncFnOnce(&str) -> T,
    unreadable: impl FnOnce(&io::Error) -> T,
) -> Option<T> {
    if let Some(filter) = log_filter {
        start_log(LogStream::Stderr, log_format(&io::stderr()), filter);
    }
    watch_for_orphans();
    let (source, runtime) = match (read(config), Runtime::new()) {
        (Ok(source), Ok(runtime)) => (source, runtime),
        (Err(error), _) | (_, Err(error)) => return Some(unreadable(&error)),
    };
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().ok()?;
        tokio::select! {
            result = Box::pin(examine(&source)) => Some(result),
            () = signals.next() => None,
        }
    });
    runtime.shutdown_timeout(SHUTDOWN_GRACE);
    end_all_orphans();
    result
}

fn status(is_fine: bool) -> ExitCode {
    if is_fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn named(config: &Path) -> &Path {
    if config == Path::new(STANDARD_INPUT) {
        Path::new("standard input")
    } else {
        config
    }
}

fn read(file: &Path) -> io::Result<String> {
    if file != Path::new(STANDARD_INPUT) {
        return fs::read_to_string(file);
    }
    let mut source = String::new();
    io::stdin()
        .lock()
        .take(LONGEST_INPUT)
        .read_to_string(&mut source)?;
    Ok(source)
}

fn described(format: SchemaFormat) -> String {
    match format {
        SchemaFormat::Json => format!("{:#}\n", odb_config::json_schema()),
        SchemaFormat::Markdown => odb_config::markdown_reference(),
    }
}

/// Prints the result of a command. A reader that has closed the pipe is not an error.
fn print(text: &str, status: ExitCode) -> ExitCode {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        Ok(()) | Err(_) => status,
    }
}

struct Fatal;

fn fatal(code: Code, error: &(dyn std::error::Error + 'static)) -> Fatal {
    tracing::error!(%code, error = %Chain(error), "the broker cannot run");
    Fatal
}

fn load(file: &Path) -> Result<Config, Fatal> {
    match Config::load(file) {
        Ok(loaded) => {
            for warning in &loaded.warnings {
                tracing::warn!(%warning, "questionable configuration");
            }
            Ok(loaded.config)
        }
        Err(LoadError::Invalid(invalid)) => {
            for warning in &invalid.warnings {
                tracing::warn!(%warning, "questionable configuration");
            }
            for finding in &invalid.findings {
                tracing::error!(code = %Code::ConfigurationInvalid, %finding, "wrong configuration");
            }
            Err(Fatal)
        }
        Err(error @ LoadError::Unreadable { .. }) => {
            Err(fatal(Code::ConfigurationUnreadable, &error))
        }
    }
}

enum Ended {
    InGoodOrder,
    AtOnce,
}

fn serve(file: &Path, config: Config) -> Result<Ended, Fatal> {
    let runtime = serving_runtime().map_err(|error| fatal(Code::Internal, &error))?;
    let served = runtime.block_on(run(&runtime, file, config));
    match served {
        Ok(Ended::AtOnce) => runtime.shutdown_background(),
        Ok(Ended::InGoodOrder) | Err(Fatal) => runtime.shutdown_timeout(SHUTDOWN_GRACE),
    }
    end_all_orphans();
    served
}

fn serving_runtime() -> io::Result<Runtime> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    Builder::new_multi_thread()
        .worker_threads(processors.min(MOST_WORKERS))
        .enable_all()
        .build()
}

async fn run(runtime: &Runtime, file: &Path, config: Config) -> Result<Ended, Fatal> {
    let mut signals = Signals::listen()?;
    let lifecycle = Lifecycle::new(runtime.handle().clone());
    observe_calls(metrics());
    // If the start is dropped, its adapters are killed.
    let started = tokio::select! {
        started = start(&config, &lifecycle) => started?,
        () = signals.next() => {
            tracing::info!("stopped before the start was complete");
            return Ok(Ended::InGoodOrder);
        }
    };
    let (parts, server, scheme) = started;
    let timeout = config.broker.shutdown_timeout;
    let listen = config.broker.listen;
    let page = config.ui.map(Page::new);
    let app = AppState {
        operations: parts.operations,
        lifecycle: lifecycle.clone(),
        file: file.to_owned(),
        examinations: Arc::new(Semaphore::new(1)),
        broker: config.broker,
        page,
    };
    let (handle, serving) = server
        .run(app)
        .map_err(|error| fatal(Code::Listen, &error))?;
    let mut serving = runtime.spawn(serving);
    tracing::info!(address = %listen, scheme, "listening");

    tokio::select! {
        ended = &mut serving => {
            let error = ended.map_or_else(std::io::Error::other, |ended| ended.err().unwrap_or_else(|| std::io::Error::other("the server has ended")));
            return Err(fatal(Code::Internal, &error));
        }
        () = signals.next() => {}
    }
    tracing::info!(timeout_s = timeout.as_secs(), "shutting down");
    // Closes the listener at once. Idle connections that a client keeps open are not waited for.
    let stopped = handle.stop(true);
    let finishing = async {
        let cut_off = lifecycle.drain(timeout).await;
        if tokio::time::timeout(FLUSH, stopped).await.is_err() {
            tracing::debug!("connections were still open");
        }
        cut_off
    };
    let cut_off = tokio::select! {
        cut_off = finishing => cut_off,
        () = signals.next() => {
            let requests = lifecycle.in_progress();
            tracing::warn!(requests, "stopped at once by a second signal, requests were cut off");
            return Ok(Ended::AtOnce);
        }
    };
    if cut_off > 0 {
        tracing::warn!(
            requests = cut_off,
            "the grace period is over, requests were cut off"
        );
    }
    tracing::info!("stopped");
    Ok(Ended::InGoodOrder)
}

/// What serves, and under which scheme.
async fn start(
    config: &Config,
    lifecycle: &Lifecycle,
) -> Result<(Parts, Server, &'static str), Fatal> {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let mut parts = Box::pin(start::start(config, environment, lifecycle))
        .await
        .map_err(|errors| {
            for error in errors {
                tracing::error!(code = %error.code, error = %Chain(&error), "a start-up check failed");
            }
            Fatal
        })?;
    let tls = parts.tls.take();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let server =
        Server::listen(config.broker.listen, tls).map_err(|error| fatal(Code::Listen, &error))?;
    start::resume(config, &parts, lifecycle);

    if config.broker.startup_banner {
        tracing::info!("on-demand broker {}", env!("CARGO_PKG_VERSION"));
    }
    Ok((parts, server, scheme))
}

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
