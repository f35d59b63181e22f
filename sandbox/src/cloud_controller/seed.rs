//! Instances without an order: fleets to measure and to test with.

use jiff::Timestamp;
use uuid::Uuid;

use super::{
    CloudController, Target,
    model::{
        BrokerKey, Instance, InstanceGuid, InstanceKey, LastOperation, MaintenanceInfo, Metadata,
        OperationKind, OperationState, Organization, OrganizationKey, PlanGuid, Space, SpaceGuid,
        SpaceKey, Tables,
    },
};

#[derive(Clone, Debug)]
pub struct SeededInstance {
    /// Its guid, which the broker knows as the service instance id.
    pub guid: Uuid,
    /// Its name, which is free in its space.
    pub name: String,
    pub space: String,
    pub plan: String,
    /// The version that it was made with or upgraded to. Without one it is its plan's.
    pub maintenance_version: Option<String>,
    /// The state of the last operation.
    pub state: SeededState,
    /// When it was ordered, and when the last operation on it began.
    pub created_at: Timestamp,
}

/// The last operation of a seeded instance, and its outcome.
///
/// No job works on an operation in progress: it stays so until a user deletes or purges the instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeededState {
    /// It was created and nothing since.
    Created,
    /// It could not be created, for this reason.
    CreateFailed(String),
    /// The broker is creating it; this is what it last said.
    Creating(String),
    Updated,
    /// It could not be changed, for this reason.
    UpdateFailed(String),
    /// The broker is changing it; this is what it last said.
    Updating(String),
    /// It could not be deleted, for this reason.
    DeleteFailed(String),
    /// The broker is deleting it; this is what it last said.
    Deleting(String),
}

#[derive(Clone, Debug)]
pub struct SeedablePlan {
    pub guid: String,
    pub name: String,
    pub catalog_id: String,
    pub offering: String,
    pub offering_catalog_id: String,
    pub maintenance_version: Option<String>,
}

/// Instances cannot be seeded. None of them has been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    #[error("there is no space `{0}`")]
    NoSpace(String),
    #[error("there is no service plan `{0}`")]
    NoPlan(String),
    #[error("there is a service instance `{0}` already")]
    GuidTaken(Uuid),
    #[error("the space `{space}` has a service instance `{name}` already")]
    NameTaken { space: String, name: String },
}

impl CloudController {
    /// Writes instances down as if they had been ordered. The brokers are not called.
    pub fn seed(&self, instances: Vec<SeededInstance>) -> Result<(), SeedError> {
        self.0.state.change(|tables| {
            let mut made = Vec::new();
            for wanted in instances {
                match add(tables, wanted) {
                    Ok(guid) => made.push(guid),
                    Err(error) => {
                        for guid in made {
                            tables.instances.remove(&guid);
                        }
                        return Err(error);
                    }
                }
            }
            Ok(())
        })
    }

    /// The available plans of a registered broker, by its name. There are none while there is no such broker.
    pub fn seedable_plans(&self, broker: &str) -> Vec<SeedablePlan> {
        self.0.state.read(|tables| {
            let named = tables.brokers.with(BrokerKey::Name(broker.to_owned()));
            named
                .flat_map(|broker| tables.plans_of(&broker.guid))
                .filter(|plan| plan.available)
                .filter_map(|plan| {
                    let offering = tables.offering_of(plan)?;
                    Some(SeedablePlan {
                        guid: plan.guid.to_string(),
                        name: plan.name.clone(),
                        catalog_id: plan.catalog_id.clone(),
                        offering: offering.name.clone(),
                        offering_catalog_id: offering.catalog_id.clone(),
                        maintenance_version: plan
                            .maintenance_info
                            .as_ref()
                            .map(|info| info.version.clone()),
                    })
                })
                .collect()
        })
    }

    /// The space of this name in the organization of that name. Either is made if it is not there yet.
    pub fn seed_space(&self, organization: &str, space: &str) -> Target {
        self.0.state.change(|tables| {
            let key = OrganizationKey::Name(organization.to_owned());
            let known = tables.organizations.with(key).next();
            let known = known.map(|row| row.guid.clone());
            let organization_guid = known.unwrap_or_else(|| {
                let row = Organization::new(organization.to_owned());
                let guid = row.guid.clone();
                tables.organizations.insert(guid.clone(), row);
                guid
            });
            let key = SpaceKey::Name(organization_guid.clone(), space.to_owned());
            let known = tables.spaces.with(key).next().map(|row| row.guid.clone());
            let space_guid = known.unwrap_or_else(|| {
                let row = Space::new(organization_guid.clone(), space.to_owned());
                let guid = row.guid.clone();
                tables.spaces.insert(guid.clone(), row);
                guid
            });
            Target {
                organization: (organization.to_owned(), organization_guid.to_string()),
                space: (space.to_owned(), space_guid.to_string()),
            }
        })
    }
}

fn add(tables: &mut Tables, wanted: SeededInstance) -> Result<InstanceGuid, SeedError> {
    let (space, plan) = (
        SpaceGuid::given(&wanted.space),
        PlanGuid::given(&wanted.plan),
    );
    let guid = InstanceGuid::given(&wanted.guid.to_string());
    if !tables.spaces.contains_key(&space) {
        return Err(SeedError::NoSpace(wanted.space));
    }
    let Some(row) = tables.plans.get(&plan) else {
        return Err(SeedError::NoPlan(wanted.plan));
    };
    if tables.instances.contains_key(&guid) {
        return Err(SeedError::GuidTaken(wanted.guid));
    }
    let same = InstanceKey::Name(space.clone(), wanted.name.clone());
    if tables.instances.has(same) {
        return Err(SeedError::NameTaken {
            space: wanted.space,
            name: wanted.name,
        });
    }
    let maintenance_info = match wanted.maintenance_version {
        Some(version) => Some(MaintenanceInfo {
            version,
            description: None,
        }),
        None => row.maintenance_info.clone(),
    };
    let (kind, state, description) = wanted.state.last_operation();
    let last_operation = LastOperation {
        description,
        created_at: wanted.created_at,
        updated_at: wanted.created_at,
        ..tables.operation(kind, state)
    };
    let instance = Instance {
        guid: guid.clone(),
        space,
        plan,
        name: wanted.name,
        tags: Vec::new(),
        maintenance_info,
        dashboard_url: None,
        shared_spaces: [].into(),
        metadata: Metadata::default(),
        broker_metadata: None,
        last_operation,
        created_at: wanted.created_at,
        updated_at: wanted.created_at,
    };
    tables.instances.insert(guid.clone(), instance);
    Ok(guid)
}

impl SeededState {
    fn last_operation(self) -> (OperationKind, OperationState, Option<String>) {
        use OperationKind::{Create, Delete, Update};
        use OperationState::{Failed, InProgress, Succeeded};
        match self {
            Self::Created => (Create, Succeeded, None),
            Self::CreateFailed(reason) => (Create, Failed, Some(reason)),
            Self::Creating(said) => (Create, InProgress, Some(said)),
            Self::Updated => (Update, Succeeded, None),
            Self::UpdateFailed(reason) => (Update, Failed, Some(reason)),
            Self::Updating(said) => (Update, InProgress, Some(said)),
            Self::DeleteFailed(reason) => (Delete, Failed, Some(reason)),
            Self::Deleting(said) => (Delete, InProgress, Some(said)),
        }
    }
}
