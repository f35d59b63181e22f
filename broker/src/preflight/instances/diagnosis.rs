//! The service instances API, where it stands in for a Cloud Controller.

use odb_api_types::code::Code;
use odb_clients::{FailureKind, ServiceError, service_instances_api::ServiceInstancesApi};

use crate::{
    config,
    finding::Finding,
    preflight::{
        doctor::{
            chart::Chart,
            subject::{Probe, Subject},
            whole::Whole,
        },
        server::configured::server_of_instances_api,
    },
    telemetry::Chain,
};

/// Reads the list, which is all that there is.
pub(crate) async fn look(whole: &Whole<'_>, api: &config::ServiceInstancesApi) -> Vec<Chart> {
    let mut chart = Chart::of(Subject::InstancesApi);
    look_into(whole, api, &mut chart).await;
    vec![chart]
}

async fn look_into(
    whole: &Whole<'_>,
    api: &config::ServiceInstancesApi,
    chart: &mut Chart,
) -> Option<()> {
    let patience = whole.patience;
    let server = server_of_instances_api(api, chart)?;
    server.reach(chart, patience).await?;
    let client = ServiceInstancesApi::connect(
        api.url.as_written(),
        &server.belief.trust,
        &api.username,
        &api.password,
        patience.limits(),
    );
    let trouble = |came, key, remedy| {
        Finding::tried(
            Code::ServiceInstancesApi,
            Some(key),
            format!("`GET {}`", api.url),
            came,
            remedy,
        )
    };
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            let remedy = "correct `service_instances_api.authentication`".to_owned();
            let came = Chain(&error).to_string();
            let key = "service_instances_api.authentication";
            chart.wrong(Probe::List, None, trouble(came, key, remedy));
            return None;
        }
    };
    let began = tokio::time::Instant::now();
    let listed = client.instances(&patience.call(), &[]).await;
    let took = began.elapsed();
    match listed {
        Ok(instances) => {
            let text = format!("{} service instances", instances.len());
            chart.fine(Probe::List, took, text);
            Some(())
        }
        Err(error) => {
            let (key, remedy) = match &error {
                ServiceError { kind: FailureKind::Refused { status, .. }, .. }
                    if [401, 403].contains(&status.as_u16()) =>
                {
                    let key = "service_instances_api.authentication.basic";
                    (key, format!("correct `{key}`"))
                }
                _ => (
                    "service_instances_api.url",
                    "see what the server at `service_instances_api.url` answers, and look at its log".to_owned(),
                ),
            };
            chart.wrong(
                Probe::List,
                took,
                trouble(Chain(&error).to_string(), key, remedy),
            );
            None
        }
    }
}
