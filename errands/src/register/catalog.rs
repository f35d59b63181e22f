//! Waits for the broker to serve its catalog, because the platform reads it once, without a retry; and checks that it
//! has the plans of the file.

use std::time::Duration;

use anyhow::bail;
use odb_clients::http::{Call, Deadline, StatusCode, TransportError, address};
use odb_config::errands;
use serde::Deserialize;
use tokio::time::sleep;

use crate::{Console, broker_api::catalog::CatalogRequest, cloud_controller::trust_of};

const REQUEST: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);

/// The parts of a broker's catalog that the errand needs.
#[derive(Debug, Deserialize)]
struct Catalog {
    services: Vec<Service>,
}

#[derive(Debug, Deserialize)]
struct Service {
    id: String,
    plans: Vec<Plan>,
}

#[derive(Debug, Deserialize)]
struct Plan {
    name: String,
}

/// Waits for the broker, at most `timeout`, and compares the wanted access with its catalog. The platform may reach a
/// broker that this machine does not reach, so an absent broker is only a warning.
pub(super) async fn wait(
    config: &errands::RegisterBroker,
    console: &Console,
    timeout: Duration,
) -> anyhow::Result<()> {
    let url = config.broker_url.as_written();
    let request = match request(config, console) {
        Ok(request) => request,
        Err(error) => {
            console.log(format_args!("the catalog is not checked: {error:#}"));
            return Ok(());
        }
    };
    let end = Deadline::after(timeout);
    let mut is_waiting = false;
    loop {
        // There is one request at least.
        let call = Call::until(end.max(Deadline::after(REQUEST)));
        let why = match request.send(&call).await {
            Ok(answer) if answer.status() == StatusCode::OK => {
                console.log(format_args!("the broker serves its catalog at `{url}`"));
                return match answer.json().ok() {
                    Some(catalog) => check(&catalog, config),
                    None => Ok(()),
                };
            }
            Ok(answer) if answer.status() == StatusCode::UNAUTHORIZED => bail!(
                "the broker rejects `broker_username` with `broker_password` (status 401 at `{url}`); nothing was changed"
            ),
            Err(error @ TransportError::Handshake { .. }) => {
                let error = anyhow::Error::from(error);
                console.log(format_args!(
                    "warning: at `{url}` {error:#}; continuing, because the platform may get another answer"
                ));
                return Ok(());
            }
            Ok(answer) => format!("status {}", answer.status().as_u16()),
            Err(error) => format!("{:#}", anyhow::Error::from(error)),
        };
        if end.remaining() <= PAUSE {
            console.log(format_args!(
                "warning: no catalog at `{url}` within {} s ({why}); continuing, because the platform may reach it",
                timeout.as_secs()
            ));
            return Ok(());
        }
        if !is_waiting {
            is_waiting = true;
            console.log(format_args!(
                "waiting for the broker to serve its catalog at `{url}` ({why})"
            ));
        }
        sleep(PAUSE).await;
    }
}

fn check(catalog: &Catalog, config: &errands::RegisterBroker) -> anyhow::Result<()> {
    let url = config.broker_url.as_written();
    let wanted = &config.offering;
    let services = catalog.services.iter();
    let Some(service) = services
        .clone()
        .find(|service| service.id == wanted.as_str())
    else {
        let there = quoted(services.map(|service| service.id.as_str()));
        bail!(
            "the catalog at `{url}` has no service offering `{wanted}` (`service_offering_id`); it has {there}; nothing was changed"
        );
    };
    for plan in &config.plans {
        if !service.plans.iter().any(|there| there.name == plan.name) {
            let there = quoted(service.plans.iter().map(|plan| plan.name.as_str()));
            bail!(
                "planID \"{}\" not found in the catalog at `{url}`, which has {there}; nothing was changed",
                plan.name
            );
        }
    }
    Ok(())
}

fn quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

fn request(config: &errands::RegisterBroker, console: &Console) -> anyhow::Result<CatalogRequest> {
    let access = &config.cloud_foundry;
    let trust = trust_of(
        access.root_ca_cert.as_deref(),
        access.verification,
        "cf.root_ca_cert",
        "the broker",
        console,
    )?;
    let server = address::server(config.broker_url.as_written())?;
    CatalogRequest::new(
        address::on(&server, &["v2", "catalog"], &[]),
        &trust,
        &config.broker_username,
        &config.broker_password,
        Some(REQUEST),
    )
}
