//! The lists of service instances.

use crate::cloud_controller::{
    InstanceGuid, InstanceQuery, OrganizationGuid, PlanGuid, SpaceGuid, listing::InstanceList,
};

/// How many ids one filter holds, so that the URL stays below the limits of proxies.
const IDS_PER_FILTER: usize = 50;

pub(super) fn lists(query: &InstanceQuery) -> Vec<InstanceList> {
    let spaces = conditions("space_guid", query.spaces.iter().map(SpaceGuid::as_str));
    let organizations = conditions(
        "organization_guid",
        query.organizations.iter().map(OrganizationGuid::as_str),
    );
    let mut lists = Vec::new();
    for plan in &query.plans {
        for spaces in &spaces {
            for organizations in &organizations {
                let conditions = [spaces, organizations].into_iter().flatten().cloned();
                lists.push(InstanceList {
                    segments: instances_of(plan).map(str::to_owned).to_vec(),
                    filters: conditions.map(|condition| ("q", condition)).collect(),
                });
            }
        }
    }
    lists
}

/// The condition that a field has one of some ids, in as many parts as it takes; a single absent one where there are no
/// ids.
fn conditions<'a>(field: &str, ids: impl Iterator<Item = &'a str>) -> Vec<Option<String>> {
    let ids: Vec<&str> = ids.collect();
    match ids[..] {
        [] => vec![None],
        [id] => vec![Some(format!("{field}:{id}"))],
        _ => ids
            .chunks(IDS_PER_FILTER)
            .map(|ids| Some(format!("{field} IN {}", ids.join(","))))
            .collect(),
    }
}

pub(super) fn one(instance: &InstanceGuid) -> [&str; 3] {
    ["v2", "service_instances", instance.as_str()]
}

pub(super) fn instances_of(plan: &PlanGuid) -> [&str; 4] {
    ["v2", "service_plans", plan.as_str(), "service_instances"]
}
