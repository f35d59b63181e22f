//! Builds the broker and checks that it can work: every upstream is called before the first request is accepted, and
//! all errors are reported at once.
//!
//! The configuration has been checked before, including the adapter's executable.

use std::{ffi::OsString, sync::Arc};

use backon::{ConstantBuilder, Retryable};
use odb_api_types::code::Code;
use odb_clients::{
    credhub::CredHub, director::Director, http::Call, service_instances_api::ServiceInstancesApi,
};
use odb_config::{AdapterForm, Config, Timings};
use odb_core::{
    engine::{Engine, EngineError, KeptBindings},
    finding::{Finding, Severity},
    metrics::metrics,
    offering::Schemas,
    operations::{self, BindingSettings, InstanceSource, Lifecycle, Operations, SecureBindings},
};
use odb_engine_bosh::{
    BoshEngine, Dependencies, Targets, adapter::ServiceAdapter, instance_clients::InstanceClients,
};
use odb_redaction::Chain;

use crate::{
    api::{OwnTls, ServedTls},
    preflight::{
        adapter,
        certificates::{own, reload},
        chart::{Chart, Examined},
        cloud_controller::{self, Foundation},
        context::Context,
        credhub, director,
        instances::{self, ApiCalls},
    },
};

/// The parts of a running broker.
#[derive(Debug)]
pub struct Parts {
    /// The operations.
    pub operations: Operations,
    /// Certificate and key; plain HTTP without.
    pub tls: Option<ServedTls>,
}

pub(crate) type Checked<T> = Result<T, Vec<Finding>>;

struct Upstreams {
    director: Director,
    credhub: Option<CredHub>,
    foundation: Option<Foundation>,
    secure_bindings: Option<SecureBindings>,
    schemas: Schemas,
    tls: Option<OwnTls>,
    api: Option<ServiceInstancesApi>,
}

/// What the probes of a start have found so far.
#[derive(Default)]
struct Findings {
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
}

impl Findings {
    fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings.into_iter().filter_map(of_a_start) {
            match finding.severity {
                Severity::Error => self.errors.push(finding),
                Severity::Warning => self.warnings.push(finding),
            }
        }
    }

    /// The client of an upstream.
    fn client<T>(&mut self, examined: Examined<T>, is_configured: bool) -> Option<T> {
        let known = self.errors.len();
        let charts = examined.charts.into_iter();
        self.add(charts.flat_map(Chart::into_findings));
        debug_assert!(
            examined.client.is_some() || !is_configured || self.errors.len() > known,
            "without a client there is an error"
        );
        examined.client
    }

    /// The result of a check, unless it has findings.
    fn unless_wrong<T>(&mut self, checked: Checked<T>) -> Option<T> {
        checked.map_err(|found| self.add(found)).ok()
    }
}

/// What a start reports of a finding.
fn of_a_start(finding: Finding) -> Option<Finding> {
    match (finding.code, finding.severity) {
        // Reads work without it, and an administrator can correct it while the broker runs.
        (Code::DirectorRights | Code::NoDirectorCredHub, Severity::Error) => {
            Some(finding.warning())
        }
        // The broker works, with limits that only `doctor` explains.
        (Code::DirectorRights | Code::InstancesUnknown, Severity::Warning) => None,
        _ => Some(finding),
    }
}

