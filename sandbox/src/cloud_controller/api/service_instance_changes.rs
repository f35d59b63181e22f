//! Creating, changing and deleting service instances (`spec/contracts/platform-apis.md`, "Service instances").

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, patch, post, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Answer,
    caller::Caller,
    instance_rules::{
        checked_tags, effective, free_name, must_be_usable, needs_broker, ordered_plan,
        ordered_space,
    },
    message::{Relation, checked_metadata, checked_name, message},
    no_content, ok,
    service_instances::{self, ServiceInstance, found, missing},
    service_offerings::purges,
};
use crate::cloud_controller::{
    CloudController,
    behaviour::InstanceRow,
    model::{
        Broker, Instance, InstanceGuid, JobOperation, JobResource, Metadata, MetadataChange,
        OperationKind, OperationState, PlanGuid,
    },
    rejection::{ErrorKind, Rejection},
    work::{Change, NewInstance, must_have_room},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/v3/service_instances")
            .route(get().to(service_instances::list))
            .route(post().to(create)),
    )
    .service(
        resource("/v3/service_instances/{guid}")
            .route(get().to(service_instances::one))
            .route(patch().to(update))
            .route(delete().to(remove)),
    );
}

/// The member that distinguishes the two kinds of orders.
#[derive(Deserialize)]
struct Order {
    #[serde(rename = "type")]
    kind: Kind,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Managed,
    UserProvided,
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

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let order: Order = message(&body)?;
    match order.kind {
        Kind::UserProvided => controller.create_user_provided(&caller, &body),
        Kind::Managed => controller.create_managed(&caller, &body),
    }
}

impl CloudController {
    fn create_managed(&self, caller: &Caller, body: &[u8]) -> Answer {
        let wanted: Create = message(body)?;
        let metadata = checked_metadata(wanted.metadata)?;
        let name = checked_name(&wanted.name)?;
        let tags = checked_tags(wanted.tags)?;
        let plan = PlanGuid::given(&wanted.relationships.service_plan.data.guid);
        let (operation, new, orphan) = self.0.state.change(|tables| {
            let space = ordered_space(tables, caller, &wanted.relationships.space.data.guid)?;
            let ordered = ordered_plan(tables, caller, &plan)?;
            must_be_usable(tables, ordered, &space)?;
            if tables.broker_of(ordered).is_none_or(Broker::is_busy) {
                return Err(Rejection::unprocessable(
                    "The service instance cannot be created because there is an operation in progress for the \
                     service broker.",
                ));
            }
            must_have_room(tables, &space, ordered)
                .map_err(|exceeded| Rejection::unprocessable(exceeded.to_string()))?;
            let maintenance_info = ordered.maintenance_info.clone();
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
            let new = match self.behaviour().instance_row {
                InstanceRow::BeforeCall => {
                    let guid = instance.guid.clone();
                    tables.instances.insert(guid.clone(), instance);
                    NewInstance::Stored(guid)
                }
                InstanceRow::AfterCall => NewInstance::StoredWhenAnswered(Box::new(instance)),
            };
            let job = JobOperation::CreateInstance;
            let operation = self.begun(tables, job, resource, &last_operation, caller);
            Ok((operation, new, orphan))
        })?;
        if let Some(orphan) = orphan {
            self.mitigate(orphan, caller.identity.request.clone());
        }
        let answer = self.accepted(&operation.job);
        operation.provision(new, wanted.parameters);
        Ok(answer)
    }
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
            metadata: checked_metadata(self.metadata)?,
        })
    }
}

async fn update(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    let begun = controller.0.state.change(|tables| {
        let instance = match found(tables, &caller, &guid)? {
            ServiceInstance::Managed(instance) => instance.clone(),
            ServiceInstance::UserProvided(instance) => {
                let guid = instance.guid.clone();
                let permissions = caller.permissions(tables);
                permissions.must_write(tables, &instance.space)?;
                let answer = controller.update_user_provided(tables, &guid, &body)?;
                return Ok(Err(answer));
            }
        };
        caller
            .permissions(tables)
            .must_write(tables, &instance.space)?;
        let wanted: Update = message(&body)?;
        let is_metadata_only = wanted.is_metadata_only();
        let change = effective(tables, &caller, &instance, wanted.change()?)?;
        let last = &instance.last_operation;
        if last.is(OperationKind::Create, OperationState::Failed) {
            return Err(missing());
        }
        let is_deleting = last.is_running() && last.kind == OperationKind::Delete;
        if last.is_running() && (is_deleting || !is_metadata_only) {
            let detail = format!(
                "An operation for service instance {} is in progress.",
                instance.name
            );
            return Err(ErrorKind::AsyncInstanceOperationInProgress.with(detail));
        }
        if !needs_broker(tables, &instance, &change) {
            if !is_metadata_only {
                let ended = tables.operation(OperationKind::Update, OperationState::Succeeded);
                if let Some(row) = tables.instances.get_mut(&instance.guid) {
                    row.last_operation = ended;
                }
            }
            change.apply_to(tables, &instance.guid);
            let row = tables.instances.get(&instance.guid).ok_or_else(missing)?;
            return Ok(Err(ok(&controller.instance(tables, row))));
        }
        let last_operation = tables.operation(OperationKind::Update, OperationState::InProgress);
        if let Some(row) = tables.instances.get_mut(&instance.guid) {
            row.last_operation = last_operation.clone();
        }
        let resource = JobResource::Instance(instance.guid.clone());
        let operation = controller.begun(
            tables,
            JobOperation::UpdateInstance,
            resource,
            &last_operation,
            &caller,
        );
        Ok(Ok((operation, instance.guid, change)))
    })?;
    Ok(match begun {
        Err(done) => done,
        Ok((operation, guid, change)) => {
            let answer = controller.accepted(&operation.job);
            operation.update(guid, change);
            answer
        }
    })
}

async fn remove(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let purge = purges(&request)?;
    let begun = controller.0.state.change(|tables| {
        let instance = found(tables, &caller, &guid)?;
        caller
            .permissions(tables)
            .must_write(tables, instance.space())?;
        let instance = match instance {
            ServiceInstance::UserProvided(instance) => {
                let guid = instance.guid.clone();
                tables.forget_instance(&guid);
                return Ok(None);
            }
            ServiceInstance::Managed(instance) if purge => {
                // The broker is not called, so this is for those who answer for the broker.
                caller.must_be_admin()?;
                let guid = instance.guid.clone();
                tables.forget_instance(&guid);
                return Ok(None);
            }
            ServiceInstance::Managed(instance) => instance,
        };
        let last = &instance.last_operation;
        // A create that the broker is at can be given up.
        if last.is_running() && !last.is(OperationKind::Create, OperationState::InProgress) {
            return Err(Rejection::unprocessable(
                "There is an operation in progress for the service instance.",
            ));
        }
        let guid = instance.guid.clone();
        // The row keeps its last operation until the broker has taken the delete.
        let last_operation = tables.operation(OperationKind::Delete, OperationState::InProgress);
        let resource = JobResource::Instance(guid.clone());
        let operation = controller.begun(
            tables,
            JobOperation::DeleteInstance,
            resource,
            &last_operation,
            &caller,
        );
        Ok(Some((operation, guid)))
    })?;
    let Some((operation, guid)) = begun else {
        return Ok(no_content());
    };
    let answer = controller.accepted(&operation.job);
    operation.deprovision(guid);
    Ok(answer)
}
