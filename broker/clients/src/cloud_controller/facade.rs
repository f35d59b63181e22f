//! The read requests, for both versions of the API.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::{sync::OnceCell, time::timeout_at};

use super::{
    ApiVersion, ApiVersions, BrokerGuid, CfInstance, CfPlan, InstanceGuid, InstanceQuery,
    InstanceStream, LocationNames, OfferedPlan, OrganizationGuid, PlanGuid, SpaceGuid, Visibility,
    api::Api, connection, listing, v2::V2, v3::V3, versions,
};
use crate::{
    connection::Connection,
    http::{Call, ClientError, Limits, Trust},
    service_error::{FailureKind, ServiceError},
    uaa::TokenSource,
};

/// How many lists to read concurrently if each plan has its own list.
const PLANS_AT_ONCE: usize = 4;

/// A Cloud Controller. Cheap to clone; clones share connections, token and the cached API versions.
#[derive(Clone)]
pub struct CloudController(pub(super) Arc<Inner>);

pub(super) struct Inner {
    v2: V2,
    pub(super) v3: V3,
    tokens: TokenSource,
    /// The API version, once it is known.
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
        let connection = connection::connect(url, trust, tokens.clone(), limits)?;
        Ok(Self(Arc::new(Inner {
            v2: V2(connection.clone()),
            v3: V3(connection),
            tokens,
            version: OnceCell::new(),
        })))
    }

    /// Which versions of its API the Cloud Controller offers, good for us or not. Needs no token.
    /// Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.api_versions", skip_all)]
    pub async fn api_versions(&self, call: &Call) -> Result<ApiVersions, ServiceError> {
        let versions = versions::ask(self.connection(), call).await?;
        if let Ok(version) = versions.supported() {
            // A concurrent call has found the same.
            let _ = self.0.version.set(version);
        }
        Ok(versions)
    }

    /// The plans of a service offering, by its id in the broker's catalog. Safe to repeat.
    ///
    /// A catalog id is unique within a broker only: if several brokers offer the same service, the plans of all of them
    /// are returned, and a `unique_id` occurs several times. A missing offering has no plans.
    #[tracing::instrument(name = "cloud_controller.plans_of_offering", skip_all)]
    pub async fn plans_of_offering(
        &self,
        call: &Call,
        broker_catalog_id: &str,
    ) -> Result<Vec<CfPlan>, ServiceError> {
        let found = self
            .api(call)
            .await?
            .plans_of_offering(call, broker_catalog_id)
            .await?;
        // A list that changes while it is read may show an entry on two pages.
        let plans: BTreeMap<PlanGuid, CfPlan> = found
            .into_iter()
            .map(|plan| (plan.guid.clone(), plan))
            .collect();
        Ok(plans.into_values().collect())
    }

    /// The number of instances of each plan. Safe to repeat.
    ///
    /// In version 3 an instance counts from before the broker is called to create it, and in both versions it continues
    /// to count when that fails.
    #[tracing::instrument(name = "cloud_controller.count_instances", skip_all)]
    pub async fn count_instances(
        &self,
        call: &Call,
        plans: &[PlanGuid],
    ) -> Result<BTreeMap<PlanGuid, u64>, ServiceError> {
        if plans.is_empty() {
            return Ok(BTreeMap::new());
        }
        let api = self.api(call).await?;
        let count = |plan: PlanGuid| async move {
            let count = api
                .count_instances(call, std::slice::from_ref(&plan))
                .await?;
            Ok((plan, count))
        };
        let plans: Vec<_> = plans.to_vec();
        stream::iter(plans.into_iter().map(count))
            .buffer_unordered(PLANS_AT_ONCE)
            .try_collect()
            .await
    }

    /// How many instances the plans have together: the same as [`CloudController::count_instances`],
    /// in version 3 with one request for all of them. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.count_all_instances", skip_all)]
    pub async fn count_all_instances(
        &self,
        call: &Call,
        plans: &[PlanGuid],
    ) -> Result<u64, ServiceError> {
        if plans.is_empty() {
            return Ok(0);
        }
        self.api(call).await?.count_instances(call, plans).await
    }

    /// The instances that match a query, each once, page by page: only some pages are in memory at a time. The first
    /// request is sent when the stream is polled.
    ///
    /// The stream has every instance that exists from the first request to the end; a list that changes with every
    /// request ends in [`FailureKind::ListChanging`]. The order of instances has no meaning.
    pub fn list_instances(&self, call: &Call, query: InstanceQuery) -> InstanceStream {
        listing::stream(self.clone(), call.clone(), query)
    }

    /// The instances of the plans, each once, by guid: [`CloudController::list_instances`] at one go.
    /// Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.instances", skip_all)]
    pub async fn instances(
        &self,
        call: &Call,
        plans: &[PlanGuid],
    ) -> Result<Vec<CfInstance>, ServiceError> {
        let query = InstanceQuery::of_plans(plans.to_vec());
        let found: BTreeMap<InstanceGuid, CfInstance> = self
            .list_instances(call, query)
            .map_ok(|instance| (instance.guid.clone(), instance))
            .try_collect()
            .await?;
        Ok(found.into_values().collect())
    }

    /// A service instance, if it is there and a service broker made it. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.instance", skip_all)]
    pub async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>, ServiceError> {
        self.api(call).await?.instance(call, guid, names).await
    }

    /// The organization of a name. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.organization_named", skip_all)]
    pub async fn organization_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<OrganizationGuid>, ServiceError> {
        self.api(call).await?.organization_named(call, name).await
    }

    /// The space of a name in an organization. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.space_named", skip_all)]
    pub async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>, ServiceError> {
        self.api(call)
            .await?
            .space_named(call, organization, name)
            .await
    }

    /// Those of the ids that are service instances, of any offering. Safe to repeat.
    ///
    /// A client that cannot see all spaces does not get all of them: see [`CloudController::visibility`].
    #[tracing::instrument(name = "cloud_controller.known_instances", skip_all)]
    pub async fn known_instances(
        &self,
        call: &Call,
        ids: &[InstanceGuid],
    ) -> Result<BTreeSet<InstanceGuid>, ServiceError> {
        if ids.is_empty() {
            return Ok(BTreeSet::new());
        }
        let known = self.api(call).await?.known_instances(call, ids).await?;
        Ok(known.into_iter().collect())
    }

    /// The name of an organization, if it is there. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.organization_name", skip_all)]
    pub async fn organization_name(
        &self,
        call: &Call,
        guid: &OrganizationGuid,
    ) -> Result<Option<String>, ServiceError> {
        let name = self.api(call).await?.organization_name(call, guid).await;
        there(name)
    }

    /// The plans of this very broker, those included that its catalog has no more. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.plans_of_broker", skip_all, fields(%broker))]
    pub async fn plans_of_broker(
        &self,
        call: &Call,
        broker: &BrokerGuid,
    ) -> Result<Vec<OfferedPlan>, ServiceError> {
        self.api(call).await?.plans_of_broker(call, broker).await
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.0.v3.0
    }

    pub(super) fn api_of(&self, version: ApiVersion) -> &dyn Api {
        match version {
            ApiVersion::V3 => &self.0.v3,
            ApiVersion::V2 => &self.0.v2,
        }
    }

    pub(super) async fn api(&self, call: &Call) -> Result<&dyn Api, ServiceError> {
        Ok(self.api_of(self.version(call).await?))
    }

    /// How much the client can see. Calls the UAA if there is no token. Safe to repeat.
    pub async fn visibility(&self, call: &Call) -> Result<Visibility, ServiceError> {
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

    fn out_of_time(&self) -> ServiceError {
        let kind = FailureKind::OutOfTime { sent: true };
        self.connection().failure("/", kind)
    }

    /// The API version. The first caller sends the request for all; an error is not cached.
    pub(super) async fn version(&self, call: &Call) -> Result<ApiVersion, ServiceError> {
        let asked = self.0.version.get_or_try_init(async || {
            let versions = versions::ask(self.connection(), call).await?;
            versions.supported()
        });
        match timeout_at(call.deadline.instant(), asked).await {
            Ok(version) => version.copied(),
            Err(_) => Err(self.out_of_time()),
        }
    }
}

/// A missing object is no error.
pub(super) fn there<T>(answer: Result<T, ServiceError>) -> Result<Option<T>, ServiceError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
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
