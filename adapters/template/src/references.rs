//! Rejects references in user input: texts that the Director or the broker would resolve to a secret. With `((…))` in a
//! manifest, a user could read the secrets of other deployments.

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::protocol::RequestParameters;
use serde_json::Value;

use crate::folder::Folder;

/// Begins a reference.
pub(crate) const BEGIN: &str = "((";

/// Refuses a request that could bring a reference into what the templates render. The rest of the
/// request, such as names in its context, matters only where a template reads it.
pub(crate) fn refuse(folder: &Folder, request: &RequestParameters) -> Result<(), AdapterError> {
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
