//! `/v3/service_plans/:guid/visibility` (`spec/contracts/platform-apis.md`, section 3.7).

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    cloud_controller::{OrganizationGuid, PlanGuid, PlanVisibility, WantedVisibility},
    connection::Connection,
    http::{Call, Method, Repeat, Request},
    service_error::ServiceError,
};

pub(in crate::cloud_controller) async fn plan_visibility(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
) -> Result<PlanVisibility, ServiceError> {
    let wire: WireVisibility = connection
        .read_at(call, visibility_of(connection, plan))
        .await?;
    let organizations = wire.organizations.into_iter();
    Ok(match wire.kind.as_str() {
        "public" => PlanVisibility::Public,
        "admin" => PlanVisibility::Admin,
        "organization" => PlanVisibility::Organizations(
            organizations
                .map(|organization| (organization.guid, organization.name))
                .collect(),
        ),
        "space" => PlanVisibility::Space,
        _ => PlanVisibility::Unknown(wire.kind),
    })
}

pub(in crate::cloud_controller) async fn set_plan_visibility(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
    wanted: &WantedVisibility,
) -> Result<(), ServiceError> {
    let (kind, organizations) = match wanted {
        WantedVisibility::Public => ("public", None),
        WantedVisibility::Admin => ("admin", None),
        WantedVisibility::Organizations(guids) => {
            let guids = guids.iter().map(|guid| Organization { guid });
            ("organization", Some(guids.collect()))
        }
    };
    let body = Visibility {
        kind,
        organizations,
    };
    let url = visibility_of(connection, plan);
    let request = Request::new(Method::PATCH, url, Repeat::WhenTransient).json(&body);
    connection.send(call, request).await.map(drop)
}

fn visibility_of(connection: &Connection, plan: &PlanGuid) -> Url {
    connection.address(&["v3", "service_plans", plan.as_str(), "visibility"], &[])
}

#[derive(Deserialize)]
struct WireVisibility {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    organizations: Vec<WireOrganization>,
}

#[derive(Deserialize)]
struct WireOrganization {
    guid: OrganizationGuid,
    name: Option<String>,
}

#[derive(Serialize)]
struct Visibility<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    organizations: Option<Vec<Organization<'a>>>,
}

#[derive(Serialize)]
struct Organization<'a> {
    guid: &'a OrganizationGuid,
}
