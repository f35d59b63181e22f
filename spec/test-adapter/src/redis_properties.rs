use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use odb_adapter_sdk::first_of;
use odb_adapter_sdk::manifest::{FreeMap, JobPropertyError};
use odb_adapter_sdk::protocol::{GenerateManifest, Secrets, UaaClient};
use odb_adapter_sdk::secrets::SecretReference;
use serde_json::{Number, Value, json};
use sha2::{Digest, Sha256};

use crate::configuration::Configuration;
use crate::deployed::Deployed;
use crate::parameters::{Parameters, PlanProperties};

/// The properties of job `redis-server`, and the secrets that they refer to by placeholder.
pub(crate) struct RedisProperties {
    pub(crate) properties: Value,
    pub(crate) secrets: FreeMap,
}

const MAXCLIENTS_DEFAULT: u64 = 10_000;
const MANAGED_SECRET_NAME: &str = "odb_managed_secret";
const MANAGED_SECRET_DEFAULT: &str = "HardcodedAdapterValue";
/// The prefix of names for later values.
const NEW_MANAGED_SECRET_NAME: &str = "odb_managed_secret_";
const PLAN_SECRET_NAME: &str = "plan_secret_key";

impl RedisProperties {
    /// For each value: the user's choice, then what was deployed before, then a default.
    pub(crate) fn new(
        configuration: &Configuration,
        call: &GenerateManifest,
        plan: &PlanProperties,
        parameters: &Parameters,
        previous: Option<&Deployed>,
    ) -> Result<Self, JobPropertyError> {
        let mut secrets = FreeMap::new();
        let secrets_reported = call.previous_secrets.as_ref();
        let mut redis = FreeMap::new();
        let mut set = |name: &str, value: Value| redis.insert(name.to_owned(), value);
        set(
            "persistence",
            if plan.persistence { "yes" } else { "no" }.into(),
        );
        let password = password(previous);
        set("password", password.as_str().into());
        let mut maxclients = first_of(parameters.maxclients.map(Number::from));
        if let Some(previous) = previous {
            let property = previous.address("/redis/maxclients");
            maxclients = maxclients.then_deployed(Some(&previous.manifest), property)?;
        }
        let maxclients = maxclients.or_default(MAXCLIENTS_DEFAULT.into());
        set("maxclients", Value::Number(maxclients));
        set("generated_secret", "((secret_pass))".into());
        let managed = ManagedSecret::new(
            configuration,
            parameters,
            &password,
            previous,
            secrets_reported,
        );
        set("odb_managed_secret", managed.reference.into());
        // The broker stores it only if its placeholder is in the manifest.
        secrets.insert(managed.name, managed.value.into());
        set("ca_cert", "((instance_certificate.ca))".into());
        set("certificate", "((instance_certificate.certificate))".into());
        set("private_key", "((instance_certificate.private_key))".into());
        if let Some(client) = service_instance_client(call.uaa_client.as_ref(), previous) {
            set("service_instance_client", client);
        }
        if configuration.secure_manifests_enabled
            && let Some(value) = &plan.plan_secret
        {
            let name = name_by_value(PLAN_SECRET_NAME, &password, value);
            let kept = kept_plan_secret(call, value, &name, previous);
            let reference = kept.unwrap_or_else(|| {
                let reference = String::from(SecretReference::placeholder(&name));
                secrets.insert(name, value.as_str().into());
                reference
            });
            set("plan_secret", reference.into());
        }
        if let Some(secret) = credhub_secret(parameters, previous) {
            set("secret", secret.into());
        }
        Ok(Self {
            properties: json!({ "redis": redis }),
            secrets,
        })
    }
}

fn password(previous: Option<&Deployed>) -> String {
    match previous.and_then(|previous| previous.text("password")) {
        Some(password) => password.to_owned(),
        None => STANDARD.encode(rand::random::<[u8; 20]>()),
    }
}

