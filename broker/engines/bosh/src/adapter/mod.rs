//! The service adapter: an executable that turns plan and parameters into a manifest, and a manifest into bindings.
//!
//! Each call is one supervised process in one of the forms of `spec/contracts/adapter-protocol.md` §1.3 and §1.4, with
//! its own process group, an environment of a few names, a deadline and a limit on its output. A fair semaphore bounds
//! how many run; a hanging adapter uses one permit and delays no other request.
//!
//! `process` runs a call as a supervised child process (`odb-process`) and logs its output.

mod process;
#[cfg(test)]
mod tests;

use std::{ffi::OsString, io, path::PathBuf, sync::Arc, time::Duration};

use odb_adapter_sdk::protocol::{
    self, AdapterArguments, AdapterInput, Binding, CreateBinding, DashboardUrl, DeleteBinding,
    ExitCode, GenerateDashboardUrl, GenerateManifest, GeneratePlanSchemas, GeneratedManifest,
    ManifestText, PlanSchemas, Subcommand,
};
use odb_api_types::code::Code;
use odb_clients::http::trace::{self, SPANS};
use odb_config::{AdapterForm, Offering, Plan, Timings};
use odb_core::{
    metrics::{AdapterOutcome, metrics},
    shown,
};
use odb_process::is_inherited;
use odb_redaction::Redaction;
use process::{Ceilings, Ended, Request};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};
use tracing::{Instrument, Span, field};

pub use odb_process::{Stream, end_all_orphans, watch};
pub use process::{start_watchdog, watch_for_orphans};

pub use crate::digest::ExecutableDigest;

/// Calls the configured service adapter.
#[derive(Clone, Debug)]
pub struct ServiceAdapter {
    program: PathBuf,
    form: AdapterForm,
    environment: Arc<[(OsString, OsString)]>,
    locations: Arc<Semaphore>,
    /// How long a call may run.
    limit: Duration,
    ceilings: Ceilings,
}

