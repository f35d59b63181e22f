//! Links between jobs, of one deployment or of several: who provides what, and who gets it.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    interpolation::{interpolated, selected},
    plan::{Plan, PlannedGroup, PlannedJob},
    planning::plan_as_deployed,
    prepare::linked_as_deployed,
};
use crate::{
    cpi::{Consumed, JobName},
    director::{
        deployments::Deployment,
        ids::{DeploymentName, GroupName, InstanceId},
        links::{DeployedConsumer, DeployedLinks, DeployedProvider, DnsNames, Owner, ProviderKey},
        tasks::{TaskFailure, TaskRun},
        variables::absolute_name,
    },
};

#[derive(Clone, Debug)]
pub(super) struct LinkedInstance {
    pub(super) id: InstanceId,
    pub(super) index: u32,
    pub(super) az: Option<String>,
    /// None for an instance without a VM.
    pub(super) address: Option<String>,
}

pub(super) type LinkedInstances = BTreeMap<GroupName, Vec<LinkedInstance>>;

/// The links of all jobs of a deployment, by the name that the consumer knows them by.
/// References to variables are still in them.
#[derive(Debug, Default)]
pub(super) struct Links {
    consumed: BTreeMap<(GroupName, JobName), Map<String, Value>>,
    pub(super) found: DeployedLinks,
}

struct Provider<'a> {
    deployment: &'a DeploymentName,
    group: &'a PlannedGroup,
    job: &'a PlannedJob,
    original_name: String,
    /// The name that consumers ask for: the alias that the manifest gives it, or its own.
    name: String,
    kind: String,
    properties: Vec<String>,
    is_shared: bool,
}

/// The result of resolving a link that a job consumes.
enum Found<'a> {
    Provider(&'a Provider<'a>, Value),
    /// The manifest says it all.
    Manual(Value),
    /// There is no provider, and the link is optional or turned off.
    Nothing,
}

/// A link that a job consumes, as the manifest has it.
struct Wanted<'a> {
    from: Option<&'a str>,
    deployment: Option<&'a str>,
    manual: Option<Value>,
    is_off: bool,
}

/// Another deployment whose links are consumed.
struct LinkedDeployment {
    name: DeploymentName,
    row: Arc<Deployment>,
    plan: Plan,
}

