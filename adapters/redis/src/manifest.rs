use std::collections::BTreeMap;

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::manifest::{
    Features, FreeMap, InitialDeployAzUpdateStrategy, Manifest, Release, Stemcell, Update,
    UpdateMode, Variable, VariableConsumes, VariableLink, VmStrategy,
};
use odb_adapter_sdk::protocol::{GenerateManifest, GeneratedManifest, MaxInFlight};
use serde_json::json;

use crate::configuration::Configuration;
use crate::instance_groups::{Parts, STEMCELL_ALIAS, instance_groups};
use crate::misconfigured;
use crate::parameters::Parameters;
use crate::plan_properties::PlanProperties;
use crate::previous::Previous;
use crate::redis_properties::RedisProperties;
use crate::upgrade;

/// Answers `generate-manifest`.
pub(crate) fn generate(
    configuration: &Configuration,
    call: &GenerateManifest,
) -> Result<GeneratedManifest, AdapterError> {
    let deployment = &call.service_deployment;
    let redis_group = &configuration.redis_instance_group_name;
    let plan_properties = PlanProperties::of(&call.plan)?;
    let parameters = Parameters::of(&call.request_parameters)
        .map_err(|error| AdapterError::for_user(error.to_string()))?;
    let previous = call
        .previous_manifest
        .as_ref()
        .map(|manifest| {
            manifest
                .parse()
                .map(|manifest| Previous::of(manifest, redis_group))
        })
        .transpose()?;
    if let Some(previous) = &previous {
        upgrade::check(deployment, &previous.releases).map_err(misconfigured)?;
    }
    let stemcell = deployment
        .stemcells
        .first()
        .ok_or("the service deployment has no stemcell")?;

    let redis = RedisProperties::new(
        configuration,
        call,
        &plan_properties,
        &parameters,
        previous.as_ref(),
    );
    let parts = Parts {
        plan: &call.plan,
        plan_properties: &plan_properties,
        releases: &deployment.releases,
        vm_extensions: parameters.vm_extensions_config.as_ref(),
        previous: previous.as_ref(),
    };
    let manifest = Manifest {
        name: deployment.deployment_name.clone(),
        releases: deployment.releases.iter().map(Release::from).collect(),
        stemcells: vec![Stemcell::of(STEMCELL_ALIAS, stemcell)],
        instance_groups: instance_groups(redis_group, redis.properties, &parts)
            .map_err(misconfigured)?,
        update: Some(update(call)),
        variables: Some(variables()),
        tags: Some(FreeMap::from_iter([("product".to_owned(), "redis".into())])),
        features: features(&plan_properties),
        ..Manifest::default()
    };
    let mut answer = GeneratedManifest::new(&manifest)?;
    answer.secrets = Some(redis.secrets);
    answer.configs = Some(configs(parameters));
    Ok(answer)
}

/// The plan's update block, or one that is bolder with a new instance than with one in use.
fn update(call: &GenerateManifest) -> Update {
    const WATCH_TIME: &str = "30000-240000";
    if let Some(update) = &call.plan.update {
        return Update {
            initial_deploy_az_update_strategy: Some(InitialDeployAzUpdateStrategy::Parallel),
            ..Update::from(update)
        };
    }
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

fn variables() -> Vec<Variable> {
    const LINK: &str = "redis-server-link";
    let wildcard = FreeMap::from_iter([("wildcard".to_owned(), true.into())]);
    let names = VariableConsumes {
        alternative_name: Some(VariableLink {
            properties: Some(wildcard),
            ..VariableLink::from(LINK)
        }),
        common_name: Some(VariableLink::from(LINK)),
        ..VariableConsumes::default()
    };
    let options = [
        ("is_ca".to_owned(), true.into()),
        ("common_name".to_owned(), json!("redis")),
    ];
    let certificate = Variable {
        update_mode: Some(UpdateMode::NoOverwrite),
        options: Some(FreeMap::from_iter(options)),
        consumes: Some(names),
        ..Variable::new("instance_certificate", "certificate")
    };
    vec![Variable::new("secret_pass", "password"), certificate]
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

fn configs(parameters: Parameters) -> BTreeMap<String, String> {
    parameters
        .vm_extensions_config
        .map(|config| ("cloud".to_owned(), config.text))
        .into_iter()
        .collect()
}