impl ServiceAdapter {
    /// The adapter of the configuration. `environment` is the broker's own; the adapter gets to see a few names of it.
    pub fn new(
        adapter: &odb_config::Adapter,
        timings: &Timings,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Self {
        let passed_on = environment
            .filter(|(name, _)| {
                is_inherited(name) || adapter.environment.iter().any(|listed| name == &**listed)
            })
            .collect();
        Self {
            program: adapter.path.clone(),
            form: adapter.form,
            environment: passed_on,
            locations: Arc::new(Semaphore::new(timings.adapter_processes)),
            limit: timings.adapter_call,
            ceilings: Ceilings {
                answer: timings.adapter_answer,
                log: timings.adapter_log,
            },
        }
    }

    /// Asks for the manifest of a service instance. In the form of arguments it comes without secrets, configs and
    /// labels.
    pub async fn generate_manifest(
        &self,
        request: &GenerateManifest,
        deadline: Instant,
    ) -> Result<GeneratedManifest, AdapterError> {
        let call = Subcommand::GenerateManifest;
        let (input, arguments) = (
            AdapterInput::generate_manifest,
            AdapterArguments::generate_manifest,
        );
        let answer = self.ask(call, request, input, arguments, deadline).await?;
        match self.form {
            AdapterForm::Stdin => json(call, &answer),
            AdapterForm::Arguments => manifest(answer),
        }
    }

    /// Asks for the address of the instance's dashboard; `None` when the adapter has none to offer.
    pub async fn dashboard_url(
        &self,
        request: &GenerateDashboardUrl,
        deadline: Instant,
    ) -> Result<Option<String>, AdapterError> {
        let call = Subcommand::DashboardUrl;
        let (input, arguments) = (AdapterInput::dashboard_url, AdapterArguments::dashboard_url);
        match self.ask(call, request, input, arguments, deadline).await {
            Ok(answer) => {
                let DashboardUrl { dashboard_url, .. } = json(call, &answer)?;
                Ok(Some(dashboard_url).filter(|url| !url.is_empty()))
            }
            Err(AdapterError::Failed {
                code: ExitCode::NotImplemented,
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks for credentials.
    pub async fn create_binding(
        &self,
        request: &CreateBinding,
        deadline: Instant,
    ) -> Result<Binding, AdapterError> {
        let call = Subcommand::CreateBinding;
        let (input, arguments) = (
            AdapterInput::create_binding,
            AdapterArguments::create_binding,
        );
        let answer = self.ask(call, request, input, arguments, deadline).await?;
        json(call, &answer)
    }

    /// Deletes the credentials of a binding. The adapter's output is ignored.
    pub async fn delete_binding(
        &self,
        request: &DeleteBinding,
        deadline: Instant,
    ) -> Result<(), AdapterError> {
        let call = Subcommand::DeleteBinding;
        let (input, arguments) = (
            AdapterInput::delete_binding,
            AdapterArguments::delete_binding,
        );
        self.ask(call, request, input, arguments, deadline).await?;
        Ok(())
    }

    /// Requests the parameter schemas of a plan. They are not validated here.
    pub async fn plan_schemas(
        &self,
        request: &GeneratePlanSchemas,
        deadline: Instant,
    ) -> Result<PlanSchemas, AdapterError> {
        let call = Subcommand::GeneratePlanSchemas;
        let (input, arguments) = (
            AdapterInput::generate_plan_schemas,
            AdapterArguments::generate_plan_schemas,
        );
        let answer = self.ask(call, request, input, arguments, deadline).await?;
        json(call, &answer)
    }

    /// The complete stdout of a successful call.
    #[tracing::instrument(name = "adapter", skip_all, fields(adapter.call = %call))]
    async fn ask<R: Sync>(
        &self,
        call: Subcommand,
        request: &R,
        input: fn(&R) -> AdapterInput,
        arguments: fn(&R) -> AdapterArguments,
        deadline: Instant,
    ) -> Result<Vec<u8>, AdapterError> {
        let mut adapter_request = Request {
            call,
            arguments: Vec::new(),
            stdin: None,
            parent: None,
        };
        match self.form {
            AdapterForm::Stdin => {
                adapter_request.stdin = Some(input(request).to_json().into_bytes());
            }
            AdapterForm::Arguments => adapter_request.arguments = arguments(request).into_vec(),
        }
        let mut counted = metrics().adapter_call(call);
        let Ok(Ok(_location)) = timeout_at(deadline, self.locations.acquire()).await else {
            counted.ended(AdapterOutcome::NoLocation);
            return Err(AdapterError::NoLocation { call });
        };
        counted.run();
        let deadline = deadline.min(Instant::now() + self.limit);
        let span = trace::attached(tracing::trace_span!(
            target: SPANS,
            "adapter",
            otel.kind = "internal",
            otel.name = %format_args!("adapter {call}"),
            otel.status_code = field::Empty,
            adapter.call = %call,
            process.exit.code = field::Empty,
        ));
        adapter_request.parent = trace::traceparent(&span);
        let run = process::run(
            &self.program,
            adapter_request,
            &self.environment,
            self.ceilings,
            deadline,
        );
        let ended = run.instrument(span.clone()).await;
        note_end(&span, &ended);
        let duration_ms = u64::try_from(counted.elapsed().as_millis()).unwrap_or(u64::MAX);
        counted.ended(outcome(&ended));
        match ended? {
            ended if ended.status.success() => {
                tracing::info!(duration_ms, "the service adapter answered");
                Ok(ended.stdout)
            }
            ended => Err(AdapterError::failed(call, ended)),
        }
    }
}

fn note_end(span: &Span, ended: &Result<Ended, AdapterError>) {
    let code = ended.as_ref().ok().and_then(|ended| ended.status.code());
    if let Some(code) = code {
        span.record("process.exit.code", code);
    }
    if code != Some(0) {
        span.record("otel.status_code", "ERROR");
    }
}

fn outcome(ended: &Result<Ended, AdapterError>) -> AdapterOutcome {
    match ended {
        Ok(ended) if ended.status.success() => AdapterOutcome::Answered,
        Ok(_) => AdapterOutcome::Failed,
        Err(AdapterError::Hung { .. }) => AdapterOutcome::Hung,
        Err(AdapterError::TooMuchOutput { .. }) => AdapterOutcome::TooMuchOutput,
        Err(_) => AdapterOutcome::Broken,
    }
}

/// One JSON value and nothing after it (`spec/contracts/adapter-protocol.md` §1.5).
fn json<T: DeserializeOwned>(call: Subcommand, stdout: &[u8]) -> Result<T, AdapterError> {
    serde_json::from_slice(stdout).map_err(|error| {
        // serde's own text quotes the invalid value.
        let (line, column) = (error.line(), error.column());
        let error = match error.classify() {
            Category::Eof if stdout.is_empty() => "it is empty".to_owned(),
            Category::Eof => "it ends too early".to_owned(),
            Category::Syntax | Category::Io => {
                format!("it is not JSON, seen at line {line} column {column}")
            }
            Category::Data => {
                format!("a value has the wrong type, seen at line {line} column {column}")
            }
        };
        AdapterError::Answer { call, error }
    })
}

/// A manifest with no JSON around it.
fn manifest(stdout: Vec<u8>) -> Result<GeneratedManifest, AdapterError> {
    let error = |error: &str| AdapterError::Answer {
        call: Subcommand::GenerateManifest,
        error: error.to_owned(),
    };
    match String::from_utf8(stdout) {
        Ok(text) if text.trim().is_empty() => Err(error("it is empty")),
        Ok(text) => Ok(GeneratedManifest::from_text(ManifestText::from(text))),
        Err(_) => Err(error("it is not text in UTF-8")),
    }
}

/// A plan as adapters get to see it: without its name, id, quotas and metadata, with the properties of all plans under
/// its own (`spec/contracts/adapter-protocol.md` §2.2).
pub fn plan_for_adapter(offering: &Offering, plan: &Plan) -> protocol::Plan {
    let mut seen = protocol::Plan::new(plan.instance_groups.clone());
    seen.properties = offering.properties(plan);
    seen.lifecycle_errands.clone_from(&plan.lifecycle_errands);
    seen.update.clone_from(&plan.update);
    seen
}

/// Why a call of the adapter gave no answer.
#[expect(missing_docs, reason = "each variant has its message")]
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    #[error("could not start the service adapter `{program}` for `{call}`")]
    Start {
        program: String,
        call: Subcommand,
        source: io::Error,
    },
    #[error(
        "could not pass the arguments of `{call}` to the service adapter: the longest has {longest} bytes, and the operating \
         system takes 128 KiB in one; set `broker.use_stdin` to `true`, which takes an adapter that reads its stdin"
    )]
    ArgumentsTooLong { call: Subcommand, longest: usize },
    #[error("the service adapter did not answer `{call}` in time and was stopped")]
    Hung { call: Subcommand },
    /// Other calls prevented its start in time.
    #[error(
        "could not run the service adapter's `{call}` in time: the limit of concurrent calls was reached"
    )]
    NoLocation { call: Subcommand },
    #[error(
        "the service adapter printed more than {} MiB on {stream} for `{call}` and was killed",
        limit / 1024 / 1024
    )]
    TooMuchOutput {
        call: Subcommand,
        stream: Stream,
        /// In bytes.
        limit: usize,
    },
    #[error("could not read the answer of the service adapter to `{call}`")]
    Read { call: Subcommand, source: io::Error },
    #[error("the service adapter ended `{call}` with {status}")]
    Failed {
        call: Subcommand,
        code: ExitCode,
        /// The exit status as the operating system has it.
        status: String,
        /// Its stdout: the message for the platform user.
        for_user: Option<String>,
        /// The end of stderr, where most programs print the cause. Only for operators.
        #[source]
        last_words: Option<LastWords>,
    },
    /// The adapter succeeded, but its answer is invalid. The answer may hold secrets and is not shown.
    #[error("the service adapter's answer to `{call}` is not what the protocol asks for: {error}")]
    Answer {
        call: Subcommand,
        /// The error by line and column, without content of the answer.
        error: String,
    },
}

