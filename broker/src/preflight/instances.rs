//! The sources of service instances, and the service instances API where it replaces a Cloud Controller.

use std::{error::Error, sync::Arc};

use odb_api_types::code::Code;
use odb_clients::{
    ConnectError,
    cloud_controller::CloudController,
    http::{Call, Limits, Trust, address},
    service_instances_api::ServiceInstancesApi,
};
use odb_config::Config;
use odb_core::{
    finding::Finding,
    operations::{CloudControllerSource, InstanceSource, InstanceSources},
};
use odb_redaction::Chain;

use crate::preflight::{
    certificates::trust::Authorities,
    doctor::{
        chart::{Chart, Probe, Subject},
        context::{Context, timed},
    },
    server::Server,
    start::Checked,
    uaa::is_unauthorized,
};

/// Creates the sources of service instances, without a call.
pub(crate) fn of(
    config: &Config,
    cloud_controller: Option<CloudController>,
    api: Option<ServiceInstancesApi>,
) -> InstanceSources {
    let cloud_controller = cloud_controller.map(|client| {
        let timings = &config.broker.timings;
        let source = CloudControllerSource::new(client, config.offering.clone(), timings);
        Arc::new(source) as Arc<dyn InstanceSource>
    });
    let api = api.map(|api| Arc::new(api) as Arc<dyn InstanceSource>);
    chosen(cloud_controller, api)
}

fn chosen(
    cloud_controller: Option<Arc<dyn InstanceSource>>,
    api: Option<Arc<dyn InstanceSource>>,
) -> InstanceSources {
    InstanceSources {
        counts: cloud_controller.clone().or_else(|| api.clone()),
        lists: api.or(cloud_controller),
    }
}

fn connect(
    api: &odb_config::ServiceInstancesApi,
    trust: &Trust,
    limits: Limits,
) -> Result<ServiceInstancesApi, ConnectError> {
    let (url, username, password) = (api.url.as_written(), &api.username, &api.password);
    ServiceInstancesApi::connect(url, trust, username, password, limits)
}

/// The service instances API, if there is one. No request is sent yet.
pub(crate) fn service_instances_api(config: &Config) -> Checked<Option<ServiceInstancesApi>> {
    let Some(api) = &config.service_instances_api else {
        return Ok(None);
    };
    let trust = Authorities::of_instances_api(api).trust()?;
    let client = connect(api, &trust, Limits::default()).map_err(|error| {
        let (key, remedy) = (
            "service_instances_api.url",
            "check its `url` and `authentication`",
        );
        let found = "`service_instances_api` cannot be used";
        Finding::error(Code::ConfigurationInvalid, key, found, remedy).because(&error)
    })?;
    Ok(Some(client))
}

pub(crate) async fn list(config: &Config) -> Result<(), Finding> {
    let Some(section) = &config.service_instances_api else {
        return Ok(());
    };
    // The checks of the start report what prevents the call.
    let Ok(Some(api)) = service_instances_api(config) else {
        return Ok(());
    };
    let call = Call::within(config.broker.timings.start_up);
    let Err(error) = api.instances(&call, &[]).await else {
        return Ok(());
    };
    let (key, remedy) = if is_unauthorized(&error) {
        let key = "service_instances_api.authentication";
        (key, "check `service_instances_api.authentication`")
    } else {
        let remedy = "check `service_instances_api.url`, `service_instances_api.root_ca_cert` and that it can be reached from here";
        ("service_instances_api.url", remedy)
    };
    let url = &section.url;
    let found = format!("could not read the service instances from the API at `{url}`");
    Err(Finding::error(Code::ServiceInstancesApi, key, found, remedy).because(&error))
}

pub(crate) async fn look(context: &Context<'_>) -> Chart {
    let Some(api) = context.sections.service_instances_api.right() else {
        let why = "`service_instances_api` is not configured";
        return context.left_out(Subject::InstancesApi, why);
    };
    let mut chart = context.chart(Subject::InstancesApi);
    look_into(api, &mut chart).await;
    chart
}

async fn look_into(api: &odb_config::ServiceInstancesApi, chart: &mut Chart) -> Option<()> {
    let url = address::server(api.url.as_written());
    let authorities = Authorities::of_instances_api(api);
    let server = Server::configured(url, "service_instances_api.url", authorities, chart)?;
    server.reach(chart).await?;
    let finding = |error: &(dyn Error + 'static), key, remedy: &str| {
        let (tried, came) = (format!("`GET {}`", api.url), Chain(error).to_string());
        Finding::tried(Code::ServiceInstancesApi, Some(key), tried, came, remedy)
    };
    let connected = connect(api, &server.trust, chart.timeouts.limits());
    let client = chart.unless_failed(Probe::List, None, connected, |error| {
        let key = "service_instances_api.authentication";
        finding(
            &error,
            key,
            "correct `service_instances_api.authentication`",
        )
    })?;
    let call = chart.timeouts.call();
    let (listed, took) = timed(client.instances(&call, &[])).await;
    let instances = chart.unless_failed(Probe::List, took, listed, |error| {
        if is_unauthorized(&error) {
            let key = "service_instances_api.authentication.basic";
            let remedy = "correct `service_instances_api.authentication.basic`";
            return finding(&error, key, remedy);
        }
        let remedy =
            "see what the server at `service_instances_api.url` answers, and look at its log";
        finding(&error, "service_instances_api.url", remedy)
    })?;
    let text = format!("{} service instances", instances.len());
    chart.fine(Probe::List, took, text);
    Some(())
}

#[cfg(test)]
mod tests {
    use odb_clients::http::Trust;

    use super::*;

    fn source(host: &str) -> Arc<dyn InstanceSource> {
        let url = format!("http://{host}/");
        let (trust, password) = (Trust::unverified().unwrap(), "p".into());
        let api = ServiceInstancesApi::connect(&url, &trust, "u", &password, Limits::default());
        Arc::new(api.unwrap())
    }

    #[test]
    fn the_api_has_the_lists_and_the_cloud_controller_the_counts() {
        let (cf, api) = (source("cf"), source("api"));
        for (given_cf, given_api, counts, lists) in [
            (Some(&cf), Some(&api), &cf, &api),
            (Some(&cf), None, &cf, &cf),
            (None, Some(&api), &api, &api),
        ] {
            let found = chosen(given_cf.cloned(), given_api.cloned());
            assert!(Arc::ptr_eq(&found.counts.unwrap(), counts));
            assert!(Arc::ptr_eq(&found.lists.unwrap(), lists));
        }
        let none = chosen(None, None);
        assert!(none.counts.is_none() && none.lists.is_none());
    }
}
