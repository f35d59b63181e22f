//! The manifest, and what is refused because it cannot work or would lose data.

use std::ops::RangeInclusive;

use anyhow::{Context as _, anyhow, bail};
use odb_adapter_sdk::manifest::{JobProperty, Manifest, ManifestBuilder, StemcellChoice, Update};
use odb_adapter_sdk::protocol::{
    GenerateManifest, GeneratedManifest, MaxInFlight, Plan, PlanInstanceGroup,
};
use odb_adapter_sdk::release_version::{ReleaseVersionError, VersionOrder, check_minimum};
use odb_adapter_sdk::{AdapterError, first_of};
use serde::Deserialize;
use serde_json::Map;

use crate::note;
use crate::parameters::{InstanceParameters, PlanProperties};

pub(crate) const KAFKA: &str = "kafka_server";
pub(crate) const ZOOKEEPER: &str = "zookeeper_server";
/// The errand that writes and reads messages: its job, and its instance group if it is not colocated.
const SMOKE_TESTS: &str = "smoke_tests";

const AUTO_CREATE_TOPICS: JobProperty = of_kafka("/auto_create_topics");
const DEFAULT_REPLICATION_FACTOR: JobProperty = of_kafka("/default_replication_factor");
const NETWORK: JobProperty = of_kafka("/network");
/// No job declares it: it shows tests of a platform what the plan says.
const SERVICE_ADAPTER_FAILS: JobProperty = of_kafka("/service_adapter_fails");

/// The bounds for parameters and plans, and for values from a manifest.
const REPLICATION_FACTORS: RangeInclusive<u32> = 1..=32_767;

const fn of_kafka(pointer: &'static str) -> JobProperty<'static> {
    JobProperty::new(KAFKA, KAFKA, pointer)
}

/// How many brokers keep a copy of a topic, from any source, within the bounds of the parameter.
#[derive(Deserialize)]
#[serde(try_from = "u32")]
struct ReplicationFactor(u32);

impl TryFrom<u32> for ReplicationFactor {
    type Error = String;

    fn try_from(factor: u32) -> Result<Self, String> {
        if REPLICATION_FACTORS.contains(&factor) {
            return Ok(Self(factor));
        }
        let (least, most) = REPLICATION_FACTORS.into_inner();
        Err(format!("a replication factor is from {least} to {most}"))
    }
}

/// Answers `generate-manifest`.
pub(crate) fn generate(call: &GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
    let parameters: InstanceParameters = call.request_parameters.parameters()?;
    let plan: PlanProperties = call.plan.properties_as()?;
    let previous = call.previous()?;
    check(call, previous.as_ref())?;
    note_unknown_groups(&call.plan);

    let manifest = manifest(call, &parameters, &plan, previous.as_ref())
        .map_err(AdapterError::misconfigured)?;
    let mut answer = GeneratedManifest::new(&manifest)?;
    answer.secrets = Some(Map::new());
    Ok(answer)
}

fn manifest(
    call: &GenerateManifest,
    parameters: &InstanceParameters,
    plan: &PlanProperties,
    previous: Option<&Manifest>,
) -> anyhow::Result<Manifest> {
    let auto_create_topics = first_of(parameters.auto_create_topics)
        .then_deployed(previous, AUTO_CREATE_TOPICS)?
        .then_plan(plan.auto_create_topics)
        .or_default(true);
    let ReplicationFactor(default_replication_factor) =
        first_of(parameters.default_replication_factor.map(ReplicationFactor))
            .then_deployed(previous, DEFAULT_REPLICATION_FACTOR)?
            .then_plan(plan.default_replication_factor.map(ReplicationFactor))
            .or_default(ReplicationFactor(3));
    let manifest = ManifestBuilder::new(call)
        .stemcell("only-stemcell", StemcellChoice::First)
        .instance_group(KAFKA, [KAFKA])
        .instance_group(ZOOKEEPER, [ZOOKEEPER])
        .errand_group(SMOKE_TESTS, [SMOKE_TESTS])
        .colocate_errands()
        .property(AUTO_CREATE_TOPICS, auto_create_topics)
        .property(DEFAULT_REPLICATION_FACTOR, default_replication_factor)
        .property(NETWORK, network(&call.plan)?)
        .property(
            SERVICE_ADAPTER_FAILS,
            plan.service_adapter_fails.unwrap_or_default(),
        )
        .default_update(default_update())
        .build()?;
    Ok(manifest)
}

/// For plans without an update block: one broker shows that it works, then all others follow.
fn default_update() -> Update {
    const WATCH_TIME: &str = "30000-240000";
    Update {
        canaries: Some(1),
        canary_watch_time: Some(WATCH_TIME.to_owned()),
        update_watch_time: Some(WATCH_TIME.to_owned()),
        max_in_flight: Some(MaxInFlight::Count(10)),
        serial: Some(false),
        ..Update::default()
    }
}

fn note_unknown_groups(plan: &Plan) {
    let names = plan.instance_groups.iter().map(|group| &group.name);
    for name in names.filter(|name| ![KAFKA, ZOOKEEPER, SMOKE_TESTS].contains(&name.as_str())) {
        note(&anyhow!(
            "instance group `{name}` of the plan is not deployed: there are `{KAFKA}`, `{ZOOKEEPER}` and `{SMOKE_TESTS}`"
        ));
    }
}

/// The first version of the service release whose templates know what this adapter writes.
const MINIMUM_RELEASE: &str = "0.16.0";

/// Refuses what cannot work, or would lose data.
fn check(call: &GenerateManifest, previous: Option<&Manifest>) -> Result<(), AdapterError> {
    keeps_size(call, previous)?;
    for name in [KAFKA, ZOOKEEPER] {
        group(&call.plan, name).map_err(AdapterError::misconfigured)?;
    }
    release_is_new_enough(call)
}

fn group<'p>(plan: &'p Plan, name: &str) -> anyhow::Result<&'p PlanInstanceGroup> {
    let group = plan.instance_group(name);
    group.with_context(|| format!("the plan has no instance group `{name}`"))
}

