//! Registering, changing and deleting brokers: reading the catalog and taking it over
//! (`spec/contracts/platform-apis.md`, "Service brokers").

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::cloud_controller::{
    CloudController,
    broker_client::{BrokerFailure, Catalog, CatalogPlan, CatalogService, Identity},
    model::{
        Broker, BrokerGuid, BrokerState, JobGuid, JobState, Offering, OfferingGuid, Plan, PlanGuid,
        Tables, Visibility,
    },
    refusal::{Fault, Refusal},
};

impl CloudController {
    /// Reads the catalog of a broker and takes it over. When that fails the broker becomes what `before` was, or stays
    /// as a record that can be corrected.
    pub(crate) fn synchronize(
        &self,
        guid: BrokerGuid,
        before: Option<Broker>,
        job: JobGuid,
        identity: Identity,
    ) {
        let controller = self.clone();
        self.start(async move {
            let Some(address) = controller
                .0
                .state
                .read(|tables| Some(tables.brokers.get(&guid)?.address.clone()))
            else {
                return;
            };
            let read = controller
                .0
                .broker_client
                .catalog(&address, &identity)
                .await;
            controller.0.state.change(|tables| {
                let taken = read
                    .map_err(|failure| refusal(&failure))
                    .and_then(|catalog| take(tables, &guid, catalog));
                let state = match &taken {
                    Ok(_) => BrokerState::Available,
                    Err(_) => BrokerState::SynchronizationFailed,
                };
                end(tables, &guid, before, state);
                let Some(job) = tables.jobs.get_mut(&job) else {
                    return;
                };
                match taken {
                    Ok(warnings) => {
                        job.warnings = warnings;
                        job.becomes(JobState::Complete);
                    }
                    Err(refusal) => job.fails(refusal.entry()),
                }
            });
        });
    }

    /// Forgets a broker with its offerings and plans.
    pub(crate) fn delete_broker(&self, guid: BrokerGuid, job: JobGuid) {
        let controller = self.clone();
        self.start(async move {
            controller.0.state.change(|tables| {
                tables.forget_broker(&guid);
                if let Some(job) = tables.jobs.get_mut(&job) {
                    job.becomes(JobState::Complete);
                }
            });
        });
    }
}

fn end(tables: &mut Tables, guid: &BrokerGuid, before: Option<Broker>, state: BrokerState) {
    let Some(broker) = tables.brokers.get_mut(guid) else {
        return;
    };
    match (state, before) {
        (BrokerState::SynchronizationFailed, Some(before)) => *broker = before,
        _ => broker.state = state,
    }
    broker.updated_at = Timestamp::now();
}

fn refusal(failure: &BrokerFailure) -> Refusal {
    let fault = match failure {
        BrokerFailure::InvalidCatalog { .. } => Fault::CatalogInvalid,
        _ => Fault::BrokerFailed,
    };
    fault.with(failure.to_string())
}

/// Takes a catalog over. Returns what the operator should be warned of.
fn take(
    tables: &mut Tables,
    broker: &BrokerGuid,
    catalog: Catalog,
) -> Result<Vec<String>, Refusal> {
    refuse_renamed_ids(tables, broker, &catalog)?;
    let (mut offerings, mut plans) = (BTreeSet::new(), BTreeSet::new());
    for mut service in catalog.services {
        let catalog_plans = std::mem::take(&mut service.plans);
        let offering = take_offering(tables, broker, service);
        for plan in catalog_plans {
            plans.insert(take_plan(tables, &offering, plan));
        }
        offerings.insert(offering);
    }
    Ok(retire(tables, broker, &offerings, &plans))
}

