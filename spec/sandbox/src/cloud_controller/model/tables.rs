//! All that a Cloud Controller remembers, behind one lock with one owner.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::{
    App, AppGuid, Binding, BindingGuid, Broker, BrokerGuid, Feature, Instance, InstanceGuid, Job,
    JobGuid, JobResource, LastOperation, Offering, OfferingGuid, OperationKind, OperationState,
    Organization, OrganizationGuid, Plan, PlanGuid, Space, SpaceGuid,
};

/// The owner of the tables. Every question and every change is one step that nobody else gets in between.
#[derive(Default)]
pub(crate) struct State(Mutex<Tables>);

/// The tables. Rows point at each other by guid.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) organizations: BTreeMap<OrganizationGuid, Organization>,
    pub(crate) spaces: BTreeMap<SpaceGuid, Space>,
    pub(crate) apps: BTreeMap<AppGuid, App>,
    pub(crate) brokers: BTreeMap<BrokerGuid, Broker>,
    pub(crate) offerings: BTreeMap<OfferingGuid, Offering>,
    pub(crate) plans: BTreeMap<PlanGuid, Plan>,
    pub(crate) instances: BTreeMap<InstanceGuid, Instance>,
    pub(crate) bindings: BTreeMap<BindingGuid, Binding>,
    pub(crate) jobs: BTreeMap<JobGuid, Job>,
    operations: u64,
}

impl State {
    /// Looks at the tables. `look` must not block.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Tables) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the tables. `change` must not block.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Tables) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Tables {
    /// A last operation that begins now.
    pub(crate) fn operation(
        &mut self,
        kind: OperationKind,
        state: OperationState,
    ) -> LastOperation {
        self.operations += 1;
        LastOperation::new(self.operations, kind, state)
    }

    /// Writes a new job down.
    pub(crate) fn add_job(&mut self, job: Job) -> JobGuid {
        let guid = job.guid.clone();
        self.jobs.insert(guid.clone(), job);
        guid
    }

    /// The last operation of an instance or a binding. Brokers have none.
    pub(crate) fn last_operation_mut(
        &mut self,
        resource: &JobResource,
    ) -> Option<&mut LastOperation> {
        match resource {
            JobResource::Instance(guid) => Some(&mut self.instances.get_mut(guid)?.last_operation),
            JobResource::Binding(guid) => Some(&mut self.bindings.get_mut(guid)?.last_operation),
            JobResource::Broker(_) => None,
        }
    }

    pub(crate) fn plan_of(&self, instance: &Instance) -> Option<&Plan> {
        self.plans.get(&instance.plan)
    }

    pub(crate) fn offering_of(&self, plan: &Plan) -> Option<&Offering> {
        self.offerings.get(&plan.offering)
    }

    /// Whether instances of a plan can be bound: the plan's say goes before the offering's.
    pub(crate) fn is_bindable(&self, plan: &Plan) -> bool {
        plan.bindable
            .unwrap_or_else(|| self.offering_has(plan, Feature::Bindable))
    }

    /// Whether instances may leave a plan for another: the plan's say goes before the offering's.
    pub(crate) fn is_updateable(&self, plan: &Plan) -> bool {
        plan.updateable
            .unwrap_or_else(|| self.offering_has(plan, Feature::PlanUpdateable))
    }

    /// Whether the offering of a plan can do something.
    pub(crate) fn offering_has(&self, plan: &Plan, feature: Feature) -> bool {
        self.offering_of(plan)
            .is_some_and(|offering| offering.has(feature))
    }

    pub(crate) fn broker_of(&self, plan: &Plan) -> Option<&Broker> {
        self.brokers.get(&self.offering_of(plan)?.broker)
    }

    pub(crate) fn organization_of(&self, space: &SpaceGuid) -> Option<&Organization> {
        self.organizations
            .get(&self.spaces.get(space)?.organization)
    }

    /// The bindings and keys of an instance.
    pub(crate) fn bindings_of<'a>(
        &'a self,
        instance: &'a InstanceGuid,
    ) -> impl Iterator<Item = &'a Binding> {
        self.bindings
            .values()
            .filter(move |binding| binding.instance == *instance)
    }

    /// The plans of a broker.
    pub(crate) fn plans_of<'a>(&'a self, broker: &'a BrokerGuid) -> impl Iterator<Item = &'a Plan> {
        self.plans.values().filter(move |plan| {
            self.offering_of(plan)
                .is_some_and(|offering| offering.broker == *broker)
        })
    }

    pub(crate) fn has_instances(&self, plan: &PlanGuid) -> bool {
        self.instances
            .values()
            .any(|instance| instance.plan == *plan)
    }

    /// Removes a broker with its offerings and plans.
    pub(crate) fn forget_broker(&mut self, broker: &BrokerGuid) {
        let plans: Vec<_> = self
            .plans_of(broker)
            .map(|plan| plan.guid.clone())
            .collect();
        for plan in plans {
            self.plans.remove(&plan);
        }
        self.offerings
            .retain(|_, offering| offering.broker != *broker);
        self.brokers.remove(broker);
    }

    /// Removes an instance with its bindings.
    pub(crate) fn forget_instance(&mut self, instance: &InstanceGuid) {
        self.bindings
            .retain(|_, binding| binding.instance != *instance);
        self.instances.remove(instance);
    }
}
