//! Sharing a service instance into other spaces (v3 API, "Share a service instance to other spaces").

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest,
    web::{ServiceConfig, delete, get, post},
};
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    message::Relations,
    no_content, ok,
    permissions::Permissions,
    query::Query,
    resource::{Fields, Included, Resource, included},
    service_instances::{OF_ORGANIZATION, OF_SPACE, include_space, missing},
};
use crate::cloud_controller::{
    model::{
        Instance, InstanceKey, OperationKind, OperationState, Space, SpaceGuid, Tables, Visibility,
    },
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let all = "/v3/service_instances/{guid}/relationships/shared_spaces";
    app.route(all, get().to(list))
        .route(all, post().to(share))
        .route(&format!("{all}/usage_summary"), get().to(usage_summary))
        .route(&format!("{all}/{{space}}"), delete().to(unshare));
}

enum Share {}

impl Resource for Share {
    type Row = Space;
    const KIND: &'static str = "Space";
    const PATH: &'static str = "";
    const FIELDS: &'static [Fields] = &[OF_SPACE, OF_ORGANIZATION];

    fn sees(_view: &View<'_>, _row: &Space) -> bool {
        true
    }

    fn body(_view: &View<'_>, row: &Space) -> Value {
        json!({"guid": row.guid})
    }

    fn include(view: &View<'_>, query: &Query, row: &Space, beside: &mut Included) {
        include_space(view, query, &row.guid, beside);
    }
}

async fn list(request: HttpRequest) -> Response {
    let call = Call::of(&request)?;
    let query = Query::of_one::<Share>(&request)?;
    call.read(|view| {
        let instance = view.visible::<Instance>(call.guid())?;
        let spaces = instance
            .shared_spaces
            .iter()
            .filter_map(|guid| view.tables.spaces.get(guid));
        let spaces: Vec<_> = spaces.collect();
        let included = included::<Share>(view, &query, &spaces);
        Ok(ok(&included.beside(shares(view, instance))))
    })
}

async fn usage_summary(call: Call) -> Response {
    call.read(|view| {
        let instance = view.visible::<Instance>(call.guid())?;
        let guid = &instance.guid;
        let usage = |space: &SpaceGuid| {
            let bound = view.tables.bound_apps(guid, space).count();
            json!({"space": {"guid": space}, "bound_app_count": bound})
        };
        let path = format!("/v3/service_instances/{guid}");
        let shares = format!("{path}/relationships/shared_spaces");
        Ok(ok(&json!({
            "usage_summary": instance.shared_spaces.iter().map(usage).collect::<Value>(),
            "links": {
                "self": view.link(format_args!("{shares}/usage_summary")),
                "shared_spaces": view.link(&shares),
                "service_instance": view.link(path),
            },
        })))
    })
}

async fn share(call: Call) -> Response {
    let wanted: Relations = call.message()?;
    let wanted = wanted
        .data
        .iter()
        .map(|space| SpaceGuid::given(&space.guid));
    let wanted: BTreeSet<_> = wanted.collect();
    call.change(|tables| {
        tables.must_be_enabled("service_instance_sharing")?;
        let view = call.view(tables);
        let instance = view.visible::<Instance>(call.guid())?;
        view.permissions.must_write(tables, &instance.space)?;
        let spaces = reachable(tables, &view.permissions, &instance.name, &wanted)?;
        must_be_shareable(tables, instance, &spaces)?;
        let guid = instance.guid.clone();
        if let Some(row) = tables.instances.get_mut(&guid) {
            row.shared_spaces.extend(wanted);
        }
        let view = call.view(tables);
        let instance = view.visible::<Instance>(call.guid())?;
        Ok(ok(&shares(&view, instance)))
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
    if offering.forwards_routes() {
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
        let same = InstanceKey::Name(space.guid.clone(), name.clone());
        if tables.instances.has(same) {
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
async fn unshare(call: Call) -> Response {
    let space = SpaceGuid::given(call.part("space"));
    let guid = call.read(|view| {
        let instance = view.visible::<Instance>(call.guid())?;
        view.permissions.must_write(view.tables, &instance.space)?;
        if !view.tables.spaces.contains_key(&space) {
            return Err(Rejection::unprocessable(format!(
                "Unable to unshare service instance from space {space}. Ensure the space exists."
            )));
        }
        Ok(instance.guid.clone())
    })?;
    let unshared = call
        .controller
        .unshare_and_wait(guid, space, call.caller.identity);
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

fn shares(view: &View<'_>, instance: &Instance) -> Value {
    let path = format!(
        "/v3/service_instances/{}/relationships/shared_spaces",
        instance.guid
    );
    json!({
        "data": instance.shared_spaces.iter().map(|space| json!({"guid": space})).collect::<Value>(),
        "links": {"self": view.link(path)},
    })
}
