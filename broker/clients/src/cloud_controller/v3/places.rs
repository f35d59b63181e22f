//! `/v3/organizations` and `/v3/spaces` (`spec/contracts/platform-apis.md`, section 3.10).

use serde::{Deserialize, de::DeserializeOwned};

use super::pages::{list, values};
use crate::{
    cloud_controller::{OrganizationGuid, SpaceGuid},
    connection::Connection,
    http::Call,
    service_error::ServiceError,
};

pub(in crate::cloud_controller) async fn organization_named(
    connection: &Connection,
    call: &Call,
    name: &str,
) -> Result<Option<OrganizationGuid>, ServiceError> {
    let name = values([name]);
    let query = [("names", name.as_str())];
    first(connection, call, "organizations", &query).await
}

pub(in crate::cloud_controller) async fn space_named(
    connection: &Connection,
    call: &Call,
    organization: &OrganizationGuid,
    name: &str,
) -> Result<Option<SpaceGuid>, ServiceError> {
    let (name, organization) = (values([name]), values([organization.as_str()]));
    let query = [
        ("names", name.as_str()),
        ("organization_guids", organization.as_str()),
    ];
    first(connection, call, "spaces", &query).await
}

pub(in crate::cloud_controller) async fn organization_name(
    connection: &Connection,
    call: &Call,
    guid: &OrganizationGuid,
) -> Result<String, ServiceError> {
    let url = connection.address(&["v3", "organizations", guid.as_str()], &[]);
    let found: Named = connection.read_at(call, url).await?;
    Ok(found.name)
}

/// Names are unique where they are looked for.
async fn first<Id: DeserializeOwned>(
    connection: &Connection,
    call: &Call,
    kind: &str,
    query: &[(&str, &str)],
) -> Result<Option<Id>, ServiceError> {
    let found: Vec<Place<Id>> = list(connection, call, &["v3", kind], query).await?;
    Ok(found.into_iter().next().map(|place| place.guid))
}

#[derive(Deserialize)]
struct Place<Id> {
    guid: Id,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}
