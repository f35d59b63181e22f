//! What is refused: plans, releases and stemcells that do not fit the service, and references in what users send.

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::manifest::{JobReleaseError, Manifest, find_release_for_job};
use odb_adapter_sdk::parameters::Draft4Schema;
use odb_adapter_sdk::protocol::{
    GenerateManifest, PlanInstanceGroup, RequestParameters, ServiceDeployment, ServiceRelease,
    Stemcell,
};
use odb_adapter_sdk::release_version::{
    ReleaseVersionError, VersionOrder, check_minimum, check_no_downgrade,
};
use serde_json::{Map, Value};

use crate::folder::{Folder, ReleaseNeed, item};
use crate::near::NearNames;
use crate::template::{RenderError, Stop};

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
    schema: &Draft4Schema,
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
            return Err(DoesNotFit(no_stemcell(os, &deployment.stemcells)));
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
        let name = folder.made(folder.engine.value(&key, context))?;
        let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
        if call.plan.instance_group(name).is_none() {
            let message = no_instance_group(name, &call.plan.instance_groups);
            return Err(folder.unfit(DoesNotFit(message)));
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
        DoesNotFit(match error {
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

pub(crate) const BEGIN: &str = "((";

/// Refuses a request that could bring a reference into what the templates render. The rest of the
/// request, such as names in its context, matters only where a template reads it.
pub(crate) fn no_references(
    folder: &Folder,
    request: &RequestParameters,
) -> Result<(), AdapterError> {
    let allowed = &folder.description.parameters.may_hold_references;
    for (name, value) in request.arbitrary() {
        // A name that is none of the schema's may be a reference itself, and is not repeated.
        if name.contains(BEGIN) {
            return Err(AdapterError::for_user(
                "names of parameters must not contain `((`",
            ));
        }
        if !allowed.contains(&name) && may_refer(&value) {
            return Err(AdapterError::for_user(format!(
                "parameter `{name}` must not contain `((`"
            )));
        }
    }
    let parts = request.fields().iter();
    let mut read = parts.filter(|(name, _)| {
        *name != "parameters"
            && (folder.engine.reads("request")
                || *name == "context" && folder.engine.reads("context")
                || *name == "bind_resource" && folder.engine.reads("bind_resource")
                || *name == "app_guid" && folder.engine.reads("app_guid"))
    });
    match read.find(|(name, value)| name.contains(BEGIN) || may_refer(value)) {
        None => Ok(()),
        Some((name, _)) if name == "context" => Err(AdapterError::for_user(
            "the names of service instance, space and organisation, and every other value of the request's context, must not contain `((`",
        )),
        Some(_) => Err(AdapterError::for_user("the request must not contain `((`")),
    }
}

/// Whether a key or text anywhere in a value begins a reference.
pub(crate) fn may_refer(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(BEGIN),
        Value::Array(elements) => elements.iter().any(may_refer),
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| key.contains(BEGIN) || may_refer(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What is wrong with plan, releases or stemcells. The platform user cannot fix it, but the folder may have a message
/// for that user.
pub(crate) struct DoesNotFit(pub(crate) String);

impl Folder {
    /// What a template has made, or why it has not.
    pub(crate) fn made<T>(&self, result: Result<T, RenderError>) -> Result<T, AdapterError> {
        result.map_err(|error| match error {
            RenderError::Stopped(stop) => match stop {
                Stop::Refused { message } => AdapterError::for_user(message),
                Stop::Misconfigured { message, for_user } => {
                    with_user_message(message, for_user.as_deref())
                }
                Stop::WrongCall { message } => AdapterError::for_operator(message),
                Stop::DoesNotFit { message } => self.unfit(DoesNotFit(message)),
                Stop::AppGuidRequired => AdapterError::app_guid_required(),
                Stop::BindingExists => AdapterError::binding_exists(),
                Stop::BindingNotFound => AdapterError::binding_not_found(),
                Stop::Error(error) => AdapterError::for_operator(error),
            },
            error => AdapterError::for_operator(error),
        })
    }

    /// The same for requirements, with the folder's message for the user.
    pub(crate) fn unfit(&self, error: DoesNotFit) -> AdapterError {
        with_user_message(error.0, self.description.user_message.as_deref())
    }
}

fn with_user_message(message: String, user_message: Option<&str>) -> AdapterError {
    match user_message {
        Some(for_user) => AdapterError::for_user(for_user).caused_by(message),
        None => AdapterError::for_operator(message),
    }
}
