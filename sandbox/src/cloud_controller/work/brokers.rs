//! Registering, changing and deleting brokers: reading the catalog and taking it over
//! (`spec/contracts/platform-apis.md`, "Service brokers").

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::cloud_controller::{
    CloudController,
    broker_client::{
        Catalog, CatalogFailure, CatalogPlan, CatalogService, Identity, RegisteredService,
    },
    model::{
        Broker, BrokerGuid, BrokerState, InstanceKey, JobGuid, JobState, Metadata, Offering,
        OfferingGuid, OfferingKey, Plan, PlanGuid, PlanKey, Tables, Visibility,
    },
    rejection::{ErrorKind, Rejection},
};

/// The warnings for the operator, or why the catalog was rejected.
pub(crate) type Synchronized = Result<Vec<String>, Rejection>;

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
            let taken = controller.take_catalog(&guid, &identity).await;
            controller.0.state.change(|tables| {
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
                    Err(rejection) => job.fails(rejection.entry()),
                }
            });
        });
    }

    /// The same without a job, for a request that waits. When it fails, the broker becomes what `before` was, or is
    /// forgotten. `None` if the Cloud Controller stops.
    pub(crate) async fn synchronize_and_wait(
        &self,
        guid: BrokerGuid,
        before: Option<Broker>,
        identity: Identity,
    ) -> Option<Synchronized> {
        let (reported, taken) = oneshot::channel();
        let controller = self.clone();
        self.start(async move {
            let taken = controller.take_catalog(&guid, &identity).await;
            controller
                .0
                .state
                .change(|tables| match (&taken, before.is_some()) {
                    (Ok(_), _) => end(tables, &guid, before, BrokerState::Available),
                    (Err(_), true) => {
                        end(tables, &guid, before, BrokerState::SynchronizationFailed);
                    }
                    (Err(_), false) => tables.forget_broker(&guid),
                });
            // The caller may have disconnected.
            let _ = reported.send(taken);
        });
        taken.await.ok()
    }

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

    async fn take_catalog(&self, guid: &BrokerGuid, identity: &Identity) -> Synchronized {
        let address = self
            .0
            .state
            .read(|tables| Some(tables.brokers.get(guid)?.address.clone()));
        let Some(address) = address else {
            return Err(Rejection::no_such("Service broker"));
        };
        let read = self.0.broker_client.catalog(&address, identity).await;
        let catalog = read.map_err(|failure| rejection(&failure))?;
        self.0
            .state
            .change(|tables| take(tables, guid, &address.url, &catalog))
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

fn rejection(failure: &CatalogFailure) -> Rejection {
    let kind = match failure {
        CatalogFailure::Rejected { .. } => ErrorKind::BrokerRequestRejected,
        CatalogFailure::Malformed => ErrorKind::BrokerRequestMalformed,
        CatalogFailure::Broker(_) => ErrorKind::BrokerFailed,
    };
    kind.with(failure.to_string())
}

/// Takes a catalog over. Returns what the operator should be warned of.
fn take(
    tables: &mut Tables,
    broker: &BrokerGuid,
    url: &str,
    catalog: &Map<String, Value>,
) -> Synchronized {
    let registered = registered(tables, broker);
    let name = tables
        .brokers
        .get(broker)
        .map_or("", |broker| broker.name.as_str());
    let catalog = Catalog::checked(catalog, name, &registered).map_err(|errors| {
        ErrorKind::CatalogInvalid.with(format!("Service broker catalog is invalid: \n{errors}"))
    })?;
    refuse_taken_plan_names(tables, broker, &catalog)?;
    let (mut offerings, mut plans) = (BTreeSet::new(), BTreeSet::new());
    for mut service in catalog.services {
        if let Some(client) = service.dashboard_client.take() {
            tracing::info!(
                service.id = service.id,
                client,
                "a dashboard client is wanted; none is made"
            );
        }
        let catalog_plans = std::mem::take(&mut service.plans);
        let offering = take_offering(tables, broker, service);
        for plan in catalog_plans {
            plans.insert(take_plan(tables, &offering, plan));
        }
        offerings.insert(offering);
    }
    Ok(retire(tables, broker, url, &offerings, &plans))
}

/// The services and plans of the broker's earlier catalogs.
fn registered(tables: &Tables, broker: &BrokerGuid) -> Vec<RegisteredService> {
    let offerings = tables.offerings.with(OfferingKey::Broker(broker.clone()));
    offerings
        .map(|offering| RegisteredService {
            id: offering.catalog_id.clone(),
            name: offering.name.clone(),
            in_use: tables
                .plans_of_offering(&offering.guid)
                .any(|plan| tables.has_instances(&plan.guid)),
            plans: tables
                .plans_of_offering(&offering.guid)
                .map(|plan| (plan.catalog_id.clone(), plan.name.clone()))
                .collect(),
        })
        .collect()
}

/// A plan cannot get the name of one that stays because it has instances.
fn refuse_taken_plan_names(
    tables: &Tables,
    broker: &BrokerGuid,
    catalog: &Catalog,
) -> Result<(), Rejection> {
    for service in &catalog.services {
        let known = known_offering(tables, broker, &service.id);
        let there = known
            .into_iter()
            .flat_map(|offering| tables.plans_of_offering(&offering.guid));
        for plan in there.filter(|plan| tables.has_instances(&plan.guid)) {
            let stays = service.plans.iter().all(|new| new.id != plan.catalog_id);
            if stays && service.plans.iter().any(|new| new.name == plan.name) {
                let detail = format!(
                    "Encountered an error while attempting to sync cloud controller with the service broker's \
                     catalog: Plan names must be unique within a service. Service {} already has a plan named {}",
                    service.name, plan.name
                );
                return Err(ErrorKind::BrokerSyncFailed.with(detail));
            }
        }
    }
    Ok(())
}

fn known_offering<'a>(
    tables: &'a Tables,
    broker: &BrokerGuid,
    catalog_id: &str,
) -> Option<&'a Offering> {
    tables
        .offerings
        .with(OfferingKey::Broker(broker.clone()))
        .find(|offering| offering.catalog_id == catalog_id)
}

