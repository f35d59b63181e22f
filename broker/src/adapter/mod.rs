//! The service adapter: an executable that turns plan and parameters into a manifest, and a manifest into bindings.
//!
//! Each call is one supervised process in the stdin form of `spec/contracts/adapter-protocol.md` §1.4: own process
//! group, an environment of a few names, a deadline, a cap on what it may print. A fair semaphore bounds how many
//! run; a hanging one takes a single place and keeps nobody else waiting.

mod process;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use odb_adapter_sdk::protocol::{
    AdapterInput, Binding, CreateBinding, DashboardUrl, DeleteBinding, ExitCode,
    GenerateDashboardUrl, GenerateManifest, GeneratedManifest, Subcommand,
};
use serde::de::DeserializeOwned;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use crate::{config, telemetry::Redaction};
use process::{Ended, Unfinished};

/// What an adapter needs of the broker's environment, beside what the configuration lists.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The most of an adapter's own message that a platform user gets to read.
const MAX_USER_TEXT: usize = 2048;

/// Calls the configured service adapter.
#[derive(Clone, Debug)]
pub struct ServiceAdapter {
    program: PathBuf,
    environment: Arc<[(OsString, OsString)]>,
    places: Arc<Semaphore>,
}

/// Why a call of the adapter gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AdapterFault {
    /// It could not be started.
    #[error("could not start the service adapter `{program}` for `{call}`")]
    Start {
        /// The executable.
        program: String,
        /// The subcommand.
        call: Subcommand,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// It did not end in time.
    #[error("the service adapter did not answer `{call}` in time and was stopped")]
    Hung {
        /// The subcommand.
        call: Subcommand,
    },
    /// Others kept it from being started in time.
    #[error(
        "the service adapter could not be asked for `{call}` in time: as many calls as may were running"
    )]
    NoPlace {
        /// The subcommand.
        call: Subcommand,
    },
    /// It printed without end.
    #[error("the service adapter printed more than {} MiB for `{call}` and was killed", process::MAX_STDOUT / 1024 / 1024)]
    TooMuchOutput {
        /// The subcommand.
        call: Subcommand,
    },
    /// Its output could not be read.
    #[error("could not read the answer of the service adapter to `{call}`")]
    Read {
        /// The subcommand.
        call: Subcommand,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// It ended with a failure.
    #[error("the service adapter ended `{call}` with {status}")]
    Failed {
        /// The subcommand.
        call: Subcommand,
        /// What the exit status means.
        code: ExitCode,
        /// The exit status as the operating system has it.
        status: String,
        /// What it printed on stdout: its message for the platform user.
        for_user: Option<String>,
    },
    /// It ended well and its answer cannot be understood. What it printed may hold secrets and is not told.
    #[error("the service adapter's answer to `{call}` is not what the protocol asks for: {fault}")]
    Answer {
        /// The subcommand.
        call: Subcommand,
        /// What is wrong, by line and column, without a word of the answer.
        fault: String,
    },
}