impl Links {
    /// Finds the provider of every link that a job consumes. All errors are reported together.
    pub(super) fn resolve(
        run: &TaskRun,
        plan: &Plan,
        instances: &LinkedInstances,
    ) -> Result<Self, TaskFailure> {
        let linked_deployments = linked_deployments(run, plan)?;
        let own = providers(&run.deployment, plan);
        let others: Vec<(&LinkedDeployment, Vec<Provider<'_>>)> = linked_deployments
            .iter()
            .map(|linked| (linked, providers(&linked.name, &linked.plan)))
            .collect();
        let mut links = Self::default();
        let mut errors = Vec::new();
        for (group, job) in jobs(plan) {
            let mut consumed = Map::new();
            for link in &job.job.consumes {
                let wanted = Wanted::of(job, link);
                let other = wanted.deployment.map(|name| {
                    let mut others = others.iter();
                    others.find(|(linked, _)| linked.name.as_ref() == name)
                });
                let found = match other {
                    None => find(link, &wanted, (group, job), &own, instances),
                    Some(None) => find(link, &wanted, (group, job), &[], instances),
                    Some(Some((linked, providers))) => {
                        let instances = linked_as_deployed(&linked.plan, &linked.row);
                        find(link, &wanted, (group, job), providers, &instances)
                            .map(|found| found.seen_from_outside(run, &linked.name))
                    }
                };
                match found {
                    Ok(found) => {
                        links.note_consumer(group, job, link, &found);
                        match found {
                            Found::Provider(_, content) | Found::Manual(content) => {
                                consumed.insert(link.name.clone(), content);
                            }
                            Found::Nothing => {}
                        }
                    }
                    Err(error) => errors.push(error),
                }
            }
            links
                .consumed
                .insert((group.name.clone(), job.name.clone()), consumed);
        }
        if !errors.is_empty() {
            return Err(TaskFailure::Links {
                deployment: run.deployment.clone(),
                errors,
            });
        }
        let deployed = own
            .iter()
            .map(|provider| deployed_provider(provider, instances));
        links.found.providers = deployed.collect();
        Ok(links)
    }

    pub(super) fn of(&self, group: &GroupName, job: &JobName) -> Value {
        let links = self.consumed.get(&(group.clone(), job.clone()));
        Value::Object(links.cloned().unwrap_or_default())
    }

    fn note_consumer(
        &mut self,
        group: &PlannedGroup,
        job: &PlannedJob,
        link: &Consumed,
        found: &Found<'_>,
    ) {
        let provider = match found {
            Found::Provider(provider, content) => Some((provider.key(), content.clone())),
            Found::Manual(_) | Found::Nothing => None,
        };
        self.found.consumers.push(DeployedConsumer {
            owner: Owner::Job(group.name.clone(), job.name.clone()),
            name: link.name.clone(),
            kind: link.kind.clone(),
            optional: link.optional,
            provider,
        });
    }
}

/// The addresses behind a provider of this name, for a variable that consumes it.
pub(super) fn addresses_behind(
    name: &str,
    plan: &Plan,
    instances: &LinkedInstances,
) -> Option<Vec<String>> {
    let nameless = DeploymentName::from(String::new());
    let providers = providers(&nameless, plan);
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

/// The other deployments that links are taken from. One that is not there provides nothing.
fn linked_deployments(run: &TaskRun, plan: &Plan) -> Result<Vec<LinkedDeployment>, TaskFailure> {
    let mut linked_deployments: Vec<LinkedDeployment> = Vec::new();
    for (_, job) in jobs(plan) {
        for link in &job.job.consumes {
            let Some(name) = Wanted::of(job, link).deployment else {
                continue;
            };
            let is_known = linked_deployments
                .iter()
                .any(|known| known.name.as_ref() == name);
            let row = run.director.inner.deployments.find(name);
            if let Some(row) = row.filter(|_| !is_known)
                && let Some(plan) = plan_as_deployed(&run.director, &row)?
            {
                let name = name.to_owned().into();
                linked_deployments.push(LinkedDeployment { name, row, plan });
            }
        }
    }
    Ok(linked_deployments)
}

fn providers<'a>(deployment: &'a DeploymentName, plan: &'a Plan) -> Vec<Provider<'a>> {
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
                    if setting.is_some_and(is_nil) {
                        return None;
                    }
                    let alias = setting.and_then(|setting| setting.get("as")?.as_str());
                    let shared = setting.and_then(|setting| setting.get("shared")?.as_bool());
                    Some(Provider {
                        deployment,
                        group,
                        job,
                        original_name: name.clone(),
                        name: alias.unwrap_or(name).to_owned(),
                        kind: kind.clone(),
                        properties: properties.clone(),
                        is_shared: shared.unwrap_or(false),
                    })
                })
        })
        .collect()
}

fn find<'a>(
    link: &Consumed,
    wanted: &Wanted<'_>,
    consumer: (&PlannedGroup, &PlannedJob),
    providers: &'a [Provider<'a>],
    instances: &LinkedInstances,
) -> Result<Found<'a>, String> {
    if wanted.is_off {
        return Ok(Found::Nothing);
    }
    if let Some(content) = &wanted.manual {
        return Ok(Found::Manual(content.clone()));
    }
    let fitting: Vec<&Provider<'_>> = providers
        .iter()
        .filter(|provider| {
            provider.kind == link.kind
                && wanted.from.is_none_or(|name| name == provider.name)
                && (wanted.deployment.is_none() || provider.is_shared)
        })
        .collect();
    match fitting.as_slice() {
        [only] => {
            let content = content(only, instances);
            Ok(Found::Provider(only, content))
        }
        [] if link.optional && wanted.from.is_none() => Ok(Found::Nothing),
        [] => Err(format!(
            "{} Details below:\n    - No link providers found",
            message(link, wanted, consumer)
        )),
        several => {
            let several = several.iter().map(|provider| provider.described());
            Err(format!(
                "{} Multiple link providers found:{}",
                message(link, wanted, consumer),
                several.collect::<String>()
            ))
        }
    }
}

