//! Organizations and spaces.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, de::DeserializeOwned};

use super::pages::{Resource, filtered};
use crate::{
    cloud_controller::{CfInstance, OrganizationGuid, SpaceGuid},
    connection::Connection,
    http::{Call, StatusCode},
    service_error::ServiceError,
};

/// Spaces or organizations that are asked for at the same time.
const PLACES_AT_ONCE: usize = 4;

pub(in crate::cloud_controller) async fn organization_named(
    connection: &Connection,
    call: &Call,
    name: &str,
) -> Result<Option<OrganizationGuid>, ServiceError> {
    let found: Vec<Resource<OrganizationGuid, Named>> =
        filtered(connection, call, &["v2", "organizations"], &is_named(name)).await?;
    Ok(of_name(found, name))
}

pub(in crate::cloud_controller) async fn space_named(
    connection: &Connection,
    call: &Call,
    organization: &OrganizationGuid,
    name: &str,
) -> Result<Option<SpaceGuid>, ServiceError> {
    let segments = ["v2", "organizations", organization.as_str(), "spaces"];
    let found: Vec<Resource<SpaceGuid, Named>> =
        filtered(connection, call, &segments, &is_named(name)).await?;
    Ok(of_name(found, name))
}

pub(in crate::cloud_controller) async fn organization_name(
    connection: &Connection,
    call: &Call,
    guid: &OrganizationGuid,
) -> Result<String, ServiceError> {
    let url = connection.address(&["v2", "organizations", guid.as_str()], &[]);
    let found: Single<Named> = connection.read_at(call, url).await?;
    Ok(found.entity.name)
}

fn is_named(name: &str) -> String {
    format!("name:{name}")
}

/// A name with a semicolon ends the condition there, so that it lets others through.
fn of_name<Guid>(found: Vec<Resource<Guid, Named>>, name: &str) -> Option<Guid> {
    found
        .into_iter()
        .find(|place| place.entity.name == name)
        .map(|place| place.metadata.guid)
}

/// Spaces and organizations that were asked for, so that each is asked for once.
#[derive(Default)]
pub(in crate::cloud_controller) struct PlaceBook {
    /// Nothing of those that are gone.
    spaces: HashMap<SpaceGuid, Option<WireSpace>>,
    organizations: HashMap<OrganizationGuid, Option<Named>>,
}

impl PlaceBook {
    /// Writes into instances where they are.
    pub(in crate::cloud_controller) async fn name(
        &mut self,
        connection: &Connection,
        call: &Call,
        instances: &mut [CfInstance],
    ) -> Result<(), ServiceError> {
        let spaces = instances.iter().map(|instance| instance.space.clone());
        let kind = ("spaces", SpaceGuid::as_str as fn(&SpaceGuid) -> &str);
        look_up(connection, call, kind, spaces, &mut self.spaces).await?;
        for instance in &mut *instances {
            if let Some(Some(space)) = self.spaces.get(&instance.space) {
                instance.space_name = Some(space.name.clone());
                instance.organization = Some(space.organization_guid.clone());
            }
        }
        let organizations = instances
            .iter()
            .filter_map(|instance| instance.organization.clone());
        let kind = (
            "organizations",
            OrganizationGuid::as_str as fn(&OrganizationGuid) -> &str,
        );
        look_up(
            connection,
            call,
            kind,
            organizations,
            &mut self.organizations,
        )
        .await?;
        for instance in instances {
            let organization = instance.organization.as_ref();
            let known = organization.and_then(|guid| self.organizations.get(guid)?.as_ref());
            instance.organization_name = known.map(|known| known.name.clone());
        }
        Ok(())
    }
}

/// Asks for those that are not known yet.
async fn look_up<Guid, Entity>(
    connection: &Connection,
    call: &Call,
    (kind, text): (&str, fn(&Guid) -> &str),
    wanted: impl Iterator<Item = Guid>,
    known: &mut HashMap<Guid, Option<Entity>>,
) -> Result<(), ServiceError>
where
    Guid: Clone + Ord + Hash,
    Entity: DeserializeOwned,
{
    let unknown: BTreeSet<Guid> = wanted.filter(|guid| !known.contains_key(guid)).collect();
    let ask = async |guid: Guid| {
        let url = connection.address(&["v2", kind, text(&guid)], &[]);
        match connection.read_at::<Single<Entity>>(call, url).await {
            Ok(found) => Ok((guid, Some(found.entity))),
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok((guid, None)),
            Err(error) => Err(error),
        }
    };
    let asked: Vec<_> = stream::iter(unknown.into_iter().map(ask))
        .buffer_unordered(PLACES_AT_ONCE)
        .try_collect()
        .await?;
    known.extend(asked);
    Ok(())
}

#[derive(Deserialize)]
struct Single<Entity> {
    entity: Entity,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct WireSpace {
    name: String,
    organization_guid: OrganizationGuid,
}
