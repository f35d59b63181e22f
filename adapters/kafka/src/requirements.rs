use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::manifest::Manifest;
use odb_adapter_sdk::protocol::{GenerateManifest, Plan};
use odb_adapter_sdk::release_version::{ReleaseVersionError, VersionOrder, check_minimum};

use crate::manifest::{KAFKA, ZOOKEEPER};
use crate::note;

/// The first version of the service release whose templates know what this adapter writes.
const MINIMUM_RELEASE: &str = "0.16.0";

/// Errors that operators must fix.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequirementError {
    #[error("the plan has no instance group `{name}`")]
    NoInstanceGroup { name: &'static str },
    #[error(
        "instance group `{KAFKA}` of the plan has {count} networks; it must have exactly one, on which brokers are reached"
    )]
    Networks { count: usize },
    #[error(
        "instance group `{group}` has {planned} instances in the plan and {deployed} in the deployment; data of the removed instances would be lost"
    )]
    WouldLoseData {
        group: &'static str,
        planned: u32,
        deployed: u32,
    },
}

/// Refuses what cannot work, or would lose data.
pub(crate) fn check(
    call: &GenerateManifest,
    previous: Option<&Manifest>,
) -> Result<(), AdapterError> {
    keeps_size(call, previous)?;
    for name in [KAFKA, ZOOKEEPER] {
        if call.plan.instance_group(name).is_none() {
            let error = RequirementError::NoInstanceGroup { name };
            return Err(AdapterError::misconfigured(error));
        }
    }
    release_is_new_enough(call)
}

/// The network whose address brokers advertise.
pub(crate) fn network(plan: &Plan) -> Result<&str, RequirementError> {
    let group = plan
        .instance_group(KAFKA)
        .ok_or(RequirementError::NoInstanceGroup { name: KAFKA })?;
    match group.networks.as_slice() {
        [network] => Ok(network),
        networks => Err(RequirementError::Networks {
            count: networks.len(),
        }),
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
            return Err(AdapterError::misconfigured(
                RequirementError::WouldLoseData {
                    group,
                    planned,
                    deployed,
                },
            ));
        }
    }
    Ok(())
}

fn release_is_new_enough(call: &GenerateManifest) -> Result<(), AdapterError> {
    let releases = &call.service_deployment.releases;
    match check_minimum(KAFKA, releases, MINIMUM_RELEASE, VersionOrder::Semantic) {
        Err(error @ ReleaseVersionError::NotAVersion { .. }) => {
            note(&error);
            Ok(())
        }
        Err(error @ ReleaseVersionError::TooOld { .. }) => Err(AdapterError::for_user(format!(
            "minimum release version not met: >= kafka-service-release {MINIMUM_RELEASE} required"
        ))
        .caused_by(error)),
        outcome => outcome.map_err(AdapterError::misconfigured),
    }
}