fn take_offering(
    tables: &mut Tables,
    broker: &BrokerGuid,
    service: CatalogService,
) -> OfferingGuid {
    let known = known_offering(tables, broker, &service.id).map(|offering| {
        (
            offering.guid.clone(),
            offering.created_at,
            offering.metadata.clone(),
        )
    });
    let now = Timestamp::now();
    let (guid, created_at, metadata) =
        known.unwrap_or_else(|| (OfferingGuid::random(), now, Metadata::default()));
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
        catalog_metadata: service.metadata,
        metadata,
        created_at,
        updated_at: now,
    };
    tables.offerings.insert(guid.clone(), offering);
    guid
}

fn take_plan(tables: &mut Tables, offering: &OfferingGuid, plan: CatalogPlan) -> PlanGuid {
    let known = tables
        .plans
        .with(PlanKey::Offering(offering.clone()))
        .find(|known| known.catalog_id == plan.id)
        .map(|known| {
            (
                known.guid.clone(),
                known.created_at,
                known.visibility.clone(),
                known.metadata.clone(),
            )
        });
    let now = Timestamp::now();
    // A new plan is seen by admins only, until access is given.
    let (guid, created_at, visibility, metadata) = known.unwrap_or_else(|| {
        (
            PlanGuid::random(),
            now,
            Visibility::Admin,
            Metadata::default(),
        )
    });
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
        catalog_metadata: plan.metadata,
        metadata,
        created_at,
        updated_at: now,
    };
    tables.plans.insert(guid.clone(), plan);
    guid
}

/// Deletes what the catalog no longer has; services and plans with instances stay, unavailable.
fn retire(
    tables: &mut Tables,
    broker: &BrokerGuid,
    url: &str,
    offerings: &BTreeSet<OfferingGuid>,
    plans: &BTreeSet<PlanGuid>,
) -> Vec<String> {
    let missing: Vec<_> = tables
        .plans_of(broker)
        .filter(|plan| !plans.contains(&plan.guid))
        .map(|plan| plan.guid.clone())
        .collect();
    let mut kept: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for guid in missing {
        if !tables.instances.has(InstanceKey::Plan(guid.clone())) {
            tables.plans.remove(&guid);
            continue;
        }
        let Some(plan) = tables.plans.get_mut(&guid) else {
            continue;
        };
        plan.available = false;
        let (offering, plan) = (plan.offering.clone(), plan.name.clone());
        let service = tables.offerings.get(&offering);
        kept.entry(service.map_or_else(String::new, |service| service.name.clone()))
            .or_default()
            .insert(plan);
    }
    let left: Vec<_> = tables
        .offerings
        .with(OfferingKey::Broker(broker.clone()))
        .filter(|offering| !offerings.contains(&offering.guid))
        .map(|offering| offering.guid.clone())
        .collect();
    for guid in left {
        if tables.plans.has(PlanKey::Offering(guid.clone())) {
            if let Some(offering) = tables.offerings.get_mut(&guid) {
                offering.available = false;
            }
        } else {
            tables.offerings.remove(&guid);
        }
    }
    if kept.is_empty() {
        return Vec::new();
    }
    let lines = kept.into_iter().map(|(service, plans)| {
        let plans: Vec<_> = plans.iter().map(|plan| format!("  {plan}\n")).collect();
        format!("{service}\n{}", plans.concat())
    });
    let lines: Vec<_> = lines.collect();
    vec![format!(
        "Warning: Service plans are missing from the broker's catalog ({url}/v2/catalog) but can not be removed from \
         Cloud Foundry while instances exist. The plans have been deactivated to prevent users from attempting to \
         provision new instances of these plans. The broker should continue to support bind, unbind, and delete for \
         existing instances; if these operations fail contact your broker provider.\n{}",
        lines.concat()
    )]
}
