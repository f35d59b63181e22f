//! The trait of both API versions.

use async_trait::async_trait;

use super::{
    Accepted, BrokerGuid, BrokerRegistration, CfBinding, CfBroker, CfInstance, CfLastOperation,
    CfPlan, CfVersionedInstance, Deletion, InstanceGuid, InstanceQuery, LocationNames, OfferedPlan,
    OrganizationGuid, PlanGuid, PlanVisibility, SpaceGuid, Upgrading, WantedVisibility,
    listing::{InstanceList, InstancePage},
    locations::Locations,
};
use crate::{http::Call, service_error::ServiceError};

/// A version of the API. A missing object is an error, unless the return type allows absence.
#[async_trait]
pub(super) trait Api: Send + Sync {
    async fn plans_of_offering(
        &self,
        call: &Call,
        broker_catalog_id: &str,
    ) -> Result<Vec<CfPlan>, ServiceError>;

    async fn plans_of_broker(
        &self,
        call: &Call,
        broker: &BrokerGuid,
    ) -> Result<Vec<OfferedPlan>, ServiceError>;

    /// Of all the plans together.
    async fn count_instances(&self, call: &Call, plans: &[PlanGuid]) -> Result<u64, ServiceError>;

    /// The lists that a query needs: several if it names more ids than fit into one URL.
    fn instance_lists(&self, query: &InstanceQuery) -> Vec<InstanceList>;

    /// A page of a list, from 1. The newest instances are on the first.
    async fn instance_page(
        &self,
        call: &Call,
        list: &InstanceList,
        number: usize,
    ) -> Result<InstancePage, ServiceError>;

    /// Writes into instances of a page where they are, unless the page has done so.
    async fn name_locations(
        &self,
        _call: &Call,
        _known: &mut Locations,
        _instances: &mut [CfInstance],
    ) -> Result<(), ServiceError> {
        Ok(())
    }

    async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>, ServiceError>;

    /// Those of the ids that are instances.
    async fn known_instances(
        &self,
        call: &Call,
        ids: &[InstanceGuid],
    ) -> Result<Vec<InstanceGuid>, ServiceError>;

    async fn organization_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<OrganizationGuid>, ServiceError>;

    async fn organization_name(
        &self,
        call: &Call,
        guid: &OrganizationGuid,
    ) -> Result<String, ServiceError>;

    async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>, ServiceError>;

    async fn broker_named(&self, call: &Call, name: &str)
    -> Result<Option<CfBroker>, ServiceError>;

    async fn create_broker(
        &self,
        call: &Call,
        broker: &BrokerRegistration,
    ) -> Result<Accepted, ServiceError>;

    async fn update_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
        broker: &BrokerRegistration,
    ) -> Result<Accepted, ServiceError>;

    async fn delete_broker(&self, call: &Call, guid: &BrokerGuid)
    -> Result<Accepted, ServiceError>;

    async fn plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<PlanVisibility, ServiceError>;

    async fn set_plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        wanted: &WantedVisibility,
    ) -> Result<(), ServiceError>;

    async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfLastOperation, ServiceError>;

    async fn bindings(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<CfBinding>, ServiceError>;

    async fn delete_binding(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        binding: &CfBinding,
    ) -> Result<Deletion, ServiceError>;

    async fn delete_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Deletion, ServiceError>;

    async fn purge_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<(), ServiceError>;

    async fn knows_maintenance_info(&self, call: &Call) -> Result<bool, ServiceError>;

    async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfVersionedInstance, ServiceError>;

    async fn version_of_plan(
        &self,
        call: &Call,
        plan: &PlanGuid,
    ) -> Result<Option<String>, ServiceError>;

    async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading, ServiceError>;
}
