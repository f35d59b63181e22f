//! The names of spaces and organizations, which version 2 does not give with instances.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    hash::Hash,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;

use super::wire::{Named, Single, WireSpace};
use crate::{
    cloud_controller::{CfInstance, locations::Locations},
    connection::Connection,
    http::{Call, StatusCode},
    service_error::ServiceError,
};

/// Concurrent requests for spaces or organizations.
const LOCATIONS_AT_ONCE: usize = 4;

pub(super) async fn name(
    connection: &Connection,
    call: &Call,
    known: &mut Locations,
    instances: &mut [CfInstance],
) -> Result<(), ServiceError> {
    let spaces = instances.iter().map(|instance| instance.space.clone());
    look_up::<_, WireSpace, _>(
        connection,
        call,
        "spaces",
        spaces.collect(),
        &mut known.spaces,
    )
    .await?;
    let organizations = instances.iter().filter_map(|instance| {
        let space = known.spaces.get(&instance.space)?.as_ref()?;
        Some(space.organization.clone())
    });
    let organizations = organizations.collect();
    let known_organizations = &mut known.organizations;
    look_up::<_, Named, _>(
        connection,
        call,
        "organizations",
        organizations,
        known_organizations,
    )
    .await?;
    for instance in instances {
        known.write_into(instance);
    }
    Ok(())
}

/// Asks for those that are not known yet.
async fn look_up<Guid, Entity, Known>(
    connection: &Connection,
    call: &Call,
    kind: &str,
    wanted: BTreeSet<Guid>,
    known: &mut HashMap<Guid, Option<Known>>,
) -> Result<(), ServiceError>
where
    Guid: fmt::Display + Ord + Hash + Send,
    Entity: DeserializeOwned,
    Known: From<Entity> + Send,
{
    let ask = |guid: Guid| async move {
        let segments = ["v2", kind, &guid.to_string()];
        match connection
            .read::<Single<Entity>>(call, &segments, &[])
            .await
        {
            Ok(found) => Ok((guid, Some(Known::from(found.entity)))),
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok((guid, None)),
            Err(error) => Err(error),
        }
    };
    let mut unknown = wanted;
    unknown.retain(|guid| !known.contains_key(guid));
    let asked: Vec<_> = stream::iter(unknown.into_iter().map(ask))
        .buffer_unordered(LOCATIONS_AT_ONCE)
        .try_collect()
        .await?;
    known.extend(asked);
    Ok(())
}
