//! Service brokers (`spec/contracts/platform-apis.md`, section 3.5).

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Accepted, ApiVersion, BrokerGuid, CloudController,
    api::{Api, Resource, values},
    jobs::accepted,
    there,
};
use crate::{
    http::{Call, Method, Repeat},
    service_error::Result,
};

const BROKERS: &[&str] = &["service_brokers"];

/// A service broker that is registered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CfBroker {
    pub guid: BrokerGuid,
    /// No other broker has it.
    pub name: String,
    /// The broker's address for the Cloud Controller.
    pub url: String,
}

/// The registration of a broker at the Cloud Controller.
#[derive(Clone, Debug)]
pub struct BrokerRegistration {
    pub name: String,
    /// The broker's address for the Cloud Controller.
    pub url: String,
    pub username: String,
    pub password: SecretString,
}

impl CloudController {
    /// The broker of that name. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.broker_named", skip_all)]
    pub async fn broker_named(&self, call: &Call, name: &str) -> Result<Option<CfBroker>> {
        let api = self.api(call).await?;
        let found = match api.version {
            ApiVersion::V3 => {
                let names = values([name]);
                api.list(call, BROKERS, &[("names", &names)]).await?
            }
            // All are looked through: the filter by name takes semicolons apart and knows no way to write them.
            ApiVersion::V2 => {
                let found: Vec<ResourceV2> = api.list(call, BROKERS, &[]).await?;
                found.into_iter().map(CfBroker::from).collect()
            }
        };
        Ok(found.into_iter().find(|broker| broker.name == name))
    }

    /// Registers a broker. The Cloud Controller reads its catalog.
    ///
    /// Sent once. After an error that [may have taken effect](crate::ServiceError::may_have_taken_effect), and after a
    /// failed job, the broker may exist: [`CloudController::broker_named`] finds it, and
    /// [`CloudController::update_broker`] makes the Cloud Controller read its catalog again. In version 2 of the API the
    /// request waits for the broker.
    #[tracing::instrument(name = "cloud_controller.create_broker", skip_all)]
    pub async fn create_broker(
        &self,
        call: &Call,
        broker: &BrokerRegistration,
    ) -> Result<Accepted> {
        let api = self.api(call).await?;
        let request = api.request(Method::POST, BROKERS, &[], Repeat::WhileUnsent);
        let request = request.json(&body(api, broker));
        accepted(api.connection, &api.send(call, request).await?)
    }

    /// Updates a broker. The Cloud Controller reads its catalog.
    ///
    /// Sent once, because each request reads the catalog; safe to repeat. After an error the broker is unchanged. While
    /// an earlier change is in progress the request is rejected ([`crate::ServiceError::is_busy`]).
    #[tracing::instrument(name = "cloud_controller.update_broker", skip_all, fields(%guid))]
    pub async fn update_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
        broker: &BrokerRegistration,
    ) -> Result<Accepted> {
        let api = self.api(call).await?;
        let request = api.request(api.update(), &one(guid), &[], Repeat::WhileUnsent);
        let request = request.json(&body(api, broker));
        accepted(api.connection, &api.send(call, request).await?)
    }

    /// Deletes a broker with its offerings and plans. Safe to repeat.
    ///
    /// While it has service instances it is refused: [`crate::ServiceError::is_broker_in_use`].
    #[tracing::instrument(name = "cloud_controller.delete_broker", skip_all, fields(%guid))]
    pub async fn delete_broker(&self, call: &Call, guid: &BrokerGuid) -> Result<Accepted> {
        let api = self.api(call).await?;
        let request = api.request(Method::DELETE, &one(guid), &[], Repeat::WhenTransient);
        match there(api.send(call, request).await)? {
            Some(answer) => accepted(api.connection, &answer),
            None => Ok(Accepted::Done {
                warnings: Vec::new(),
            }),
        }
    }
}

fn one(guid: &BrokerGuid) -> [&str; 2] {
    ["service_brokers", guid.as_str()]
}

fn body(api: Api<'_>, broker: &BrokerRegistration) -> Value {
    let BrokerRegistration {
        name,
        url,
        username,
        password,
    } = broker;
    let password = password.expose_secret();
    match api.version {
        ApiVersion::V3 => json!({
            "name": name,
            "url": url,
            "authentication": {
                "type": "basic",
                "credentials": { "username": username, "password": password },
            },
        }),
        ApiVersion::V2 => json!({
            "name": name,
            "broker_url": url,
            "auth_username": username,
            "auth_password": password,
        }),
    }
}

type ResourceV2 = Resource<BrokerGuid, BrokerV2>;

#[derive(Deserialize)]
struct BrokerV2 {
    name: String,
    broker_url: String,
}

impl From<ResourceV2> for CfBroker {
    fn from(broker: ResourceV2) -> Self {
        Self {
            guid: broker.metadata.guid,
            name: broker.entity.name,
            url: broker.entity.broker_url,
        }
    }
}
