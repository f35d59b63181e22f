//! The parts of a request besides the parameters of its user, as types (`spec/contracts/adapter-protocol.md`, "Request
//! parameters"). A part that is missing or has another type is absent.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::UnknownKeys;
use crate::json;

impl RequestParameters {
    /// The catalog id of the service offering.
    pub fn service_id(&self) -> Option<&str> {
        text(self.fields(), "service_id")
    }

    /// The catalog id of the plan, absent on upgrade and when the broker checks for pending changes.
    pub fn plan_id(&self) -> Option<&str> {
        text(self.fields(), "plan_id")
    }

    /// The organisation that an instance is created in, from the body or its context.
    pub fn organization_guid(&self) -> Option<&str> {
        text(self.fields(), "organization_guid").or_else(|| self.context_text("organization_guid"))
    }

    /// The space that an instance is created in, from the body or its context.
    pub fn space_guid(&self) -> Option<&str> {
        text(self.fields(), "space_guid").or_else(|| self.context_text("space_guid"))
    }

    /// The version of the plan that the platform asks for.
    pub fn maintenance_info(&self) -> Option<MaintenanceInfo> {
        part(self.fields().get("maintenance_info")?.clone())
    }

    /// The state before an update.
    pub fn previous_values(&self) -> Option<PreviousValues> {
        part(self.fields().get("previous_values")?.clone())
    }

    /// The platform's context of the request.
    pub fn platform_context(&self) -> PlatformContext {
        part(self.context().into()).unwrap_or_default()
    }

    /// The target of a binding: the bind resource of the request.
    pub fn bind_target(&self) -> BindTarget {
        part(self.bind_resource().into()).unwrap_or_default()
    }

    fn context_text(&self, key: &str) -> Option<&str> {
        text(self.fields().get("context")?.as_object()?, key)
    }
}

/// The origin of a request. Cloud Foundry sends all names and GUIDs; other platforms put their members in `other`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    rename = "Context",
    description = "Where a request comes from. Cloud Foundry gives GUIDs, names and annotations of organisation, space and \
                   instance."
)]
#[non_exhaustive]
pub struct PlatformContext {
    /// Name of the platform, such as `cloudfoundry` or `kubernetes`.
    #[serde(deserialize_with = "text_or_none")]
    pub platform: Option<String>,
    /// GUID of the organisation.
    #[serde(deserialize_with = "text_or_none")]
    #[schemars(skip)]
    pub organization_guid: Option<String>,
    /// Name of the organisation.
    #[serde(deserialize_with = "text_or_none")]
    #[schemars(skip)]
    pub organization_name: Option<String>,
    /// Annotations of the organisation.
    #[serde(deserialize_with = "part_or_default")]
    #[schemars(skip)]
    pub organization_annotations: Map<String, Value>,
    /// GUID of the space.
    #[serde(deserialize_with = "text_or_none")]
    #[schemars(skip)]
    pub space_guid: Option<String>,
    /// Name of the space.
    #[serde(deserialize_with = "text_or_none")]
    #[schemars(skip)]
    pub space_name: Option<String>,
    /// Annotations of the space.
    #[serde(deserialize_with = "part_or_default")]
    #[schemars(skip)]
    pub space_annotations: Map<String, Value>,
    /// GUID of the service instance.
    #[serde(deserialize_with = "text_or_none")]
    #[schemars(skip)]
    pub instance_guid: Option<String>,
    /// Name of the service instance, as its user chose it.
    #[serde(deserialize_with = "text_or_none")]
    #[schemars(skip)]
    pub instance_name: Option<String>,
    /// Annotations of the service instance.
    #[serde(deserialize_with = "part_or_default")]
    #[schemars(skip)]
    pub instance_annotations: Map<String, Value>,
    /// Everything else.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: UnknownKeys,
}

/// The target of a binding.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "BindResource")]
#[non_exhaustive]
pub struct BindTarget {
    /// The application to bind.
    #[serde(deserialize_with = "text_or_none")]
    pub app_guid: Option<String>,
    /// The space of the application.
    #[serde(deserialize_with = "text_or_none")]
    pub space_guid: Option<String>,
    /// The route to bind.
    #[serde(deserialize_with = "text_or_none")]
    pub route: Option<String>,
    /// The client to which the platform's CredHub gives the credentials.
    #[serde(deserialize_with = "text_or_none")]
    pub credential_client_id: Option<String>,
    /// Whether a backup agent asks: it is answered with `backup_agent_url` only
    /// ([`Binding::backup_agent`](super::Binding::backup_agent)).
    #[serde(rename = "backup_agent", deserialize_with = "part_or_default")]
    #[schemars(
        with = "Option<bool>",
        description = "Whether a backup agent asks: it is answered with `backup_agent_url` only."
    )]
    pub is_backup_agent: bool,
    /// Everything else.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: UnknownKeys,
}