impl ServiceAdapter {
    /// The adapter of the configuration. `environment` is the broker's own; the adapter gets to see a few names of it.
    pub fn new(
        adapter: &config::Adapter,
        timings: &config::Timings,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Self {
        let passed_on = environment
            .filter(|(name, _)| {
                PASSED_ON.iter().any(|known| name == known)
                    || adapter.environment.iter().any(|listed| name == &**listed)
            })
            .collect();
        Self {
            program: adapter.path.clone(),
            environment: passed_on,
            places: Arc::new(Semaphore::new(timings.adapter_processes)),
        }
    }

    /// Asks for the manifest of a service instance.
    pub async fn generate_manifest(
        &self,
        request: &GenerateManifest,
        deadline: Instant,
    ) -> Result<GeneratedManifest, AdapterFault> {
        let call = Subcommand::GenerateManifest;
        let answer = self
            .call(call, AdapterInput::generate_manifest(request), deadline)
            .await?;
        parse(call, &answer)
    }

    /// Asks for the address of the instance's dashboard; `None` when the adapter has none to offer.
    pub async fn dashboard_url(
        &self,
        request: &GenerateDashboardUrl,
        deadline: Instant,
    ) -> Result<Option<String>, AdapterFault> {
        let call = Subcommand::DashboardUrl;
        match self
            .call(call, AdapterInput::dashboard_url(request), deadline)
            .await
        {
            Ok(answer) => {
                let DashboardUrl { dashboard_url, .. } = parse(call, &answer)?;
                Ok(Some(dashboard_url).filter(|url| !url.is_empty()))
            }
            Err(AdapterFault::Failed {
                code: ExitCode::NotImplemented,
                ..
            }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Asks for credentials.
    pub async fn create_binding(
        &self,
        request: &CreateBinding,
        deadline: Instant,
    ) -> Result<Binding, AdapterFault> {
        let call = Subcommand::CreateBinding;
        let answer = self
            .call(call, AdapterInput::create_binding(request), deadline)
            .await?;
        parse(call, &answer)
    }

    /// Asks to take credentials back. What it prints is ignored.
    pub async fn delete_binding(
        &self,
        request: &DeleteBinding,
        deadline: Instant,
    ) -> Result<(), AdapterFault> {
        let call = Subcommand::DeleteBinding;
        self.call(call, AdapterInput::delete_binding(request), deadline)
            .await?;
        Ok(())
    }

    #[tracing::instrument(name = "adapter", skip_all, fields(adapter.call = %call))]
    async fn call(
        &self,
        call: Subcommand,
        input: AdapterInput,
        deadline: Instant,
    ) -> Result<Vec<u8>, AdapterFault> {
        let input = input.to_json().into_bytes();
        let Ok(Ok(_place)) = timeout_at(deadline, self.places.acquire()).await else {
            return Err(AdapterFault::NoPlace { call });
        };
        let started = Instant::now();
        let ended = process::run(
            &self.program,
            call.name(),
            &self.environment,
            input,
            deadline,
        )
        .await;
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match ended {
            Ok(ended) if ended.status.success() => {
                tracing::info!(duration_ms, "the service adapter answered");
                Ok(ended.stdout)
            }
            Ok(ended) => Err(failed(call, &ended)),
            Err(unfinished) => Err(unfinished_call(call, &self.program, unfinished)),
        }
    }
}

fn failed(call: Subcommand, ended: &Ended) -> AdapterFault {
    // Killed by a signal there is no code; that is a failure like any other.
    let code = ended
        .status
        .code()
        .map_or(ExitCode::Failure, ExitCode::from);
    let text = String::from_utf8_lossy(&ended.stdout);
    let text: String = text.trim().chars().take(MAX_USER_TEXT).collect();
    // Where the author says nothing on stderr, this is all the operator has.
    let mut redaction = Redaction::default();
    for line in text.lines() {
        tracing::warn!(adapter.stdout = %redaction.line(line), "the failing service adapter says");
    }
    AdapterFault::Failed {
        call,
        code,
        status: ended.status.to_string(),
        for_user: Some(text).filter(|text| !text.is_empty()),
    }
}

fn unfinished_call(call: Subcommand, program: &Path, unfinished: Unfinished) -> AdapterFault {
    match unfinished {
        Unfinished::Start(source) => AdapterFault::Start {
            program: program.display().to_string(),
            call,
            source,
        },
        Unfinished::Hung => AdapterFault::Hung { call },
        Unfinished::TooMuchOutput => AdapterFault::TooMuchOutput { call },
        Unfinished::Read(source) => AdapterFault::Read { call, source },
    }
}

fn parse<T: DeserializeOwned>(call: Subcommand, answer: &[u8]) -> Result<T, AdapterFault> {
    serde_json::from_slice(answer).map_err(|error| {
        // serde's own words quote what they stumbled over.
        let fault = match error.classify() {
            serde_json::error::Category::Eof if answer.is_empty() => "it is empty".to_owned(),
            serde_json::error::Category::Eof => "it ends too early".to_owned(),
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
                format!(
                    "it is not JSON, seen at line {} column {}",
                    error.line(),
                    error.column()
                )
            }
            serde_json::error::Category::Data => {
                format!(
                    "a value has the wrong type, seen at line {} column {}",
                    error.line(),
                    error.column()
                )
            }
        };
        AdapterFault::Answer { call, fault }
    })
}
