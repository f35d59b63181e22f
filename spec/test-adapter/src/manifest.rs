use std::collections::BTreeMap;

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::manifest::{
    CustomProviderDefinition, Features, FreeMap, InitialDeployAzUpdateStrategy, JobBuilder,
    ManifestBuilder, ProvidedLink, StemcellChoice, Update, UpdateMode, Variable, VariableConsumes,
    VariableLink, VmStrategy,
};
use odb_adapter_sdk::protocol::{
    GenerateManifest, GeneratedManifest, LifecycleErrands, MaxInFlight,
};
use odb_adapter_sdk::release_version::{VersionOrder, check_no_downgrade};
use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::deployed::{Deployed, REDIS};
use crate::parameters::{Parameters, PlanProperties, VmExtensionsConfig};
use crate::redis_properties::RedisProperties;

/// The errands that may have instance groups of their own.
const ERRANDS: [&str; 2] = ["health-check", "cleanup-data"];

const PROVIDER: &str = "redis-server-link";

/// Answers `generate-manifest`.
pub(crate) fn generate(
    configuration: &Configuration,
    call: &GenerateManifest,
) -> Result<GeneratedManifest, AdapterError> {
    let redis_group = &configuration.redis_instance_group_name;
    let plan: PlanProperties = call.plan.properties_as()?;
    let parameters: Parameters = call.request_parameters.parameters()?;
    parameters.check_secret_path()?;
    let vm_extensions = parameters.vm_extensions()?;
    let previous = call.previous()?;
    let previous = previous.map(|manifest| Deployed::new(manifest, redis_group));
    if let Some(previous) = &previous {
        // Redis reads data of older versions, not of newer ones.
        let releases = &call.service_deployment.releases;
        check_no_downgrade(
            REDIS,
            releases,
            &previous.manifest,
            VersionOrder::MajorMinorDev,
        )
        .map_err(AdapterError::misconfigured)?;
    }
    let redis = RedisProperties::new(configuration, call, &plan, &parameters, previous.as_ref())?;

    let extensions = vm_extensions.as_ref();
    let mut builder = ManifestBuilder::new(call)
        .stemcell("only-stemcell", StemcellChoice::First)
        .instance_group(redis_group, jobs(call, &plan, redis.properties))
        .change_instance_group(redis_group, |group| {
            let of_the_plan = group.vm_extensions.take();
            group.vm_extensions = self::vm_extensions(of_the_plan, extensions, previous.as_ref());
        })
        .variable(Variable::new("secret_pass", "password"))
        .variable(certificate())
        .tag("product", "redis")
        .default_update(default_update(call));
    for errand in ERRANDS {
        builder = builder
            .errand_group(errand, [errand])
            .change_instance_group(errand, |group| {
                group.properties = test_properties(errand, &plan);
            });
    }
    // As in the example: an errand that the manifest lacks fails when it is to run. An adapter of your own leaves this
    // out, and such a plan is refused.
    for errand in call.plan.lifecycle_errands.all() {
        builder = builder.errand_from_elsewhere(&errand.name);
    }
    if call.plan.update.is_some() {
        builder = builder.change_update(|update| {
            update.initial_deploy_az_update_strategy =
                Some(InitialDeployAzUpdateStrategy::Parallel);
        });
    }
    if let Some(features) = features(&plan) {
        builder = builder.features(features);
    }
    let mut manifest = builder.build().map_err(AdapterError::misconfigured)?;
    let location = |name: &str| ERRANDS.iter().position(|errand| *errand == name);
    manifest
        .instance_groups
        .sort_by_key(|group| location(&group.name));

    let mut answer = GeneratedManifest::new(&manifest)?;
    answer.secrets = Some(redis.secrets);
    answer.configs = Some(configs(vm_extensions));
    Ok(answer)
}

/// Redis, and the errands that run beside it.
fn jobs(call: &GenerateManifest, plan: &PlanProperties, properties: Value) -> Vec<JobBuilder> {
    let redis = JobBuilder::new(REDIS)
        .provide("redis", ProvidedLink::shared())
        .define_provider(CustomProviderDefinition::new(PROVIDER, "address"))
        .properties(properties);
    let mut jobs = vec![redis];
    if plan.colocated_errand == Some(true) {
        let errands = colocated(&call.plan.lifecycle_errands);
        jobs.extend(errands.into_iter().map(JobBuilder::new));
    }
    jobs
}

/// Errands that have instances, each once.
fn colocated(errands: &LifecycleErrands) -> Vec<&str> {
    let mut names = Vec::new();
    for errand in errands.pre_delete.iter().chain(&errands.post_deploy) {
        let name = errand.name.as_str();
        if !errand.instances.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Extensions of a user are added to those of the plan; later they are only known from the manifest, which then
/// replaces the plan.
fn vm_extensions(
    of_the_plan: Option<Vec<String>>,
    brought: Option<&VmExtensionsConfig>,
    previous: Option<&Deployed>,
) -> Option<Vec<String>> {
    let deployed = previous.map(|previous| {
        let group = previous.instance_group();
        group.and_then(|group| group.vm_extensions.clone())
    });
    let extensions = match (brought, deployed) {
        (Some(config), _) => [&of_the_plan.unwrap_or_default()[..], &config.names].concat(),
        (None, Some(deployed)) => return deployed,
        (None, None) => return of_the_plan,
    };
    Some(extensions).filter(|extensions| !extensions.is_empty())
}

/// Settings that make an errand fail or take time in tests of a platform.
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

/// For plans without an update block: bolder with a new instance than with one in use.
fn default_update(call: &GenerateManifest) -> Update {
    const WATCH_TIME: &str = "30000-240000";
    let at_once = if call.previous_manifest.is_some() {
        1
    } else {
        4
    };
    Update {
        canaries: Some(at_once),
        canary_watch_time: Some(WATCH_TIME.to_owned()),
        update_watch_time: Some(WATCH_TIME.to_owned()),
        max_in_flight: Some(MaxInFlight::Count(at_once)),
        vm_strategy: Some(VmStrategy::DeleteCreate),
        ..Update::default()
    }
}

fn certificate() -> Variable {
    let wildcard = FreeMap::from_iter([("wildcard".to_owned(), true.into())]);
    let names = VariableConsumes {
        alternative_name: Some(VariableLink {
            properties: Some(wildcard),
            ..VariableLink::from(PROVIDER)
        }),
        common_name: Some(VariableLink::from(PROVIDER)),
        ..VariableConsumes::default()
    };
    let options = [
        ("is_ca".to_owned(), true.into()),
        ("common_name".to_owned(), json!("redis")),
    ];
    Variable {
        update_mode: Some(UpdateMode::NoOverwrite),
        options: Some(FreeMap::from_iter(options)),
        consumes: Some(names),
        ..Variable::new("instance_certificate", "certificate")
    }
}

fn features(plan: &PlanProperties) -> Option<Features> {
    let mut features = Features {
        use_short_dns_addresses: plan.use_short_dns_addresses,
        ..Features::default()
    };
    if let Some(value) = &plan.something_completely_different {
        features
            .other
            .insert("something_completely_different".to_owned(), value.clone());
    }
    (features != Features::default()).then_some(features)
}

fn configs(config: Option<VmExtensionsConfig>) -> BTreeMap<String, String> {
    config
        .map(|config| ("cloud".to_owned(), config.text))
        .into_iter()
        .collect()
}
