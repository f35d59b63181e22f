//! Requests that register, delete and upgrade, with the reads that they need (`spec/contracts/platform-apis.md`,
//! sections 3.5 to 3.11 and 4).
//!
//! A missing object counts as deleted: a deletion never fails because of that.

use super::{
    Accepted, BrokerGuid, BrokerRegistration, CfBinding, CfBroker, CfLastOperation,
    CfVersionedInstance, CloudController, Deletion, InstanceGuid, PlanGuid, PlanVisibility,
    SpaceGuid, Upgrading, WantedVisibility, facade::there,
};
use crate::{http::Call, service_error::ServiceError};

impl CloudController {
    /// The broker of that name. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.broker_named", skip_all)]
    pub async fn broker_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<CfBroker>, ServiceError> {
        self.api(call).await?.broker_named(call, name).await
    }

    /// Registers a broker. The Cloud Controller reads its catalog.
    ///
    /// Sent once. After an error that [may have taken effect](ServiceError::may_have_taken_effect), and after a failed
    /// job, the broker may exist: [`CloudController::broker_named`] finds it, and [`CloudController::update_broker`]
    /// makes the Cloud Controller read its catalog again. In version 2 of the API the request waits for the broker.
    #[tracing::instrument(name = "cloud_controller.create_broker", skip_all)]
    pub async fn create_broker(
        &self,
        call: &Call,
        broker: &BrokerRegistration,
    ) -> Result<Accepted, ServiceError> {
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
    ) -> Result<Accepted, ServiceError> {
        self.api(call)
            .await?
            .update_broker(call, guid, broker)
            .await
    }

    /// Has a broker forgotten, with its offerings and plans. One that is not there has been. Safe to repeat.
    ///
    /// While it has service instances it is refused: [`ServiceError::is_broker_in_use`].
    #[tracing::instrument(name = "cloud_controller.delete_broker", skip_all, fields(%guid))]
    pub async fn delete_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
    ) -> Result<Accepted, ServiceError> {
        let deleted = self.api(call).await?.delete_broker(call, guid).await;
        let warnings = Vec::new();
        Ok(there(deleted)?.unwrap_or(Accepted::Done { warnings }))
    }

    /// The visibility of a plan. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.plan_visibility", skip_all, fields(%plan))]
    pub async fn plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<PlanVisibility, ServiceError> {
        self.api(call).await?.plan_visibility(call, plan).await
    }

    /// Sets the visibility of a plan: all organizations, administrators only, or exactly these organizations. Safe to
    /// repeat.
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
        visibility: &WantedVisibility,
    ) -> Result<(), ServiceError> {
        self.api(call)
            .await?
            .set_plan_visibility(call, plan, visibility)
            .await
    }

    /// The state of an instance; `None` if it does not exist (any more). Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.last_operation", skip_all, fields(%instance))]
    pub async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Option<CfLastOperation>, ServiceError> {
        let found = self.api(call).await?.last_operation(call, instance).await;
        there(found)
    }

    /// The bindings of an instance: of applications first, then keys, then routes. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.bindings", skip_all, fields(%instance))]
    pub async fn bindings(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<CfBinding>, ServiceError> {
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
    ) -> Result<Deletion, ServiceError> {
        let begun = self
            .api(call)
            .await?
            .delete_binding(call, instance, binding)
            .await;
        Ok(there(begun)?.unwrap_or(Deletion::Done))
    }

    /// The spaces that an instance is shared into. Safe to repeat.
    ///
    /// Uses version 3 on old foundations, too: version 2 cannot unshare.
    #[tracing::instrument(name = "cloud_controller.shared_spaces", skip_all, fields(%instance))]
    pub async fn shared_spaces(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<SpaceGuid>, ServiceError> {
        let found = self.0.v3.shared_spaces(call, instance).await;
        Ok(there(found)?.unwrap_or_default())
    }

    /// Takes an instance away from a space that it is shared into, with the bindings there. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.unshare", skip_all, fields(%instance, %space))]
    pub async fn unshare(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        space: &SpaceGuid,
    ) -> Result<(), ServiceError> {
        let unshared = self.0.v3.unshare(call, instance, space).await;
        there(unshared).map(drop)
    }

    /// Requests the deletion of an instance. Sent once: after an error it may have begun
    /// ([`ServiceError::may_have_taken_effect`]).
    ///
    /// Version 3 also deletes bindings and shares, if that is synchronous. Version 2 rejects the request while there
    /// are any ([`ServiceError::is_shared`]).
    #[tracing::instrument(name = "cloud_controller.delete_instance", skip_all, fields(%instance))]
    pub async fn delete_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Deletion, ServiceError> {
        let begun = self.api(call).await?.delete_instance(call, instance).await;
        Ok(there(begun)?.unwrap_or(Deletion::Done))
    }

    /// Purges an instance and its bindings without calling the broker; its deployment stays. Only for an administrator.
    /// Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.purge_instance", skip_all, fields(%instance))]
    pub async fn purge_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<(), ServiceError> {
        let purged = self.api(call).await?.purge_instance(call, instance).await;
        there(purged).map(drop)
    }

    /// Whether upgrades can be requested: the Cloud Controller supports `maintenance_info`. Needs no token. Safe to
    /// repeat.
    ///
    /// Every supported version 3 does (since 3.86); for version 2 the version of the Open Service Broker API shows it,
    /// which may have only two parts.
    #[tracing::instrument(name = "cloud_controller.knows_maintenance_info", skip_all)]
    pub async fn knows_maintenance_info(&self, call: &Call) -> Result<bool, ServiceError> {
        self.api(call).await?.knows_maintenance_info(call).await
    }

    /// An instance with its plan and version; `None` when it is not there (any more). Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.versioned_instance", skip_all, fields(%instance))]
    pub async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Option<CfVersionedInstance>, ServiceError> {
        let found = self
            .api(call)
            .await?
            .versioned_instance(call, instance)
            .await;
        there(found)
    }

    /// The version of a plan, if it has one. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.version_of_plan", skip_all, fields(%plan))]
    pub async fn version_of_plan(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<Option<String>, ServiceError> {
        self.api(call).await?.version_of_plan(call, plan).await
    }

    /// Requests the upgrade of an instance to the version of its plan. Sent once: after an error it may have begun
    /// ([`ServiceError::may_have_taken_effect`]). Rejected while the instance [is busy](ServiceError::is_busy).
    #[tracing::instrument(name = "cloud_controller.upgrade_instance", skip_all, fields(%instance))]
    pub async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading, ServiceError> {
        self.api(call)
            .await?
            .upgrade_instance(call, instance, version)
            .await
    }
}