/// Checks all upstreams as a start does, and returns all findings. It also calls the service instances API, for which a
/// start does not wait.
pub(crate) async fn examine(
    config: &Config,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<Finding> {
    let adapter = ServiceAdapter::new(&config.adapter, &config.broker.timings, environment);
    let mut findings = Findings::default();
    check_upstreams(config, &adapter, ApiCalls::Made, &mut findings).await;
    findings.warnings.extend(findings.errors);
    findings.warnings
}

pub(crate) async fn examine_adapter(
    config: &Config,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<Finding> {
    let adapter = ServiceAdapter::new(&config.adapter, &config.broker.timings, environment);
    schemas_of(config, &adapter).await.err().unwrap_or_default()
}

async fn schemas_of(config: &Config, adapter: &ServiceAdapter) -> Checked<Schemas> {
    let limit = config.broker.timings.start_up;
    adapter::schemas(&config.adapter, &config.offering, limit, adapter).await
}

/// The upstreams, unless there are errors. Every probe runs; each may have several findings.
async fn check_upstreams(
    config: &Config,
    adapter: &ServiceAdapter,
    calls: ApiCalls,
    findings: &mut Findings,
) -> Option<Upstreams> {
    let context = Context::of_config(config);
    let (director, credhub, foundation, runtime_credhub, schemas, api) = tokio::join!(
        Box::pin(director::look(&context)),
        Box::pin(credhub::look_at_the_directors(&context)),
        Box::pin(cloud_controller::look(&context)),
        Box::pin(credhub::look_at_that_of_applications(&context)),
        schemas_of(config, adapter),
        Box::pin(instances::look(&context, calls)),
    );
    let director = findings.client(director, true);
    let credhub = findings.client(credhub, config.bosh_credhub.is_some());
    let foundation = findings.client(foundation, config.cloud_foundry.is_some());
    let runtime_credhub = findings.client(runtime_credhub, config.runtime_credhub.is_some());
    let schemas = findings.unless_wrong(schemas);
    let tls = findings.unless_wrong(own::check(&config.broker));
    let api = findings.client(api, config.service_instances_api.is_some());
    if !findings.errors.is_empty() {
        return None;
    }
    let service = &config.offering.id;
    Some(Upstreams {
        director: director?,
        credhub,
        foundation,
        secure_bindings: runtime_credhub
            .map(|credhub| SecureBindings::new(credhub, service.clone())),
        schemas: schemas?,
        tls: tls?,
        api,
    })
}

/// Checks all upstreams and puts the parts together.
pub async fn start(
    config: &Config,
    environment: Vec<(OsString, OsString)>,
    lifecycle: &Lifecycle,
) -> Checked<Parts> {
    let timings = &config.broker.timings;
    let adapter = ServiceAdapter::new(&config.adapter, timings, environment.into_iter());
    let mut findings = Findings::default();
    if config.cloud_foundry.is_none() {
        tracing::warn!(
            "`broker.disable_cf_startup_checks` is set and `cf` is absent: the broker does not notice plans that are missing from the configuration"
        );
    }
    // The executable is read while the upstreams take their time.
    let (checked, executable) = tokio::join!(
        check_upstreams(config, &adapter, ApiCalls::LeftOut, &mut findings),
        adapter::digest(&config.adapter)
    );
    for warning in findings.warnings {
        tracing::warn!(code = %warning.code, %warning, "a start-up check warns");
    }
    let Upstreams {
        director,
        credhub,
        foundation,
        secure_bindings,
        schemas,
        tls,
        api,
    } = checked.ok_or(findings.errors)?;
    for plan in &config.offering.plans {
        metrics().expect_operations(&plan.name);
    }
    let tls = tls.zip(config.broker.tls.clone());
    let tls = tls.map(|(tls, files)| reload::watch(tls, files, lifecycle));
    let (cloud_controller, administration) = foundation.unzip();
    let cf = config.cloud_foundry.as_ref();
    let definition = cf.and_then(|cf| cf.client_definition.clone());
    let id = config.offering.id.clone();
    let clients = InstanceClients::new(administration.flatten(), definition, id);
    let sources = instances::of(config, cloud_controller, api);
    if config.adapter.form == AdapterForm::Arguments {
        tracing::warn!(
            "`broker.use_stdin` is off: every user of the machine can read manifests and parameters in the list of processes, \
             and the adapter can return no secrets, configs or labels; use an adapter that reads its stdin"
        );
    }
    let configs = director::configs::try_rights(&director, &config.broker).await;
    let bindings = secure_bindings
        .clone()
        .map(|secure| Arc::new(secure) as Arc<dyn KeptBindings>);
    let engine: Arc<dyn Engine> = Arc::new(BoshEngine::new(
        config,
        Dependencies {
            director,
            configs,
            credhub,
            bindings,
            clients,
            adapter,
            targets: Targets::new(&config.offering, &config.software, &executable),
        },
        lifecycle.runtime().clone(),
        lifecycle.stopping(),
    ));
    report_usage(config, sources.lists.as_ref(), &*engine, lifecycle);
    let operations = Operations::new(
        engine,
        config.offering.clone(),
        schemas,
        sources,
        BindingSettings {
            secure: secure_bindings,
            backup_agents: config.broker.backup_agent_bindings,
            concurrent_per_instance: config.adapter.concurrent_bindings,
        },
        lifecycle.clone(),
        config.broker.timings,
    );
    Ok(Parts { operations, tls })
}

/// Reports the number of instances to collectors of telemetry in the background, if `broker.enable_telemetry` is set.
fn report_usage(
    config: &Config,
    source: Option<&Arc<dyn InstanceSource>>,
    engine: &dyn Engine,
    lifecycle: &Lifecycle,
) {
    if !config.broker.reports_usage {
        return;
    }
    let Some(source) = source else {
        tracing::warn!(
            "`broker.enable_telemetry` is set and the broker cannot list service instances, so there is nothing to report; \
             give `cf` or `service_instances_api`"
        );
        return;
    };
    let limit = config.broker.timings.start_up;
    let reports = operations::report_usage(
        source.clone(),
        config.offering.clone(),
        limit,
        engine.ended(),
    );
    let stopping = lifecycle.stopping();
    lifecycle.runtime().spawn(async move {
        stopping.run_until_cancelled(reports).await;
    });
}

/// Resumes the operations of an earlier process and reads what orders need, in the background: the broker serves
/// requests meanwhile. A request that needs it earlier reads it itself. Errors are retried.
pub fn resume(config: &Config, parts: &Parts, lifecycle: &Lifecycle) {
    let timings = config.broker.timings;
    let cf = config.cloud_foundry.as_ref();
    let is_counted = cf.is_none_or(|cf| !cf.skips_checks);
    let operations = parts.operations.clone();
    let stopping = lifecycle.stopping();
    lifecycle.runtime().spawn(async move {
        let work = async {
            let pauses = ConstantBuilder::new()
                .with_delay(timings.longest_retry)
                .without_max_times();
            let attempt = || try_to_resume(operations.engine(), &timings);
            // It is retried without end.
            if attempt.retry(pauses).await.is_ok() && is_counted {
                // One after the other: each reads an operation record of every instance. An order that arrives earlier,
                // or after a failure, reads it itself.
                let call = Call::within(timings.start_up);
                operations.prepare_counting(&call).await;
            }
            tracing::info!("resumed the operations of earlier processes");
        };
        stopping.run_until_cancelled(work).await;
    });
}

async fn try_to_resume(engine: &dyn Engine, timings: &Timings) -> Result<(), EngineError> {
    let count = engine.resume(&Call::within(timings.start_up)).await;
    let count = count.inspect_err(|error| {
        tracing::error!(
            code = %Code::Resume,
            error = %Chain(error),
            "operations of an earlier process could not be looked up, trying again"
        );
    })?;
    if count > 0 {
        tracing::info!(count, "resuming operations of an earlier process");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_warns_of_rights_that_can_be_granted_later_and_leaves_advice_to_doctor() {
        use Severity::{Error, Warning};

        for (code, severity, at_a_start) in [
            (Code::DirectorRights, Error, Some(Warning)),
            (Code::NoDirectorCredHub, Error, Some(Warning)),
            (Code::DirectorRights, Warning, None),
            (Code::InstancesUnknown, Warning, None),
            (Code::CountingRights, Warning, Some(Warning)),
            (Code::DirectorCredentials, Error, Some(Error)),
            (Code::PlanInUse, Error, Some(Error)),
        ] {
            let finding = Finding {
                severity,
                ..Finding::error(code, "bosh", "it is so", "change it")
            };
            let reported = of_a_start(finding).map(|finding| finding.severity);
            assert_eq!(reported, at_a_start, "{code} {severity:?}");
        }
    }
}
