//! Who knows the service instances.

use odb_platform::{
    cloud_controller::CloudController,
    http::{Call, Limits, Trust},
    service_instances_api::ServiceInstancesApi,
};

use super::{Checked, StartUpFault, trust};
use crate::{
    config::{self, CloudFoundryChecks, Config},
    operations::{CloudControllerSource, InstanceSource, InstanceSources, Operations},
    telemetry::Chain,
};

/// Whom the questions for instances are put to. Nobody is asked yet.
pub(super) fn of(
    config: &Config,
    cloud_controller: Option<CloudController>,
    api: Option<ServiceInstancesApi>,
) -> InstanceSources {
    let cloud_controller = cloud_controller.map(|client| {
        let timings = &config.broker.timings;
        let source = CloudControllerSource::new(client, config.offering.clone(), timings);
        InstanceSource::CloudController(source)
    });
    let api = api.map(InstanceSource::ServiceInstancesApi);
    InstanceSources {
        counts: cloud_controller.clone().or_else(|| api.clone()),
        lists: api.or(cloud_controller),
    }
}

/// Learns what orders are held against. When that cannot be learned now, the first order does it.
pub(super) async fn prepare(config: &Config, operations: &Operations) {
    let is_used_unseen = config
        .cloud_foundry
        .as_ref()
        .is_some_and(|cf| cf.checks == CloudFoundryChecks::Skipped);
    if is_used_unseen {
        return;
    }
    let call = Call::within(config.broker.timings.start_up);
    if let Err(error) = operations.prepare_counting(&call).await {
        tracing::warn!(
            code = %error.code(),
            error = %Chain(&error),
            "the service instances could not be counted yet; the first order tries again"
        );
    }
}

/// The service instances API, if there is one. It is not asked yet.
pub(super) fn service_instances_api(config: &Config) -> Checked<Option<ServiceInstancesApi>> {
    let Some(api) = &config.service_instances_api else {
        return Ok(None);
    };
    let trust = trust_of(api)?;
    let limits = Limits::default();
    ServiceInstancesApi::connect(
        api.url.as_written(),
        &trust,
        &api.username,
        &api.password,
        limits,
    )
    .map(Some)
    .map_err(|source| vec![StartUpFault::ServiceInstancesApi { source }])
}

/// Whose certificates are believed at the service instances API.
pub(crate) fn trust_of(api: &config::ServiceInstancesApi) -> Checked<Trust> {
    trust::of_a_platform(
        "service_instances_api.root_ca_cert",
        api.root_ca_cert.as_deref(),
        api.verification,
        "`service_instances_api.disable_ssl_cert_verification`",
        "the service instances API",
    )
}
