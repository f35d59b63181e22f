//! The client of the Cloud Controller, for both versions of its API.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 3 and 4. [`CloudController`] reads the versions once and then
//! uses v3 if it is complete, otherwise v2.
//!
//! | module | contents |
//! | --- | --- |
//! | `brokers`, `plans`, `plan_visibility`, `instances`, `bindings`, `locations` | a kind of resource: its types, its requests, its JSON in both versions |
//! | `listing` | service instances as a stream of pages, each instance once, none missing |
//! | `jobs` | asynchronous jobs of the Cloud Controller |
//! | `versions` | the available versions, and the choice between them |
//! | `api` | requests to the chosen version: addresses, single resources, lists page by page |
//! | `errors` | the errors in answers, and their meaning |
//!
//! Read requests are retried on transient errors, within the limits and the deadline of the call. Changes are not,
//! unless they are idempotent: the caller checks their effect. A missing object counts as deleted: a deletion never
//! fails because of that.

mod api;
mod bindings;
mod brokers;
mod errors;
mod ids;
mod instances;
mod jobs;
mod listing;
mod locations;
mod plan_visibility;
mod plans;
mod versions;

use std::{fmt, sync::Arc};

use tokio::{sync::OnceCell, time::timeout_at};

pub use bindings::{CfBinding, CfBindingKind};
pub use brokers::{BrokerRegistration, CfBroker};
pub(crate) use errors::is_lasting_error_of_broker;
pub use ids::{
    AppGuid, BindingGuid, BrokerGuid, InstanceGuid, JobGuid, OfferingGuid, OrganizationGuid,
    PlanGuid, SpaceGuid,
};
pub use instances::{
    CfInstance, CfLastOperation, CfOperation, CfOperationKind, CfOperationState,
    CfVersionedInstance, Deletion, Upgrading,
};
pub use jobs::{Accepted, CfError, CfJob, JobState};
pub use listing::{InstanceQuery, InstanceStream, LocationNames};
pub use plan_visibility::{PlanVisibility, WantedVisibility};
pub use plans::{CfPlan, OfferedPlan};
pub use versions::{ApiVersion, ApiVersions};

use self::api::Api;
use crate::{
    connection::{Connection, Identity},
    http::{Call, ClientError, Limits, Trust, address},
    service_error::{FailureKind, Result, ServiceError},
    uaa::TokenSource,
};

/// The scopes that allow reading everything (`spec/contracts/platform-apis.md` §1.4).
pub const SEES_ALL: [&str; 3] = [
    "cloud_controller.admin",
    "cloud_controller.admin_read_only",
    "cloud_controller.global_auditor",
];

/// How much a client can see. One that cannot see everything gets shorter lists without a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    Everything,
    /// The spaces in which the client has a role.
    Parts,
}

impl Visibility {
    /// The UAA names the scopes in every token answer, so a token without them has none.
    pub fn of(scopes: &[String]) -> Self {
        if scopes
            .iter()
            .any(|scope| SEES_ALL.contains(&scope.as_str()))
        {
            Self::Everything
        } else {
            Self::Parts
        }
    }
}

/// A Cloud Controller. Cheap to clone; clones share connections, token and the cached API version.
#[derive(Clone)]
pub struct CloudController(Arc<Inner>);

struct Inner {
    connection: Connection,
    tokens: TokenSource,
    version: OnceCell<ApiVersion>,
}

impl CloudController {
    /// The Cloud Controller at `url` (`https` if no scheme is given). Sends nothing yet: the client requests the API
    /// version at first use.
    pub fn connect(
        url: &str,
        trust: &Trust,
        tokens: TokenSource,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        let server = address::server(url)?;
        let identity = Identity::Token(tokens.clone());
        Ok(Self(Arc::new(Inner {
            connection: Connection::new(&errors::PROTOCOL, server, trust, identity, limits)?,
            tokens,
            version: OnceCell::new(),
        })))
    }

    /// Which versions of its API the Cloud Controller offers, good for us or not. Needs no token. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.api_versions", skip_all)]
    pub async fn api_versions(&self, call: &Call) -> Result<ApiVersions> {
        let versions = versions::ask(self.connection(), call).await?;
        if let Ok(version) = versions.supported() {
            // A concurrent call has found the same.
            let _ = self.0.version.set(version);
        }
        Ok(versions)
    }

    /// How much the client can see. Calls the UAA if there is no token. Safe to repeat.
    pub async fn visibility(&self, call: &Call) -> Result<Visibility> {
        match self.0.tokens.token(call).await {
            Ok(token) => Ok(Visibility::of(token.scopes())),
            Err(source) if source.is_timeout() => Err(self.out_of_time()),
            Err(source) => {
                let source = Box::new(source);
                let kind = FailureKind::NoToken { source };
                Err(self.connection().failure("/", kind))
            }
        }
    }

    fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// The API in the version that this foundation has.
    async fn api(&self, call: &Call) -> Result<Api<'_>> {
        Ok(self.api_of(self.version(call).await?))
    }

    fn api_of(&self, version: ApiVersion) -> Api<'_> {
        Api {
            connection: self.connection(),
            version,
        }
    }

    /// The first caller sends the request for all; an error is not cached.
    async fn version(&self, call: &Call) -> Result<ApiVersion> {
        let asked = self.0.version.get_or_try_init(async || {
            let versions = versions::ask(self.connection(), call).await?;
            versions.supported()
        });
        match timeout_at(call.deadline.instant(), asked).await {
            Ok(version) => version.copied(),
            Err(_) => Err(self.out_of_time()),
        }
    }

    fn out_of_time(&self) -> ServiceError {
        let kind = FailureKind::OutOfTime { sent: true };
        self.connection().failure("/", kind)
    }
}

impl fmt::Debug for CloudController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudController")
            .field("server", &self.connection().server().as_str())
            .field("version", &self.0.version.get())
            .finish_non_exhaustive()
    }
}

/// A missing object is no error.
fn there<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_scopes_let_a_client_see_everything() {
        let visibility = |scopes: &[&str]| {
            let scopes: Vec<_> = scopes.iter().map(|&scope| scope.to_owned()).collect();
            Visibility::of(&scopes)
        };
        for right in SEES_ALL {
            assert_eq!(visibility(&["openid", right]), Visibility::Everything);
        }
        assert_eq!(
            visibility(&["cloud_controller.read", "clients.admin"]),
            Visibility::Parts
        );
        assert_eq!(visibility(&[]), Visibility::Parts);
    }
}
