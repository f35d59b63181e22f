//! The requests to a Cloud Controller, by the version of its API that it has.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::{sync::OnceCell, time::timeout_at};

use super::{
    Accepted, ApiVersion, ApiVersions, BrokerGuid, BrokerRegistration, CfBinding, CfBroker,
    CfInstance, CfLastOperation, CfPlan, CfVersionedInstance, Deletion, InstanceGuid,
    LocationNames, OfferedPlan, OrganizationGuid, PlanGuid, PlanVisibility, SpaceGuid, Upgrading,
    Visibility, WantedVisibility, api::Api, errors, v2::V2, v3::V3, versions,
};
use crate::{
    connection::{Connection, Identity},
    http::{Call, ClientError, Limits, Trust, address},
    service_error::{FailureKind, Result, ServiceError},
    uaa::TokenSource,
};

/// How many lists to read concurrently if each plan has its own list.
const PLANS_AT_ONCE: usize = 4;

/// A Cloud Controller. Cheap to clone; clones share connections, token and the cached API version.
#[derive(Clone)]
pub struct CloudController(Arc<Inner>);

struct Inner {
    v2: V2,
    v3: V3,
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
        let connection = Connection::new(&errors::PROTOCOL, server, trust, identity, limits)?;
        Ok(Self(Arc::new(Inner {
            v2: V2(connection.clone()),
            v3: V3(connection),
            tokens,
            version: OnceCell::new(),
        })))
    }

    /// Which versions of its API the Cloud Controller offers, good for us or not. Needs no token.
    #[tracing::instrument(name = "cloud_controller.api_versions", skip_all)]
    pub async fn api_versions(&self, call: &Call) -> Result<ApiVersions> {
        let versions = versions::ask(self.connection(), call).await?;
        if let Ok(version) = versions.supported() {
            // A concurrent call has found the same.
            let _ = self.0.version.set(version);
        }
        Ok(versions)
    }

    /// How much the client can see. Calls the UAA if there is no token.
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

    /// The plans of a service offering, by its id in the broker's catalog.
    ///
    /// A catalog id is unique within a broker only: if several brokers offer the same service, the plans of all of them
    /// are returned, and a `unique_id` occurs several times. A missing offering has no plans.
    #[tracing::instrument(name = "cloud_controller.plans_of_offering", skip_all)]
    pub async fn plans_of_offering(
        &self,
        call: &Call,
        broker_catalog_id: &str,
    ) -> Result<Vec<CfPlan>> {
        let found = self
            .api(call)
            .await?
            .plans_of_offering(call, broker_catalog_id)
            .await?;
        // A list that changes while it is read may show an entry on two pages.
        let plans = found.into_iter().map(|plan| (plan.guid.clone(), plan));
        let plans: BTreeMap<PlanGuid, CfPlan> = plans.collect();
        Ok(plans.into_values().collect())
    }

    /// The plans of this very broker, those included that its catalog has no more.
    #[tracing::instrument(name = "cloud_controller.plans_of_broker", skip_all, fields(%broker))]
    pub async fn plans_of_broker(
        &self,
        call: &Call,
        broker: &BrokerGuid,
    ) -> Result<Vec<OfferedPlan>> {
        self.api(call).await?.plans_of_broker(call, broker).await
    }

    #[tracing::instrument(name = "cloud_controller.version_of_plan", skip_all, fields(%plan))]
    pub async fn version_of_plan(&self, call: &Call, plan: &PlanGuid) -> Result<Option<String>> {
        self.api(call).await?.version_of_plan(call, plan).await
    }

    #[tracing::instrument(name = "cloud_controller.plan_visibility", skip_all, fields(%plan))]
    pub async fn plan_visibility(&self, call: &Call, plan: &PlanGuid) -> Result<PlanVisibility> {
        self.api(call).await?.plan_visibility(call, plan).await
    }

    /// Sets the visibility of a plan: all organizations, administrators only, or exactly these organizations.
    ///
    /// In version 3 one request replaces all. In version 2, an organization that sees the plan before and after sees it
    /// all the time, unless the plan was public: its organizations can be added only when it is not.
    ///
    /// A plan of a space-scoped broker is rejected.
    #[tracing::instrument(name = "cloud_controller.set_plan_visibility", skip_all, fields(%plan))]
    pub async fn set_plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        wanted: &WantedVisibility,
    ) -> Result<()> {
        self.api(call)
            .await?
            .set_plan_visibility(call, plan, wanted)
            .await
    }

    #[tracing::instrument(name = "cloud_controller.organization_named", skip_all)]
    pub async fn organization_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<OrganizationGuid>> {
        self.api(call).await?.organization_named(call, name).await
    }

    /// The name of an organization, if it is there.
    #[tracing::instrument(name = "cloud_controller.organization_name", skip_all)]
    pub async fn organization_name(
        &self,
        call: &Call,
        guid: &OrganizationGuid,
    ) -> Result<Option<String>> {
        let found = self.api(call).await?.organization_name(call, guid).await;
        there(found)
    }

    #[tracing::instrument(name = "cloud_controller.space_named", skip_all)]
    pub async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>> {
        self.api(call)
            .await?
            .space_named(call, organization, name)
            .await
    }

    #[tracing::instrument(name = "cloud_controller.broker_named", skip_all)]
    pub async fn broker_named(&self, call: &Call, name: &str) -> Result<Option<CfBroker>> {
        self.api(call).await?.broker_named(call, name).await
    }

    /// Registers a broker. The Cloud Controller reads its catalog.
    ///
    /// Sent once. After an error that [may have taken effect](ServiceError::may_have_taken_effect), and after a
    /// failed job, the broker may exist: [`CloudController::broker_named`] finds it, and
    /// [`CloudController::update_broker`] makes the Cloud Controller read its catalog again. In version 2 of the API the
    /// request waits for the broker.
    #[tracing::instrument(name = "cloud_controller.create_broker", skip_all)]
    pub async fn create_broker(
        &self,
        call: &Call,
        broker: &BrokerRegistration,
    ) -> Result<Accepted> {
        self.api(call).await?.create_broker(call, broker).await
    }

    /// Updates a broker. The Cloud Controller reads its catalog.
    ///
    /// Sent once, because each request reads the catalog; safe to repeat. After an error the broker is unchanged. While
    /// an earlier change is in progress the request is rejected ([`ServiceError::is_busy`]).
    #[tracing::instrument(name = "cloud_controller.update_broker", skip_all, fields(%guid))]
    pub async fn update_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
        broker: &BrokerRegistration,
    ) -> Result<Accepted> {
        self.api(call)
            .await?
            .update_broker(call, guid, broker)
            .await
    }

    /// Deletes a broker with its offerings and plans.
    ///
    /// While it has service instances it is refused: [`ServiceError::is_broker_in_use`].
    #[tracing::instrument(name = "cloud_controller.delete_broker", skip_all, fields(%guid))]
    pub async fn delete_broker(&self, call: &Call, guid: &BrokerGuid) -> Result<Accepted> {
        let deleted = self.api(call).await?.delete_broker(call, guid).await;
        let warnings = Vec::new();
        Ok(there(deleted)?.unwrap_or(Accepted::Done { warnings }))
    }

    /// The number of instances of each plan.
    ///
    /// In version 3 an instance counts from before the broker is called to create it, and in both versions it continues
    /// to count when that fails.
    #[tracing::instrument(name = "cloud_controller.count_instances", skip_all)]
    pub async fn count_instances(
        &self,
        call: &Call,
        plans: &[PlanGuid],
    ) -> Result<BTreeMap<PlanGuid, u64>> {
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

    /// How many instances the plans have together: the same as [`CloudController::count_instances`], in version 3 with
    /// one request for all of them.
    #[tracing::instrument(name = "cloud_controller.count_all_instances", skip_all)]
    pub async fn count_all_instances(&self, call: &Call, plans: &[PlanGuid]) -> Result<u64> {
        if plans.is_empty() {
            return Ok(0);
        }
        self.api(call).await?.count_instances(call, plans).await
    }

    /// A service instance, if it is there and a service broker made it.
    #[tracing::instrument(name = "cloud_controller.instance", skip_all)]
    pub async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>> {
        self.api(call).await?.instance(call, guid, names).await
    }

    /// Those of the ids that are service instances, of any offering.
    ///
    /// A client that cannot see all spaces does not get all of them: see [`CloudController::visibility`].
    #[tracing::instrument(name = "cloud_controller.known_instances", skip_all)]
    pub async fn known_instances(
        &self,
        call: &Call,
        ids: &[InstanceGuid],
    ) -> Result<BTreeSet<InstanceGuid>> {
        if ids.is_empty() {
            return Ok(BTreeSet::new());
        }
        let known = self.api(call).await?.known_instances(call, ids).await?;
        Ok(known.into_iter().collect())
    }

    /// The state of an instance; `None` if it does not exist (any more).
    #[tracing::instrument(name = "cloud_controller.last_operation", skip_all, fields(%instance))]
    pub async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Option<CfLastOperation>> {
        let found = self.api(call).await?.last_operation(call, instance).await;
        there(found)
    }

    /// An instance with its plan and version; `None` when it is not there (any more).
    #[tracing::instrument(name = "cloud_controller.versioned_instance", skip_all, fields(%instance))]
    pub async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Option<CfVersionedInstance>> {
        let found = self
            .api(call)
            .await?
            .versioned_instance(call, instance)
            .await;
        there(found)
    }

    /// Whether upgrades can be requested: the Cloud Controller supports `maintenance_info`. Needs no token.
    ///
    /// Every supported version 3 does (since 3.86); for version 2 the version of the Open Service Broker API shows it,
    /// which may have only two parts.
    #[tracing::instrument(name = "cloud_controller.knows_maintenance_info", skip_all)]
    pub async fn knows_maintenance_info(&self, call: &Call) -> Result<bool> {
        self.api(call).await?.knows_maintenance_info(call).await
    }

    /// Requests the upgrade of an instance to the version of its plan. Sent once: after an error it may have begun
    /// ([`ServiceError::may_have_taken_effect`]). Rejected while the instance
    /// [is busy](ServiceError::is_busy).
    #[tracing::instrument(name = "cloud_controller.upgrade_instance", skip_all, fields(%instance))]
    pub async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading> {
        self.api(call)
            .await?
            .upgrade_instance(call, instance, version)
            .await
    }

    /// Requests the deletion of an instance. Sent once: after an error it may have begun
    /// ([`ServiceError::may_have_taken_effect`]).
    ///
    /// Version 3 also deletes bindings and shares, if that is synchronous. Version 2 rejects the request while there
    /// are any ([`ServiceError::is_shared`]).
    #[tracing::instrument(name = "cloud_controller.delete_instance", skip_all, fields(%instance))]
    pub async fn delete_instance(&self, call: &Call, instance: &InstanceGuid) -> Result<Deletion> {
        let found = self.api(call).await?.delete_instance(call, instance).await;
        Ok(there(found)?.unwrap_or(Deletion::Done))
    }

    /// Purges an instance and its bindings without calling the broker; its deployment stays. Only for an administrator.
    #[tracing::instrument(name = "cloud_controller.purge_instance", skip_all, fields(%instance))]
    pub async fn purge_instance(&self, call: &Call, instance: &InstanceGuid) -> Result<()> {
        let found = self.api(call).await?.purge_instance(call, instance).await;
        there(found).map(drop)
    }

    /// The bindings of an instance: of applications first, then keys, then routes.
    #[tracing::instrument(name = "cloud_controller.bindings", skip_all, fields(%instance))]
    pub async fn bindings(&self, call: &Call, instance: &InstanceGuid) -> Result<Vec<CfBinding>> {
        let found = self.api(call).await?.bindings(call, instance).await;
        Ok(there(found)?.unwrap_or_default())
    }

    /// Deletes a binding, which calls the broker. Sent once: after an error it may be deleted
    /// ([`ServiceError::may_have_taken_effect`]).
    #[tracing::instrument(name = "cloud_controller.delete_binding", skip_all, fields(%instance, binding = %binding.guid))]
    pub async fn delete_binding(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        binding: &CfBinding,
    ) -> Result<Deletion> {
        let found = self
            .api(call)
            .await?
            .delete_binding(call, instance, binding)
            .await;
        Ok(there(found)?.unwrap_or(Deletion::Done))
    }

    /// The spaces that an instance is shared into.
    ///
    /// Uses version 3 on old foundations, too: version 2 cannot unshare.
    #[tracing::instrument(name = "cloud_controller.shared_spaces", skip_all, fields(%instance))]
    pub async fn shared_spaces(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<SpaceGuid>> {
        let found = self.0.v3.shared_spaces(call, instance).await;
        Ok(there(found)?.unwrap_or_default())
    }

    /// Takes an instance away from a space that it is shared into, with the bindings there.
    #[tracing::instrument(name = "cloud_controller.unshare", skip_all, fields(%instance, %space))]
    pub async fn unshare(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        space: &SpaceGuid,
    ) -> Result<()> {
        there(self.0.v3.unshare(call, instance, space).await).map(drop)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.0.v3.0
    }

    async fn api(&self, call: &Call) -> Result<&dyn Api> {
        Ok(self.api_of(self.version(call).await?))
    }

    pub(super) fn api_of(&self, version: ApiVersion) -> &dyn Api {
        match version {
            ApiVersion::V3 => &self.0.v3,
            ApiVersion::V2 => &self.0.v2,
        }
    }

    /// The first caller sends the request for all; an error is not cached.
    pub(super) async fn version(&self, call: &Call) -> Result<ApiVersion> {
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
pub(super) fn there<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
