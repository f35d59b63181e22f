//! The inventory: the service instances of the platform, joined with the operation records and the Director's
//! deployments.

use std::{collections::BTreeSet, future::ready};

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use odb_api_types::{
    ids::{InstanceId, PlanId},
    management::{
        Deployed, DeploymentPresence, InventoryEntry, Owner, PlatformOperation,
        PlatformOperationKind, PlatformOperationState,
    },
};
use odb_clients::{
    cloud_controller::{
        CfOperation, CfOperationKind, CfOperationState, OrganizationGuid, SpaceGuid,
    },
    http::Call,
};

use super::{EntryStream, InstanceEntry, InstanceSource, Operations, Refused, RequestContext};
use crate::engine::{InstanceRecord, OperationView};

/// Up to this many instances are read one by one by id; for more the complete list is read.
const FEW: usize = 32;

const LOOKS_AT_ONCE: usize = 8;

/// A filter: instances that match each non-empty member, by name or id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InventoryFilter {
    pub plans: BTreeSet<String>,
    pub organizations: BTreeSet<String>,
    pub spaces: BTreeSet<String>,
    pub instances: BTreeSet<String>,
}

type InventoryStream = BoxStream<'static, Result<InventoryEntry, Refused>>;

impl Operations {
    #[tracing::instrument(name = "inventory", skip_all)]
    pub async fn inventory(
        &self,
        request_context: RequestContext,
        filter: InventoryFilter,
    ) -> Result<InventoryStream, Refused> {
        let source = self.lists()?;
        if !source.has_organizations() && !filter.organizations.is_empty() {
            return Err(Refused::NoOrganizations);
        }
        let call = request_context.call();
        let plans = self.plans_named(source, &call, &filter.plans).await?;
        if let Some(few) = filter.few_instances() {
            let reported = source.few(&call, few);
            return Ok(self.one_by_one(call, chosen(reported, filter, plans)));
        }
        let organizations = source.organizations(&call, &filter.organizations).await?;
        if organizations.is_empty() && !filter.organizations.is_empty() {
            return Ok(stream::empty().boxed());
        }
        // Spaces are filtered after the listing, because their names are unique only in an organization.
        let mut records = self.engine.records(&call).await?;
        let operations = self.clone();
        let entries = source.entries_with_names(&call, &plans, organizations);
        let entries = chosen(entries, filter, plans)
            .map_ok(move |entry| {
                let record = records.take(&entry.instance);
                operations.entry(entry, record)
            })
            .map_err(Refused::from);
        Ok(entries.boxed())
    }

    fn one_by_one(&self, call: Call, reported: EntryStream) -> InventoryStream {
        let operations = self.clone();
        let entries = reported.map(move |entry| {
            let (operations, call) = (operations.clone(), call.clone());
            async move {
                let entry = entry?;
                let record = operations.engine.record(&call, &entry.instance).await?;
                Ok(operations.entry(entry, record))
            }
        });
        entries.buffered(LOOKS_AT_ONCE).boxed()
    }

    #[tracing::instrument(name = "inventory_entry", skip_all)]
    pub async fn inventory_entry(
        &self,
        request_context: RequestContext,
        instance: InstanceId,
    ) -> Result<InventoryEntry, Refused> {
        let call = request_context.call();
        let reported = async {
            match self.lists() {
                Ok(source) => source.find(&call, &instance).await,
                Err(_) => Ok(None),
            }
        };
        let (reported, record) = tokio::join!(reported, self.engine.record(&call, &instance));
        let record = record?;
        match reported? {
            Some(entry) => Ok(self.entry(entry, record)),
            None if record.deployment == DeploymentPresence::Present => {
                let plan = record.plan.clone();
                Ok(self.unlisted(instance, plan, record))
            }
            None => Err(Refused::UnknownInstance),
        }
    }

    /// The ids of the selected plans. An id that is not in the catalog may belong to a removed plan that the source
    /// still has.
    async fn plans_named(
        &self,
        source: &dyn InstanceSource,
        call: &Call,
        names: &BTreeSet<String>,
    ) -> Result<BTreeSet<PlanId>, Refused> {
        let mut ids = BTreeSet::new();
        let mut retired = None;
        for name in names {
            if let Some(plan) = self.plan_named(name) {
                ids.insert(plan.id.clone());
                continue;
            }
            let known = match &mut retired {
                Some(known) => known,
                None => retired.insert(source.plans(call).await?),
            };
            let id = PlanId::from(name.clone());
            if !known.contains(&id) {
                let available = self.offering.plans.iter();
                return Err(Refused::UnknownPlan {
                    name: name.clone(),
                    available: available.map(|plan| plan.name.clone()).collect(),
                });
            }
            ids.insert(id);
        }
        Ok(ids)
    }

