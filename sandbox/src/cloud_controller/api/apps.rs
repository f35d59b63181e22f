//! Apps: made and listed, so that there is something to bind to. They never run: no code is uploaded and
//! staged, no route leads to them, and nothing is deployed.

use actix_web::web::{ServiceConfig, post};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    message::{Relation, checked_name},
    query::Query,
    resource::{Resource, reads, relation},
    spaces::ordered_space,
};
use crate::cloud_controller::{
    model::{App, AppGuid, AppKey, Metadata, MetadataChange},
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.configure(reads::<App>)
        .route("/v3/apps", post().to(create));
}

impl Resource for App {
    type Row = Self;
    const KIND: &'static str = "App";
    const PATH: &'static str = "/v3/apps";
    const FILTERS: &'static [&'static str] = &["space_guids", "organization_guids"];

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_space(view.tables, &row.space)
    }

    fn admits(view: &View<'_>, query: &Query, row: &Self) -> bool {
        query.admits("space_guids", row.space.as_str())
            && query.admits("organization_guids", view.organization(&row.space))
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
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

async fn create(call: Call) -> Response {
    let wanted: Create = call.message()?;
    let change = wanted.metadata;
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
