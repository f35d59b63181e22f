//! Organizations.

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::Query,
    ok,
    present::{metadata, stamp},
};
use crate::cloud_controller::{
    CloudController,
    model::{Organization, OrganizationGuid, Tables},
    refusal::Refusal,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/organizations").route(get().to(list)))
        .service(resource("/v3/organizations/{guid}").route(get().to(one)))
        .service(resource("/v3/organizations/{guid}/domains").route(get().to(domains)));
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &[])?;
    controller.0.state.read(|tables| {
        let seen = |row: &&Organization| sees(tables, &caller, row) && query.admits_row(*row);
        let page = query.page(
            &controller,
            tables.organizations.values().filter(seen).collect(),
        );
        Ok(ok(&page.presented(|organization| {
            controller.organization(organization)
        })))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let organization = tables.organizations.get(&OrganizationGuid::given(&guid));
        let organization = organization.filter(|row| sees(tables, &caller, row));
        Ok(ok(&controller.organization(
            organization.ok_or_else(|| Refusal::no_such("Organization"))?,
        )))
    })
}

/// There are no apps to reach, so there are no domains either.
async fn domains(
    controller: Data<CloudController>,
    _caller: Caller,
    request: HttpRequest,
) -> Answer {
    let query = Query::of(&request, &[])?;
    let none = query.page::<Organization>(&controller, Vec::new());
    Ok(ok(&none.presented(|_| Value::Null)))
}

fn sees(tables: &Tables, caller: &Caller, organization: &Organization) -> bool {
    let mut spaces = tables
        .spaces
        .values()
        .filter(|space| space.organization == organization.guid);
    caller.sees_brokers() || spaces.any(|space| caller.sees_space(tables, &space.guid))
}

impl CloudController {
    pub(super) fn organization(&self, organization: &Organization) -> Value {
        let path = format!("/v3/organizations/{}", organization.guid);
        json!({
            "guid": organization.guid,
            "created_at": stamp(organization.created_at),
            "updated_at": stamp(organization.created_at),
            "name": organization.name,
            "suspended": false,
            "relationships": {"quota": {"data": null}},
            "metadata": metadata(),
            "links": {
                "self": self.link(&path),
                "domains": self.link(format_args!("{path}/domains")),
                "default_domain": self.link(format_args!("{path}/domains/default")),
            },
        })
    }
}
