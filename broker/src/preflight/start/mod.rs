//! Builds the broker and checks that it can work: every upstream is called before the first request is accepted, and
//! all errors are reported at once.
//!
//! | file | contents |
//! | --- | --- |
//! | `usage` | starts to report to collectors of telemetry |
//! | `resume` | resumes the operations of an earlier process |
//!
//! The configuration has been checked before, including the adapter's executable.

mod resume;
mod usage;

use std::{ffi::OsString, sync::Arc};

use odb_clients::{
    credhub::CredHub, director::Director, service_instances_api::ServiceInstancesApi,
};
use odb_config::{AdapterForm, Config};
use odb_core::{
    engine::{Engine, KeptBindings},
    finding::Finding,
    metrics::metrics,
    offering::Schemas,
    operations::{BindingSettings, Lifecycle, Operations, SecureBindings},
};
use odb_engine_bosh::{BoshEngine, Dependencies, Targets, adapter::ServiceAdapter};

use crate::{
    api::OwnTls,
    preflight::{
        adapter::{digest, schemas},
        certificates::own as certificate,
        cloud_controller::connection as cloud_controller,
        credhub::connection as credhub,
        director::{config_rights, connection as director},
        instances,
        uaa::instance_clients,
    },
};

pub use resume::resume;

/// The parts of a running broker.
#[derive(Debug)]
pub struct Parts {
    /// The operations.
    pub operations: Operations,
    /// Certificate and key; plain HTTP without.
    pub tls: Option<OwnTls>,
}

/// The result of a check, or all of its findings.
pub(crate) type Checked<T> = Result<T, Vec<Finding>>;

/// The result of the checks of all upstreams.
struct Upstreams {
    director: Director,
    credhub: Option<CredHub>,
    foundation: Option<cloud_controller::Foundation>,
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

/// Requests the adapter's schemas as a start does, and returns all findings.
pub(crate) async fn examine_adapter(
    config: &Config,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<Finding> {
    let adapter = ServiceAdapter::new(&config.adapter, &config.broker.timings, environment);
    schemas_of(config, &adapter).await.err().unwrap_or_default()
}

async fn schemas_of(config: &Config, adapter: &ServiceAdapter) -> Checked<Schemas> {
    let limit = config.broker.timings.start_up;
    schemas::check(&config.adapter, &config.offering, limit, adapter).await
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
    let director = director.map(|(director, warning)| {
        warnings.extend(warning);
        director
    });
    // Every check has run; each may have several findings.
    let of_bosh = both(director, credhub);
    let of_platform = both(foundation, secure_bindings);
    let of_adapter = both(schemas, certificate::check(&config.broker));
    let checked = both(both(of_bosh, of_platform), of_adapter);
    let (checked, api) = both(checked, instances::service_instances_api(config))?;
    let (((director, credhub), (foundation, secure_bindings)), (schemas, tls)) = checked;
    credhub::compare(config, &director).await;
    Ok(Upstreams {
        director,
        credhub,
        foundation,
        secure_bindings,
        schemas,
        tls,
        api,
    })
}

/// The results of two checks, or the findings of both.
fn both<A, B>(one: Checked<A>, other: Checked<B>) -> Checked<(A, B)> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (one, other) => {
            let errors = [one.err(), other.err()];
            Err(errors.into_iter().flatten().flatten().collect())
        }
    }
}

/// Checks all upstreams and puts the parts together.
pub async fn start(
    config: &Config,
    environment: Vec<(OsString, OsString)>,
    lifecycle: &Lifecycle,
) -> Checked<Parts> {
    let adapter = ServiceAdapter::new(
        &config.adapter,
        &config.broker.timings,
        environment.into_iter(),
    );
    let mut warnings = Vec::new();
    // The executable is read while the upstreams take their time.
    let (checked, executable) = tokio::join!(
        check_upstreams(config, &adapter, &mut warnings),
        digest::digest(&config.adapter)
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
        metrics().operations.expect(&plan.name);
    }
    if let Some(tls) = &tls {
        certificate::watch(tls, lifecycle);
    }
    let (cloud_controller, clients) = foundation.unzip();
    let clients = instance_clients::of(config, clients.flatten());
    let sources = instances::of(config, cloud_controller, api);
    if config.adapter.form == AdapterForm::Arguments {
        tracing::warn!(
            "`broker.use_stdin` is off: every user of the machine can read manifests and parameters in the list of processes, \
             and the adapter can return no secrets, configs or labels; use an adapter that reads its stdin"
        );
    }
    let configs = config_rights::of(&director, &config.broker).await;
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
    usage::report(config, sources.lists.as_ref(), &*engine, lifecycle);
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