/// The most of a failing adapter's stdout that reaches the log, in bytes.
const LONGEST_LOGGED: usize = 2048;

fn cut(text: &str) -> &str {
    let text = text.trim();
    &text[..text.floor_char_boundary(LONGEST_LOGGED)]
}

/// The last line that a failing adapter printed on stderr, redacted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its last words on stderr were `{0}`")]
pub struct LastWords(pub String);

impl AdapterError {
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Start { .. } | Self::ArgumentsTooLong { .. } => Code::AdapterStart,
            Self::Hung { .. } | Self::NoLocation { .. } => Code::AdapterHung,
            Self::TooMuchOutput { .. } => Code::AdapterOutput,
            Self::Read { .. } | Self::Answer { .. } => Code::AdapterAnswer,
            Self::Failed { .. } => Code::AdapterFailed,
        }
    }

    fn failed(call: Subcommand, ended: Ended) -> Self {
        // Killed by a signal there is no code; that is a failure like any other.
        let code = ended
            .status
            .code()
            .map_or(ExitCode::Failure, ExitCode::from);
        let text = String::from_utf8_lossy(&ended.stdout);
        let for_user = shown::message(&text);
        // Where the author says nothing on stderr, this is all the operator has.
        let mut redaction = Redaction::default();
        for line in cut(&text).lines() {
            tracing::warn!(adapter.stdout = %redaction.line(line), "the failing service adapter wrote");
        }
        Self::Failed {
            call,
            code,
            status: ended.status.to_string(),
            for_user: Some(for_user).filter(|text| !text.is_empty()),
            last_words: ended.last_words.map(LastWords),
        }
    }
}
