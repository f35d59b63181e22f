//! `/v3/service_instances` (`spec/contracts/platform-apis.md`, section 3.8).

use serde::Deserialize;

use super::pages::{IDS_PER_FILTER, ToOne, values};
use crate::cloud_controller::{
    CfInstance, InstanceGuid, InstanceQuery, LocationNames, OrganizationGuid, PlanGuid, SpaceGuid,
    instances::WireOperation,
    listing::InstanceList,
    locations::{Locations, Space},
};

pub(super) const INSTANCES: &[&str] = &["v3", "service_instances"];

/// The query that includes names.
pub(super) const NAMES: [(&str, &str); 2] = [
    ("fields[space]", "guid,name,relationships.organization"),
    ("fields[space.organization]", "guid,name"),
];

pub(super) fn one(instance: &InstanceGuid) -> [&str; 3] {
    ["v3", "service_instances", instance.as_str()]
}

/// One list, unless the query names more ids than fit into one URL.
pub(super) fn lists(query: &InstanceQuery) -> Vec<InstanceList> {
    let plans = filters(
        "service_plan_guids",
        query.plans.iter().map(PlanGuid::as_str),
    );
    let spaces = filters("space_guids", query.spaces.iter().map(SpaceGuid::as_str));
    let organizations = filters(
        "organization_guids",
        query.organizations.iter().map(OrganizationGuid::as_str),
    );
    let mut lists = Vec::new();
    for plans in &plans {
        for spaces in &spaces {
            for organizations in &organizations {
                let filters = [plans, spaces, organizations].into_iter().flatten();
                let names = NAMES.map(|(name, fields)| (name, fields.to_owned()));
                let names = names
                    .into_iter()
                    .filter(|_| query.names == LocationNames::Reported);
                lists.push(InstanceList {
                    segments: INSTANCES
                        .iter()
                        .map(|&segment| segment.to_owned())
                        .collect(),
                    filters: filters.cloned().chain(names).collect(),
                });
            }
        }
    }
    lists
}

/// The filter by some ids, in as many parts as it takes; a single absent one where there are no ids.
fn filters<'a>(
    name: &'static str,
    ids: impl Iterator<Item = &'a str>,
) -> Vec<Option<(&'static str, String)>> {
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return vec![None];
    }
    ids.chunks(IDS_PER_FILTER)
        .map(|ids| Some((name, values(ids.iter().copied()))))
        .collect()
}

#[derive(Deserialize)]
pub(super) struct OneInstance {
    #[serde(flatten)]
    pub(super) instance: WireInstance,
    #[serde(default)]
    pub(super) included: Included,
}

#[derive(Deserialize)]
pub(super) struct WireInstance {
    guid: InstanceGuid,
    relationships: WireRelationships,
    #[serde(default)]
    last_operation: Option<WireOperation>,
}

#[derive(Deserialize)]
struct WireRelationships {
    space: ToOne<SpaceGuid>,
    /// Not of those that users provide.
    #[serde(default)]
    service_plan: Option<ToOne<PlanGuid>>,
}

/// The included resources, each space and organization once.
#[derive(Default, Deserialize)]
pub(super) struct Included {
    #[serde(default)]
    spaces: Vec<WireSpace>,
    #[serde(default)]
    organizations: Vec<WireOrganization>,
}

#[derive(Deserialize)]
struct WireSpace {
    guid: SpaceGuid,
    name: String,
    relationships: WireSpaceRelationships,
}

#[derive(Deserialize)]
struct WireSpaceRelationships {
    organization: ToOne<OrganizationGuid>,
}

#[derive(Deserialize)]
struct WireOrganization {
    guid: OrganizationGuid,
    name: String,
}

impl Included {
    pub(super) fn locations(self) -> Locations {
        let spaces = self.spaces.into_iter().map(|space| {
            let known = Space {
                name: space.name,
                organization: space.relationships.organization.data.guid,
            };
            (space.guid, Some(known))
        });
        let organizations = self.organizations.into_iter();
        Locations {
            spaces: spaces.collect(),
            organizations: organizations.map(|of| (of.guid, Some(of.name))).collect(),
        }
    }
}

impl WireInstance {
    /// Nothing of one that a user provides.
    pub(super) fn managed(self, locations: &Locations) -> Option<CfInstance> {
        let mut instance = CfInstance {
            guid: self.guid,
            plan: self.relationships.service_plan?.data.guid,
            space: self.relationships.space.data.guid,
            last_operation: self.last_operation.and_then(WireOperation::known),
            space_name: None,
            organization: None,
            organization_name: None,
        };
        locations.write_into(&mut instance);
        Some(instance)
    }
}
