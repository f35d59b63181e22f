//! Apps: made, listed and deleted, so that there is something to bind to. They never run: no code is uploaded and
//! staged, no route leads to them, and nothing is deployed.
//!
//! Each app has the process `web` that a real Cloud Controller creates with it, for `cf apps` and `cf app` (cf CLI,
//! `actor/v7action/application_summary.go`). Its one instance is down (`cloud_controller_ng`,
//! `app/presenters/v3/process_stats_presenter.rb`).

use actix_web::{
    HttpRequest,
    web::{ServiceConfig, delete, get, post},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    app_environment::environment,
    call::{Call, View},
    message::{Relation, checked_metadata, checked_name},
    ok,
    present::{no_metadata, relation},
    query::Query,
    resource::{Resource, listed, nothing, nothing_of, one, reads},
    spaces::ordered_space,
};
use crate::cloud_controller::{
    model::{
        App, AppGuid, AppKey, BindingKey, Job, JobOperation, JobResource, Metadata, MetadataChange,
    },
    rejection::{ErrorKind, Rejection},
};

/// The type of all processes.
const WEB: &str = "web";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.configure(reads::<App>)
        .route("/v3/apps", post().to(create))
        .route("/v3/apps/{guid}", delete().to(remove))
        .route("/v3/apps/{guid}/env", get().to(environment))
        .route("/v3/apps/{guid}/routes", get().to(nothing_of::<App>))
        .route("/v3/apps/{guid}/droplets/current", get().to(droplet))
        .route("/v3/apps/{guid}/processes", get().to(processes_of))
        .route("/v3/deployments", get().to(nothing))
        .route("/v3/processes", get().to(processes))
        .route("/v3/processes/{guid}", get().to(one::<Process>))
        .route("/v3/processes/{guid}/stats", get().to(stats))
        .route(
            "/v3/processes/{guid}/sidecars",
            get().to(nothing_of::<Process>),
        );
}

impl Resource for App {
    type Row<'a> = &'a Self;
    const KIND: &'static str = "App";
    const PATH: &'static str = "/v3/apps";
    const FILTERS: &'static [&'static str] = &["space_guids", "organization_guids"];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.apps.values().collect()
    }

    fn get<'a>(view: &View<'a>, guid: &str) -> Option<&'a Self> {
        view.tables.apps.get(guid)
    }

    fn sees(view: &View<'_>, row: &&Self) -> bool {
        view.permissions.sees_space(view.tables, &row.space)
    }

    fn admits(view: &View<'_>, query: &Query, row: &&Self) -> bool {
        query.admits("space_guids", row.space.as_str())
            && query.admits("organization_guids", view.organization(&row.space))
    }

    fn body(view: &View<'_>, row: &&Self) -> Value {
        json!({
            "name": row.name,
            "state": "STOPPED",
            "lifecycle": {"type": "buildpack", "data": {"buildpacks": [], "stack": null}},
            "relationships": {"space": relation(&row.space)},
            "metadata": row.metadata,
            "links": {"space": view.link(format_args!("/v3/spaces/{}", row.space))},
        })
    }
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

async fn create(call: Call) -> Answer {
    let wanted: Create = call.message()?;
    let change = checked_metadata(wanted.metadata)?;
    let name = checked_name(&wanted.name)?;
    call.change(|tables| {
        let view = call.view(tables);
        let space = ordered_space(&view, &wanted.relationships.space.data.guid)?;
        view.permissions.must_write(tables, &space)?;
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
        let guid = app.guid.clone();
        tables.apps.insert(guid.clone(), app);
        call.created::<App>(tables, guid.as_str())
    })
}

