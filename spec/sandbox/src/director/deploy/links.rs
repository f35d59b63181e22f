//! Links between the jobs of one deployment: who provides what, and who gets it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    interpolation::selected,
    plan::{Plan, PlannedGroup, PlannedJob},
};
use crate::{
    cpi::{Consumed, JobName},
    director::{
        ids::{DeploymentName, GroupName, InstanceId},
        tasks::TaskFailure,
    },
};

/// An instance as links show it.
#[derive(Clone, Debug)]
pub(super) struct LinkedInstance {
    pub(super) id: InstanceId,
    pub(super) index: u32,
    pub(super) az: Option<String>,
    /// None for an instance without a VM.
    pub(super) address: Option<String>,
}

/// The instances of all groups.
pub(super) type LinkedInstances = BTreeMap<GroupName, Vec<LinkedInstance>>;

/// The links of all jobs of a deployment, by the name that the consumer knows them by.
/// References to variables are still in them.
#[derive(Debug, Default)]
pub(super) struct Links {
    consumed: BTreeMap<(GroupName, JobName), Map<String, Value>>,
}

/// Something that a job provides.
struct Provider<'a> {
    group: &'a PlannedGroup,
    job: &'a PlannedJob,
    /// The name that consumers ask for: the alias that the manifest gives it, or its own.
    name: String,
    kind: String,
    properties: Vec<String>,
}

impl Links {
    /// Finds the provider of every link that a job consumes. All faults are reported together.
    pub(super) fn resolve(
        deployment: &DeploymentName,
        plan: &Plan,
        instances: &LinkedInstances,
    ) -> Result<Self, TaskFailure> {
        let providers = providers(plan);
        let mut links = Self::default();
        let mut errors = Vec::new();
        for (group, job) in jobs(plan) {
            let mut consumed = Map::new();
            for link in &job.job.consumes {
                match provider_for(link, group, job, &providers) {
                    Ok(Some(provider)) => {
                        consumed
                            .insert(link.name.clone(), content(deployment, provider, instances));
                    }
                    Ok(None) => {}
                    Err(error) => errors.push(error),
                }
            }
            links
                .consumed
                .insert((group.name.clone(), job.name.clone()), consumed);
        }
        if errors.is_empty() {
            Ok(links)
        } else {
            Err(TaskFailure::Links {
                deployment: deployment.clone(),
                errors,
            })
        }
    }

    /// The links of one job.
    pub(super) fn of(&self, group: &GroupName, job: &JobName) -> Value {
        let links = self.consumed.get(&(group.clone(), job.clone()));
        Value::Object(links.cloned().unwrap_or_default())
    }
}

/// The addresses behind a provider of this name, for a variable that consumes it.
pub(super) fn addresses_behind(
    name: &str,
    plan: &Plan,
    instances: &LinkedInstances,
) -> Option<Vec<String>> {
    let providers = providers(plan);
    let provider = providers.iter().find(|provider| provider.name == name)?;
    let group = instances.get(&provider.group.name).into_iter().flatten();
    Some(
        group
            .filter_map(|instance| instance.address.clone())
            .collect(),
    )
}

fn jobs(plan: &Plan) -> impl Iterator<Item = (&PlannedGroup, &PlannedJob)> {
    let groups = plan.groups.iter();
    groups.flat_map(|group| group.jobs.iter().map(move |job| (group, job)))
}

fn providers(plan: &Plan) -> Vec<Provider<'_>> {
    jobs(plan)
        .flat_map(|(group, job)| {
            let own = job
                .job
                .provides
                .iter()
                .map(|link| (&link.name, &link.kind, &link.properties));
            let custom = job
                .custom_providers
                .iter()
                .map(|link| (&link.name, &link.kind, &link.properties));
            own.chain(custom)
                .filter_map(move |(name, kind, properties)| {
                    let setting = job.provides.get(name);
                    // `nil` in the manifest: this job does not provide the link here.
                    if setting.is_some_and(Value::is_null) {
                        return None;
                    }
                    let alias = setting.and_then(|setting| setting.get("as")?.as_str());
                    Some(Provider {
                        group,
                        job,
                        name: alias.unwrap_or(name).to_owned(),
                        kind: kind.clone(),
                        properties: properties.clone(),
                    })
                })
        })
        .collect()
}

/// The one provider of a link; none for an optional link that nobody provides, or one switched off with `nil`.
fn provider_for<'a, 'p>(
    link: &Consumed,
    group: &PlannedGroup,
    job: &PlannedJob,
    providers: &'a [Provider<'p>],
) -> Result<Option<&'a Provider<'p>>, String> {
    let setting = job.consumes.get(&link.name);
    let from = setting.and_then(|setting| setting.get("from")?.as_str());
    let is_off = setting.is_some_and(Value::is_null);
    let fitting: Vec<&Provider<'_>> = providers
        .iter()
        .filter(|provider| {
            !is_off && provider.kind == link.kind && from.is_none_or(|name| name == provider.name)
        })
        .collect();
    let details = match fitting.as_slice() {
        [only] => return Ok(Some(only)),
        [] if link.optional && from.is_none() => return Ok(None),
        [] => "\n    - No link providers found".to_owned(),
        several => {
            let several = several.iter().map(|provider| {
                format!(
                    "\n      - Link provider '{}' from job '{}' in instance group '{}'",
                    provider.name, provider.job.name, provider.group.name
                )
            });
            format!(
                "\n    - Multiple link providers found:{}",
                several.collect::<String>()
            )
        }
    };
    Err(format!(
        "Failed to resolve link '{}' with type '{}' from job '{}' in instance group '{}'. Details below:{details}",
        from.unwrap_or(&link.name),
        link.kind,
        job.name,
        group.name,
    ))
}

fn content(
    deployment: &DeploymentName,
    provider: &Provider<'_>,
    instances: &LinkedInstances,
) -> Value {
    let group = instances
        .get(&provider.group.name)
        .map_or(&[][..], Vec::as_slice);
    let shown: Vec<Value> = group
        .iter()
        .enumerate()
        .map(|(place, instance)| {
            json!({
                "name": provider.group.name,
                "id": instance.id,
                "index": instance.index,
                "bootstrap": place == 0,
                "az": instance.az,
                "address": instance.address,
            })
        })
        .collect();
    json!({
        "deployment_name": deployment,
        "instance_group": provider.group.name,
        "address": group.first().and_then(|instance| instance.address.as_ref()),
        "instances": shown,
        "properties": selected(&provider.job.properties, &provider.properties),
    })
}
