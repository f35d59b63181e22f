//! What can be asked, whichever version of the API answers.

use std::{collections::BTreeMap, fmt, sync::Arc};

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::{sync::OnceCell, time::timeout_at};

use super::{
    ApiVersion, ApiVersions, CfInstance, CfPlan, CloudControllerError, InstanceGuid, PlanGuid,
    connection::{Connection, out_of_time},
    v2, v3, versions,
};
use crate::{
    http::{Call, ClientError, Limits, Trust},
    uaa::TokenSource,
};

/// How many lists are read at the same time where each plan has one of its own.
const PLANS_AT_ONCE: usize = 4;

/// A Cloud Controller. Cheap to clone; clones share connections, token and what is known of its
/// versions.
#[derive(Clone)]
pub struct CloudController(Arc<Inner>);

struct Inner {
    connection: Connection,
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
            connection: Connection::new(url, trust, tokens, limits)?,
            spoken: OnceCell::new(),
        })))
    }

    /// Which versions of its API the Cloud Controller offers, good for us or not. Needs no token.
    /// Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.api_versions", skip_all)]
    pub async fn api_versions(&self, call: &Call) -> Result<ApiVersions, CloudControllerError> {
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
    ) -> Result<Vec<CfPlan>, CloudControllerError> {
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
    ) -> Result<BTreeMap<PlanGuid, u64>, CloudControllerError> {
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
    ) -> Result<u64, CloudControllerError> {
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

    /// The instances of the plans, each once. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.instances", skip_all)]
    pub async fn instances(
        &self,
        call: &Call,
        plans: &[PlanGuid],
    ) -> Result<Vec<CfInstance>, CloudControllerError> {
        if plans.is_empty() {
            return Ok(Vec::new());
        }
        let connection = &self.0.connection;
        let found = match self.spoken(call).await? {
            ApiVersion::V3 => v3::instances(connection, call, plans).await?,
            ApiVersion::V2 => {
                let of_plan = async |plan: PlanGuid| v2::instances(connection, call, &plan).await;
                let plans: Vec<_> = plans.to_vec();
                let lists: Vec<Vec<CfInstance>> = stream::iter(plans.into_iter().map(of_plan))
                    .buffer_unordered(PLANS_AT_ONCE)
                    .try_collect()
                    .await?;
                lists.into_iter().flatten().collect()
            }
        };
        let instances: BTreeMap<InstanceGuid, CfInstance> = found
            .into_iter()
            .map(|instance| (instance.guid.clone(), instance))
            .collect();
        Ok(instances.into_values().collect())
    }

    /// The version that is spoken. Who asks first asks for all; a failure is not kept.
    async fn spoken(&self, call: &Call) -> Result<ApiVersion, CloudControllerError> {
        let asked = self.0.spoken.get_or_try_init(async || {
            let versions = versions::ask(&self.0.connection, call).await?;
            versions.spoken()
        });
        match timeout_at(call.deadline.instant(), asked).await {
            Ok(spoken) => spoken.copied(),
            Err(_) => Err(out_of_time("/")),
        }
    }
}

impl fmt::Debug for CloudController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudController")
            .field("server", &self.0.connection.server())
            .field("spoken", &self.0.spoken.get())
            .finish_non_exhaustive()
    }
}
