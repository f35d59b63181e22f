//! Sharing a service instance into other spaces (v3 API, "Share a service instance to other spaces").

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, post, resource},
};
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::Included,
    message::{Relations, message},
    no_content, ok,
    permissions::Permissions,
    query::Query,
    service_instances::{ServiceInstance, add_location, found, missing, visible},
};
use crate::cloud_controller::{
    CloudController,
    model::{
        Instance, InstanceKey, OperationKind, OperationState, Space, SpaceGuid, Tables,
        UserProvidedKey, Visibility,
    },
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let all = "/v3/service_instances/{guid}/relationships/shared_spaces";
    app.service(resource(all).route(get().to(list)).route(post().to(share)))
        .service(resource(format!("{all}/usage_summary")).route(get().to(usage_summary)))
        .service(resource(format!("{all}/{{space}}")).route(delete().to(unshare)));
}

async fn list(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let allowed = ["fields[space]", "fields[space.organization]"];
    let query = Query::of_one(&request, &allowed)?;
    let fields = (
        query.fields("space", &["guid", "name", "relationships.organization"])?,
        query.fields("space.organization", &["guid", "name"])?,
    );
    controller.0.state.read(|tables| {
        let instance = found(tables, &caller, &guid)?;
        let mut included = Included::default();
        if !fields.0.is_empty() {
            included.of("spaces");
        }
        if !fields.1.is_empty() {
            included.of("organizations");
        }
        for space in shared_spaces(instance) {
            add_location(&mut included, &controller, tables, space, fields);
        }
        Ok(ok(&included.beside(controller.shares(instance, &guid))))
    })
}

async fn usage_summary(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    controller.0.state.read(|tables| {
        let instance = found(tables, &caller, &guid)?;
        let bound = |space: &SpaceGuid| match instance {
            ServiceInstance::Managed(instance) => tables.bound_apps(&instance.guid, space).count(),
            ServiceInstance::UserProvided(_) => 0,
        };
        let summary: Vec<_> = shared_spaces(instance)
            .map(|space| json!({"space": {"guid": space}, "bound_app_count": bound(space)}))
            .collect();
        let path = format!("/v3/service_instances/{guid}");
        let shares = format!("{path}/relationships/shared_spaces");
        Ok(ok(&json!({
            "usage_summary": summary,
            "links": {
                "self": controller.link(format_args!("{shares}/usage_summary")),
                "shared_spaces": controller.link(&shares),
                "service_instance": controller.link(path),
            },
        })))
    })
}

async fn share(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: Relations = message(&body)?;
    let wanted: BTreeSet<_> = wanted
        .data
        .iter()
        .map(|space| SpaceGuid::given(&space.guid))
        .collect();
    controller.0.state.change(|tables| {
        tables.must_be_enabled("service_instance_sharing")?;
        let permissions = caller.permissions(tables);
        let ServiceInstance::Managed(instance) = found(tables, &caller, &guid)? else {
            return Err(Rejection::unprocessable(
                "User-provided services cannot be shared.",
            ));
        };
        permissions.must_write(tables, &instance.space)?;
        let spaces = reachable(tables, &permissions, &instance.name, &wanted)?;
        must_be_shareable(tables, instance, &spaces)?;
        let guid = instance.guid.clone();
        let row = tables.instances.get_mut(&guid).ok_or_else(missing)?;
        row.shared_spaces.extend(wanted);
        let row = ServiceInstance::Managed(row);
        Ok(ok(&controller.shares(row, guid.as_str())))
    })
}

/// The spaces of these guids, all of which the caller must be able to change.
fn reachable<'a>(
    tables: &'a Tables,
    permissions: &Permissions,
    name: &str,
    wanted: &BTreeSet<SpaceGuid>,
) -> Result<Vec<&'a Space>, Rejection> {
    let (mut spaces, mut unseen, mut unwritable) = (Vec::new(), Vec::new(), Vec::new());
    for guid in wanted {
        match tables.spaces.get(guid) {
            Some(space) if permissions.must_write(tables, guid).is_ok() => spaces.push(space),
            Some(_) if permissions.sees_space(tables, guid) => {
                unwritable.push(format!("'{guid}'"));
            }
            _ => unseen.push(format!("'{guid}'")),
        }
    }
    let mut errors = Vec::new();
    if !unseen.is_empty() {
        errors.push(format!(
            "Unable to share service instance {name} with spaces [{}]. Ensure the spaces exist and that you have \
             access to them.",
            unseen.join(", ")
        ));
    }
    if !unwritable.is_empty() {
        errors.push(format!(
            "Unable to share service instance {name} with spaces [{}]. Write permission is required in order to share \
             a service instance with a space and the containing organization must not be suspended.",
            unwritable.join(", ")
        ));
    }
    if errors.is_empty() {
        Ok(spaces)
    } else {
        Err(Rejection::unprocessable(errors.join("\n")))
    }
}

