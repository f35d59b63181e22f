//! The service adapter: an executable that turns plan and parameters into a manifest, and a manifest into bindings.
//!
//! Each call is one supervised process in one of the forms of `spec/contracts/adapter-protocol.md` §1.3 and §1.4, with
//! its own process group, an environment of a few names, a deadline and a limit on its output. A fair semaphore bounds
//! how many run; a hanging adapter uses one permit and delays no other request.
//!
//! | file | contents |
//! | --- | --- |
//! | `plan` | a plan in the form for adapters |
//! | `executable` | whether the executable has changed |
//! | `request` | a request in the form of the adapter |
//! | `process` | a call as a supervised child process (`odb-process`), and the log of its output |
//! | `shown` | the adapter's texts that users see |
//! | `answer`, `error` | the parsed answer; errors |

mod answer;
mod error;
mod executable;
mod plan;
mod process;
mod request;
#[cfg(test)]
mod tests;

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use odb_adapter_sdk::protocol::{
    AdapterArguments, AdapterInput, Binding, CreateBinding, DashboardUrl, DeleteBinding, ExitCode,
    GenerateDashboardUrl, GenerateManifest, GeneratePlanSchemas, GeneratedManifest, PlanSchemas,
    Subcommand,
};
use odb_config::{AdapterForm, Timings};
use odb_core::metrics::{AdapterOutcome, metrics};
use odb_process::is_inherited;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use answer::Answer;
use process::{Ceilings, Ended, Unfinished};
use request::AdapterRequest;

pub use error::AdapterError;
pub use executable::ExecutableDigest;
pub use odb_process::{Stream, end_all_orphans, watch};
pub use plan::plan_for_adapter;
pub use process::{start_watchdog, watch_for_orphans};

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
        let adapter_request = AdapterRequest::new(
            self.form,
            Subcommand::GenerateManifest,
            || AdapterInput::generate_manifest(request),
            || AdapterArguments::generate_manifest(request),
        );
        let answer = self.ask(adapter_request, deadline).await?;
        match self.form {
            AdapterForm::Stdin => answer.json(),
            AdapterForm::Arguments => answer.manifest(),
        }
    }

    /// Asks for the address of the instance's dashboard; `None` when the adapter has none to offer.
    pub async fn dashboard_url(
        &self,
        request: &GenerateDashboardUrl,
        deadline: Instant,
    ) -> Result<Option<String>, AdapterError> {
        let adapter_request = AdapterRequest::new(
            self.form,
            Subcommand::DashboardUrl,
            || AdapterInput::dashboard_url(request),
            || AdapterArguments::dashboard_url(request),
        );
        match self.ask(adapter_request, deadline).await {
            Ok(answer) => {
                let DashboardUrl { dashboard_url, .. } = answer.json()?;
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
        let adapter_request = AdapterRequest::new(
            self.form,
            Subcommand::CreateBinding,
            || AdapterInput::create_binding(request),
            || AdapterArguments::create_binding(request),
        );
        self.ask(adapter_request, deadline).await?.json()
    }

    /// Deletes the credentials of a binding. The adapter's output is ignored.
    pub async fn delete_binding(
        &self,
        request: &DeleteBinding,
        deadline: Instant,
    ) -> Result<(), AdapterError> {
        let adapter_request = AdapterRequest::new(
            self.form,
            Subcommand::DeleteBinding,
            || AdapterInput::delete_binding(request),
            || AdapterArguments::delete_binding(request),
        );
        self.ask(adapter_request, deadline).await?;
        Ok(())
    }

    /// Requests the parameter schemas of a plan. They are not validated here.
    pub async fn plan_schemas(
        &self,
        request: &GeneratePlanSchemas,
        deadline: Instant,
    ) -> Result<PlanSchemas, AdapterError> {
        let adapter_request = AdapterRequest::new(
            self.form,
            Subcommand::GeneratePlanSchemas,
            || AdapterInput::generate_plan_schemas(request),
            || AdapterArguments::generate_plan_schemas(request),
        );
        self.ask(adapter_request, deadline).await?.json()
    }

    #[tracing::instrument(name = "adapter", skip_all, fields(adapter.call = %adapter_request.call))]
    async fn ask(
        &self,
        adapter_request: AdapterRequest,
        deadline: Instant,
    ) -> Result<Answer, AdapterError> {
        let call = adapter_request.call;
        let longest_argument = adapter_request.longest_argument();
        let mut counted = metrics().adapter_call(call);
        let Ok(Ok(_location)) = timeout_at(deadline, self.locations.acquire()).await else {
            counted.ended(AdapterOutcome::NoLocation);
            return Err(AdapterError::NoLocation { call });
        };
        counted.run();
        let deadline = deadline.min(Instant::now() + self.limit);
        let ended = process::run(
            &self.program,
            adapter_request,
            &self.environment,
            self.ceilings,
            deadline,
        )
        .await;
        let duration_ms = u64::try_from(counted.elapsed().as_millis()).unwrap_or(u64::MAX);
        counted.ended(outcome(&ended));
        match ended {
            Ok(ended) if ended.status.success() => {
                tracing::info!(duration_ms, "the service adapter answered");
                Ok(Answer::new(call, ended.stdout))
            }
            Ok(ended) => Err(AdapterError::failed(call, ended)),
            Err(unfinished) => Err(AdapterError::unfinished(
                call,
                &self.program,
                longest_argument,
                unfinished,
            )),
        }
    }
}

fn outcome(ended: &Result<Ended, Unfinished>) -> AdapterOutcome {
    match ended {
        Ok(ended) if ended.status.success() => AdapterOutcome::Answered,
        Ok(_) => AdapterOutcome::Failed,
        Err(Unfinished::Hung) => AdapterOutcome::Hung,
        Err(Unfinished::TooMuchOutput { .. }) => AdapterOutcome::TooMuchOutput,
        Err(Unfinished::Start(_) | Unfinished::Read(_)) => AdapterOutcome::Broken,
    }
}