/// Deletes an app that is bound to nothing.
async fn remove(call: Call) -> Answer {
    call.change(|tables| {
        let view = call.view(tables);
        let app = view.visible::<App>(call.guid())?;
        let (guid, name) = (app.guid.clone(), app.name.clone());
        view.permissions.must_write(tables, &app.space)?;
        if !tables.bindings.has(BindingKey::App(guid.clone())) {
            tables.apps.remove(&guid);
            return Ok(call.deleted(tables, JobOperation::DeleteApp));
        }
        let detail = format!(
            "Deletion of app {name} failed because one or more associated resources could not be deleted.\n\n\
             \tThe app is still bound to service instances."
        );
        let mut job = Job::new(JobOperation::DeleteApp, JobResource::Gone);
        job.fails(ErrorKind::AppDeletionFailed.with(detail).entry());
        Ok(call.accepted(&tables.add_job(job)))
    })
}

/// The cf command line knows an app without a droplet by the text (cf CLI, `api/cloudcontroller/ccv3/errors.go`).
async fn droplet(call: Call) -> Answer {
    call.read(|view| view.visible::<App>(call.guid()).map(drop))?;
    Err(Rejection::no_such("Droplet"))
}

/// The process of an app, which has its guid, as on a real foundation.
enum Process {}

impl Resource for Process {
    type Row<'a> = &'a App;
    const KIND: &'static str = "Process";
    const PATH: &'static str = "/v3/processes";
    const NAMED: bool = false;
    const FILTERS: &'static [&'static str] = &[
        "app_guids",
        "organization_guids",
        "space_guids",
        "types",
        "embed",
    ];
    const CHOICES: &'static [(&'static str, &'static [&'static str])] =
        &[("embed", &["process_instances"])];

    fn all<'a>(view: &View<'a>) -> Vec<&'a App> {
        App::all(view)
    }

    fn sees(view: &View<'_>, row: &&App) -> bool {
        App::sees(view, row)
    }

    fn admits(view: &View<'_>, query: &Query, row: &&App) -> bool {
        query.admits("app_guids", row.guid.as_str())
            && query.admits("types", WEB)
            && App::admits(view, query, row)
    }

    fn body(view: &View<'_>, row: &&App) -> Value {
        json!({
            "type": WEB,
            "command": null,
            "instances": 1,
            "memory_in_mb": 1024,
            "disk_in_mb": 1024,
            "log_rate_limit_in_bytes_per_second": -1,
            "health_check": {"type": "port", "data": {"timeout": null, "invocation_timeout": null}},
            "readiness_health_check": {"type": "process", "data": {"invocation_timeout": null}},
            "relationships": {"app": relation(&row.guid), "revision": null},
            "metadata": no_metadata(),
            "links": {
                "app": view.link(format_args!("/v3/apps/{}", row.guid)),
                "space": view.link(format_args!("/v3/spaces/{}", row.space)),
                "stats": view.link(format_args!("/v3/processes/{}/stats", row.guid)),
            },
        })
    }
}

async fn processes(request: HttpRequest) -> Answer {
    let call = Call::of(&request)?;
    let query = Query::of_list::<Process>(&request)?;
    call.read(|view| {
        let mut list = listed::<Process>(view, &query, App::all(view));
        let rows = list["resources"].as_array_mut();
        for process in rows
            .into_iter()
            .flatten()
            .filter(|_| query.wanted("embed").is_some())
        {
            let app = view
                .tables
                .apps
                .get(process["guid"].as_str().unwrap_or_default());
            let since = app.map(|app| app.created_at.as_second());
            process["process_instances"] = json!([{"index": 0, "state": "DOWN", "since": since}]);
        }
        Ok(ok(&list))
    })
}

async fn processes_of(request: HttpRequest) -> Answer {
    let call = Call::of(&request)?;
    let query = Query::of_list::<Process>(&request)?;
    call.read(|view| {
        let app = view.visible::<App>(call.guid())?;
        Ok(ok(&listed::<Process>(view, &query, vec![app])))
    })
}

async fn stats(call: Call) -> Answer {
    call.read(|view| view.visible::<Process>(call.guid()).map(drop))?;
    let instance = json!({
        "type": WEB,
        "index": 0,
        "state": "DOWN",
        "uptime": 0,
        "isolation_segment": null,
        "details": null,
    });
    Ok(ok(&json!({"resources": [instance]})))
}
