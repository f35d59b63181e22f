//! The service instances of a plan, and single ones.

use serde::Deserialize;

use super::{
    PlaceBook,
    pages::{Page, Resource, count},
};
use crate::{
    cloud_controller::{
        CfInstance, InstanceGuid, InstanceQuery, OrganizationGuid, PlaceNames, PlanGuid, SpaceGuid,
        instances::WireOperation, listing::InstancePage,
    },
    connection::Connection,
    http::{Call, StatusCode},
    service_error::ServiceError,
};

/// The most that the Cloud Controller gives at once.
const PER_PAGE: &str = "100";
/// How many ids go into one filter, so that the address stays below what proxies take.
const IDS_PER_FILTER: usize = 50;
/// `CF-ServiceInstanceNotFound`. Any other 404 says nothing of the instance.
const NO_SUCH_INSTANCE: u64 = 60_004;

pub(in crate::cloud_controller) async fn count_instances(
    connection: &Connection,
    call: &Call,
    plan: &PlanGuid,
) -> Result<u64, ServiceError> {
    count(connection, call, &instances_of(plan)).await
}

/// A list that the Cloud Controller has pages of: the instances of one plan.
pub(in crate::cloud_controller) struct InstanceList {
    plan: PlanGuid,
    conditions: Vec<String>,
}

/// The lists that a query takes: one for each plan, unless it names more ids than one address has place for.
pub(in crate::cloud_controller) fn instance_lists(
    query: &InstanceQuery,
) -> impl Iterator<Item = InstanceList> {
    let spaces = conditions("space_guid", query.spaces.iter().map(SpaceGuid::as_str));
    let organizations = conditions(
        "organization_guid",
        query.organizations.iter().map(OrganizationGuid::as_str),
    );
    let mut lists = Vec::new();
    for plan in &query.plans {
        for spaces in &spaces {
            for organizations in &organizations {
                let conditions = [spaces, organizations].into_iter().flatten();
                lists.push(InstanceList {
                    plan: plan.clone(),
                    conditions: conditions.cloned().collect(),
                });
            }
        }
    }
    lists.into_iter()
}

/// The condition that a field has one of some ids, in as many parts as it takes; a single absent one where there are no ids.
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

impl InstanceList {
    pub(in crate::cloud_controller) fn path(&self) -> String {
        format!("/{}", instances_of(&self.plan).join("/"))
    }

    /// A page of it, from 1. The newest instances are on the first.
    pub(in crate::cloud_controller) async fn page(
        &self,
        connection: &Connection,
        call: &Call,
        number: usize,
    ) -> Result<InstancePage, ServiceError> {
        let number = number.to_string();
        let conditions = self
            .conditions
            .iter()
            .map(|condition| ("q", condition.as_str()));
        let query: Vec<_> = conditions
            .chain([
                ("order-direction", "desc"),
                ("results-per-page", PER_PAGE),
                ("page", &number),
            ])
            .collect();
        let url = connection.address(&instances_of(&self.plan), &query);
        let page: Page<WireResource> = connection.read_at(call, url).await?;
        Ok(InstancePage {
            total: page.total_results,
            pages: page.total_pages,
            instances: page.resources.into_iter().map(CfInstance::from).collect(),
        })
    }
}

pub(in crate::cloud_controller) async fn instance(
    connection: &Connection,
    call: &Call,
    guid: &InstanceGuid,
    names: PlaceNames,
) -> Result<Option<CfInstance>, ServiceError> {
    let url = connection.address(&["v2", "service_instances", guid.as_str()], &[]);
    let found = match connection.read_at::<WireResource>(call, url).await {
        Ok(found) => CfInstance::from(found),
        Err(error)
            if error.status() == Some(StatusCode::NOT_FOUND)
                && error.code() == Some(NO_SUCH_INSTANCE) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut found = [found];
    if names == PlaceNames::Told {
        PlaceBook::default()
            .name(connection, call, &mut found)
            .await?;
    }
    let [found] = found;
    Ok(Some(found))
}

fn instances_of(plan: &PlanGuid) -> [&str; 4] {
    ["v2", "service_plans", plan.as_str(), "service_instances"]
}

type WireResource = Resource<InstanceGuid, WireInstance>;

#[derive(Deserialize)]
struct WireInstance {
    service_plan_guid: PlanGuid,
    space_guid: SpaceGuid,
    #[serde(default)]
    last_operation: Option<WireOperation>,
}

impl From<WireResource> for CfInstance {
    fn from(wire: WireResource) -> Self {
        Self {
            guid: wire.metadata.guid,
            plan: wire.entity.service_plan_guid,
            space: wire.entity.space_guid,
            last_operation: wire.entity.last_operation.and_then(WireOperation::known),
            space_name: None,
            organization: None,
            organization_name: None,
        }
    }
}
