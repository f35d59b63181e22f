//! The service instances API: a list of service instances that another owner than a Cloud
//! Controller keeps.
//!
//! Contract: `spec/contracts/broker-behaviour.md`, section 7.6.

use std::{fmt, sync::Arc};

use reqwest::header::HeaderName;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use crate::{
    connection::{ConnectError, Connection, Identity, Protocol, Shown, is_unauthorized},
    http::{Call, Limits, Response, Service, StatusCode, Trust, address, basic_authorization, cut},
    service_error::{FailureKind, Result},
};

static PROTOCOL: Protocol = Protocol {
    service: Service::ServiceInstancesApi,
    request_id: Some(HeaderName::from_static("x-vcap-request-id")),
    asks_for_json: true,
    accepts: |status| status == StatusCode::OK,
    refuses_token: is_unauthorized,
    rejection,
    // Without the query, which may hold confidential values.
    shown: Shown::Address,
};

/// The client of the service instances API. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct ServiceInstancesApi(Arc<Connection>);

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ListedInstance {
    #[serde(rename = "service_instance_id")]
    pub id: String,
    /// In the broker's catalog.
    #[serde(rename = "plan_id")]
    pub plan: String,
    /// The space, where the list has one.
    #[serde(rename = "space_guid", default)]
    pub space: Option<String>,
}

impl ServiceInstancesApi {
    /// The API at `url` (`https` if no scheme is given), query included. Basic authentication is
    /// always sent, be name and password empty. Nothing is sent yet.
    pub fn connect(
        url: &str,
        trust: &Trust,
        username: &str,
        password: &SecretString,
        limits: Limits,
    ) -> Result<Self, ConnectError> {
        let service = Service::ServiceInstancesApi;
        let unusable = |source| ConnectError::Client { service, source };
        let authorization = basic_authorization(username, password)
            .map_err(|_| ConnectError::UnsendableCredentials { service })?;
        let identity = Identity::Basic(authorization);
        let url = address::server(url).map_err(unusable)?;
        let connection =
            Connection::new(&PROTOCOL, url, trust, identity, limits).map_err(unusable)?;
        Ok(Self(Arc::new(connection)))
    }

    /// All service instances that match `parameters`; there are no pages. The API defines their meaning: they join the
    /// query of its address and replace those of the same names.
    #[tracing::instrument(name = "service_instances_api.instances", skip_all)]
    pub async fn instances(
        &self,
        call: &Call,
        parameters: &[(String, String)],
    ) -> Result<Vec<ListedInstance>> {
        let url = self.address_with(parameters);
        // A Go server encodes an empty list as `null`.
        let listed: Option<Vec<ListedInstance>> = self.0.read_at(call, url).await?;
        Ok(listed.unwrap_or_default())
    }

    /// An address without parameters stays as it is written.
    fn address_with(&self, parameters: &[(String, String)]) -> Url {
        let mut url = self.0.server().clone();
        if parameters.is_empty() {
            return url;
        }
        let own: Vec<(String, String)> = url
            .query_pairs()
            .into_owned()
            .filter(|(name, _)| parameters.iter().all(|(given, _)| given != name))
            .collect();
        url.query_pairs_mut()
            .clear()
            .extend_pairs(own)
            .extend_pairs(parameters);
        url
    }
}

impl fmt::Debug for ServiceInstancesApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceInstancesApi")
            .field("host", &self.0.server().host_str())
            .finish_non_exhaustive()
    }
}

fn rejection(answer: &Response) -> FailureKind {
    FailureKind::Refused {
        status: answer.status(),
        code: None,
        name: String::new(),
        description: match answer.json::<Rejection>() {
            Ok(rejection) => cut(&rejection.description),
            Err(_) => answer.error_text(),
        },
    }
}

#[derive(Deserialize)]
struct Rejection {
    description: String,
}
