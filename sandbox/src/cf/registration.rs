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
use serde_json::{Value, json};

use super::{
    Cf,
    arguments::{Identity, Polling},
    brokers::{self, ADMIN, PUBLIC},
    client::Client,
    error::CfError,
    foundation::Foundation,
    guid, lookup,
    output::Screen,
    text,
};

/// How long the Cloud Controller may take to read the catalog.
const TIMEOUT: Polling = Polling {
    timeout: Duration::from_mins(2),
};

/// A broker as the Cloud Controller is to know it.
pub(crate) struct Registration<'a> {
    pub(crate) name: &'a str,
    pub(crate) url: &'a str,
    pub(crate) username: &'a str,
    pub(crate) password: &'a SecretString,
}

#[derive(Debug, Default)]
pub(crate) struct Registered {
    /// The new plans, which are available to all organizations now.
    pub(crate) shown: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

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
    let client = client.map_err(CfError::from)?;
    let stderr = Captured::default();
    let screen = &mut Screen::of(io::sink(), stderr.clone());
    let cf = &mut Cf { client, screen };
    let mut before = BTreeSet::new();
    match lookup::broker(&mut cf.client, registration.name).await {
        Ok(broker) => {
            let plans = plans(cf, &broker).await?;
            brokers::correct(cf, registration, TIMEOUT).await?;
            before.extend(plans.iter().map(|plan| guid(plan).to_owned()));
        }
        Err(CfError::NoBroker(_)) => brokers::register(cf, registration, TIMEOUT).await?,
        Err(error) => return Err(error.into()),
    }
    let broker = lookup::broker(&mut cf.client, registration.name).await?;
    let mut shown = Vec::new();
    for plan in plans(cf, &broker).await? {
        let name = text(&plan, "/name");
        let is_old = before.contains(guid(&plan));
        if is_old || to_hide.contains(name) || text(&plan, "/visibility_type") != ADMIN {
            continue;
        }
        let path = format!("/v3/service_plans/{}/visibility", guid(&plan));
        let public = json!({"type": PUBLIC});
        let change = cf.client.change(Method::POST, &path, &public).await;
        change.map_err(CfError::from)?;
        shown.push(name.to_owned());
    }
    Ok(Registered {
        shown,
        warnings: stderr.warnings(),
    })
}

async fn plans(cf: &mut Cf<'_>, broker: &Value) -> Result<Vec<Value>, CfError> {
    let query = [("service_broker_guids", guid(broker))];
    Ok(cf.client.list("/v3/service_plans", &query).await?.resources)
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
