//! Makes the broker that a sandbox runs known to its Cloud Controller, as `create-service-broker` or
//! `update-service-broker` and `enable-service-access` do.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::Method;
use secrecy::SecretString;
use serde_json::json;

use super::{
    access_commands::{ADMIN, PUBLIC},
    arguments::{Identity, Polling},
    broker_commands,
    client::{Client, Listing},
    error::CfError,
    foundation::Foundation,
    lookup,
    screen::Screen,
    wire::Plan,
};

/// How long the Cloud Controller may take to read the catalog.
const TIMEOUT: Polling = Polling {
    timeout: Duration::from_mins(2),
};

/// A broker as the Cloud Controller is to know it.
pub(crate) struct Registration<'a> {
    /// Its name in the foundation.
    pub(crate) name: &'a str,
    /// Where it listens.
    pub(crate) url: &'a str,
    /// The user name that it expects.
    pub(crate) username: &'a str,
    /// The password that it expects.
    pub(crate) password: &'a SecretString,
}

/// The result of a registration.
#[derive(Debug, Default)]
pub(crate) struct Registered {
    /// The new plans, which are available to all organizations now.
    pub(crate) shown: Vec<String>,
    /// The Cloud Controller's warnings about the catalog.
    pub(crate) warnings: Vec<String>,
}

/// The Cloud Controller does not know the broker, or not as it is now.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct RegistrationError(#[from] CfError);

/// Registers a broker, or updates its catalog if it is registered. New plans become available to all organizations,
/// except those to hide; the visibility of other plans stays.
pub(crate) async fn make_known(
    foundation: &Path,
    registration: &Registration<'_>,
    to_hide: &BTreeSet<String>,
) -> Result<Registered, RegistrationError> {
    let foundation = Foundation::read(foundation).await.map_err(CfError::from)?;
    let client = Client::new(&foundation, Identity::Admin).await;
    let client = &mut client.map_err(CfError::from)?;
    let stderr = Captured::default();
    let screen = &mut Screen::of(io::sink(), stderr.clone());
    let before = match lookup::broker(client, registration.name).await {
        Ok(broker) => {
            let plans = plans(client, &broker.guid.to_string()).await?;
            broker_commands::correct(client, screen, registration, TIMEOUT).await?;
            plans.iter().map(|plan| plan.guid.to_string()).collect()
        }
        Err(CfError::NoBroker(_)) => {
            broker_commands::register(client, screen, registration, TIMEOUT).await?;
            BTreeSet::new()
        }
        Err(error) => return Err(error.into()),
    };
    let broker = lookup::broker(client, registration.name).await?;
    let mut shown = Vec::new();
    for plan in plans(client, &broker.guid.to_string()).await? {
        let is_for_later = to_hide.contains(&plan.name);
        if before.contains(&plan.guid.to_string()) || is_for_later || plan.visibility_type != ADMIN
        {
            continue;
        }
        let path = format!("/v3/service_plans/{}/visibility", plan.guid);
        let public = json!({"type": PUBLIC});
        let change = client.change(Method::POST, &path, Some(&public)).await;
        change.map_err(CfError::from)?;
        shown.push(plan.name);
    }
    Ok(Registered {
        shown,
        warnings: stderr.warnings(),
    })
}

async fn plans(client: &mut Client, broker: &str) -> Result<Vec<Plan>, CfError> {
    let query = [("service_broker_guids", broker)];
    let plans: Listing<Plan> = client.list("/v3/service_plans", &query).await?;
    Ok(plans.resources)
}

/// Collects the messages of a command; only warnings matter here.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn warnings(&self) -> Vec<String> {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&said);
        let warnings = said.lines().filter_map(|line| line.split_once("warning: "));
        warnings.map(|(_, warning)| warning.to_owned()).collect()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