/// The network whose address brokers advertise.
fn network(plan: &Plan) -> anyhow::Result<&str> {
    match group(plan, KAFKA)?.networks.as_slice() {
        [network] => Ok(network),
        networks => bail!(
            "instance group `{KAFKA}` of the plan has {} networks; it must have exactly one, on which brokers are reached",
            networks.len()
        ),
    }
}

/// Neither Kafka nor ZooKeeper moves away what is on an instance before it goes. The user can choose another plan;
/// a plan that was made smaller since the instance was deployed is the operator's to fix.
fn keeps_size(call: &GenerateManifest, previous: Option<&Manifest>) -> Result<(), AdapterError> {
    for group in [KAFKA, ZOOKEEPER] {
        let Some(planned) = call.plan.instance_group(group) else {
            continue;
        };
        let planned = planned.instances;
        let before = call.previous_plan.as_ref();
        if let Some(before) = before.and_then(|plan| plan.instance_group(group))
            && planned < before.instances
        {
            let before = before.instances;
            return Err(AdapterError::for_user(format!(
                "this plan has {planned} instead of {before} instances of `{group}`, and data would be lost; choose a plan that is not smaller"
            )));
        }
        if let Some(deployed) = previous.and_then(|manifest| manifest.instance_group(group))
            && planned < deployed.instances
        {
            let deployed = deployed.instances;
            return Err(AdapterError::misconfigured(format!(
                "instance group `{group}` has {planned} instances in the plan and {deployed} in the deployment; data of the removed instances would be lost"
            )));
        }
    }
    Ok(())
}

fn release_is_new_enough(call: &GenerateManifest) -> Result<(), AdapterError> {
    let releases = &call.service_deployment.releases;
    match check_minimum(KAFKA, releases, MINIMUM_RELEASE, VersionOrder::Semantic) {
        Err(error @ ReleaseVersionError::NotAVersion { .. }) => {
            note(&error.into());
            Ok(())
        }
        Err(error @ ReleaseVersionError::TooOld { .. }) => Err(AdapterError::for_user(format!(
            "minimum release version not met: >= kafka-service-release {MINIMUM_RELEASE} required"
        ))
        .caused_by(error)),
        outcome => outcome.map_err(AdapterError::misconfigured),
    }
}
