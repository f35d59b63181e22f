//! Creating, changing and deleting service instances (`spec/contracts/platform-apis.md`, "Service instances").

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Response,
    call::Call,
    instance_rules::{
        checked_tags, effective, free_name, must_be_usable, needs_broker, orderable_space,
        ordered_plan,
    },
    message::{Relation, checked_name},
    no_content,
    service_instances::missing,
    service_offerings::purges,
};
use crate::cloud_controller::{
    model::{
        Broker, Instance, InstanceGuid, JobOperation, JobResource, Metadata, MetadataChange,
        OperationKind, OperationState, PlanGuid, Tables,
    },
    rejection::{ErrorKind, Rejection},
    settings::InstanceRow,
    work::{Change, NewInstance, Operation},
};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Managed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    #[serde(rename = "type")]
    _kind: Kind,
    name: String,
    #[serde(default)]
    tags: Vec<String>,
    parameters: Option<Map<String, Value>>,
    relationships: Relationships,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Relationships {
    space: Relation,
    service_plan: Relation,
}

pub(super) async fn create(call: Call) -> Response {
    let wanted: Create = call.message()?;
    let metadata = wanted.metadata;
    let name = checked_name(&wanted.name)?;
    let tags = checked_tags(wanted.tags)?;
    let relationships = wanted.relationships;
    let (operation, new, orphan) = call.change(|tables| {
            let view = call.view(tables);
            let space = orderable_space(&view, &relationships.space.data.guid)?;
            let plan = ordered_plan(&view, &relationships.service_plan.data.guid)?;
            must_be_usable(tables, plan, &space)?;
            if tables.broker_of(plan).is_none_or(Broker::is_busy) {
                return Err(Rejection::unprocessable(
                    "The service instance cannot be created because there is an operation in progress for the \
                     service broker.",
                ));
            }
            let (plan, maintenance_info) = (plan.guid.clone(), plan.maintenance_info.clone());
            let orphan = free_name(tables, &space, &name)?;
            let last_operation = tables.operation(OperationKind::Create, OperationState::Initial);
            let now = Timestamp::now();
            let instance = Instance {
                guid: InstanceGuid::random(),
                space,
                plan,
                name,
                tags,
                maintenance_info,
                dashboard_url: None,
                shared_spaces: [].into(),
                metadata: Metadata::from(&metadata),
                broker_metadata: None,
                last_operation: last_operation.clone(),
                created_at: now,
                updated_at: now,
            };
            let resource = JobResource::Instance(instance.guid.clone());
            let new = match call.controller.behaviour().instance_row {
                InstanceRow::BeforeCall => {
                    let guid = instance.guid.clone();
                    tables.instances.insert(guid.clone(), instance);
                    NewInstance::Stored(guid)
                }
                InstanceRow::AfterCall => NewInstance::StoredWhenAnswered(Box::new(instance)),
            };
            let job = JobOperation::CreateInstance;
            Ok((call.begun(tables, job, resource, &last_operation), new, orphan))
        })?;
    if let Some(orphan) = orphan {
        call.controller
            .mitigate(orphan, call.caller.identity.request.clone());
    }
    let answer = call.accepted(&operation.job);
    operation.provision(new, wanted.parameters);
    Ok(answer)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    name: Option<String>,
    tags: Option<Vec<String>>,
    parameters: Option<Map<String, Value>>,
    #[serde(default)]
    relationships: UpdateRelationships,
    maintenance_info: Option<Version>,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateRelationships {
    service_plan: Option<Relation>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

impl Update {
    /// Whether the broker, and operations in progress, have nothing to do with it.
    fn is_metadata_only(&self) -> bool {
        self.name.is_none()
            && self.tags.is_none()
            && self.parameters.is_none()
            && self.relationships.service_plan.is_none()
            && self.maintenance_info.is_none()
    }

    fn change(self) -> Result<Change, Rejection> {
        Ok(Change {
            name: self.name.as_deref().map(checked_name).transpose()?,
            tags: self.tags.map(checked_tags).transpose()?,
            parameters: self.parameters,
            plan: self
                .relationships
                .service_plan
                .map(|relation| PlanGuid::given(&relation.data.guid)),
            maintenance_version: self.maintenance_info.map(|info| info.version),
            metadata: self.metadata,
        })
    }
}

pub(super) async fn update(call: Call) -> Response {
    let begun = call.change(|tables| {
        let view = call.view(tables);
        let instance = view.visible::<Instance>(call.guid())?;
        view.permissions.must_write(tables, &instance.space)?;
        let instance = instance.clone();
        let wanted: Update = call.message()?;
        let is_metadata_only = wanted.is_metadata_only();
        let change = effective(&view, &instance, wanted.change()?)?;
        let last = &instance.last_operation;
        if last.is(OperationKind::Create, OperationState::Failed) {
            return Err(missing());
        }
        let is_deleting = last.is_running() && last.kind == OperationKind::Delete;
        if last.is_running() && (is_deleting || !is_metadata_only) {
            return Err(ErrorKind::AsyncInstanceOperationInProgress.with(format!(
                "An operation for service instance {} is in progress.",
                instance.name
            )));
        }
        if !needs_broker(tables, &instance, &change) {
            if !is_metadata_only {
                let ended = tables.operation(OperationKind::Update, OperationState::Succeeded);
                if let Some(row) = tables.instances.get_mut(&instance.guid) {
                    row.last_operation = ended;
                }
            }
            change.apply_to(tables, &instance.guid);
            return Ok(None);
        }
        Ok(Some((
            call.begun_update(tables, &instance.guid),
            instance.guid,
            change,
        )))
    })?;
    let Some((operation, guid, change)) = begun else {
        return call
            .controller
            .0
            .state
            .read(|tables| call.shown::<Instance>(tables, call.guid()));
    };
    let answer = call.accepted(&operation.job);
    operation.update(guid, change);
    Ok(answer)
}

impl Call {
    /// Begins an update of an instance, which becomes its last operation.
    pub(crate) fn begun_update(&self, tables: &mut Tables, guid: &InstanceGuid) -> Operation {
        let last_operation = tables.operation(OperationKind::Update, OperationState::InProgress);
        if let Some(row) = tables.instances.get_mut(guid) {
            row.last_operation = last_operation.clone();
        }
        let resource = JobResource::Instance(guid.clone());
        self.begun(
            tables,
            JobOperation::UpdateInstance,
            resource,
            &last_operation,
        )
    }

    /// Begins to delete an instance. The row keeps its last operation until the broker has taken the delete.
    pub(crate) fn begun_delete(&self, tables: &mut Tables, guid: &InstanceGuid) -> Operation {
        let last_operation = tables.operation(OperationKind::Delete, OperationState::InProgress);
        let resource = JobResource::Instance(guid.clone());
        self.begun(
            tables,
            JobOperation::DeleteInstance,
            resource,
            &last_operation,
        )
    }
}

pub(super) async fn remove(call: Call) -> Response {
    let purge = purges(&call.request)?;
    let begun = call.change(|tables| {
        let view = call.view(tables);
        let instance = view.visible::<Instance>(call.guid())?;
        view.permissions.must_write(tables, &instance.space)?;
        let guid = instance.guid.clone();
        if purge {
            // The broker is not called, so this is for those who answer for the broker.
            call.caller.must_be_admin()?;
            tables.forget_instance(&guid);
            return Ok(None);
        }
        if instance.last_operation.prevents_delete() {
            return Err(Rejection::unprocessable(
                "There is an operation in progress for the service instance.",
            ));
        }
        Ok(Some((call.begun_delete(tables, &guid), guid)))
    })?;
    let Some((operation, guid)) = begun else {
        return Ok(no_content());
    };
    let answer = call.accepted(&operation.job);
    operation.deprovision(guid);
    Ok(answer)
}
