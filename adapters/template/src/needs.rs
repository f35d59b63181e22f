//! What the service needs of plans, releases and stemcells.

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::manifest::{JobReleaseError, Manifest, find_release_for_job};
use odb_adapter_sdk::protocol::{
    GenerateManifest, PlanInstanceGroup, ServiceDeployment, ServiceRelease, Stemcell,
};
use serde_json::{Map, Value};

use crate::failure::{self, DoesNotFit};
use crate::folder::{Folder, ReleaseNeed, Schema, item};
use crate::near::NearNames;
use crate::version::Version;

/// Checks what the operator has set in the plan. Its faults are for the operator alone.
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
    let user_message = folder.description.user_message.as_deref();
    for number in 0..folder.description.plan.instance_groups.len() {
        let key = item(&format!("plan.instance_groups[{number}]"));
        let name = folder
            .engine
            .value(&key, context)
            .map_err(|error| failure::of_template(error, user_message))?;
        let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
        if call.plan.instance_group(name).is_none() {
            let message = no_instance_group(name, &call.plan.instance_groups);
            return Err(DoesNotFit::new(message).into_error(user_message));
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
    let release = find_release_for_job(&need.job, &deployment.releases)
        .map_err(|error| DoesNotFit::new(no_release(&error, &deployment.releases)))?;
    let name = &release.name;
    let read = |version: &str| {
        Version::read(version).ok_or_else(|| {
            DoesNotFit::new(format!(
                "release `{name}` has version `{version}`, which is not made of numbers"
            ))
        })
    };
    if let Some(minimum) = &need.minimum_version
        && read(&release.version)?.is_lower_than(&read(minimum)?)
    {
        return Err(DoesNotFit::new(format!(
            "release `{name}` has version `{}`, at least `{minimum}` is needed",
            release.version
        )));
    }
    let Some(manifest) = previous_manifest.filter(|_| need.no_downgrade) else {
        return Ok(());
    };
    let deployed = manifest
        .releases
        .iter()
        .find(|deployed| deployed.name == *name)
        .ok_or_else(|| {
            DoesNotFit::new(format!(
                "release `{name}` is not the one the instance was deployed with"
            ))
        })?;
    let previous = &deployed.version;
    if read(&release.version)?.is_lower_than(&read(previous)?) {
        return Err(DoesNotFit::new(format!(
            "release `{name}` has version `{}`, which is lower than `{previous}`",
            release.version
        )));
    }
    Ok(())
}
