//! The complete state of a Cloud Controller, behind one lock with one owner.
//!
//! The outcome of operations whose job was lost.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use super::{
    App, AppGuid, Binding, BindingGuid, BindingKey, Broker, BrokerGuid, BrokerState, Feature,
    Indexed, Instance, InstanceGuid, InstanceKey, Job, JobGuid, JobOperation, JobResource,
    JobState, LastOperation, Offering, OfferingGuid, OfferingKey, OperationKind, OperationState,
    Organization, OrganizationGuid, Plan, PlanGuid, PlanKey, Role, RoleGuid, Route, RouteGuid,
    Space, SpaceGuid, User, UserName,
};
use crate::{
    cloud_controller::rejection::ErrorKind,
    store::{Rows, Store, StoreError},
};

/// How long a job can be read (`jobs.pollable_cleanup.cutoff_age_in_days`).
const JOB_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);

/// The owner of the tables. Every read and every change is one atomic step.
pub(crate) struct State {
    tables: Mutex<Tables>,
    store: Store,
}

/// The tables. Rows point at each other by guid.
pub(crate) struct Tables {
    pub(crate) organizations: Indexed<OrganizationGuid, Organization>,
    pub(crate) spaces: Indexed<SpaceGuid, Space>,
    pub(crate) users: Rows<UserName, User>,
    pub(crate) roles: Indexed<RoleGuid, Role>,
    pub(crate) apps: Indexed<AppGuid, App>,
    pub(crate) routes: Indexed<RouteGuid, Route>,
    pub(crate) brokers: Indexed<BrokerGuid, Broker>,
    pub(crate) offerings: Indexed<OfferingGuid, Offering>,
    pub(crate) plans: Indexed<PlanGuid, Plan>,
    pub(crate) instances: Indexed<InstanceGuid, Instance>,
    pub(crate) bindings: Indexed<BindingGuid, Binding>,
    pub(crate) jobs: Indexed<JobGuid, Job>,
    /// Feature flags that differ from their default.
    pub(crate) feature_flags: Rows<String, bool>,
    operations: Rows<(), u64>,
}

impl State {
    /// The state as it was saved last.
    pub(crate) fn open(store: &Store) -> Result<Self, StoreError> {
        Ok(Self {
            tables: Mutex::new(Tables::open(store)?),
            store: store.clone(),
        })
    }

    /// Looks at the tables. `look` must not block.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Tables) -> T) -> T {
        look(&self.tables.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the tables and has the change saved as one. `change` must not block.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Tables) -> T) -> T {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut tables);
        self.store.together(|| tables.save());
        changed
    }
}

impl Tables {
    fn open(store: &Store) -> Result<Self, StoreError> {
        Ok(Self {
            organizations: Indexed::open(store, "cloud_controller.organizations")?,
            spaces: Indexed::open(store, "cloud_controller.spaces")?,
            users: Rows::open(store, "cloud_controller.users")?,
            roles: Indexed::open(store, "cloud_controller.roles")?,
            apps: Indexed::open(store, "cloud_controller.apps")?,
            routes: Indexed::open(store, "cloud_controller.routes")?,
            brokers: Indexed::open(store, "cloud_controller.service_brokers")?,
            offerings: Indexed::open(store, "cloud_controller.service_offerings")?,
            plans: Indexed::open(store, "cloud_controller.service_plans")?,
            instances: Indexed::open(store, "cloud_controller.service_instances")?,
            bindings: Indexed::open(store, "cloud_controller.service_bindings")?,
            jobs: Indexed::open(store, "cloud_controller.jobs")?,
            feature_flags: Rows::open(store, "cloud_controller.feature_flags")?,
            operations: Rows::open(store, "cloud_controller.operations")?,
        })
    }

    fn save(&mut self) {
        self.organizations.save();
        self.spaces.save();
        self.users.save();
        self.roles.save();
        self.apps.save();
        self.routes.save();
        self.brokers.save();
        self.offerings.save();
        self.plans.save();
        self.instances.save();
        self.bindings.save();
        self.jobs.save();
        self.feature_flags.save();
        self.operations.save();
    }

    /// A last operation that begins now.
    pub(crate) fn operation(
        &mut self,
        kind: OperationKind,
        state: OperationState,
    ) -> LastOperation {
        let count = self.operations.get_or_insert_with((), || 0);
        *count += 1;
        LastOperation::new(*count, kind, state)
    }

    /// Writes a new job down, and forgets those that are too old to be asked for.
    pub(crate) fn add_job(&mut self, job: Job) -> JobGuid {
        let limit = Timestamp::now().saturating_sub(JOB_LIFE);
        for old in limit
            .map(|limit| self.jobs.up_to(&limit))
            .unwrap_or_default()
        {
            self.jobs.remove(&old);
        }
        let guid = job.guid.clone();
        self.jobs.insert(guid.clone(), job);
        guid
    }