fn message(
    link: &Consumed,
    wanted: &Wanted<'_>,
    (group, job): (&PlannedGroup, &PlannedJob),
) -> String {
    let alias = match wanted.from {
        Some(name) if name != link.name => format!("alias '{name}' and "),
        _ => String::new(),
    };
    format!(
        "Failed to resolve link '{}' with {alias}type '{}' from job '{}' in instance group '{}'.",
        link.name, link.kind, job.name, group.name
    )
}

fn content(provider: &Provider<'_>, instances: &LinkedInstances) -> Value {
    let group = instances
        .get(&provider.group.name)
        .map_or(&[][..], Vec::as_slice);
    let shown: Vec<Value> = group
        .iter()
        .enumerate()
        .map(|(location, instance)| {
            json!({
                "name": provider.group.name,
                "id": instance.id,
                "index": instance.index,
                "bootstrap": location == 0,
                "az": instance.az,
                "address": instance.address,
            })
        })
        .collect();
    json!({
        "deployment_name": provider.deployment,
        "instance_group": provider.group.name,
        "address": group.first().and_then(|instance| instance.address.as_ref()),
        "instances": shown,
        "properties": selected(&provider.job.properties, &provider.properties),
    })
}

fn deployed_provider(provider: &Provider<'_>, instances: &LinkedInstances) -> DeployedProvider {
    let networks = provider.group.networks.iter();
    DeployedProvider {
        group: provider.group.name.clone(),
        job: provider.job.name.clone(),
        original_name: provider.original_name.clone(),
        name: provider.name.clone(),
        kind: provider.kind.clone(),
        shared: provider.is_shared,
        networks: networks.map(|network| network.name.clone()).collect(),
        content: content(provider, instances),
        dns: DnsNames::default(),
    }
}

/// `nil` in a manifest switches a link off; YAML takes that for text.
fn is_nil(setting: &Value) -> bool {
    setting.is_null() || setting == "nil"
}

impl<'a> Wanted<'a> {
    fn of(job: &'a PlannedJob, link: &Consumed) -> Self {
        let setting = job.consumes.get(&link.name);
        let text = |key: &str| setting.and_then(|setting| setting.get(key)?.as_str());
        let manual = setting.filter(|setting| {
            ["instances", "properties", "address"]
                .iter()
                .any(|key| setting.get(key).is_some())
        });
        Self {
            from: text("from"),
            deployment: text("deployment"),
            manual: manual.cloned(),
            is_off: setting.is_some_and(is_nil),
        }
    }
}

impl Found<'_> {
    /// The variables of another deployment are its own there too.
    fn seen_from_outside(self, run: &TaskRun, deployment: &DeploymentName) -> Self {
        match self {
            Self::Provider(provider, content) => {
                let director = &run.director.inner.settings.name;
                let absolute = interpolated::<Infallible>(&content, &mut |reference| {
                    let name = absolute_name(reference, director, deployment.as_ref());
                    Ok(Value::String(format!("(({name}))")))
                });
                Self::Provider(provider, absolute.unwrap_or(content))
            }
            other => other,
        }
    }
}

impl Provider<'_> {
    fn key(&self) -> ProviderKey {
        ProviderKey {
            deployment: self.deployment.clone(),
            group: self.group.name.clone(),
            job: self.job.name.clone(),
            original_name: self.original_name.clone(),
        }
    }

    fn described(&self) -> String {
        let alias = if self.name == self.original_name {
            String::new()
        } else {
            format!("with alias '{}' ", self.name)
        };
        format!(
            "\n    - Link provider '{}' {alias}from job '{}' in instance group '{}' in deployment '{}'",
            self.original_name, self.job.name, self.group.name, self.deployment
        )
    }
}
