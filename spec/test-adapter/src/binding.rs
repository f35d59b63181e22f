use std::io::Write;

use anyhow::{Context as _, bail};
use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::protocol::{Binding, BoshVms, CreateBinding, DeleteBinding, Secrets};
use serde_json::{Map, Value, json};

use crate::configuration::Configuration;
use crate::deployed::Deployed;

const PORT: u16 = 6379;

/// Answers `create-binding`: one password for all applications, from the manifest.
pub(crate) fn create(
    configuration: &Configuration,
    call: &CreateBinding,
) -> Result<Binding, AdapterError> {
    if call.request_parameters.bind_resource().get("backup_agent") == Some(&Value::Bool(true)) {
        let mut binding = Binding::default();
        binding.backup_agent_url = Some("http://www.example.com/backup-agent-url".to_owned());
        return Ok(binding);
    }
    let group = &configuration.redis_instance_group_name;
    let host = only_address(group, &call.bosh_vms)?;
    let deployed = Deployed::new(call.deployed()?, group);
    let password = deployed
        .text("password")
        .context("the manifest has no password")?;
    let resolved =
        Resolved::of(&deployed, call.secrets.as_ref()).map_err(AdapterError::misconfigured)?;
    Ok(Binding::with_credentials(json!({
        "host": host,
        "port": PORT,
        "password": password,
        "generated_secret": resolved.value("generated_secret"),
        "odb_managed_secret": resolved.value("odb_managed_secret"),
        "secret": resolved.value("secret"),
        "dns_addresses": call.dns_addresses,
        "passed_in_secrets": call.secrets,
        "expected_resolved_secrets": resolved.by_name,
    })))
}

/// Answers `delete-binding`: nothing to delete. Unlike the example it does not hold the secrets to its
/// configuration: it needs none, and a binding that cannot be deleted keeps its instance from being deleted.
pub(crate) fn delete(call: &DeleteBinding) {
    // A failure to write is ignored.
    let _ = writeln!(std::io::stderr(), "DNS addresses: {:?}", call.dns_addresses);
}

/// The address of the group's one instance. Errands may have VMs of their own while they run.
fn only_address<'v>(group: &str, vms: &'v BoshVms) -> anyhow::Result<&'v str> {
    if let Some([address]) = vms.get(group).map(Vec::as_slice) {
        return Ok(address);
    }
    let found: Vec<_> = vms
        .iter()
        .map(|(name, addresses)| format!("`{name}` with {}", addresses.len()))
        .collect();
    let found = if found.is_empty() {
        "none".to_owned()
    } else {
        found.join(", ")
    };
    bail!("expected one instance group `{group}` with one address, found {found}")
}

/// Values of the secrets that the manifest refers to; none at all without secure manifests.
struct Resolved {
    by_name: Map<String, Value>,
}

impl Resolved {
    /// Looks up every secret that the adapter writes into manifests; each must be known.
    fn of(deployed: &Deployed, secrets: Option<&Secrets>) -> anyhow::Result<Self> {
        const ALWAYS: [&str; 5] = [
            "generated_secret",
            "odb_managed_secret",
            "ca_cert",
            "private_key",
            "certificate",
        ];
        let mut by_name = Map::new();
        let Some(secrets) = secrets else {
            return Ok(Self { by_name });
        };
        let chosen = deployed.property("secret").map(|_| "secret");
        for property in ALWAYS.into_iter().chain(chosen) {
            let reference = deployed
                .text(property)
                .filter(|text| text.starts_with("((") && text.ends_with("))"))
                .with_context(|| {
                    format!("manifest property `redis.{property}` is not a reference to a secret")
                })?;
            let value = secrets
                .expose(reference)
                .filter(|value| !value.is_empty())
                .with_context(|| {
                    format!("the secret of manifest property `redis.{property}` is not known")
                })?;
            by_name.insert(property.to_owned(), value.into());
        }
        Ok(Self { by_name })
    }

    fn value(&self, property: &str) -> &str {
        let value = self.by_name.get(property).and_then(Value::as_str);
        value.unwrap_or_default()
    }
}
