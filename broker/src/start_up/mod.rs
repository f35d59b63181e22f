//! Puts the parts together and checks that they can work: every neighbour is asked before the first request is taken,
//! and all that is wrong is reported at once.
//!
//! | file | checks |
//! | --- | --- |
//! | `director`, `director_version` | that the Director answers, knows us and is new enough |
//! | `config_rights` | whether we may read and write BOSH configs, and what shrinks if not |
//! | `cloud_controller` | that the Cloud Controller answers, knows us, is new enough and has no plan that we no longer offer |
//! | `instance_source` | who knows the service instances; does not keep the broker from starting when nobody answers |
//! | `schemas` | that the adapter describes the parameters of each plan, where it has to |
//! | `certificate` | the broker's own certificate and key |
//! | `fault` | everything that may be wrong |
//! | `resume` | picks up what an earlier process left in progress |
//!
//! The configuration has been checked before, the adapter's executable included.

mod certificate;
mod cloud_controller;
mod config_rights;
mod director;
mod director_version;
mod fault;
mod instance_source;
mod resume;
mod schemas;

use std::ffi::OsString;

use rustls::ServerConfig;

use crate::{
    adapter::ServiceAdapter,
    bosh::Instances,
    config::{AdapterForm, Config},
    operations::{Lifecycle, Operations},
};

pub use director_version::DirectorVersionFault;
pub use fault::StartUpFault;
pub use resume::resume;
pub use schemas::SchemasFault;

/// What a running broker consists of.
#[derive(Debug)]
pub struct Parts {
    /// What can be done.
    pub operations: Operations,
    /// What it is done with.
    pub instances: Instances,
    /// Certificate and key; plain HTTP without.
    pub tls: Option<ServerConfig>,
}

/// What a check gives, or everything that it found wrong.
type Checked<T> = Result<T, Vec<StartUpFault>>;

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
    let (director, cloud_controller, schemas) = tokio::join!(
        director::check(config),
        cloud_controller::check(config),
        schemas::check(config, &adapter)
    );

    // Every check has run; each may have found several faults.
    let mut faults = Vec::new();
    let director = passed(director, &mut faults);
    let cloud_controller = passed(cloud_controller, &mut faults);
    let schemas = passed(schemas, &mut faults);
    let tls = passed(certificate::check(&config.broker), &mut faults);
    let api = passed(instance_source::service_instances_api(config), &mut faults);
    let (Some(director), Some(cloud_controller), Some(schemas), Some(tls), Some(api)) =
        (director, cloud_controller, schemas, tls, api)
    else {
        return Err(faults);
    };

    let source = instance_source::of(config, cloud_controller, api);
    if config.adapter.form == AdapterForm::Arguments {
        tracing::warn!(
            "`broker.use_stdin` is off: everybody on the machine can read manifests and parameters in the list of processes, \
             and the adapter can return no secrets, configs or labels; use an adapter that reads its stdin"
        );
    }
    let configs = config_rights::of(&director, &config.broker).await;
    let instances = Instances::new(
        config,
        configs,
        director,
        adapter,
        lifecycle.runtime().clone(),
        lifecycle.stopping(),
    );
    let operations = Operations::new(
        instances.clone(),
        config.offering.clone(),
        schemas,
        source,
        config.broker.timings,
    );
    instance_source::prepare(config, &operations).await;
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