    /// The last operation of an instance or a binding. Nothing else has one.
    pub(crate) fn last_operation_mut(
        &mut self,
        resource: &JobResource,
    ) -> Option<&mut LastOperation> {
        match resource {
            JobResource::Instance(guid) => Some(&mut self.instances.get_mut(guid)?.last_operation),
            JobResource::Binding(guid) => Some(&mut self.bindings.get_mut(guid)?.last_operation),
            JobResource::Broker(_) | JobResource::Gone => None,
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

    /// The bindings, keys and route bindings of an instance.
    pub(crate) fn bindings_of(&self, instance: &InstanceGuid) -> impl Iterator<Item = &Binding> {
        self.bindings.with(BindingKey::Instance(instance.clone()))
    }

    pub(crate) fn plans_of_offering(&self, offering: &OfferingGuid) -> impl Iterator<Item = &Plan> {
        self.plans.with(PlanKey::Offering(offering.clone()))
    }

    pub(crate) fn plans_of(&self, broker: &BrokerGuid) -> impl Iterator<Item = &Plan> {
        self.offerings
            .with(OfferingKey::Broker(broker.clone()))
            .flat_map(|offering| self.plans_of_offering(&offering.guid))
    }

    pub(crate) fn instances_of(&self, plan: &PlanGuid) -> impl Iterator<Item = &Instance> {
        self.instances.with(InstanceKey::Plan(plan.clone()))
    }

    pub(crate) fn has_instances(&self, plan: &PlanGuid) -> bool {
        self.instances_of(plan).next().is_some()
    }

    /// The space in which a binding is seen: that of its app, or else that of its instance.
    pub(crate) fn space_of<'a>(&'a self, binding: &'a Binding) -> Option<&'a SpaceGuid> {
        match &binding.kind {
            super::BindingKind::App(app) => self.apps.get(app).map(|app| &app.space),
            super::BindingKind::Key | super::BindingKind::Route(_) => {
                let instance = self.instances.get(&binding.instance);
                instance.map(|instance| &instance.space)
            }
        }
    }

    pub(crate) fn bound_apps<'a>(
        &'a self,
        instance: &'a InstanceGuid,
        space: &'a SpaceGuid,
    ) -> impl Iterator<Item = &'a Binding> {
        self.bindings_of(instance)
            .filter(|binding| matches!(binding.kind, super::BindingKind::App(_)))
            .filter(move |binding| self.space_of(binding) == Some(space))
    }

    pub(crate) fn broker_has_instances(&self, broker: &BrokerGuid) -> bool {
        self.plans_of(broker)
            .any(|plan| self.has_instances(&plan.guid))
    }

    pub(crate) fn add_role(&mut self, role: Role) -> RoleGuid {
        let guid = role.guid.clone();
        self.roles.insert(guid.clone(), role);
        guid
    }

    pub(crate) fn forget_broker(&mut self, broker: &BrokerGuid) {
        for offering in self
            .offerings
            .guids_with(&OfferingKey::Broker(broker.clone()))
        {
            self.forget_offering(&offering);
        }
        self.brokers.remove(broker);
    }

    pub(crate) fn forget_offering(&mut self, offering: &OfferingGuid) {
        for plan in self.plans.guids_with(&PlanKey::Offering(offering.clone())) {
            for instance in self.instances.guids_with(&InstanceKey::Plan(plan.clone())) {
                self.forget_instance(&instance);
            }
            self.plans.remove(&plan);
        }
        self.offerings.remove(offering);
    }

    /// Removes an instance with its bindings.
    pub(crate) fn forget_instance(&mut self, instance: &InstanceGuid) {
        self.bindings
            .remove_with(&BindingKey::Instance(instance.clone()));
        self.instances.remove(instance);
    }
}

impl Tables {
    /// Fails the jobs that were at work when the Cloud Controller stopped, and the operations that they stood for, so
    /// that they can be ordered again. The clean-up jobs of a real one do the same when a worker has died
    /// (`spec/contracts/osb-api.md`, "What CF does with answers"); nothing is mitigated, for the broker may still be
    /// at it.
    pub(crate) fn end_lost_work(&mut self) {
        let lost: Vec<JobGuid> = self
            .jobs
            .values()
            .filter(|job| matches!(job.state, JobState::Processing | JobState::Polling))
            .map(|job| job.guid.clone())
            .collect();
        for guid in lost {
            let Some(job) = self.jobs.get_mut(&guid) else {
                continue;
            };
            let error = ErrorKind::JobTimeout.with("The job execution has timed out.");
            job.fails(error.entry());
            let (resource, operation) = (job.resource.clone(), job.operation);
            if let JobResource::Broker(broker) = &resource {
                if let Some(row) = self.brokers.get_mut(broker) {
                    row.state = match operation {
                        JobOperation::DeleteBroker => BrokerState::Available,
                        _ => BrokerState::SynchronizationFailed,
                    };
                }
                continue;
            }
            let of_binding = matches!(resource, JobResource::Binding(_));
            if let Some(last) = self.last_operation_mut(&resource)
                && last.is_running()
            {
                let verb = match (last.kind, of_binding) {
                    (OperationKind::Create, false) => "provision",
                    (OperationKind::Update, _) => "update",
                    (OperationKind::Delete, false) => "deprovision",
                    (OperationKind::Create, true) => "bind",
                    (OperationKind::Delete, true) => "unbind",
                };
                let said = format!("Service Broker failed to {verb} within the required time.");
                last.becomes(OperationState::Failed, Some(said));
            }
        }
    }
}
