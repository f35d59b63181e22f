//! The service instances API as the source of instances. It has no pages, and knows no names.

use std::collections::{BTreeMap, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use odb_api_types::ids::{InstanceId, PlanId};
use odb_clients::{ServiceError, http::Call, service_instances_api::ServiceInstancesApi};

use super::{EntryStream, InstanceEntry, Selection, SourceError};

pub(super) fn entries(api: &ServiceInstancesApi, call: &Call, selection: Selection) -> EntryStream {
    let (api, call) = (api.clone(), call.clone());
    let entries = async move {
        let entries = listed(&api, &call, &selection.parameters).await?;
        let is_chosen = move |entry: &InstanceEntry| {
            let is_in_a_space = |space| selection.spaces.contains(space);
            let is_there =
                selection.spaces.is_empty() || entry.space.as_ref().is_some_and(is_in_a_space);
            let is_on_a_plan = selection.plans.is_empty() || selection.plans.contains(&entry.plan);
            is_there && is_on_a_plan && selection.organizations.is_empty()
        };
        let chosen = entries.into_iter().filter(is_chosen).map(Ok);
        Ok::<_, SourceError>(stream::iter(chosen))
    };
    stream::once(entries).try_flatten().boxed()
}

pub(super) async fn all(
    api: &ServiceInstancesApi,
    call: &Call,
) -> Result<Vec<InstanceEntry>, ServiceError> {
    listed(api, call, &[]).await
}

pub(super) async fn find(
    api: &ServiceInstancesApi,
    call: &Call,
    instance: &InstanceId,
) -> Result<Option<InstanceEntry>, ServiceError> {
    let entries = listed(api, call, &[]).await?;
    Ok(entries
        .into_iter()
        .find(|entry| entry.instance == *instance))
}

pub(super) async fn by_plan(
    api: &ServiceInstancesApi,
    call: &Call,
) -> Result<BTreeMap<PlanId, u64>, ServiceError> {
    let mut by_plan = BTreeMap::new();
    for entry in listed(api, call, &[]).await? {
        *by_plan.entry(entry.plan).or_default() += 1;
    }
    Ok(by_plan)
}

/// Each instance once, even if the list repeats it.
async fn listed(
    api: &ServiceInstancesApi,
    call: &Call,
    parameters: &[(String, String)],
) -> Result<Vec<InstanceEntry>, ServiceError> {
    let listed = api.instances(call, parameters).await?;
    let mut seen = HashSet::new();
    let entries = listed
        .into_iter()
        .filter_map(InstanceEntry::of_instances_api);
    Ok(entries
        .filter(|entry| seen.insert(entry.instance.clone()))
        .collect())
}
