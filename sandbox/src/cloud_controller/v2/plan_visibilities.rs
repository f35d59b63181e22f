//! Plan visibilities of v2: one for each organization that sees a plan.

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, post, resource},
};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{
    V2Answer,
    body::message,
    caller::V2Caller,
    created,
    listing::{Resource, Row, V2Query},
    no_content,
    rejection::V2Rejection,
};
use crate::cloud_controller::{
    CloudController,
    model::{OrganizationGuid, Plan, PlanGuid, Tables, Visibility},
};

const FIELDS: [&str; 2] = ["organization_guid", "service_plan_guid"];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/service_plan_visibilities")
            .route(get().to(list))
            .route(post().to(create)),
    )
    .service(resource("/service_plan_visibilities/{guid}").route(delete().to(remove)));
}

async fn list(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
) -> V2Answer {
    let query = V2Query::of(&request, &FIELDS)?;
    controller.0.state.read(|tables| {
        let rows = all(tables)
            .filter(|_| caller.sees_everything())
            .map(|(plan, organization)| Row {
                resource: visibility(plan, organization),
                fields: vec![
                    ("organization_guid", vec![organization.to_string()]),
                    ("service_plan_guid", vec![plan.guid.to_string()]),
                ],
            });
        Ok(query.answer(rows))
    })
}

#[derive(Deserialize)]
struct Create {
    service_plan_guid: String,
    organization_guid: String,
}

async fn create(controller: Data<CloudController>, caller: V2Caller, body: Bytes) -> V2Answer {
    caller.must_be_admin()?;
    let wanted: Create = message(&body)?;
    let organization = OrganizationGuid::given(&wanted.organization_guid);
    controller.0.state.change(|tables| {
        if !tables.organizations.contains_key(&organization) {
            return Err(V2Rejection::visibility_invalid("organization presence"));
        }
        let plan = tables
            .plans
            .get_mut(&PlanGuid::given(&wanted.service_plan_guid))
            .ok_or_else(|| V2Rejection::visibility_invalid("service_plan presence"))?;
        match &mut plan.visibility {
            Visibility::Public => {
                return Err(V2Rejection::visibility_invalid("service_plan is public"));
            }
            Visibility::Admin => {
                plan.visibility = Visibility::Organizations(BTreeSet::from([organization.clone()]));
            }
            Visibility::Organizations(organizations) => {
                if !organizations.insert(organization.clone()) {
                    return Err(V2Rejection::visibility_taken(
                        "organization_id and service_plan_id unique",
                    ));
                }
            }
        }
        Ok(created(&visibility(plan, &organization).presented()))
    })
}

async fn remove(
    controller: Data<CloudController>,
    caller: V2Caller,
    guid: Path<String>,
) -> V2Answer {
    caller.must_be_admin()?;
    controller.0.state.change(|tables| {
        let found = all(tables)
            .find(|(plan, organization)| guid_of(plan, organization) == *guid)
            .map(|(plan, organization)| (plan.guid.clone(), organization.clone()));
        let (plan, organization) = found.ok_or_else(|| V2Rejection::no_such_visibility(&guid))?;
        if let Some(plan) = tables.plans.get_mut(&plan)
            && let Visibility::Organizations(organizations) = &mut plan.visibility
        {
            organizations.remove(&organization);
            if organizations.is_empty() {
                plan.visibility = Visibility::Admin;
            }
        }
        Ok(no_content())
    })
}

fn all(tables: &Tables) -> impl Iterator<Item = (&Plan, &OrganizationGuid)> {
    tables
        .plans
        .values()
        .filter_map(|plan| match &plan.visibility {
            Visibility::Organizations(organizations) => Some((plan, organizations)),
            Visibility::Admin | Visibility::Public => None,
        })
        .flat_map(|(plan, organizations)| {
            organizations
                .iter()
                .map(move |organization| (plan, organization))
        })
}

/// Visibilities are no rows of their own: their guid follows from what they bring together.
fn guid_of(plan: &Plan, organization: &OrganizationGuid) -> String {
    let number = |guid: &str| Uuid::parse_str(guid).map_or(0, |guid| guid.as_u128());
    let both = number(plan.guid.as_str()).rotate_left(1) ^ number(organization.as_str());
    Uuid::from_u128(both).to_string()
}

fn visibility(plan: &Plan, organization: &OrganizationGuid) -> Resource {
    let guid = guid_of(plan, organization);
    Resource {
        url: format!("/v2/service_plan_visibilities/{guid}"),
        guid,
        created_at: plan.created_at,
        updated_at: None,
        entity: json!({
            "service_plan_guid": plan.guid,
            "organization_guid": organization,
            "service_plan_url": format!("/v2/service_plans/{}", plan.guid),
            "organization_url": format!("/v2/organizations/{organization}"),
        }),
    }
}
