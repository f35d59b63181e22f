//! Puts the parts together and checks that they can work: every neighbour is asked before the first request is taken,
//! and all that is wrong is reported at once.
//!
//! | file | checks |
//! | --- | --- |
//! | `director`, `director_version` | that the Director answers, knows us and is new enough |
//! | `bosh_credhub` | that the Director's CredHub answers and knows us, where secure manifests are on |
//! | `config_rights` | whether we may read and write BOSH configs, and what shrinks if not |
//! | `cloud_controller` | that the Cloud Controller answers, knows us, is new enough and has no plan that we no longer offer |
//! | `runtime_credhub` | that the CredHub of applications answers and knows us |
//! | `instance_clients` | that we may administer the UAA clients of service instances, where they are defined |
//! | `instance_source` | who knows the service instances; does not keep the broker from starting when nobody answers |
//! | `schemas` | that the adapter describes the parameters of each plan, where it has to |
//! | `executable` | what the adapter consists of, to know what is deployed today |
//! | `certificate` | the broker's own certificate and key, whose end is watched |
//! | `trust` | whose certificates are believed |
//! | `fault` | everything that may be wrong |
//! | `warning` | what is better put right, and keeps no broker from starting |
//! | `usage` | begins to tell collectors of telemetry what is there |
//! | `resume` | picks up what an earlier process left in progress |
//!
//! The configuration has been checked before, the adapter's executable included.

mod bosh_credhub;
pub(crate) mod certificate;
pub(crate) mod cloud_controller;
mod config_rights;
pub(crate) mod director;
mod director_version;
mod executable;
mod fault;
mod instance_clients;
pub(crate) mod instance_source;
mod resume;
pub(crate) mod runtime_credhub;
pub(crate) mod schemas;
pub(crate) mod trust;
mod usage;
mod warning;

use std::{ffi::OsString, sync::Arc};

use odb_clients::{
    credhub::CredHub, director::Director, service_instances_api::ServiceInstancesApi,
};

use crate::{
    adapter::ServiceAdapter,
    api::OwnTls,
    bosh::{Instances, KeptBindings, Surroundings, Targets},
    config::{AdapterForm, Config},
    offering::Schemas,
    operations::{BindingSettings, Lifecycle, Operations, SecureBindings},
    telemetry::metrics::metrics,
};

pub use director_version::DirectorVersionFault;
pub use fault::StartUpFault;
pub use resume::resume;
pub use schemas::SchemasFault;
pub use warning::{Reach, StartUpWarning};

/// What a running broker consists of.
#[derive(Debug)]
pub struct Parts {
    /// What can be done.
    pub operations: Operations,
    /// What it is done with.
    pub instances: Instances,
    /// Certificate and key; plain HTTP without.
    pub tls: Option<OwnTls>,
}

/// What a check gives, or everything that it found wrong.
type Checked<T> = Result<T, Vec<StartUpFault>>;

/// What the checks of all neighbours give.
struct Neighbours {
    director: Director,
    credhub: Option<CredHub>,
    foundation: Option<cloud_controller::Foundation>,
    secure_bindings: Option<SecureBindings>,
    schemas: Schemas,
    tls: Option<OwnTls>,
    api: Option<ServiceInstancesApi>,
}

/// What a start would say.
#[derive(Debug, Default)]
pub struct Examined {
    /// What would keep the broker from starting.
    pub faults: Vec<StartUpFault>,
    /// What it would warn of.
    pub warnings: Vec<StartUpWarning>,
}

