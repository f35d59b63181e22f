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
    finding::Finding,
    metrics::metrics,
    offering::Schemas,
    operations::{self, BindingSettings, InstanceSource, Lifecycle, Operations, SecureBindings},
};
use odb_engine_bosh::{
    BoshEngine, Dependencies, Targets, adapter::ServiceAdapter, instance_clients::InstanceClients,
};
use odb_redaction::Chain;

use crate::{
    api::OwnTls,
    preflight::{
        adapter,
        certificates::own,
        cloud_controller::{self, Foundation},
        credhub, director, instances,
    },
};

/// The parts of a running broker.
#[derive(Debug)]
pub struct Parts {
    /// The operations.
    pub operations: Operations,
    /// Certificate and key; plain HTTP without.
    pub tls: Option<OwnTls>,
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

/// Checks all upstreams as a start does, and returns all findings. It also calls the service instances API, for which a
/// start does not wait.
pub(crate) async fn examine(
    config: &Config,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<Finding> {
    let adapter = ServiceAdapter::new(&config.adapter, &config.broker.timings, environment);
    let mut findings = Vec::new();
    let (checked, listed) = tokio::join!(
        check_upstreams(config, &adapter, &mut findings),
        instances::list(config),
    );
    findings.extend(checked.err().unwrap_or_default());
    findings.extend(listed.err());
    findings
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

async fn check_upstreams(
    config: &Config,
    adapter: &ServiceAdapter,
    warnings: &mut Vec<Finding>,
) -> Checked<Upstreams> {
    let (director, credhub, foundation, secure_bindings, schemas) = tokio::join!(
        director::check(config),
        credhub::of_the_director(config),
        cloud_controller::check(config),
        credhub::of_applications(config),
        schemas_of(config, adapter)
    );
    // Every check has run; each may have several findings.
    let mut findings = Vec::new();
    let director = right(director, &mut findings);
    let credhub = right(credhub, &mut findings);
    let foundation = right(foundation, &mut findings);
    let secure_bindings = right(secure_bindings, &mut findings);
    let schemas = right(schemas, &mut findings);
    let tls = right(own::check(&config.broker), &mut findings);
    let api = right(instances::service_instances_api(config), &mut findings);
    let director = director.map(|(director, warning)| {
        warnings.extend(warning);
        director
    });
    let all = || {
        Some(Upstreams {
            director: director?,
            credhub: credhub?,
            foundation: foundation?,
            secure_bindings: secure_bindings?,
            schemas: schemas?,
            tls: tls?,
            api: api?,
        })
    };
    let upstreams = all().ok_or(findings)?;
    credhub::compare(config, &upstreams.director).await;
    Ok(upstreams)
}

/// The result of a check, unless it has findings.
fn right<T>(checked: Checked<T>, findings: &mut Vec<Finding>) -> Option<T> {
    checked.map_err(|found| findings.extend(found)).ok()
}

/// Checks all upstreams and puts the parts together.
pub async fn start(
    config: &Config,
    environment: Vec<(OsString, OsString)>,
    lifecycle: &Lifecycle,
) -> Checked<Parts> {
    let timings = &config.broker.timings;
    let adapter = ServiceAdapter::new(&config.adapter, timings, environment.into_iter());
    let mut warnings = Vec::new();
    // The executable is read while the upstreams take their time.
    let (checked, executable) = tokio::join!(
        check_upstreams(config, &adapter, &mut warnings),
        adapter::digest(&config.adapter)
    );
    for warning in warnings {
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
    } = checked?;
    for plan in &config.offering.plans {
        metrics().expect_operations(&plan.name);
    }
    if let Some(tls) = &tls {
        own::watch(tls, lifecycle);
    }
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
    let configs = director::configs(&director, &config.broker).await;
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
