//! `/v3/service_brokers` (`spec/contracts/platform-apis.md`, section 3.5).

use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::pages::{list, values};
use crate::{
    cloud_controller::{Accepted, BrokerGuid, BrokerRegistration, CfBroker, jobs::accepted},
    connection::Connection,
    http::{Call, Method, Repeat, Request},
    service_error::ServiceError,
};

const BROKERS: &[&str] = &["v3", "service_brokers"];

pub(in crate::cloud_controller) async fn broker_named(
    connection: &Connection,
    call: &Call,
    name: &str,
) -> Result<Option<CfBroker>, ServiceError> {
    let names = values([name]);
    let found: Vec<WireBroker> =
        list(connection, call, BROKERS, &[("names", names.as_str())]).await?;
    let broker = found.into_iter().find(|broker| broker.name == name);
    Ok(broker.map(|WireBroker { guid, name, url }| CfBroker { guid, name, url }))
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
    let url = connection.address(&["v3", "service_brokers", guid.as_str()], &[]);
    let body = Registration::of(broker);
    let request = Request::new(Method::PATCH, url, Repeat::WhileUnsent).json(&body);
    accepted(connection, &connection.send(call, request).await?)
}

pub(in crate::cloud_controller) async fn delete_broker(
    connection: &Connection,
    call: &Call,
    guid: &BrokerGuid,
) -> Result<Accepted, ServiceError> {
    let url = connection.address(&["v3", "service_brokers", guid.as_str()], &[]);
    let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
    accepted(connection, &connection.send(call, request).await?)
}

#[derive(Deserialize)]
struct WireBroker {
    guid: BrokerGuid,
    name: String,
    url: String,
}

#[derive(Serialize)]
struct Registration<'a> {
    name: &'a str,
    url: &'a str,
    authentication: Authentication<'a>,
}

#[derive(Serialize)]
struct Authentication<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    credentials: Credentials<'a>,
}

#[derive(Serialize)]
struct Credentials<'a> {
    username: &'a str,
    password: &'a str,
}

impl<'a> Registration<'a> {
    fn of(broker: &'a BrokerRegistration) -> Self {
        Self {
            name: &broker.name,
            url: &broker.url,
            authentication: Authentication {
                kind: "basic",
                credentials: Credentials {
                    username: &broker.username,
                    password: broker.password.expose_secret(),
                },
            },
        }
    }
}