/// Checks all neighbours as a start does, and tells everything that is wrong. The service instances API is asked, too, for which
/// a start does not wait.
pub async fn examine(
    config: &Config,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Examined {
    let adapter = ServiceAdapter::new(&config.adapter, &config.broker.timings, environment);
    let mut warnings = Vec::new();
    let (checked, listed) = tokio::join!(
        check_neighbours(config, &adapter, &mut warnings),
        instance_source::list(config),
    );
    let mut faults = checked.err().unwrap_or_default();
    faults.extend(listed.err());
    Examined { faults, warnings }
}

/// Asks the adapter for its schemas as a start does, and tells everything that is wrong.
pub async fn examine_adapter(
    config: &Config,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Examined {
    let adapter = ServiceAdapter::new(&config.adapter, &config.broker.timings, environment);
    Examined {
        faults: schemas_of(config, &adapter).await.err().unwrap_or_default(),
        warnings: Vec::new(),
    }
}

async fn schemas_of(config: &Config, adapter: &ServiceAdapter) -> Checked<Schemas> {
    let limit = config.broker.timings.start_up;
    schemas::check(&config.adapter, &config.offering, limit, adapter).await
}

async fn check_neighbours(
    config: &Config,
    adapter: &ServiceAdapter,
    warnings: &mut Vec<StartUpWarning>,
) -> Checked<Neighbours> {
    let (director, credhub, cloud_controller, secure_bindings, schemas) = tokio::join!(
        director::check(config),
        bosh_credhub::check(config),
        cloud_controller::check(config),
        runtime_credhub::check(config),
        schemas_of(config, adapter)
    );

    // Every check has run; each may have found several faults.
    let mut faults = Vec::new();
    let director = passed(director, &mut faults).map(|(director, warning)| {
        warnings.extend(warning);
        director
    });
    let credhub = passed(credhub, &mut faults);
    let cloud_controller = passed(cloud_controller, &mut faults);
    let secure_bindings = passed(secure_bindings, &mut faults);
    let schemas = passed(schemas, &mut faults);
    let tls = passed(certificate::check(&config.broker), &mut faults);
    let api = passed(instance_source::service_instances_api(config), &mut faults);
    let (
        Some(director),
        Some(credhub),
        Some(cloud_controller),
        Some(secure_bindings),
        Some(schemas),
        Some(tls),
        Some(api),
    ) = (
        director,
        credhub,
        cloud_controller,
        secure_bindings,
        schemas,
        tls,
        api,
    )
    else {
        return Err(faults);
    };
    bosh_credhub::compare(config, &director).await;
    Ok(Neighbours {
        director,
        credhub,
        foundation: cloud_controller,
        secure_bindings,
        schemas,
        tls,
        api,
    })
}

/// Checks all neighbours and puts the parts together.
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
    // The executable is read while the neighbours take their time.
    let (checked, executable) = tokio::join!(
        check_neighbours(config, &adapter, &mut warnings),
        executable::digest(&config.adapter)
    );
    let Neighbours {
        director,
        credhub,
        foundation,
        secure_bindings,
        schemas,
        tls,
        api,
    } = {
        for warning in warnings {
            tracing::warn!(code = %warning.code(), %warning, "a start-up check warns");
        }
        checked?
    };
    for plan in &config.offering.plans {
        metrics().operations.expect(&plan.name);
    }
    if let Some(tls) = &tls {
        certificate::watch(tls, lifecycle);
    }
    let (cloud_controller, clients) = foundation.unzip();
    let clients = instance_clients::of(config, clients.flatten());
    let sources = instance_source::of(config, cloud_controller, api);
    if config.adapter.form == AdapterForm::Arguments {
        tracing::warn!(
            "`broker.use_stdin` is off: everybody on the machine can read manifests and parameters in the list of processes, \
             and the adapter can return no secrets, configs or labels; use an adapter that reads its stdin"
        );
    }
    let configs = config_rights::of(&director, &config.broker).await;
    let bindings = secure_bindings
        .clone()
        .map(|secure| Arc::new(secure) as Arc<dyn KeptBindings>);
    let instances = Instances::new(
        config,
        Surroundings {
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
    );
    usage::report(config, sources.lists.as_ref(), &instances, lifecycle);
    let operations = Operations::new(
        instances.clone(),
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
    Ok(Parts {
        operations,
        instances,
        tls,
    })
}

/// What a check gives; what it found wrong goes to the others'.
fn passed<T>(checked: Checked<T>, faults: &mut Vec<StartUpFault>) -> Option<T> {
    match checked {
        Ok(good) => Some(good),
        Err(found) => {
            faults.extend(found);
            None
        }
    }
}
