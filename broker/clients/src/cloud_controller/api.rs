//! The trait of a version of the API.

use async_trait::async_trait;
use serde_json::Value;
use url::Url;

use super::{
    Accepted, BrokerGuid, BrokerRegistration, CfBinding, CfBroker, CfInstance, CfLastOperation,
    CfPlan, CfVersionedInstance, Deletion, InstanceGuid, InstanceQuery, LocationNames, OfferedPlan,
    OrganizationGuid, PlanGuid, PlanVisibility, SpaceGuid, Upgrading, WantedVisibility,
    jobs::accepted,
    listing::{InstanceList, InstancePage, Locations},
};
use crate::{
    connection::Connection,
    http::{Call, Method, Repeat, Request},
    service_error::Result,
};

/// More pages than any list has that does not go round in circles.
pub(super) const MOST_PAGES: usize = 1000;
/// How many ids one filter holds, so that the URL stays below the limits of proxies.
pub(super) const IDS_PER_FILTER: usize = 50;

/// A version of the API. A missing object is an error, unless the return type allows absence.
#[async_trait]
pub(super) trait Api: Send + Sync {
    fn connection(&self) -> &Connection;
    /// The address of something below `/v3` or `/v2`.
    fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url;
    /// The method that changes some attributes of a thing.
    fn update(&self) -> Method;
    fn registration(&self, broker: &BrokerRegistration) -> Value;

    async fn plans_of_offering(&self, call: &Call, catalog_id: &str) -> Result<Vec<CfPlan>>;
    async fn plans_of_broker(&self, call: &Call, broker: &BrokerGuid) -> Result<Vec<OfferedPlan>>;
    async fn version_of_plan(&self, call: &Call, plan: &PlanGuid) -> Result<Option<String>>;
    async fn plan_visibility(&self, call: &Call, plan: &PlanGuid) -> Result<PlanVisibility>;
    async fn set_plan_visibility(
        &self,
        call: &Call,
        plan: &PlanGuid,
        wanted: &WantedVisibility,
    ) -> Result<()>;

    async fn organization_named(&self, call: &Call, name: &str)
    -> Result<Option<OrganizationGuid>>;
    async fn organization_name(&self, call: &Call, guid: &OrganizationGuid) -> Result<String>;
    async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>>;
    async fn broker_named(&self, call: &Call, name: &str) -> Result<Option<CfBroker>>;

    /// Of all the plans together.
    async fn count_instances(&self, call: &Call, plans: &[PlanGuid]) -> Result<u64>;
    /// The lists that a query needs: several if it names more ids than fit into one URL.
    fn instance_lists(&self, query: &InstanceQuery) -> Vec<InstanceList>;
    /// A page of a list, from 1. The newest instances are on the first.
    async fn instance_page(
        &self,
        call: &Call,
        list: &InstanceList,
        number: usize,
    ) -> Result<InstancePage>;
    /// Writes into instances of a page where they are, unless the page has done so.
    async fn name_locations(
        &self,
        _call: &Call,
        _known: &mut Locations,
        _instances: &mut [CfInstance],
    ) -> Result<()> {
        Ok(())
    }
    async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>>;
    /// Those of the ids that are instances.
    async fn known_instances(&self, call: &Call, ids: &[InstanceGuid])
    -> Result<Vec<InstanceGuid>>;
    async fn last_operation(&self, call: &Call, instance: &InstanceGuid)
    -> Result<CfLastOperation>;
    async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<CfVersionedInstance>;
    async fn knows_maintenance_info(&self, call: &Call) -> Result<bool>;
    async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading>;
    async fn delete_instance(&self, call: &Call, instance: &InstanceGuid) -> Result<Deletion>;
    async fn bindings(&self, call: &Call, instance: &InstanceGuid) -> Result<Vec<CfBinding>>;
    async fn delete_binding(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        binding: &CfBinding,
    ) -> Result<Deletion>;

    async fn create_broker(&self, call: &Call, broker: &BrokerRegistration) -> Result<Accepted> {
        let url = self.address(&["service_brokers"], &[]);
        let request = Request::new(Method::POST, url, Repeat::WhileUnsent);
        let request = request.json(&self.registration(broker));
        accepted(
            self.connection(),
            &self.connection().send(call, request).await?,
        )
    }

    async fn update_broker(
        &self,
        call: &Call,
        guid: &BrokerGuid,
        broker: &BrokerRegistration,
    ) -> Result<Accepted> {
        let url = self.address(&["service_brokers", guid.as_str()], &[]);
        let request = Request::new(self.update(), url, Repeat::WhileUnsent);
        let request = request.json(&self.registration(broker));
        accepted(
            self.connection(),
            &self.connection().send(call, request).await?,
        )
    }

    async fn delete_broker(&self, call: &Call, guid: &BrokerGuid) -> Result<Accepted> {
        let url = self.address(&["service_brokers", guid.as_str()], &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        accepted(
            self.connection(),
            &self.connection().send(call, request).await?,
        )
    }

    async fn purge_instance(&self, call: &Call, instance: &InstanceGuid) -> Result<()> {
        let segments = ["service_instances", instance.as_str()];
        let url = self.address(&segments, &[("purge", "true")]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        self.connection().send(call, request).await.map(drop)
    }
}
