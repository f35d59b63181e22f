//! The sources of service instances, and the service instances API where it replaces a Cloud Controller.

use std::{error::Error, sync::Arc};

use odb_api_types::code::Code;
use odb_clients::{
    ConnectError, FailureKind,
    cloud_controller::CloudController,
    http::{Limits, Trust, address},
    service_instances_api::ServiceInstancesApi,
};
use odb_config::Config;
use odb_core::{
    finding::Finding,
    operations::{CloudControllerSource, InstanceSource, InstanceSources},
};

use crate::preflight::{
    certificates::trust::Authorities,
    chart::{Chart, Examined, Probe, Subject},
    context::{Context, timed},
    server::Server,
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

/// The service instances API. A start creates its client, and does not wait for it.
pub(crate) async fn look(context: &Context<'_>, reach: ApiCalls) -> Examined<ServiceInstancesApi> {
    let Some(api) = context.service_instances_api.right().copied() else {
        let why = "`service_instances_api` is not configured";
        return Examined::left_out(vec![context.left_out(Subject::InstancesApi, why)]);
    };
    let mut chart = context.chart(Subject::InstancesApi);
    let client = look_into(context, api, reach, &mut chart).await;
    let charts = vec![chart];
    Examined { client, charts }
}

/// Whether the API is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApiCalls {
    Made,
    LeftOut,
}

async fn look_into(
    context: &Context<'_>,
    api: &odb_config::ServiceInstancesApi,
    calls: ApiCalls,
    chart: &mut Chart,
) -> Option<ServiceInstancesApi> {
    let url = address::server(api.url.as_written());
    let authorities = Authorities::of_instances_api(api);
    let key = "service_instances_api.url";
    let server = Server::configured(context, url, key, authorities, chart)?;
    if !context.is_start() {
        server.reach(chart).await?;
    }
    let finding = |error: &(dyn Error + 'static), key, remedy: &str| {
        let tried = format!("`GET {}`", api.url);
        let found = format!(
            "could not read the service instances from the API at `{}`",
            api.url
        );
        Finding::tried(Code::ServiceInstancesApi, Some(key), tried, found, remedy).because(error)
    };
    let connected = connect(api, &server.trust, chart.timeouts.limits());
    let client = chart.unless_failed(Probe::List, None, connected, |error| {
        let (key, remedy) = (
            "service_instances_api.authentication",
            "correct `service_instances_api.authentication`",
        );
        Finding {
            code: Code::ConfigurationInvalid,
            found: "`service_instances_api` cannot be used".to_owned(),
            ..finding(&error, key, remedy)
        }
    })?;
    if calls == ApiCalls::LeftOut {
        return Some(client);
    }
    let call = chart.timeouts.call();
    let (listed, took) = timed(client.instances(&call, &[])).await;
    let instances = chart.unless_failed(Probe::List, took, listed, |error| {
        if is_unauthorized(&error) {
            let key = "service_instances_api.authentication.basic";
            let remedy = "correct `service_instances_api.authentication.basic`";
            return finding(&error, key, remedy);
        }
        let remedy = match &error.kind {
            FailureKind::NoResponse { source } => server.remedy_of(source),
            _ => "see what the server at `service_instances_api.url` answers, and look at its log"
                .to_owned(),
        };
        finding(&error, "service_instances_api.url", &remedy)
    })?;
    let text = format!("{} service instances", instances.len());
    chart.fine(Probe::List, took, text);
    Some(client)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, time::Duration};

    use odb_config::{Address, Reported, Sections, TlsFiles, Verification};
    use odb_core::finding::Severity;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use crate::{
        api::{OwnTls, load_tls},
        preflight::context::Timeouts,
    };

    fn source(host: &str) -> Arc<dyn InstanceSource> {
        let url = format!("http://{host}/");
        let (trust, password) = (Trust::unverified().unwrap(), "p".into());
        let api = ServiceInstancesApi::connect(&url, &trust, "u", &password, Limits::default());
        Arc::new(api.unwrap())
    }

    /// A certificate for 127.0.0.1 of an authority that nobody knows.
    fn own_tls(folder: &Path) -> OwnTls {
        let key = rcgen::KeyPair::generate().unwrap();
        let parameters = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let files = TlsFiles {
            certificate: folder.join("api.crt"),
            key: folder.join("api.key"),
        };
        fs::write(&files.certificate, certificate.pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        load_tls(&files).unwrap()
    }

    /// The findings of the API at a server whose authority is not configured.
    async fn found_at_an_untrusted_server(timeouts: Timeouts) -> Vec<Finding> {
        let folder = tempfile::tempdir().unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(own_tls(folder.path()).config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/instances", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                // The client ends the handshake.
                let _ = acceptor.accept(connection).await;
            }
        });
        let other = rcgen::KeyPair::generate().unwrap();
        let other = rcgen::CertificateParams::default()
            .self_signed(&other)
            .unwrap();
        let api = odb_config::ServiceInstancesApi {
            url: Address::of(&url).unwrap(),
            root_ca_cert: Some(other.pem()),
            verification: Verification::On,
            username: "u".to_owned(),
            password: "p".into(),
        };
        let sections = Sections {
            service_instances_api: Reported::Right(api),
            ..Sections::default()
        };
        let context = Context::of_sections(&sections, timeouts);
        let examined = look(&context, ApiCalls::Made).await;
        serving.abort();
        let charts = examined.charts.into_iter();
        charts.flat_map(Chart::into_findings).collect()
    }

    #[tokio::test]
    async fn a_failed_tls_handshake_is_an_error_of_the_api_that_names_the_key_of_its_authority() {
        let limit = Duration::from_secs(20);
        for (timeouts, tried) in [
            (Timeouts::of_start(limit), "`GET https://127.0.0.1:"),
            (Timeouts::of(limit), "a TLS handshake with `127.0.0.1:"),
        ] {
            let findings = found_at_an_untrusted_server(timeouts).await;
            let [finding] = findings.as_slice() else {
                panic!("{findings:#?}");
            };
            assert_eq!(finding.code.to_string(), "ODB-4005", "{finding:#?}");
            assert_eq!(finding.severity, Severity::Error, "{finding:#?}");
            assert!(finding.tried.starts_with(tried), "{finding:#?}");
            let key = "`service_instances_api.root_ca_cert`";
            assert!(finding.remedy.contains(key), "{finding:#?}");
        }
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
