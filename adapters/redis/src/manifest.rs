use odb_adapter_sdk::manifest::ProvidedLink;
use odb_adapter_sdk::prelude::*;
use odb_adapter_sdk::release_version::{VersionOrder, check_no_downgrade};

use crate::parameters::{Parameters, PlanProperties};
use crate::settings::Settings;

pub(crate) const GROUP: &str = "redis-server";
const SERVER: &str = "redis-server";
const MAXCLIENTS: JobProperty = JobProperty::new(GROUP, SERVER, "/redis/maxclients");
const PERSISTENCE: JobProperty = JobProperty::new(GROUP, SERVER, "/redis/persistence");
pub(crate) const PASSWORD: JobProperty = JobProperty::new(GROUP, SERVER, "/redis/password");

const HEALTH_CHECK: &str = "health-check";
const CLEANUP: &str = "cleanup-data";

/// Answers `generate-manifest`.
pub(crate) fn generate(
    settings: Settings,
    call: &GenerateManifest,
) -> Result<GeneratedManifest, AdapterError> {
    let plan: PlanProperties = call.plan.properties_as()?;
    let parameters: Parameters = call.request_parameters.parameters()?;
    let previous = call.previous()?;
    if let Some(previous) = &previous {
        // Redis reads data of older versions, not of newer ones.
        let releases = &call.service_deployment.releases;
        check_no_downgrade(SERVER, releases, previous, VersionOrder::MajorMinorDev)
            .map_err(AdapterError::misconfigured)?;
    }

    let maxclients = first_of(parameters.maxclients)
        .then_deployed(previous.as_ref(), MAXCLIENTS)?
        .then_plan(plan.maxclients)
        .or_default(10_000);
    // A text: a YAML reader may parse `yes` as a boolean.
    let persistence = if plan.persistence.unwrap_or(true) {
        "yes"
    } else {
        "no"
    };
    let mut secrets = ManagedSecrets::new(call, previous.as_ref());
    let password = if settings.secure_manifests_enabled {
        secrets.generated("password", PASSWORD, new_password).into()
    } else {
        first_of(None)
            .then_deployed(previous.as_ref(), PASSWORD)?
            .or_else(|| new_password().expose_secret().to_owned())
    };

    // Errands, and the DNS names of a plan, find Redis by the link.
    let server = JobBuilder::new(SERVER).provide("redis", ProvidedLink::shared());
    let manifest = ManifestBuilder::new(call)
        .instance_group(GROUP, [server])
        .property(MAXCLIENTS, maxclients)
        .property(PERSISTENCE, persistence)
        .property(PASSWORD, password)
        .errand_group(HEALTH_CHECK, [HEALTH_CHECK])
        .errand_group(CLEANUP, [CLEANUP])
        .colocate_errands()
        .build()
        .map_err(AdapterError::misconfigured)?;
    Ok(GeneratedManifest::new(&manifest)?.with_secrets(secrets)?)
}
