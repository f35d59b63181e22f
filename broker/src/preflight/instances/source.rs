//! Who knows the service instances.

use std::time::Duration;

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::CloudController,
    http::{Call, Limits, StatusCode, Trust},
    service_instances_api::ServiceInstancesApi,
};

use crate::{
    config::{self, CloudFoundryChecks, Config},
    finding::Finding,
    operations::{CloudControllerSource, InstanceSource, InstanceSources, Operations},
    preflight::{certificates::trust, start::Checked},
};

/// Whom the questions for instances are put to. Nobody is asked yet.
pub(crate) fn of(
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

/// Whether the source is asked before the first order.
pub(crate) fn is_counted_at_start(config: &Config) -> bool {
    let cloud_foundry = config.cloud_foundry.as_ref();
    cloud_foundry.is_none_or(|cf| cf.checks != CloudFoundryChecks::Skipped)
}

/// Learns what orders are held against. An order that comes before that is learned, or when it cannot be learned now,
/// learns it itself.
pub(crate) async fn prepare(operations: &Operations, limit: Duration) {
    operations.prepare_counting(&Call::within(limit)).await;
}

/// The service instances API, if there is one. It is not asked yet.
pub(crate) fn service_instances_api(config: &Config) -> Checked<Option<ServiceInstancesApi>> {
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
    .map_err(|error| {
        let finding = Finding::fault(
            Code::ConfigurationInvalid,
            "service_instances_api.url",
            "`service_instances_api` cannot be used",
            "check its `url` and `authentication`",
        );
        vec![finding.because(&error)]
    })
}

/// Asks the service instances API for its list, if there is one that can be asked.
pub(crate) async fn list(config: &Config) -> Result<(), Finding> {
    let Some(section) = &config.service_instances_api else {
        return Ok(());
    };
    // What keeps it from being asked is noted by the checks of a start.
    let Ok(Some(api)) = service_instances_api(config) else {
        return Ok(());
    };
    let call = Call::within(config.broker.timings.start_up);
    match api.instances(&call, &[]).await {
        Ok(_) => Ok(()),
        Err(error) => {
            let (key, remedy) = if is_unauthorized(&error) {
                let key = "service_instances_api.authentication";
                (key, "check `service_instances_api.authentication`")
            } else {
                let remedy = "check `service_instances_api.url`, `service_instances_api.root_ca_cert` and that it can be \
                              reached from here";
                ("service_instances_api.url", remedy)
            };
            let found = format!(
                "could not read the service instances from the API at `{}`",
                section.url
            );
            let finding = Finding::fault(Code::ServiceInstancesApi, key, found, remedy);
            Err(finding.because(&error))
        }
    }
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

/// The service instances API does not accept name and password.
pub(crate) fn is_unauthorized(error: &ServiceError) -> bool {
    matches!(
        error.kind,
        FailureKind::Refused {
            status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN,
            ..
        }
    )
}
