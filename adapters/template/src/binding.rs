//! Answers `create-binding`, `delete-binding` and `dashboard-url`.

use anyhow::Context as _;
use odb_adapter_sdk::protocol::{
    Binding, CreateBinding, DashboardUrl, DeleteBinding, GenerateDashboardUrl,
};
use odb_adapter_sdk::{AdapterError, json, yaml};
use serde_json::{Map, Value};

use crate::folder::{BINDING, DASHBOARD, Folder, UNBINDING};
use crate::near::NearNames;
use crate::template::SecretFacts;
use crate::{context, needs, values};

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

pub(crate) fn create(folder: &Folder, call: &CreateBinding) -> Result<Binding, AdapterError> {
    needs::parameters(&folder.schemas.bind, call.request_parameters.fields())?;
    needs::no_references(folder, &call.request_parameters)?;
    let context = prepared(folder, call)?;
    let document = folder.made(folder.engine.json(BINDING, &context))?;
    let Some(Value::Object(members)) = document else {
        let message = format!("`{BINDING}` must render a JSON object");
        return Err(AdapterError::for_operator(message));
    };
    let mut names = members.keys();
    if let Some(name) = names.find(|name| !MEMBERS.contains(&name.as_str())) {
        let near = NearNames::to(name, MEMBERS);
        return Err(AdapterError::for_operator(format!(
            "`{BINDING}` renders `{name}`, which a binding does not have; {near}"
        )));
    }
    let text = Value::Object(members).to_string();
    Ok(json::from_str(&text).with_context(|| format!("`{BINDING}` renders no binding"))?)
}

/// Deletes nothing, as a template can reach nothing; it may refuse.
pub(crate) fn delete(folder: &Folder, call: &DeleteBinding) -> Result<(), AdapterError> {
    if !folder.engine.has(UNBINDING) {
        return Ok(());
    }
    let context = prepared(folder, call)?;
    let rendered = folder.made(folder.engine.value(UNBINDING, &context))?;
    match rendered {
        Some(Value::String(text)) if text.trim().is_empty() => Ok(()),
        _ => Err(AdapterError::for_operator(format!(
            "`{UNBINDING}` is for refusing only and must render nothing"
        ))),
    }
}

fn prepared(folder: &Folder, call: &CreateBinding) -> Result<Map<String, Value>, AdapterError> {
    let manifest: Value = yaml::from_str(call.manifest.as_str())?;
    let omit = folder.engine.session.omit();
    let context = context::of_binding(call, &manifest, &folder.settings, &omit);
    let locations = values::secret_locations(folder, &context)?;
    let mut facts = folder.engine.session.facts();
    facts.manifest = Some(manifest);
    facts.secrets = SecretFacts::Values {
        locations,
        resolved: call.secrets.clone(),
    };
    Ok(context)
}

pub(crate) fn dashboard_url(
    folder: &Folder,
    call: &GenerateDashboardUrl,
) -> Result<DashboardUrl, AdapterError> {
    let manifest: Value = yaml::from_str(call.manifest.as_str())?;
    folder.engine.session.facts().manifest = Some(manifest.clone());
    let context = context::of_dashboard(call, &manifest, &folder.settings);
    let address = folder.made(folder.engine.address(DASHBOARD, &context))?;
    let has_scheme = address.starts_with("http://") || address.starts_with("https://");
    if has_scheme && !address.contains(char::is_whitespace) {
        Ok(DashboardUrl::new(address))
    } else {
        Err(AdapterError::for_operator(format!(
            "`{DASHBOARD}` must render one address that begins with `http://` or `https://`"
        )))
    }
}
