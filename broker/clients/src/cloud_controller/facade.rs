//! What can be asked, whichever version of the API answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::{sync::OnceCell, time::timeout_at};

use super::{
    ApiVersion, ApiVersions, CfInstance, CfPlan, InstanceGuid, InstanceQuery, InstanceStream,
    OrganizationGuid, PlaceNames, PlanGuid, Sight, SpaceGuid, connection, listing, v2, v3,
    versions,
};
use crate::{
    connection::Connection,
    http::{Call, ClientError, Limits, Trust},
    service_error::{FailureKind, ServiceError},
    uaa::TokenSource,
};

/// How many lists are read at the same time where each plan has one of its own.
const PLANS_AT_ONCE: usize = 4;
/// How many instances are asked for at the same time where each has to be asked for by itself.
const INSTANCES_AT_ONCE: usize = 8;

/// A Cloud Controller. Cheap to clone; clones share connections, token and what is known of its
/// versions.
#[derive(Clone)]
pub struct CloudController(Arc<Inner>);

struct Inner {
    connection: Connection,
    tokens: TokenSource,
    /// Which version is spoken, once it is known.
    spoken: OnceCell<ApiVersion>,
}

impl CloudController {
    /// The Cloud Controller at `url` (`https` if no scheme is given). Nothing is sent yet: the
    /// version of its API is asked for when it is first needed.
    pub fn connect(
        url: &str,
        trust: &Trust,
        tokens: TokenSource,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        Ok(Self(Arc::new(Inner {
            connection: connection::connect(url, trust, tokens.clone(), limits)?,
            tokens,
            spoken: OnceCell::new(),
        })))
    }

    /// Which versions of its API the Cloud Controller offers, good for us or not. Needs no token.
    /// Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.api_versions", skip_all)]
    pub async fn api_versions(&self, call: &Call) -> Result<ApiVersions, ServiceError> {
        let versions = versions::ask(&self.0.connection, call).await?;
        if let Ok(spoken) = versions.spoken() {
            // Whoever was first has found the same.
            let _ = self.0.spoken.set(spoken);
        }
        Ok(versions)
    }

    /// The plans of a service offering, named by its id in the broker's catalog. Safe to repeat.
    ///
    /// A catalog id is unique within a broker only: if several brokers offer the same service, the
    /// plans of all of them are told, and a `unique_id` is there several times. An offering that is
    /// not there has no plans.
    #[tracing::instrument(name = "cloud_controller.plans_of_offering", skip_all)]
    pub async fn plans_of_offering(
        &self,
        call: &Call,
        broker_catalog_id: &str,
    ) -> Result<Vec<CfPlan>, ServiceError> {
        let connection = &self.0.connection;
        let found = match self.spoken(call).await? {
            ApiVersion::V3 => v3::plans_of_offering(connection, call, broker_catalog_id).await?,
            ApiVersion::V2 => v2::plans_of_offering(connection, call, broker_catalog_id).await?,
        };
        // A list that changes while it is read may show an entry on two pages.
        let plans: BTreeMap<PlanGuid, CfPlan> = found
            .into_iter()
            .map(|plan| (plan.guid.clone(), plan))
            .collect();
        Ok(plans.into_values().collect())
    }

    /// How many instances each of the plans has. Safe to repeat.
    ///
    /// In version 3 an instance counts from before the broker is asked to create it, and in both
    /// versions it goes on counting when that fails.
    #[tracing::instrument(name = "cloud_controller.count_instances", skip_all)]
    pub async fn count_instances(
        &self,
        call: &Call,
        plans: &[PlanGuid],
    ) -> Result<BTreeMap<PlanGuid, u64>, ServiceError> {
        if plans.is_empty() {
            return Ok(BTreeMap::new());
        }
        let connection = &self.0.connection;
        let spoken = self.spoken(call).await?;
        let count = async |plan: PlanGuid| {
            let count = match spoken {
                ApiVersion::V3 => {
                    v3::count_instances(connection, call, std::slice::from_ref(&plan)).await?
                }
                ApiVersion::V2 => v2::count_instances(connection, call, &plan).await?,
            };
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
        let connection = &self.0.connection;
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::count_instances(connection, call, plans).await,
            ApiVersion::V2 => {
                let mut total = 0;
                for plan in plans {
                    total += v2::count_instances(connection, call, plan).await?;
                }
                Ok(total)
            }
        }
    }

