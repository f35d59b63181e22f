//! Spaces.

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::{Included, Query},
    ok,
    present::{metadata, relation, stamp},
};
use crate::cloud_controller::{
    CloudController,
    model::{Space, SpaceGuid},
    refusal::Refusal,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/spaces").route(get().to(list)))
        .service(resource("/v3/spaces/{guid}").route(get().to(one)));
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &["organization_guids", "include"])?;
    let with_organization = !query.items("include", &["organization", "org"])?.is_empty();
    controller.0.state.read(|tables| {
        let seen = |row: &&Space| {
            caller.sees_space(tables, &row.guid)
                && query.admits_row(*row)
                && query.admits("organization_guids", row.organization.as_str())
        };
        let page = query.page(&controller, tables.spaces.values().filter(seen).collect());
        let mut included = Included::default();
        for space in page.rows.iter().filter(|_| with_organization) {
            if let Some(organization) = tables.organizations.get(&space.organization) {
                included.add("organizations", organization.guid.as_str(), || {
                    controller.organization(organization)
                });
            }
        }
        Ok(ok(
            &included.beside(page.presented(|space| controller.space(space)))
        ))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let space = tables
            .spaces
            .get(&SpaceGuid::given(&guid))
            .filter(|row| caller.sees_space(tables, &row.guid));
        Ok(ok(
            &controller.space(space.ok_or_else(|| Refusal::no_such("Space"))?)
        ))
    })
}

impl CloudController {
    pub(super) fn space(&self, space: &Space) -> Value {
        let path = format!("/v3/spaces/{}", space.guid);
        json!({
            "guid": space.guid,
            "created_at": stamp(space.created_at),
            "updated_at": stamp(space.created_at),
            "name": space.name,
            "relationships": {"organization": relation(&space.organization), "quota": {"data": null}},
            "metadata": metadata(),
            "links": {
                "self": self.link(&path),
                "organization": self.link(format_args!("/v3/organizations/{}", space.organization)),
                "features": self.link(format_args!("{path}/features")),
                "apply_manifest": {
                    "href": self.href(format_args!("{path}/actions/apply_manifest")), "method": "POST",
                },
            },
        })
    }
}