    fn entry(&self, entry: InstanceEntry, record: InstanceRecord) -> InventoryEntry {
        let known = self.unlisted(entry.instance, Some(entry.plan), record);
        InventoryEntry {
            name: entry.name,
            space_guid: entry.space.map(String::from),
            space_name: entry.space_name,
            organization_guid: entry.organization.map(String::from),
            organization_name: entry.organization_name,
            platform_operation: entry.last_operation.map(platform_operation),
            ..known
        }
    }

    /// The entry of an instance that the platform does not list.
    fn unlisted(
        &self,
        instance: InstanceId,
        plan: Option<PlanId>,
        record: InstanceRecord,
    ) -> InventoryEntry {
        let InstanceRecord {
            owner,
            deployment,
            operation,
            deployed,
            recreated,
            ..
        } = record;
        let up_to_date = match (&plan, &deployed, owner) {
            (Some(plan), Some(Deployed { target, .. }), Owner::ThisBroker) => {
                let today = self.engine.release_of(plan);
                today.map(|today| today == target)
            }
            _ => None,
        };
        let offered = plan.as_ref().and_then(|plan| self.offering.plan(plan));
        InventoryEntry {
            service_instance_id: instance,
            name: None,
            plan_name: offered.map(|plan| plan.name.clone()),
            plan_id: plan,
            space_guid: None,
            space_name: None,
            organization_guid: None,
            organization_name: None,
            platform_operation: None,
            deployment,
            owner,
            operation: operation.and_then(OperationView::listed),
            deployed,
            recreated,
            up_to_date,
        }
    }
}

impl InventoryFilter {
    /// The selected instances, if they are few enough to look each up. Text that is no id matches none.
    fn few_instances(&self) -> Option<Vec<InstanceId>> {
        let is_few = (1..=FEW).contains(&self.instances.len());
        is_few.then(|| {
            let ids = self.instances.iter().cloned();
            ids.filter_map(|id| InstanceId::try_from(id).ok()).collect()
        })
    }

    /// Plans are chosen by their ids.
    fn lets_through(&self, entry: &InstanceEntry) -> bool {
        let InstanceEntry {
            instance,
            space,
            space_name,
            organization,
            organization_name,
            ..
        } = entry;
        let space = space.as_ref().map(SpaceGuid::as_str);
        let organization = organization.as_ref().map(OrganizationGuid::as_str);
        fits(&self.instances, [Some(instance.as_str()), None])
            && fits(&self.spaces, [space, space_name.as_deref()])
            && fits(
                &self.organizations,
                [organization, organization_name.as_deref()],
            )
    }
}

fn chosen(entries: EntryStream, filter: InventoryFilter, plans: BTreeSet<PlanId>) -> EntryStream {
    let fits = move |entry: &InstanceEntry| {
        let is_on_a_plan = plans.is_empty() || plans.contains(&entry.plan);
        ready(is_on_a_plan && filter.lets_through(entry))
    };
    entries.try_filter(fits).boxed()
}

fn fits(wanted: &BTreeSet<String>, there: [Option<&str>; 2]) -> bool {
    wanted.is_empty()
        || there
            .into_iter()
            .flatten()
            .any(|name| wanted.contains(name))
}

fn platform_operation(operation: CfOperation) -> PlatformOperation {
    PlatformOperation {
        kind: match operation.kind {
            CfOperationKind::Create => PlatformOperationKind::Create,
            CfOperationKind::Update => PlatformOperationKind::Update,
            CfOperationKind::Delete => PlatformOperationKind::Delete,
            CfOperationKind::Unknown(kind) => PlatformOperationKind::Other(kind),
        },
        state: match operation.state {
            CfOperationState::Initial => PlatformOperationState::Initial,
            CfOperationState::InProgress => PlatformOperationState::InProgress,
            CfOperationState::Succeeded => PlatformOperationState::Succeeded,
            CfOperationState::Failed => PlatformOperationState::Failed,
            CfOperationState::Unknown(state) => PlatformOperationState::Other(state),
        },
    }
}