/// A name that an offering of this broker has cannot go to another id while that offering is there.
fn refuse_renamed_ids(
    tables: &Tables,
    broker: &BrokerGuid,
    catalog: &Catalog,
) -> Result<(), Refusal> {
    let of_broker = |offering: &&Offering| offering.broker == *broker;
    for service in &catalog.services {
        let taken = tables
            .offerings
            .values()
            .filter(of_broker)
            .any(|offering| offering.name == service.name && offering.catalog_id != service.id);
        if taken {
            let detail = format!(
                "Service broker catalog is incompatible: \nService names must be unique within a broker. Services with \
                 names [\"{}\"] already exist",
                service.name
            );
            return Err(Fault::CatalogInvalid.with(detail));
        }
    }
    Ok(())
}

fn take_offering(
    tables: &mut Tables,
    broker: &BrokerGuid,
    service: CatalogService,
) -> OfferingGuid {
    let known = tables
        .offerings
        .values()
        .find(|offering| offering.broker == *broker && offering.catalog_id == service.id)
        .map(|offering| (offering.guid.clone(), offering.created_at));
    let now = Timestamp::now();
    let (guid, created_at) = known.unwrap_or_else(|| (OfferingGuid::random(), now));
    let offering = Offering {
        guid: guid.clone(),
        broker: broker.clone(),
        catalog_id: service.id,
        name: service.name,
        description: service.description,
        available: true,
        features: service.features,
        tags: service.tags,
        requires: service.requires,
        metadata: service.metadata,
        created_at,
        updated_at: now,
    };
    tables.offerings.insert(guid.clone(), offering);
    guid
}

fn take_plan(tables: &mut Tables, offering: &OfferingGuid, plan: CatalogPlan) -> PlanGuid {
    let known = tables
        .plans
        .values()
        .find(|known| known.offering == *offering && known.catalog_id == plan.id)
        .map(|known| {
            (
                known.guid.clone(),
                known.created_at,
                known.visibility.clone(),
            )
        });
    let now = Timestamp::now();
    // A new plan is seen by admins only, until access is given.
    let (guid, created_at, visibility) =
        known.unwrap_or_else(|| (PlanGuid::random(), now, Visibility::Admin));
    let plan = Plan {
        guid: guid.clone(),
        offering: offering.clone(),
        catalog_id: plan.id,
        name: plan.name,
        description: plan.description,
        visibility,
        available: true,
        free: plan.free,
        bindable: plan.bindable,
        updateable: plan.updateable,
        maximum_polling_duration: plan.maximum_polling_duration,
        maintenance_info: plan.maintenance_info,
        schemas: plan.schemas,
        metadata: plan.metadata,
        created_at,
        updated_at: now,
    };
    tables.plans.insert(guid.clone(), plan);
    guid
}

/// What the catalog no longer has goes; what still has instances stays, unavailable.
fn retire(
    tables: &mut Tables,
    broker: &BrokerGuid,
    offerings: &BTreeSet<OfferingGuid>,
    plans: &BTreeSet<PlanGuid>,
) -> Vec<String> {
    let missing: Vec<_> = tables
        .plans_of(broker)
        .filter(|plan| !plans.contains(&plan.guid))
        .map(|plan| plan.guid.clone())
        .collect();
    let mut kept = Vec::new();
    for guid in missing {
        if !tables.has_instances(&guid) {
            tables.plans.remove(&guid);
        } else if let Some(plan) = tables.plans.get_mut(&guid) {
            plan.available = false;
            kept.push(plan.name.clone());
        }
    }
    let used: BTreeSet<_> = tables
        .plans
        .values()
        .map(|plan| plan.offering.clone())
        .collect();
    tables.offerings.retain(|guid, offering| {
        if offering.broker != *broker || offerings.contains(guid) {
            return true;
        }
        offering.available = false;
        used.contains(guid)
    });
    if kept.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "Warning: Service plans are missing from the broker's catalog but can not be removed from Cloud Foundry while \
         instances exist. The plans have been deactivated to prevent users from attempting to provision new instances \
         of these plans. The broker should continue to support bind, unbind, and delete for existing instances; if \
         these operations fail contact your broker provider.\nPlans: {}",
        kept.join(", ")
    )]
}
