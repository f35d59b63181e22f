//! Spaces.

use actix_web::web::{ServiceConfig, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    message::{Relation, checked_name},
    organizations::ordered_organization,
    query::Query,
    resource::{Included, Resource, reads, relation},
};
use crate::cloud_controller::{
    model::{MetadataChange, Organization, OrganizationGuid, Space, SpaceGuid, SpaceKey, Tables},
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.configure(reads::<Space>)
        .route("/v3/spaces", post().to(create));
}

impl Resource for Space {
    type Row = Self;
    const KIND: &'static str = "Space";
    const PATH: &'static str = "/v3/spaces";
    const FILTERS: &'static [&'static str] = &["organization_guids"];
    const INCLUDES: &'static [(&'static str, &'static str)] =
        &[("org", "organizations"), ("organization", "organizations")];

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_space(view.tables, &row.guid)
    }

    fn admits(_view: &View<'_>, query: &Query, row: &Self) -> bool {
        query.admits("organization_guids", row.organization.as_str())
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        let path = format!("/v3/spaces/{}", row.guid);
        let manifest = view
            .controller
            .href(format_args!("{path}/actions/apply_manifest"));
        json!({
            "name": row.name,
            "relationships": {"organization": relation(&row.organization), "quota": {"data": null}},
            "metadata": row.metadata,
            "links": {
                "organization": view.link(format_args!("/v3/organizations/{}", row.organization)),
                "features": view.link(format_args!("{path}/features")),
                "apply_manifest": {"href": manifest, "method": "POST"},
            },
        })
    }

    fn include(view: &View<'_>, _query: &Query, row: &Self, beside: &mut Included) {
        if let Some(organization) = view.tables.organizations.get(&row.organization) {
            beside.add::<Organization>(view, organization);
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    name: String,
    relationships: Relationships,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Deserialize)]
struct Relationships {
    organization: Relation,
}

async fn create(call: Call) -> Response {
    let wanted: Create = call.message()?;
    let change = wanted.metadata;
    let name = checked_name(&wanted.name)?;
    call.change(|tables| {
        let view = call.view(tables);
        let organization = &wanted.relationships.organization.data.guid;
        let organization = ordered_organization(&view, organization, "")?;
        view.permissions
            .must_manage_organization(tables, &organization)?;
        must_be_free(tables, &organization, &name)?;
        let mut space = Space::new(organization, name);
        space.metadata.apply(&change);
        let guid = space.guid.clone();
        tables.spaces.insert(guid.clone(), space);
        call.created::<Space>(tables, guid.as_str())
    })
}

/// The space of an order, if the caller sees it.
pub(super) fn ordered_space(view: &View<'_>, guid: &str) -> Result<SpaceGuid, Rejection> {
    let space = view.visible::<Space>(guid).map(|row| row.guid.clone());
    space.map_err(|_| {
        Rejection::unprocessable(
            "Invalid space. Ensure that the space exists and you have access to it.",
        )
    })
}

fn must_be_free(
    tables: &Tables,
    organization: &OrganizationGuid,
    name: &str,
) -> Result<(), Rejection> {
    let key = SpaceKey::Name(organization.clone(), name.to_owned());
    if tables.spaces.has(key) {
        let organization = tables.organizations.get(organization);
        let organization = organization.map_or("", |row| &row.name);
        return Err(Rejection::unprocessable(format!(
            "Name must be unique per organization. Space '{name}' already exists in '{organization}'."
        )));
    }
    Ok(())
}