/// The state before an update.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct PreviousValues {
    /// The catalog id of the service offering.
    #[serde(deserialize_with = "text_or_none")]
    pub service_id: Option<String>,
    /// The catalog id of the plan before.
    #[serde(deserialize_with = "text_or_none")]
    pub plan_id: Option<String>,
    /// The organisation.
    #[serde(deserialize_with = "text_or_none")]
    pub organization_id: Option<String>,
    /// The space.
    #[serde(deserialize_with = "text_or_none")]
    pub space_id: Option<String>,
    /// The version of the plan before.
    #[serde(deserialize_with = "part_or_default")]
    pub maintenance_info: Option<MaintenanceInfo>,
}

/// The version of the software that a plan deploys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct MaintenanceInfo {
    /// A semantic version.
    #[serde(deserialize_with = "text_or_none")]
    pub version: Option<String>,
    /// The description for platform users.
    #[serde(deserialize_with = "text_or_none")]
    pub description: Option<String>,
    /// Values of which a change calls for an upgrade.
    #[serde(deserialize_with = "texts")]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub public: BTreeMap<String, String>,
    /// A hash of the values that are not shown to users.
    #[serde(deserialize_with = "text_or_none")]
    pub private: Option<String>,
}

/// The part of a request that a value represents, if it is valid.
fn part<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

fn part_or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    Value::deserialize(deserializer).map(|value| part(value).unwrap_or_default())
}

fn text_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text: Option<String> = part_or_default(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// The members of a map that are texts.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let members: Map<String, Value> = part_or_default(deserializer)?;
    let texts = members
        .into_iter()
        .filter_map(|(name, value)| Some((name, part(value)?)));
    Ok(texts.collect())
}

fn text<'f>(fields: &'f Map<String, Value>, key: &str) -> Option<&'f str> {
    fields.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The body of the platform's request, unchanged (`spec/contracts/adapter-protocol.md`, "Request parameters").
///
/// The content is not trusted: an accessor returns nothing if its part is missing or has another type. Formatting does
/// not show the content.
#[derive(Clone)]
pub struct RequestParameters {
    text: Box<RawValue>,
    fields: Map<String, Value>,
}

/// Text that is neither a JSON object nor `null`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum NotRequestParameters {
    #[error("the request parameters are not JSON")]
    NotJson(#[source] json::Error),
    #[error("the request parameters must be a JSON object")]
    NotAnObject,
}

impl RequestParameters {
    /// Reads the text of a JSON object, or `null`, which has no fields.
    pub fn from_json(text: &str) -> Result<Self, NotRequestParameters> {
        let raw: Box<RawValue> = json::from_str(text).map_err(NotRequestParameters::NotJson)?;
        let fields = match json::from_str(raw.get()).map_err(NotRequestParameters::NotJson)? {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(NotRequestParameters::NotAnObject);
            }
        };
        Ok(Self { text: raw, fields })
    }

    /// Request parameters of these fields.
    pub fn from_fields(fields: Map<String, Value>) -> Self {
        let text = Value::Object(fields.clone()).to_string();
        let text = RawValue::from_string(text).expect("a JSON value writes itself as JSON");
        Self { text, fields }
    }

    /// One field of the request and no other, `null` where it is absent.
    #[must_use]
    pub fn only(&self, field: &str) -> Self {
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(self.as_json()).unwrap_or_default();
        let value = fields.get(field).map_or("null", |value| value.get());
        let text = format!("{{{}:{value}}}", Value::from(field));
        let text = RawValue::from_string(text).expect("a field of a JSON object makes another");
        let value = self.fields.get(field).cloned().unwrap_or_default();
        Self {
            text,
            fields: Map::from_iter([(field.to_owned(), value)]),
        }
    }

    /// The JSON text as it arrived.
    pub fn as_json(&self) -> &str {
        self.text.get()
    }

    /// Every field of the request.
    ///
    /// Integers beyond 64 bits are kept in [`as_json`](Self::as_json) only; here they are floating
    /// point numbers.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The parameters that the user chose.
    pub fn arbitrary(&self) -> Map<String, Value> {
        self.object("parameters")
    }

    /// The platform's context of the request.
    pub fn context(&self) -> Map<String, Value> {
        self.object("context")
    }

    /// The platform's name from the context, such as `cloudfoundry`.
    pub fn platform(&self) -> Option<&str> {
        self.fields.get("context")?.get("platform")?.as_str()
    }

    /// The target of the binding.
    pub fn bind_resource(&self) -> Map<String, Value> {
        self.object("bind_resource")
    }

    /// The application to bind, from the bind resource or, from older platforms, beside it.
    pub fn app_guid(&self) -> Option<&str> {
        [
            self.fields
                .get("bind_resource")
                .and_then(|resource| resource.get("app_guid")),
            self.fields.get("app_guid"),
        ]
        .into_iter()
        .filter_map(|guid| guid?.as_str())
        .find(|guid| !guid.is_empty())
    }

    fn object(&self, name: &str) -> Map<String, Value> {
        match self.fields.get(name) {
            Some(Value::Object(object)) => object.clone(),
            _ => Map::new(),
        }
    }
}

impl Default for RequestParameters {
    /// No fields: `{}`.
    fn default() -> Self {
        Self::from_fields(Map::new())
    }
}

impl fmt::Debug for RequestParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestParameters({} bytes)", self.as_json().len())
    }
}
