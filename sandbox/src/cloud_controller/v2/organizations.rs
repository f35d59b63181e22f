//! Organizations of v2.

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::json;

use super::{
    V2Answer,
    caller::V2Caller,
    listing::{Resource, Row, V2Query, changed},
    rejection::V2Rejection,
    spaces,
};
use crate::cloud_controller::{
    CloudController,
    model::{Organization, OrganizationGuid, OrganizationStatus, SpaceKey, Tables},
};

const FIELDS: [&str; 2] = ["name", "status"];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/organizations").route(get().to(list)))
        .service(resource("/organizations/{guid}").route(get().to(one)))
        .service(resource("/organizations/{guid}/spaces").route(get().to(spaces_of)));
}

async fn list(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
) -> V2Answer {
    let query = V2Query::of(&request, &FIELDS)?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let rows = tables
            .organizations
            .values()
            .filter(|row| permissions.sees_organization(&row.guid))
            .map(|row| Row {
                resource: organization(row),
                fields: vec![
                    ("name", vec![row.name.clone()]),
                    ("status", vec![status(row).to_owned()]),
                ],
            });
        Ok(query.answer(rows))
    })
}

async fn one(controller: Data<CloudController>, caller: V2Caller, guid: Path<String>) -> V2Answer {
    controller
        .0
        .state
        .read(|tables| Ok(organization(visible(tables, &caller, &guid)?).answer()))
}

async fn spaces_of(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> V2Answer {
    let query = V2Query::of(&request, &spaces::FIELDS)?;
    controller.0.state.read(|tables| {
        let guid = visible(tables, &caller, &guid)?.guid.clone();
        let permissions = caller.permissions(tables);
        let here = tables.spaces.with(SpaceKey::Organization(guid));
        let rows = here
            .filter(|row| permissions.sees_space(tables, &row.guid))
            .map(spaces::row);
        Ok(query.answer(rows))
    })
}

fn visible<'a>(
    tables: &'a Tables,
    caller: &V2Caller,
    guid: &str,
) -> Result<&'a Organization, V2Rejection> {
    tables
        .organizations
        .get(&OrganizationGuid::given(guid))
        .filter(|row| caller.permissions(tables).sees_organization(&row.guid))
        .ok_or_else(|| V2Rejection::no_such_organization(guid))
}

fn status(organization: &Organization) -> &'static str {
    match organization.status {
        OrganizationStatus::Active => "active",
        OrganizationStatus::Suspended => "suspended",
    }
}

fn organization(organization: &Organization) -> Resource {
    let url = format!("/v2/organizations/{}", organization.guid);
    let below = |name: &str| format!("{url}/{name}");
    let entity = json!({
        "name": organization.name,
        "billing_enabled": false,
        "quota_definition_guid": null,
        "status": status(organization),
        "default_isolation_segment_guid": null,
        "quota_definition_url": null,
        "spaces_url": below("spaces"),
        "domains_url": below("domains"),
        "private_domains_url": below("private_domains"),
        "users_url": below("users"),
        "managers_url": below("managers"),
        "billing_managers_url": below("billing_managers"),
        "auditors_url": below("auditors"),
        "app_events_url": below("app_events"),
        "space_quota_definitions_url": below("space_quota_definitions"),
    });
    Resource {
        guid: organization.guid.to_string(),
        created_at: organization.created_at,
        updated_at: changed(organization.created_at, organization.updated_at),
        entity,
        url,
    }
}
