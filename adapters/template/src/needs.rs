//! The requirements of the service on plans, releases and stemcells.

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::manifest::{JobReleaseError, Manifest, find_release_for_job};
use odb_adapter_sdk::protocol::{
    GenerateManifest, PlanInstanceGroup, ServiceDeployment, ServiceRelease, Stemcell,
};
use odb_adapter_sdk::release_version::{
    ReleaseVersionError, VersionOrder, check_minimum, check_no_downgrade,
};
use serde_json::{Map, Value};

use crate::failure::DoesNotFit;
use crate::folder::{Folder, ReleaseNeed, Schema, item};
use crate::near::NearNames;

/// Validates the properties of the plan. Its errors are for the operator only.
pub(crate) fn plan_properties(
    folder: &Folder,
    properties: &Map<String, Value>,
) -> Result<(), AdapterError> {
    let Some(schema) = &folder.schemas.plan_properties else {
        return Ok(());
    };
    Ok(schema.check_plan_properties(properties)?)
}

/// Checks what the user asks for. A request without parameters, as of an upgrade, asks for nothing.
pub(crate) fn parameters(
    schema: &Schema,
    request: &Map<String, Value>,
) -> Result<(), AdapterError> {
    match request.get("parameters") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(parameters)) => Ok(schema.check_parameters(parameters)?),
        Some(_) => Err(AdapterError::for_user(
            "the parameters must be a JSON object",
        )),
    }
}

/// Checks that the releases and stemcells are there, and that an instance may move to them.
pub(crate) fn deployment(
    folder: &Folder,
    deployment: &ServiceDeployment,
    previous_manifest: Option<&Manifest>,
) -> Result<(), DoesNotFit> {
    for need in &folder.description.releases {
        release(need, deployment, previous_manifest)?;
    }
    for os in &folder.description.stemcells {
        if !deployment
            .stemcells
            .iter()
            .any(|stemcell| stemcell.os == *os)
        {
            return Err(DoesNotFit::new(no_stemcell(os, &deployment.stemcells)));
        }
    }
    Ok(())
}

/// Checks that the plan has the instance groups that every plan must have.
pub(crate) fn instance_groups(
    folder: &Folder,
    call: &GenerateManifest,
    context: &Map<String, Value>,
) -> Result<(), AdapterError> {
    for number in 0..folder.description.plan.instance_groups.len() {
        let key = item(&format!("plan.instance_groups[{number}]"));
        let name = folder
            .engine
            .value(&key, context)
            .map_err(|error| folder.failed(error))?;
        let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
        if call.plan.instance_group(name).is_none() {
            let message = no_instance_group(name, &call.plan.instance_groups);
            return Err(folder.unfit(DoesNotFit::new(message)));
        }
    }
    Ok(())
}

/// Why no release is the one of a job, with the jobs that there are.
pub(crate) fn no_release(error: &JobReleaseError, releases: &[ServiceRelease]) -> String {
    match error {
        JobReleaseError::NotProvided { job } => {
            let jobs = releases.iter().flat_map(|release| &release.jobs);
            let near = NearNames::to(job, jobs);
            format!("no release has the job `{job}`; {near}")
        }
        JobReleaseError::Ambiguous { .. } => error.to_string(),
    }
}

pub(crate) fn no_instance_group(name: &str, groups: &[PlanInstanceGroup]) -> String {
    let near = NearNames::to(name, groups.iter().map(|group| &group.name));
    format!("the plan has no instance group `{name}`; {near}")
}

pub(crate) fn no_stemcell(os: &str, stemcells: &[Stemcell]) -> String {
    let near = NearNames::to(os, stemcells.iter().map(|stemcell| &stemcell.os));
    format!("the service deployment has no stemcell of `{os}`; {near}")
}

fn release(
    need: &ReleaseNeed,
    deployment: &ServiceDeployment,
    previous_manifest: Option<&Manifest>,
) -> Result<(), DoesNotFit> {
    let releases = &deployment.releases;
    let does_not_fit = |error| {
        DoesNotFit::new(match error {
            ReleaseVersionError::NoRelease(error) => no_release(&error, releases),
            ReleaseVersionError::TooOld {
                release,
                version,
                minimum,
            } => format!(
                "release `{release}` has version `{version}`, at least `{minimum}` is needed"
            ),
            error => error.to_string(),
        })
    };
    match &need.minimum_version {
        Some(minimum) => check_minimum(&need.job, releases, minimum, VersionOrder::Bosh),
        None => find_release_for_job(&need.job, releases)
            .map(drop)
            .map_err(ReleaseVersionError::NoRelease),
    }
    .map_err(does_not_fit)?;
    match previous_manifest.filter(|_| need.no_downgrade) {
        Some(previous) => check_no_downgrade(&need.job, releases, previous, VersionOrder::Bosh),
        None => Ok(()),
    }
    .map_err(does_not_fit)
}
