//! Answers `create-binding` and `delete-binding`.

use odb_adapter_sdk::protocol::{Binding, CreateBinding, DeleteBinding};
use odb_adapter_sdk::{AdapterError, json, yaml};
use serde_json::{Map, Value};

use crate::folder::{BINDING, Folder, UNBINDING};
use crate::near::NearNames;
use crate::template::SecretFacts;
use crate::{context, needs, references, values};

/// The members of a binding (`spec/contracts/adapter-protocol.md`, "stdout").
const MEMBERS: [&str; 7] = [
    "credentials",
    "syslog_drain_url",
    "route_service_url",
    "backup_agent_url",
    "endpoints",
    "volume_mounts",
    "metadata",
];

/// Why a rendered text is no answer. No message holds a value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BindingError {
    #[error("`{BINDING}` must render a JSON object")]
    NotAnObject,
    #[error("`{BINDING}` renders `{name}`, which a binding does not have; {near}")]
    Unknown { name: String, near: NearNames },
    #[error("`{BINDING}` renders no binding")]
    Shape(#[source] json::Error),
    #[error("`{UNBINDING}` is for refusing only and must render nothing")]
    Unbinding,
}

pub(crate) fn create(folder: &Folder, call: &CreateBinding) -> Result<Binding, AdapterError> {
    needs::parameters(&folder.schemas.bind, call.request_parameters.fields())?;
    references::refuse(folder, &call.request_parameters)?;
    let context = prepared(folder, call)?;
    let document = folder
        .engine
        .json(BINDING, &context)
        .map_err(|error| folder.failed(error))?;
    let Some(Value::Object(members)) = document else {
        return Err(BindingError::NotAnObject.into());
    };
    if let Some(name) = members
        .keys()
        .find(|name| !MEMBERS.contains(&name.as_str()))
    {
        return Err(BindingError::Unknown {
            name: name.clone(),
            near: NearNames::to(name, MEMBERS),
        }
        .into());
    }
    let text = Value::Object(members).to_string();
    Ok(json::from_str(&text).map_err(BindingError::Shape)?)
}

/// Deletes nothing, as a template can reach nothing; it may refuse.
pub(crate) fn delete(folder: &Folder, call: &DeleteBinding) -> Result<(), AdapterError> {
    if !folder.engine.has(UNBINDING) {
        return Ok(());
    }
    let context = prepared(folder, call)?;
    let rendered = folder
        .engine
        .value(UNBINDING, &context)
        .map_err(|error| folder.failed(error))?;
    match rendered {
        Some(Value::String(text)) if text.trim().is_empty() => Ok(()),
        _ => Err(BindingError::Unbinding.into()),
    }
}

fn prepared(folder: &Folder, call: &CreateBinding) -> Result<Map<String, Value>, AdapterError> {
    let manifest: Value = yaml::from_str(call.manifest.as_str())?;
    let omit = folder.engine.session.omit();
    let context = context::of_binding(call, &manifest, &folder.settings, omit);
    let locations = values::secret_locations(folder, &context)?;
    let mut facts = folder.engine.session.facts();
    facts.manifest = Some(manifest);
    facts.secrets = SecretFacts::Values {
        locations,
        resolved: call.secrets.clone(),
    };
    Ok(context)
}
