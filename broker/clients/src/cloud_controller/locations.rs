//! Organizations and spaces (`spec/contracts/platform-apis.md`, section 3.10), and their names for instances.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    hash::Hash,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    ApiVersion, CfInstance, CloudController, OrganizationGuid, SpaceGuid,
    api::{Api, Resource, ToOne, WithGuid, values},
    there,
};
use crate::{
    http::{Call, StatusCode},
    service_error::Result,
};

/// Concurrent requests for spaces or organizations.
const LOCATIONS_AT_ONCE: usize = 4;

impl CloudController {
    /// The organization of a name. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.organization_named", skip_all)]
    pub async fn organization_named(
        &self,
        call: &Call,
        name: &str,
    ) -> Result<Option<OrganizationGuid>> {
        let api = self.api(call).await?;
        api.named(call, &["organizations"], name, &[]).await
    }

    /// The space of a name in an organization. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.space_named", skip_all)]
    pub async fn space_named(
        &self,
        call: &Call,
        organization: &OrganizationGuid,
        name: &str,
    ) -> Result<Option<SpaceGuid>> {
        let api = self.api(call).await?;
        match api.version {
            ApiVersion::V3 => {
                let guids = values([organization.as_str()]);
                let filter = ("organization_guids", guids.as_str());
                api.named(call, &["spaces"], name, &[filter]).await
            }
            ApiVersion::V2 => {
                let segments = ["organizations", organization.as_str(), "spaces"];
                api.named(call, &segments, name, &[]).await
            }
        }
    }

    /// The name of an organization, if it is there. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.organization_name", skip_all)]
    pub async fn organization_name(
        &self,
        call: &Call,
        guid: &OrganizationGuid,
    ) -> Result<Option<String>> {
        let api = self.api(call).await?;
        let segments = ["organizations", guid.as_str()];
        let found = api.read::<Named>(call, &segments, &[]).await;
        Ok(there(found)?.map(|organization| organization.name))
    }
}

impl Api<'_> {
    /// Names are unique within the searched scope.
    async fn named<Guid: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        name: &str,
        filters: &[(&str, &str)],
    ) -> Result<Option<Guid>> {
        match self.version {
            ApiVersion::V3 => {
                let names = values([name]);
                let filters = [&[("names", names.as_str())], filters].concat();
                let found: Vec<WithGuid<Guid>> = self.list(call, segments, &filters).await?;
                Ok(found.into_iter().next().map(|found| found.guid))
            }
            // A name with a semicolon ends the condition there, so that it lets others through.
            ApiVersion::V2 => {
                let filter = ("q", &*format!("name:{name}"));
                let found: Vec<Resource<Guid, Named>> =
                    self.list(call, segments, &[filter]).await?;
                let found = found.into_iter().find(|found| found.entity.name == name);
                Ok(found.map(|found| found.metadata.guid))
            }
        }
    }

    /// Writes into instances where they are. Version 3 gives the names with the instances, version 2 takes a request
    /// for each space and organization that is not known yet.
    pub(super) async fn name_locations(
        &self,
        call: &Call,
        known: &mut Locations,
        instances: &mut [CfInstance],
    ) -> Result<()> {
        if self.version == ApiVersion::V3 {
            return Ok(());
        }
        let spaces = instances.iter().map(|instance| instance.space.clone());
        let spaces: BTreeSet<_> = spaces.collect();
        self.look_up(call, "spaces", spaces, &mut known.spaces)
            .await?;
        let organizations = instances.iter().filter_map(|instance| {
            let space = known.spaces.get(&instance.space)?.as_ref()?;
            Some(space.organization_guid.clone())
        });
        let organizations: BTreeSet<_> = organizations.collect();
        self.look_up(
            call,
            "organizations",
            organizations,
            &mut known.organizations,
        )
        .await?;
        for instance in instances {
            known.write_into(instance);
        }
        Ok(())
    }

    async fn look_up<Guid, Known>(
        &self,
        call: &Call,
        kind: &str,
        mut wanted: BTreeSet<Guid>,
        known: &mut HashMap<Guid, Option<Known>>,
    ) -> Result<()>
    where
        Guid: fmt::Display + Ord + Hash + Send,
        Known: DeserializeOwned + Send,
    {
        wanted.retain(|guid| !known.contains_key(guid));
        let ask = |guid: Guid| async move {
            match self.read(call, &[kind, &guid.to_string()], &[]).await {
                Ok(found) => Ok((guid, Some(found))),
                Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok((guid, None)),
                Err(error) => Err(error),
            }
        };
        let found: Vec<_> = stream::iter(wanted.into_iter().map(ask))
            .buffer_unordered(LOCATIONS_AT_ONCE)
            .try_collect()
            .await?;
        known.extend(found);
        Ok(())
    }
}

/// The known spaces and organizations; `None` for those that no longer exist.
#[derive(Default)]
pub(super) struct Locations {
    spaces: HashMap<SpaceGuid, Option<Space>>,
    organizations: HashMap<OrganizationGuid, Option<Named>>,
}

/// As version 2 has it.
#[derive(Deserialize)]
struct Space {
    name: String,
    organization_guid: OrganizationGuid,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Locations {
    /// Writes into an instance where it is, as far as that is known.
    pub(super) fn write_into(&self, instance: &mut CfInstance) {
        let Some(Some(space)) = self.spaces.get(&instance.space) else {
            return;
        };
        instance.space_name = Some(space.name.clone());
        instance.organization = Some(space.organization_guid.clone());
        let organization = self.organizations.get(&space.organization_guid);
        instance.organization_name = organization
            .and_then(Option::as_ref)
            .map(|organization| organization.name.clone());
    }
}

/// The spaces and organizations of a page of instances in version 3, each once.
#[derive(Default, Deserialize)]
pub(super) struct Included {
    #[serde(default)]
    spaces: Vec<SpaceV3>,
    #[serde(default)]
    organizations: Vec<OrganizationV3>,
}

#[derive(Deserialize)]
struct SpaceV3 {
    guid: SpaceGuid,
    name: String,
    relationships: OfSpace,
}

#[derive(Deserialize)]
struct OfSpace {
    organization: ToOne<OrganizationGuid>,
}

#[derive(Deserialize)]
struct OrganizationV3 {
    guid: OrganizationGuid,
    name: String,
}

impl From<Included> for Locations {
    fn from(included: Included) -> Self {
        let spaces = included.spaces.into_iter().map(|space| {
            let known = Space {
                name: space.name,
                organization_guid: space.relationships.organization.data.guid,
            };
            (space.guid, Some(known))
        });
        let organizations = included
            .organizations
            .into_iter()
            .map(|OrganizationV3 { guid, name }| (guid, Some(Named { name })));
        Self {
            spaces: spaces.collect(),
            organizations: organizations.collect(),
        }
    }
}
