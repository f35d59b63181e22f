use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use odb_adapter_sdk::manifest::FreeMap;
use odb_adapter_sdk::protocol::{GenerateManifest, Secrets, UaaClient};
use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::parameters::Parameters;
use crate::plan_properties::PlanProperties;
use crate::previous::Previous;

/// The properties of job `redis-server`, and the secrets that they refer to by placeholder.
pub(crate) struct RedisProperties {
    pub(crate) properties: FreeMap,
    pub(crate) secrets: FreeMap,
}

const MAXCLIENTS_DEFAULT: u64 = 10_000;
const MANAGED_SECRET_NAME: &str = "odb_managed_secret";
const MANAGED_SECRET_DEFAULT: &str = "HardcodedAdapterValue";
const PLAN_SECRET_NAME: &str = "plan_secret_key";

impl RedisProperties {
    /// For each value: the user's choice, then what was deployed before, then a default.
    pub(crate) fn new(
        configuration: &Configuration,
        call: &GenerateManifest,
        plan: &PlanProperties,
        parameters: &Parameters,
        previous: Option<&Previous>,
    ) -> Self {
        let mut secrets = FreeMap::new();
        // The broker stores it only if its placeholder is in the manifest.
        let managed_secret = parameters
            .odb_managed_secret
            .as_deref()
            .unwrap_or(MANAGED_SECRET_DEFAULT);
        secrets.insert(MANAGED_SECRET_NAME.to_owned(), managed_secret.into());

        let mut redis = FreeMap::new();
        let mut set = |name: &str, value: Value| redis.insert(name.to_owned(), value);
        set(
            "persistence",
            if plan.persistence { "yes" } else { "no" }.into(),
        );
        set("password", password(previous).into());
        set("maxclients", maxclients(parameters, previous));
        set("generated_secret", "((secret_pass))".into());
        set(
            "odb_managed_secret",
            managed_reference(configuration, parameters, previous).into(),
        );
        set("ca_cert", "((instance_certificate.ca))".into());
        set("certificate", "((instance_certificate.certificate))".into());
        set("private_key", "((instance_certificate.private_key))".into());
        if let Some(client) = service_instance_client(call.uaa_client.as_ref(), previous) {
            set("service_instance_client", client);
        }
        if configuration.secure_manifests_enabled
            && let Some(value) = &plan.plan_secret
        {
            let reference = kept_plan_secret(value, previous, call.previous_secrets.as_ref())
                .unwrap_or_else(|| new_plan_secret(value, &mut secrets));
            set("plan_secret", reference.into());
        }
        if let Some(secret) = credhub_secret(parameters, previous) {
            set("secret", secret.into());
        }
        let properties = FreeMap::from_iter([("redis".to_owned(), redis.into())]);
        Self {
            properties,
            secrets,
        }
    }
}

fn password(previous: Option<&Previous>) -> String {
    match previous.and_then(|previous| previous.text("password")) {
        Some(password) => password.to_owned(),
        None => STANDARD.encode(rand::random::<[u8; 20]>()),
    }
}

fn maxclients(parameters: &Parameters, previous: Option<&Previous>) -> Value {
    match (
        parameters.maxclients,
        previous.and_then(|previous| previous.property("maxclients")),
    ) {
        (Some(chosen), _) => chosen.into(),
        (None, Some(kept)) => kept.clone(),
        (None, None) => MAXCLIENTS_DEFAULT.into(),
    }
}

fn managed_reference(
    configuration: &Configuration,
    parameters: &Parameters,
    previous: Option<&Previous>,
) -> String {
    let is_kept = parameters.odb_managed_secret.is_none()
        && !configuration.ignore_odb_managed_secret_on_update;
    match previous.and_then(|previous| previous.text("odb_managed_secret")) {
        Some(reference) if is_kept => reference.to_owned(),
        _ => placeholder(MANAGED_SECRET_NAME),
    }
}

/// The UAA client of the instance. Its secret arrives only when the client is new, so the stored one
/// is kept; the whole client is kept when none arrives.
fn service_instance_client(
    client: Option<&UaaClient>,
    previous: Option<&Previous>,
) -> Option<Value> {
    let kept = previous.and_then(|previous| previous.property("service_instance_client"));
    let Some(client) = client else {
        return kept.cloned();
    };
    let arrived = client.expose_secret();
    let kept_secret = kept
        .filter(|kept| kept.get("client_id").and_then(Value::as_str) == Some(&client.client_id))
        .and_then(|kept| kept.get("client_secret")?.as_str());
    let secret = if arrived.is_empty() {
        kept_secret.unwrap_or_default()
    } else {
        arrived
    };
    Some(json!({
        "client_id": client.client_id,
        "client_secret": secret,
        "name": client.name,
        "scopes": client.scopes,
        "resource_ids": client.resource_ids,
        "authorities": client.authorities,
        "authorized_grant_types": client.authorized_grant_types,
    }))
}

/// The reference that is deployed, if its value has not changed. An upgrade is told no secrets and
/// keeps what there is.
fn kept_plan_secret(
    value: &str,
    previous: Option<&Previous>,
    secrets: Option<&Secrets>,
) -> Option<String> {
    let reference = previous?.text("plan_secret")?;
    let is_unchanged = secrets.is_none_or(|secrets| secrets.expose(reference) == Some(value));
    is_unchanged.then(|| reference.to_owned())
}

/// A changed value gets a new name, so that a failed update leaves the old one as it was.
fn new_plan_secret(value: &str, secrets: &mut FreeMap) -> String {
    let [a, b, c] = rand::random::<[u8; 3]>();
    let name = format!("{PLAN_SECRET_NAME}{a:02x}{b:02x}{c:02x}");
    let reference = placeholder(&name);
    secrets.insert(name, value.into());
    reference
}

fn credhub_secret(parameters: &Parameters, previous: Option<&Previous>) -> Option<String> {
    match &parameters.credhub_secret_path {
        Some(path) => Some(format!("(({path}))")),
        None => previous
            .and_then(|previous| previous.text("secret"))
            .map(str::to_owned),
    }
}

fn placeholder(name: &str) -> String {
    format!("((odb_secret:{name}))")
}
