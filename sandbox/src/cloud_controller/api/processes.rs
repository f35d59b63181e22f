//! The processes of apps, as `cf apps` and `cf app` request them (cf CLI, `actor/v7action/application_summary.go` and
//! `process_summary.go`). Each app has the process `web` that a real Cloud Controller creates with it. Apps are never
//! started, so its one instance is down (`cloud_controller_ng`, `app/presenters/v3/process_stats_presenter.rb`).

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    Answer,
    apps::visible,
    caller::Caller,
    ok,
    present::{metadata, relation, stamp},
    query::Query,
};
use crate::cloud_controller::{
    CloudController,
    model::{App, AppGuid, Metadata, Tables},
    rejection::Rejection,
};

const TYPE: &str = "web";
const FILTERS: [&str; 5] = [
    "app_guids",
    "organization_guids",
    "space_guids",
    "types",
    "embed",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/processes").route(get().to(list)))
        .service(resource("/v3/processes/{guid}").route(get().to(one)))
        .service(resource("/v3/processes/{guid}/stats").route(get().to(stats)))
        .service(resource("/v3/processes/{guid}/sidecars").route(get().to(sidecars)))
        .service(resource("/v3/apps/{guid}/processes").route(get().to(of_app)));
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::unnamed(&request, &FILTERS)?;
    query.must_be_one_of("embed", &["process_instances"])?;
    let embeds = query.wanted("embed").is_some();
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen = |app: &&App| {
            let organization = tables.organization_of(&app.space);
            query.admits_row(app)
                && query.admits("app_guids", app.guid.as_str())
                && query.admits("space_guids", app.space.as_str())
                && query.admits_any(
                    "organization_guids",
                    organization.iter().map(|row| row.guid.as_str()),
                )
                && query.admits("types", TYPE)
                && permissions.sees_space(tables, &app.space)
        };
        let page = query.page(&controller, tables.apps.values().filter(seen).collect());
        Ok(ok(&page.presented(|app| {
            let mut process = controller.process(app);
            if embeds {
                let since = app.created_at.as_second();
                process["process_instances"] =
                    json!([{"index": 0, "state": "DOWN", "since": since}]);
            }
            process
        })))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller
        .0
        .state
        .read(|tables| Ok(ok(&controller.process(process(tables, &caller, &guid)?))))
}

async fn stats(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        process(tables, &caller, &guid)?;
        let instance = json!({
            "type": TYPE,
            "index": 0,
            "state": "DOWN",
            "uptime": 0,
            "isolation_segment": null,
            "details": null,
        });
        Ok(ok(&json!({"resources": [instance]})))
    })
}

async fn sidecars(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::unnamed(&request, &[])?;
    controller.0.state.read(|tables| {
        process(tables, &caller, &guid)?;
        Ok(ok(&query.nothing(&controller)))
    })
}

async fn of_app(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::unnamed(&request, &["types"])?;
    controller.0.state.read(|tables| {
        let app = visible(tables, &caller, &guid)?;
        let found = query.admits("types", TYPE).then_some(app);
        let page = query.page(&controller, found.into_iter().collect());
        Ok(ok(&page.presented(|app| controller.process(app))))
    })
}

/// The app of a process. The process `web` has the guid of its app, as on a real foundation.
fn process<'a>(tables: &'a Tables, caller: &Caller, guid: &str) -> Result<&'a App, Rejection> {
    tables
        .apps
        .get(&AppGuid::given(guid))
        .filter(|app| caller.sees_space(tables, &app.space))
        .ok_or_else(|| Rejection::no_such("Process"))
}

impl CloudController {
    fn process(&self, app: &App) -> Value {
        let path = format!("/v3/processes/{}", app.guid);
        json!({
            "guid": app.guid,
            "created_at": stamp(app.created_at),
            "updated_at": stamp(app.updated_at),
            "type": TYPE,
            "command": null,
            "instances": 1,
            "memory_in_mb": 1024,
            "disk_in_mb": 1024,
            "log_rate_limit_in_bytes_per_second": -1,
            "health_check": {"type": "port", "data": {"timeout": null, "invocation_timeout": null}},
            "readiness_health_check": {"type": "process", "data": {"invocation_timeout": null}},
            "relationships": {"app": relation(&app.guid), "revision": null},
            "metadata": metadata(&Metadata::default()),
            "links": {
                "self": self.link(&path),
                "app": self.link(format_args!("/v3/apps/{}", app.guid)),
                "space": self.link(format_args!("/v3/spaces/{}", app.space)),
                "stats": self.link(format_args!("{path}/stats")),
            },
        })
    }
}
