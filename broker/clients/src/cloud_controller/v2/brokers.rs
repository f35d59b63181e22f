//! `/v2/service_brokers`.

use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::pages::{Resource, list};
use crate::{
    cloud_controller::{Accepted, BrokerGuid, BrokerRegistration, CfBroker, jobs::accepted},
    connection::Connection,
    http::{Call, Method, Repeat, Request},
    service_error::ServiceError,
};

const BROKERS: &[&str] = &["v2", "service_brokers"];

/// All brokers are looked through: the filter by name takes semicolons apart and knows no way to write them.
pub(in crate::cloud_controller) async fn broker_named(
    connection: &Connection,
    call: &Call,
    name: &str,
) -> Result<Option<CfBroker>, ServiceError> {
    let found: Vec<Resource<BrokerGuid, WireBroker>> = list(connection, call, BROKERS).await?;
    let broker = found.into_iter().find(|broker| broker.entity.name == name);
    Ok(broker.map(|broker| CfBroker {
        guid: broker.metadata.guid,
        name: broker.entity.name,
        url: broker.entity.broker_url,
    }))
}

pub(in crate::cloud_controller) async fn create_broker(
    connection: &Connection,
    call: &Call,
    broker: &BrokerRegistration,
) -> Result<Accepted, ServiceError> {
    let url = connection.address(BROKERS, &[]);
    let body = Registration::of(broker);
    let request = Request::new(Method::POST, url, Repeat::WhileUnsent).json(&body);
    accepted(connection, &connection.send(call, request).await?)
}

pub(in crate::cloud_controller) async fn update_broker(
    connection: &Connection,
    call: &Call,
    guid: &BrokerGuid,
    broker: &BrokerRegistration,
) -> Result<Accepted, ServiceError> {
    let url = connection.address(&["v2", "service_brokers", guid.as_str()], &[]);
    let body = Registration::of(broker);
    let request = Request::new(Method::PUT, url, Repeat::WhileUnsent).json(&body);
    accepted(connection, &connection.send(call, request).await?)
}

pub(in crate::cloud_controller) async fn delete_broker(
    connection: &Connection,
    call: &Call,
    guid: &BrokerGuid,
) -> Result<Accepted, ServiceError> {
    let url = connection.address(&["v2", "service_brokers", guid.as_str()], &[]);
    let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
    accepted(connection, &connection.send(call, request).await?)
}

#[derive(Deserialize)]
struct WireBroker {
    name: String,
    broker_url: String,
}

#[derive(Serialize)]
struct Registration<'a> {
    name: &'a str,
    broker_url: &'a str,
    auth_username: &'a str,
    auth_password: &'a str,
}

impl<'a> Registration<'a> {
    fn of(broker: &'a BrokerRegistration) -> Self {
        Self {
            name: &broker.name,
            broker_url: &broker.url,
            auth_username: &broker.username,
            auth_password: broker.password.expose_secret(),
        }
    }
}
