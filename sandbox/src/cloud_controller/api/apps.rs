//! Apps: made, listed and deleted, so that there is something to bind to. They never run: no code is uploaded and
//! staged, no route leads to them, and nothing is deployed.
//!
//! Each app has the process `web` that a real Cloud Controller creates with it, for `cf apps` and `cf app` (cf CLI,
//! `actor/v7action/application_summary.go`). Its one instance is down (`cloud_controller_ng`,
//! `app/presenters/v3/process_stats_presenter.rb`).
//!
//! The environment of an app, as `cf env` shows it (cf CLI, `command/v7/env_command.go`; `cloud_controller_ng`,
//! `show_env` in `app/controllers/v3/apps_controller.rb`, `app/presenters/v3/app_env_presenter.rb`,
//! `app/presenters/system_environment/`, `lib/vcap/vars_builder.rb`). Credentials are as brokers gave them: what an app
//! gets as a reference to CredHub it resolves itself.

use std::collections::BTreeMap;

use actix_web::{
    HttpRequest,
    web::{ServiceConfig, delete, get, post},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Answer,
    call::{Call, View},
    message::{Relation, checked_metadata, checked_name},
    ok,
    query::Query,
    resource::{Resource, listed, no_metadata, nothing, nothing_of, one, reads, relation},
    service_instances::ServiceInstance,
    spaces::ordered_space,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        App, AppGuid, AppKey, Binding, BindingKey, Job, JobOperation, JobResource, Metadata,
        MetadataChange, Tables,
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

/// The file descriptors that an app may have open (`instance_file_descriptor_limit`).
const FILE_DESCRIPTORS: u32 = 16384;
const VOLUME_MEMBERS: [&str; 3] = ["container_dir", "device_type", "mode"];

pub(super) async fn environment(call: Call) -> Answer {
    call.read(|view| {
        let tables = view.tables;
        tables.must_be_enabled("env_var_visibility")?;
        let app = view.visible::<App>(call.guid())?;
        if !view.permissions.sees_environment(&app.space) {
            return Err(Rejection::not_authorized());
        }
        if !call.caller.is_admin() {
            tables.must_be_enabled("space_developer_env_var_visibility")?;
        }
        let system = if view.permissions.sees_secrets(&app.space) {
            json!({"VCAP_SERVICES": services(tables, app)})
        } else {
            json!({"redacted_message": "[PRIVATE DATA HIDDEN]"})
        };
        let application = application(view.controller, tables, app);
        Ok(ok(&json!({
            "environment_variables": {},
            "staging_env_json": {},
            "running_env_json": {},
            "system_env_json": system,
            "application_env_json": {"VCAP_APPLICATION": application},
        })))
    })
}

/// The instances that an app is bound to, by offering; of several bindings to one instance the latest.
fn services(tables: &Tables, app: &App) -> BTreeMap<String, Vec<Value>> {
    let mut latest = BTreeMap::new();
    let mut bindings: Vec<_> = tables
        .bindings
        .with(BindingKey::App(app.guid.clone()))
        .collect();
    bindings.sort_by_key(|binding| (binding.created_at, binding.guid.clone()));
    for binding in bindings {
        // A binding that is still being made has no details.
        if let Some(details) = &binding.details {
            latest.insert(binding.instance.clone(), (binding, details));
        }
    }
    let mut bindings: Vec<_> = latest.into_values().collect();
    bindings.sort_by_key(|(binding, _)| (binding.created_at, binding.guid.clone()));
    let mut services: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (binding, details) in bindings {
        if let Some((label, service)) = service(tables, binding, details) {
            services.entry(label).or_default().push(service);
        }
    }
    services
}

fn service(
    tables: &Tables,
    binding: &Binding,
    details: &Map<String, Value>,
) -> Option<(String, Value)> {
    let (label, instance, mut service) =
        match ServiceInstance::of(tables, binding.instance.as_str())? {
            ServiceInstance::UserProvided(instance) => {
                let service = json!({"tags": instance.tags});
                ("user-provided".to_owned(), &instance.name, service)
            }
            ServiceInstance::Managed(instance) => {
                let plan = tables.plan_of(instance)?;
                let offering = tables.offering_of(plan)?;
                let mut tags = offering.tags.clone();
                for tag in &instance.tags {
                    if !tags.contains(tag) {
                        tags.push(tag.clone());
                    }
                }
                let service = json!({"provider": null, "plan": plan.name, "tags": tags});
                (offering.name.clone(), &instance.name, service)
            }
        };
    let detail = |name: &str| details.get(name).cloned();
    service["label"] = json!(label);
    service["name"] = json!(binding.name.as_ref().unwrap_or(instance));
    service["instance_guid"] = json!(binding.instance);
    service["instance_name"] = json!(instance);
    service["binding_guid"] = json!(binding.guid);
    service["binding_name"] = json!(binding.name);
    service["credentials"] = detail("credentials").unwrap_or_else(|| json!({}));
    service["syslog_drain_url"] = detail("syslog_drain_url").unwrap_or_default();
    service["volume_mounts"] = volumes(details.get("volume_mounts"));
    Some((label, service))
}

fn volumes(mounts: Option<&Value>) -> Value {
    let mounts = mounts.and_then(Value::as_array).into_iter().flatten();
    let shown = mounts.map(|mount| {
        let members = VOLUME_MEMBERS.iter();
        let members =
            members.filter_map(|name| Some(((*name).to_owned(), mount.get(name)?.clone())));
        Value::Object(members.collect())
    });
    shown.collect()
}

/// The description that an app gets of itself. No route leads to it.
fn application(controller: &CloudController, tables: &Tables, app: &App) -> Value {
    let space = tables.spaces.get(&app.space);
    let organization = tables.organization_of(&app.space);
    json!({
        "cf_api": controller.0.settings.url,
        "limits": {"fds": FILE_DESCRIPTORS},
        "application_name": app.name,
        "application_uris": [],
        "name": app.name,
        "space_name": space.map(|space| &space.name),
        "space_id": app.space,
        "organization_id": organization.map(|row| &row.guid),
        "organization_name": organization.map(|row| &row.name),
        "uris": [],
        "users": null,
        "application_id": app.guid,
    })
}
