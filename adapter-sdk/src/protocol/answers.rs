use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::reading::{empty_as_none, null_as_default};
use super::{BindingMetadata, Endpoint, ManifestText, VolumeMount};
use crate::manifest::Manifest;
use crate::redaction::shows_only;
use crate::schemas::texts;
use crate::yaml;

/// Answer to `generate-manifest` (`spec/contracts/adapter-protocol.md`, "stdout").
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct GeneratedManifest {
    /// The manifest.
    pub manifest: ManifestText,
    /// ODB-managed secrets by the name in their placeholder `((odb_secret:NAME))`: a string or an
    /// object each.
    #[serde(default)]
    #[schemars(schema_with = "texts::outgoing_secrets")]
    pub secrets: Option<Map<String, Value>>,
    /// BOSH configs of this instance by their type (`cloud`, `cpi`, `runtime`), as YAML text.
    #[serde(default)]
    pub configs: Option<BTreeMap<String, String>>,
    /// Labels that the platform shows with the service instance.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Map::is_empty"
    )]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub labels: Map<String, Value>,
}

impl GeneratedManifest {
    /// The answer that holds a manifest and nothing else.
    pub fn new(manifest: &Manifest) -> Result<Self, yaml::Error> {
        ManifestText::try_from(manifest).map(Self::from_text)
    }

    /// The same, from the YAML text of a manifest.
    pub fn from_text(manifest: ManifestText) -> Self {
        Self {
            manifest,
            secrets: None,
            configs: None,
            labels: Map::new(),
        }
    }
}

shows_only!(GeneratedManifest {});

/// Answer to `create-binding`.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct Binding {
    /// The credentials of the application: any JSON value, kept unchanged.
    #[schemars(with = "Value")]
    pub credentials: Option<Box<RawValue>>,
    /// Where the application's logs go.
    #[serde(
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub syslog_drain_url: Option<String>,
    /// Where requests to a bound route go first.
    #[serde(
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub route_service_url: Option<String>,
    /// Where the service's backup agent answers.
    #[serde(
        deserialize_with = "empty_as_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub backup_agent_url: Option<String>,
    /// Where applications reach the service, for platforms that restrict the network (Open Service Broker API 2.17,
    /// "Binding", `endpoints`). The broker passes it on unchanged; the Go broker drops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Endpoint>>")]
    pub endpoints: Option<Box<RawValue>>,
    /// File systems to mount into the application (`volume_mounts`). The broker passes them on unchanged; the Go broker
    /// drops them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<VolumeMount>>")]
    pub volume_mounts: Option<Box<RawValue>>,
    /// How long the binding is valid (`metadata` with `expires_at`, `renew_before`). The broker passes it on unchanged;
    /// the Go broker drops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BindingMetadata>")]
    pub metadata: Option<Box<RawValue>>,
}

impl Binding {
    /// A binding that hands out these credentials.
    pub fn with_credentials(credentials: impl Into<Value>) -> Self {
        let text = RawValue::from_string(credentials.into().to_string());
        Self {
            credentials: Some(text.expect("a JSON value writes itself as JSON")),
            ..Self::default()
        }
    }
}

shows_only!(Binding {});

/// Answer to `dashboard-url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DashboardUrl {
    /// Address of the dashboard.
    pub dashboard_url: String,
}

impl DashboardUrl {
    /// A dashboard at that address.
    pub fn new(dashboard_url: impl Into<String>) -> Self {
        Self {
            dashboard_url: dashboard_url.into(),
        }
    }
}

/// Answer to `generate-plan-schemas`: JSON Schemas of draft 4.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlanSchemas {
    /// Schemas of the parameters of service instance orders and updates.
    pub service_instance: ServiceInstanceSchemas,
    /// Schemas of the parameters of service binding orders.
    pub service_binding: ServiceBindingSchemas,
}

/// Schemas of the parameters of service instance orders and updates.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceInstanceSchemas {
    /// At creation.
    pub create: ParametersSchema,
    /// At an update.
    pub update: ParametersSchema,
}

/// Schemas of the parameters of service binding orders.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceBindingSchemas {
    /// At creation.
    pub create: ParametersSchema,
}

/// The schema of one request's parameters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ParametersSchema {
    /// The JSON Schema; `null` if the adapter left it out, which is no schema.
    #[schemars(
        schema_with = "texts::parameters_schema",
        description = "The JSON Schema, of draft 4."
    )]
    pub parameters: Value,
}

impl ParametersSchema {
    /// This schema.
    pub fn new(parameters: Value) -> Self {
        Self { parameters }
    }
}

/// The kinds of BOSH config that an adapter may bring for its instance
/// (`spec/contracts/adapter-protocol.md`, "Configs").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ConfigType {
    /// `cloud`
    Cloud,
    /// `cpi`
    Cpi,
    /// `runtime`
    Runtime,
}

impl ConfigType {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cloud => "cloud",
            Self::Cpi => "cpi",
            Self::Runtime => "runtime",
        }
    }
}

impl fmt::Display for ConfigType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl GeneratedManifest {
    /// The same answer with a BOSH config of that type, as YAML text, replacing an earlier one. Types that are not set
    /// stay unchanged.
    ///
    /// Other deployments of the team use the config too, so names inside should contain the instance's name.
    #[must_use]
    pub fn with_config(mut self, config_type: ConfigType, yaml: impl Into<String>) -> Self {
        self.configs
            .get_or_insert_default()
            .insert(config_type.name().to_owned(), yaml.into());
        self
    }

    /// The same answer with a label that the platform shows with the service instance.
    #[must_use]
    pub fn with_label(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }
}
