//! Apps: made and listed, so that there is something to bind to. They never run.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::CONTENT_TYPE,
    web::{Bytes, Data, ServiceConfig, get, post, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::Query,
    message::{Relation, checked_name, message},
    ok,
    present::{metadata, relation, stamp},
};
use crate::cloud_controller::{
    CloudController,
    model::{App, AppGuid, SpaceGuid},
    refusal::{JSON, Refusal},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/v3/apps")
            .route(get().to(list))
            .route(post().to(create)),
    );
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &["space_guids"])?;
    controller.0.state.read(|tables| {
        let seen = |row: &&App| {
            caller.sees_space(tables, &row.space)
                && query.admits_row(*row)
                && query.admits("space_guids", row.space.as_str())
        };
        let page = query.page(&controller, tables.apps.values().filter(seen).collect());
        Ok(ok(&page.presented(|app| controller.app(app))))
    })
}

#[derive(Deserialize)]
struct Create {
    name: String,
    relationships: Relationships,
}

#[derive(Deserialize)]
struct Relationships {
    space: Relation,
}

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let wanted: Create = message(&body)?;
    let name = checked_name(&wanted.name)?;
    let space = SpaceGuid::given(&wanted.relationships.space.data.guid);
    controller.0.state.change(|tables| {
        if !tables.spaces.contains_key(&space) || !caller.sees_space(tables, &space) {
            return Err(Refusal::unprocessable(
                "Invalid space. Ensure that the space exists and you have access to it.",
            ));
        }
        if tables
            .apps
            .values()
            .any(|app| app.space == space && app.name == name)
        {
            return Err(Refusal::unprocessable(format!(
                "App with the name '{name}' already exists."
            )));
        }
        let app = App {
            guid: AppGuid::random(),
            space,
            name,
            created_at: Timestamp::now(),
        };
        let body = controller.app(&app).to_string();
        tables.apps.insert(app.guid.clone(), app);
        Ok(HttpResponse::Created()
            .insert_header((CONTENT_TYPE, JSON))
            .body(body))
    })
}

impl CloudController {
    pub(super) fn app(&self, app: &App) -> Value {
        json!({
            "guid": app.guid,
            "created_at": stamp(app.created_at),
            "updated_at": stamp(app.created_at),
            "name": app.name,
            "state": "STOPPED",
            "lifecycle": {"type": "buildpack", "data": {"buildpacks": [], "stack": null}},
            "relationships": {"space": relation(&app.space)},
            "metadata": metadata(),
            "links": {
                "self": self.link(format_args!("/v3/apps/{}", app.guid)),
                "space": self.link(format_args!("/v3/spaces/{}", app.space)),
            },
        })
    }
}