    /// The instances that a query asks for, each once, page by page: what is held at a time are some
    /// pages, however long the list. Nothing is asked before the stream is.
    ///
    /// None is missing that was there from the first question to the end of the stream; a list that
    /// changes on every reading ends in [`FailureKind::ListChanging`]. Instances come in no
    /// order that means anything.
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
        names: PlaceNames,
    ) -> Result<Option<CfInstance>, ServiceError> {
        let connection = &self.0.connection;
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::instance(connection, call, guid, names).await,
            ApiVersion::V2 => v2::instance(connection, call, guid, names).await,
        }
    }

    /// The organization of a name. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.organization_named", skip_all)]
    pub async fn organization_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<OrganizationGuid>, ServiceError> {
        let connection = &self.0.connection;
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::organization_named(connection, call, name).await,
            ApiVersion::V2 => v2::organization_named(connection, call, name).await,
        }
    }

    /// The space of a name in an organization. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.space_named", skip_all)]
    pub async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>, ServiceError> {
        let connection = &self.0.connection;
        match self.spoken(call).await? {
            ApiVersion::V3 => v3::space_named(connection, call, organization, name).await,
            ApiVersion::V2 => v2::space_named(connection, call, organization, name).await,
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// Those of the ids that are service instances, of whatever offering. Safe to repeat.
    ///
    /// Whoever may not see everything does not see all of them: see [`CloudController::sight`].
    #[tracing::instrument(name = "cloud_controller.known_instances", skip_all)]
    pub async fn known_instances(
        &self,
        call: &Call,
        ids: &[InstanceGuid],
    ) -> Result<BTreeSet<InstanceGuid>, ServiceError> {
        if ids.is_empty() {
            return Ok(BTreeSet::new());
        }
        let connection = &self.0.connection;
        match self.spoken(call).await? {
            ApiVersion::V3 => {
                let known = v3::known_instances(connection, call, ids).await?;
                Ok(known.into_iter().collect())
            }
            ApiVersion::V2 => {
                let look = async |id: InstanceGuid| {
                    let found = v2::instance(connection, call, &id, PlaceNames::Left).await?;
                    Ok(found.map(|found| found.guid))
                };
                let ids: Vec<_> = ids.to_vec();
                let known: Vec<Option<InstanceGuid>> = stream::iter(ids.into_iter().map(look))
                    .buffer_unordered(INSTANCES_AT_ONCE)
                    .try_collect()
                    .await?;
                Ok(known.into_iter().flatten().collect())
            }
        }
    }

    /// How much we may see. Asks the UAA, where no token is at hand. Safe to repeat.
    pub async fn sight(&self, call: &Call) -> Result<Sight, ServiceError> {
        match self.0.tokens.token(call).await {
            Ok(token) => Ok(Sight::of(token.scopes())),
            Err(source) if source.is_timeout() => Err(self.out_of_time()),
            Err(source) => {
                let source = Box::new(source);
                let kind = FailureKind::NoToken { source };
                Err(self.0.connection.failure("/", kind))
            }
        }
    }

    fn out_of_time(&self) -> ServiceError {
        let kind = FailureKind::OutOfTime { sent: true };
        self.0.connection.failure("/", kind)
    }

    /// The version that is spoken. Who asks first asks for all; a failure is not kept.
    pub(super) async fn spoken(&self, call: &Call) -> Result<ApiVersion, ServiceError> {
        let asked = self.0.spoken.get_or_try_init(async || {
            let versions = versions::ask(&self.0.connection, call).await?;
            versions.spoken()
        });
        match timeout_at(call.deadline.instant(), asked).await {
            Ok(spoken) => spoken.copied(),
            Err(_) => Err(self.out_of_time()),
        }
    }
}

impl fmt::Debug for CloudController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudController")
            .field("server", &self.0.connection.server().as_str())
            .field("spoken", &self.0.spoken.get())
            .finish_non_exhaustive()
    }
}
