use odb_adapter_sdk::manifest::{
    CustomProviderDefinition, FreeMap, InstanceGroup, Job, JobReleaseError, ProvidedLink,
    find_release_for_job,
};
use odb_adapter_sdk::protocol::{LifecycleErrands, Plan, PlanInstanceGroup, ServiceRelease};
use serde_json::Value;

use crate::parameters::VmExtensionsConfig;
use crate::plan_properties::PlanProperties;
use crate::previous::Previous;

/// What instance groups refer to their stemcell by.
pub(crate) const STEMCELL_ALIAS: &str = "only-stemcell";

/// The errands that may have instance groups of their own.
const ERRANDS: [&str; 2] = ["health-check", "cleanup-data"];

#[derive(Debug, thiserror::Error)]
pub(crate) enum InstanceGroupsError {
    #[error("the plan has no instance group `{name}`")]
    NoRedisGroup { name: String },
    #[error(transparent)]
    Job(#[from] JobReleaseError),
}

/// What the instance groups are made of.
pub(crate) struct Parts<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) plan_properties: &'a PlanProperties,
    pub(crate) releases: &'a [ServiceRelease],
    pub(crate) vm_extensions: Option<&'a VmExtensionsConfig>,
    pub(crate) previous: Option<&'a Previous>,
}

/// The group that Redis runs in, then those of errands as far as the plan has them.
pub(crate) fn instance_groups(
    redis_group: &str,
    redis_properties: FreeMap,
    parts: &Parts<'_>,
) -> Result<Vec<InstanceGroup>, InstanceGroupsError> {
    let group = parts.plan.instance_group(redis_group).ok_or_else(|| {
        InstanceGroupsError::NoRedisGroup {
            name: redis_group.to_owned(),
        }
    })?;
    let mut groups = vec![redis(group, redis_properties, parts)?];
    for name in ERRANDS {
        if let Some(group) = parts.plan.instance_group(name) {
            groups.push(errand(group, parts)?);
        }
    }
    Ok(groups)
}

fn redis(
    group: &PlanInstanceGroup,
    properties: FreeMap,
    parts: &Parts<'_>,
) -> Result<InstanceGroup, JobReleaseError> {
    let mut job = job("redis-server", parts.releases)?;
    job.provide("redis", ProvidedLink::shared());
    job.define_provider(CustomProviderDefinition::new(
        "redis-server-link",
        "address",
    ));
    job.properties = Some(properties);

    let mut redis = InstanceGroup::from(group);
    STEMCELL_ALIAS.clone_into(&mut redis.stemcell);
    redis.vm_extensions = vm_extensions(group, parts);
    redis.jobs.push(job);
    if parts.plan_properties.colocated_errand {
        for name in colocated(&parts.plan.lifecycle_errands) {
            redis.jobs.push(self::job(name, parts.releases)?);
        }
    }
    Ok(redis)
}

/// Extensions that a user brings are added to those of the plan; later they are only known from the
/// manifest, which then stands in place of the plan.
fn vm_extensions(group: &PlanInstanceGroup, parts: &Parts<'_>) -> Option<Vec<String>> {
    let extensions = match (parts.vm_extensions, parts.previous) {
        (Some(config), _) => [&group.vm_extensions[..], &config.names[..]].concat(),
        (None, Some(previous)) => return previous.vm_extensions.clone(),
        (None, None) => group.vm_extensions.clone(),
    };
    Some(extensions).filter(|extensions| !extensions.is_empty())
}

fn colocated(errands: &LifecycleErrands) -> impl Iterator<Item = &str> {
    let all = errands.pre_delete.iter().chain(&errands.post_deploy);
    all.filter(|errand| !errand.instances.is_empty())
        .map(|errand| errand.name.as_str())
}

fn errand(group: &PlanInstanceGroup, parts: &Parts<'_>) -> Result<InstanceGroup, JobReleaseError> {
    let mut errand = InstanceGroup::from(group);
    errand.lifecycle = Some("errand".to_owned());
    STEMCELL_ALIAS.clone_into(&mut errand.stemcell);
    errand.jobs.push(job(&group.name, parts.releases)?);
    errand.properties = test_properties(&group.name, parts.plan_properties);
    Ok(errand)
}

/// What makes an errand fail or take its time in tests of a platform.
fn test_properties(errand: &str, plan: &PlanProperties) -> Option<FreeMap> {
    let mut properties = FreeMap::new();
    if plan.systest_errand_failure_override.as_deref() == Some(errand) {
        properties.insert("systest-failure-override".to_owned(), true.into());
    }
    if let Some(seconds) = &plan.systest_errand_sleep {
        properties.insert("systest-sleep".to_owned(), Value::Number(seconds.clone()));
    }
    (!properties.is_empty()).then(|| FreeMap::from_iter([(errand.to_owned(), properties.into())]))
}

fn job(name: &str, releases: &[ServiceRelease]) -> Result<Job, JobReleaseError> {
    find_release_for_job(name, releases).map(|release| Job::new(name, &release.name))
}
