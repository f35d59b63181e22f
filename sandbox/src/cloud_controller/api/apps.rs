//! Apps: made, listed and deleted, so that there is something to bind to. They never run: no code is uploaded and
//! staged, no route leads to them, and nothing is deployed.

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, post, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    message::{Relation, checked_metadata, checked_name, message},
    ok,
    present::{created, metadata, relation, stamp},
    query::Query,
    spaces::no_such_space,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        App, AppGuid, AppKey, BindingKey, Job, JobOperation, JobResource, JobState, Metadata,
        MetadataChange, SpaceGuid, Tables,
    },
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/v3/apps")
            .route(get().to(list))
            .route(post().to(create)),
    )
    .service(
        resource("/v3/apps/{guid}")
            .route(get().to(one))
            .route(delete().to(remove)),
    )
    .service(resource("/v3/apps/{guid}/routes").route(get().to(routes_of)))
    .service(resource("/v3/apps/{guid}/droplets/current").route(get().to(droplet)))
    .service(resource("/v3/deployments").route(get().to(deployments)));
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &["space_guids", "organization_guids"])?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen = |row: &&App| {
            let organization = tables.organization_of(&row.space);
            query.admits_row(row)
                && query.admits("space_guids", row.space.as_str())
                && query.admits(
                    "organization_guids",
                    organization.map_or("", |row| row.guid.as_str()),
                )
                && permissions.sees_space(tables, &row.space)
        };
        let page = query.page(&controller, tables.apps.values().filter(seen).collect());
        Ok(ok(&page.presented(|app| controller.app(app))))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller
        .0
        .state
        .read(|tables| Ok(ok(&controller.app(visible(tables, &caller, &guid)?))))
}

#[derive(Deserialize)]
struct Create {
    name: String,
    relationships: Relationships,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Deserialize)]
struct Relationships {
    space: Relation,
}

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let wanted: Create = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    let name = checked_name(&wanted.name)?;
    let space = SpaceGuid::given(&wanted.relationships.space.data.guid);
    controller.0.state.change(|tables| {
        let permissions = caller.permissions(tables);
        if !tables.spaces.contains_key(&space) || !permissions.sees_space(tables, &space) {
            return Err(no_such_space());
        }
        permissions.must_write(tables, &space)?;
        if tables.apps.has(AppKey::Name(space.clone(), name.clone())) {
            return Err(Rejection::unprocessable(format!(
                "App with the name '{name}' already exists."
            )));
        }
        let now = Timestamp::now();
        let app = App {
            guid: AppGuid::random(),
            space,
            name,
            metadata: Metadata::from(&change),
            created_at: now,
            updated_at: now,
        };
        let body = controller.app(&app);
        tables.apps.insert(app.guid.clone(), app);
        Ok(created(&body))
    })
}

/// Deletes an app that is bound to nothing.
async fn remove(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    let job = controller.0.state.change(|tables| {
        let app = visible(tables, &caller, &guid)?;
        let (guid, name) = (app.guid.clone(), app.name.clone());
        caller.permissions(tables).must_write(tables, &app.space)?;
        let mut job = Job::new(JobOperation::DeleteApp, JobResource::Gone);
        if tables.bindings.has(BindingKey::App(guid.clone())) {
            let detail = format!(
                "Deletion of app {name} failed because one or more associated resources could not be deleted.\n\n\
                 \tThe app is still bound to service instances."
            );
            job.fails(ErrorKind::AppDeletionFailed.with(detail).entry());
        } else {
            tables.apps.remove(&guid);
            job.becomes(JobState::Complete);
        }
        Ok(tables.add_job(job))
    })?;
    Ok(controller.accepted(&job))
}

async fn routes_of(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let filters = [
        "domain_guids",
        "hosts",
        "organization_guids",
        "paths",
        "ports",
        "space_guids",
    ];
    let query = Query::unnamed(&request, &filters)?;
    controller.0.state.read(|tables| {
        visible(tables, &caller, &guid)?;
        Ok(ok(&query.nothing(&controller)))
    })
}

/// The cf command line knows an app without a droplet by the text (cf CLI, `api/cloudcontroller/ccv3/errors.go`).
async fn droplet(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        visible(tables, &caller, &guid)?;
        Err(Rejection::no_such("Droplet"))
    })
}

async fn deployments(
    controller: Data<CloudController>,
    _caller: Caller,
    request: HttpRequest,
) -> Answer {
    let filters = ["app_guids", "states", "status_reasons", "status_values"];
    let query = Query::of(&request, &filters)?;
    Ok(ok(&query.nothing(&controller)))
}

pub(super) fn visible<'a>(
    tables: &'a Tables,
    caller: &Caller,
    guid: &str,
) -> Result<&'a App, Rejection> {
    tables
        .apps
        .get(&AppGuid::given(guid))
        .filter(|app| caller.sees_space(tables, &app.space))
        .ok_or_else(|| Rejection::no_such("App"))
}

impl CloudController {
    pub(super) fn app(&self, app: &App) -> Value {
        json!({
            "guid": app.guid,
            "created_at": stamp(app.created_at),
            "updated_at": stamp(app.updated_at),
            "name": app.name,
            "state": "STOPPED",
            "lifecycle": {"type": "buildpack", "data": {"buildpacks": [], "stack": null}},
            "relationships": {"space": relation(&app.space)},
            "metadata": metadata(&app.metadata),
            "links": {
                "self": self.link(format_args!("/v3/apps/{}", app.guid)),
                "space": self.link(format_args!("/v3/spaces/{}", app.space)),
            },
        })
    }
}