/// A secret of the user's choice: its text in the manifest, and its value for the broker.
struct ManagedSecret {
    reference: String,
    name: String,
    value: String,
}

impl ManagedSecret {
    fn new(
        configuration: &Configuration,
        parameters: &Parameters,
        password: &str,
        previous: Option<&Deployed>,
        secrets: Option<&Secrets>,
    ) -> Self {
        let deployed = previous.and_then(|previous| previous.text(MANAGED_SECRET_NAME));
        let is_reported = |reference, value: &str| {
            secrets.and_then(|secrets| secrets.expose(reference)) == Some(value)
        };
        let value = parameters.odb_managed_secret.as_deref();
        let name = match (value, deployed) {
            (Some(value), Some(reference)) if !is_reported(reference, value) => {
                name_by_value(NEW_MANAGED_SECRET_NAME, password, value)
            }
            _ => MANAGED_SECRET_NAME.to_owned(),
        };
        let reference = match (value, deployed) {
            (Some(value), Some(reference)) if is_reported(reference, value) => reference.to_owned(),
            (None, Some(reference)) if !configuration.ignore_odb_managed_secret_on_update => {
                reference.to_owned()
            }
            _ => SecretReference::placeholder(&name).into(),
        };
        Self {
            reference,
            name,
            value: value.unwrap_or(MANAGED_SECRET_DEFAULT).to_owned(),
        }
    }
}

/// The UAA client of the instance. Its secret is sent only when the client is new, so the stored one is kept; without a
/// client in the call, the complete deployed one is kept.
fn service_instance_client(
    client: Option<&UaaClient>,
    previous: Option<&Deployed>,
) -> Option<Value> {
    const FIELDS: [&str; 7] = [
        "client_id",
        "client_secret",
        "name",
        "scopes",
        "resource_ids",
        "authorities",
        "authorized_grant_types",
    ];
    let deployed = previous.and_then(|previous| previous.property("service_instance_client"));
    let mut block = UaaClient::block(client, deployed)?;
    if client.is_some()
        && let Some(block) = block.as_object_mut()
    {
        block.retain(|field, _| FIELDS.contains(&field.as_str()));
    }
    Some(block)
}

/// The deployed reference, if its value has not changed. An upgrade gets no secrets: there the name is compared, so the
/// secret of an instance that the Go adapter deployed is stored anew at its first upgrade (by the Go adapter, at each).
/// A check for pending changes without this secret keeps it, because no upgrade would reveal it.
fn kept_plan_secret(
    call: &GenerateManifest,
    value: &str,
    name: &str,
    previous: Option<&Deployed>,
) -> Option<String> {
    let reference = previous?.text("plan_secret")?;
    let secrets = call.previous_secrets.as_ref();
    let is_search_for_pending_changes = call.request_parameters.fields().is_empty();
    let is_unchanged = match secrets.and_then(|secrets| secrets.expose(reference)) {
        Some(reported) => reported == value,
        None if is_search_for_pending_changes => true,
        None => reference.ends_with(&format!("/{name}))")),
    };
    is_unchanged.then(|| reference.to_owned())
}

/// A changed value gets a new name, so that a failed update leaves the old one unchanged. The name follows from the
/// value, so that an upgrade recognises a changed plan, and from the password, so that the name does not reveal the
/// value.
fn name_by_value(start: &str, password: &str, value: &str) -> String {
    let digest = Sha256::new()
        .chain_update(password)
        .chain_update([0])
        .chain_update(value)
        .finalize();
    let [a, b, c] = [digest[0], digest[1], digest[2]];
    format!("{start}{a:02x}{b:02x}{c:02x}")
}

fn credhub_secret(parameters: &Parameters, previous: Option<&Deployed>) -> Option<String> {
    match &parameters.credhub_secret_path {
        Some(path) => Some(format!("(({path}))")),
        None => previous
            .and_then(|previous| previous.text("secret"))
            .map(str::to_owned),
    }
}