fn must_be_shareable(
    tables: &Tables,
    instance: &Instance,
    spaces: &[&Space],
) -> Result<(), Rejection> {
    let refuse = |detail: String| Err(Rejection::unprocessable(detail));
    let plan = tables.plan_of(instance).ok_or_else(missing)?;
    let offering = tables.offering_of(plan).ok_or_else(missing)?;
    if offering
        .requires
        .iter()
        .any(|what| what == "route_forwarding")
    {
        return refuse("Route services cannot be shared.".to_owned());
    }
    if !offering.is_shareable() {
        return refuse(format!(
            "The {} service does not support service instance sharing.",
            offering.name
        ));
    }
    for space in spaces {
        let name = &instance.name;
        if space.guid == instance.space {
            return refuse(format!(
                "Unable to share service instance '{name}' with space '{}'. Service instances cannot be shared into \
                 the space where they were created.",
                space.guid
            ));
        }
        if !plan.available {
            return refuse(format!(
                "The service instance could not be shared as the {} plan is inactive.",
                plan.name
            ));
        }
        let is_visible = match &plan.visibility {
            Visibility::Public => true,
            Visibility::Admin => false,
            Visibility::Organizations(organizations) => organizations.contains(&space.organization),
        };
        if !is_visible {
            let organization = tables.organizations.get(&space.organization);
            return refuse(format!(
                "Access to service {} and plan {} is not enabled in {}/{}.",
                offering.name,
                plan.name,
                organization.map_or("", |row| &row.name),
                space.name
            ));
        }
        let managed = InstanceKey::Name(space.guid.clone(), name.clone());
        let other = UserProvidedKey::Name(space.guid.clone(), name.clone());
        if tables.instances.has(managed) || tables.user_provided.has(other) {
            return refuse(format!(
                "A service instance called {name} already exists in {}.",
                space.name
            ));
        }
        let mut shared = tables
            .instances
            .with(InstanceKey::SharedInto(space.guid.clone()));
        if shared.any(|other| other.name == *name) {
            return refuse(format!(
                "A service instance called {name} has already been shared with {}.",
                space.name
            ));
        }
    }
    let last = &instance.last_operation;
    if last.is(OperationKind::Create, OperationState::Failed) {
        Err(missing())
    } else if last.is_running() && last.kind == OperationKind::Create {
        refuse(
            "Service instance is currently being created. It can be shared after its creation succeeded."
                .to_owned(),
        )
    } else if last.is_running() && last.kind == OperationKind::Delete {
        refuse("The service instance is getting deleted.".to_owned())
    } else {
        Ok(())
    }
}

/// Takes an instance away from a space. The bindings of the apps there go first; the answer waits for the broker.
async fn unshare(
    controller: Data<CloudController>,
    caller: Caller,
    path: Path<(String, String)>,
) -> Answer {
    let (guid, space) = path.into_inner();
    let (guid, space) = controller.0.state.read(|tables| {
        let instance = visible(tables, &caller, &guid)?;
        caller
            .permissions(tables)
            .must_write(tables, &instance.space)?;
        let space = SpaceGuid::given(&space);
        if tables.spaces.get(&space).is_none() {
            return Err(Rejection::unprocessable(format!(
                "Unable to unshare service instance from space {space}. Ensure the space exists."
            )));
        }
        Ok((instance.guid.clone(), space))
    })?;
    let unshared = controller.unshare_and_wait(guid, space, caller.identity);
    match unshared.await {
        Some(Ok(())) => Ok(no_content()),
        Some(Err(reasons)) => {
            let reasons: Vec<_> = reasons.iter().map(|why| format!("\t{why}")).collect();
            Err(ErrorKind::UnshareFailed.with(format!(
                "Unshare of service instance failed: \n\nUnshare of service instance failed because one or more \
                 bindings could not be deleted.\n\n {}",
                reasons.join("\n\n")
            )))
        }
        None => Err(ErrorKind::ServiceUnavailable.with("The Cloud Controller is stopping")),
    }
}

fn shared_spaces(instance: ServiceInstance<'_>) -> impl Iterator<Item = &SpaceGuid> {
    let shared = match instance {
        ServiceInstance::Managed(instance) => Some(&instance.shared_spaces),
        ServiceInstance::UserProvided(_) => None,
    };
    shared.into_iter().flatten()
}

impl CloudController {
    fn shares(&self, instance: ServiceInstance<'_>, guid: &str) -> Value {
        let data: Vec<_> = shared_spaces(instance)
            .map(|space| json!({"guid": space}))
            .collect();
        let path = format!("/v3/service_instances/{guid}/relationships/shared_spaces");
        json!({"data": data, "links": {"self": self.link(path)}})
    }
}
