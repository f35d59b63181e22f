//! The visibility of a plan: whether it is public (`/v2/service_plans/:guid`), otherwise one
//! `/v2/service_plan_visibilities` for each organization.

use std::collections::BTreeSet;

use super::{
    pages::filtered,
    wire::{Publicity, Resource, Visibility, WireVisibility},
};
use crate::{
    cloud_controller::{OrganizationGuid, PlanGuid, PlanVisibility, WantedVisibility},
    connection::Connection,
    http::{Call, Method, Repeat, Request},
    service_error::ServiceError,
};

const VISIBILITIES: &[&str] = &["v2", "service_plan_visibilities"];
/// The Cloud Controller's code for a visibility that is there already.
const THERE_ALREADY: u64 = 260_002;

pub(super) async fn read(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
) -> Result<PlanVisibility, ServiceError> {
    if is_public(connection, call, plan).await? {
        return Ok(PlanVisibility::Public);
    }
    let organizations = visibilities(connection, call, plan).await?;
    Ok(if organizations.is_empty() {
        PlanVisibility::Admin
    } else {
        let organizations = organizations.into_iter();
        PlanVisibility::Organizations(
            organizations
                .map(|visibility| (visibility.entity.organization_guid, None))
                .collect(),
        )
    })
}

/// Missing organizations are added before others are removed, so that no organization temporarily loses access.
pub(super) async fn write(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
    wanted: &WantedVisibility,
) -> Result<(), ServiceError> {
    let is_wanted_public = *wanted == WantedVisibility::Public;
    if is_public(connection, call, plan).await? != is_wanted_public {
        make_public(connection, call, plan, is_wanted_public).await?;
    }
    let no_user = BTreeSet::new();
    let wanted = match wanted {
        WantedVisibility::Organizations(wanted) => wanted,
        WantedVisibility::Public | WantedVisibility::Admin => &no_user,
    };
    let there = visibilities(connection, call, plan).await?;
    let seen_by: BTreeSet<_> = there
        .iter()
        .map(|visibility| &visibility.entity.organization_guid)
        .collect();
    for organization in wanted {
        if !seen_by.contains(organization) {
            add(connection, call, plan, organization).await?;
        }
    }
    for visibility in &there {
        if !wanted.contains(&visibility.entity.organization_guid) {
            remove(connection, call, &visibility.metadata.guid).await?;
        }
    }
    Ok(())
}

async fn is_public(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
) -> Result<bool, ServiceError> {
    let url = connection.address(&["v2", "service_plans", plan.as_str()], &[]);
    let plan: Resource<PlanGuid, Publicity> = connection.read_at(call, url).await?;
    Ok(plan.entity.public)
}

async fn make_public(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
    public: bool,
) -> Result<(), ServiceError> {
    let url = connection.address(&["v2", "service_plans", plan.as_str()], &[]);
    let body = Publicity { public };
    let request = Request::new(Method::PUT, url, Repeat::WhenTransient).json(&body);
    connection.send(call, request).await.map(drop)
}

async fn visibilities(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
) -> Result<Vec<Resource<String, WireVisibility>>, ServiceError> {
    let condition = format!("service_plan_guid:{plan}");
    filtered(connection, call, VISIBILITIES, &condition).await
}

/// Each organization has one at most, so that a second one is refused and adding is safe to repeat.
async fn add(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
    organization: &OrganizationGuid,
) -> Result<(), ServiceError> {
    let body = Visibility {
        service_plan_guid: plan,
        organization_guid: organization,
    };
    let url = connection.address(VISIBILITIES, &[]);
    let request = Request::new(Method::POST, url, Repeat::WhenTransient).json(&body);
    match connection.send(call, request).await {
        Err(error) if error.code() == Some(THERE_ALREADY) => Ok(()),
        other => other.map(drop),
    }
}

async fn remove(
    connection: &Connection,
    call: &Call,
    visibility: &str,
) -> Result<(), ServiceError> {
    let url = connection.address(&["v2", "service_plan_visibilities", visibility], &[]);
    let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
    match connection.send(call, request).await {
        Err(error) if error.is_not_found() => Ok(()),
        other => other.map(drop),
    }
}
