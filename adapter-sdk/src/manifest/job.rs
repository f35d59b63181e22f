use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::FreeMap;
use crate::redaction::shows_only;

/// A job of a release, on the instances of a group.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Name.
    pub name: String,
    /// Release that has the job.
    #[serde(default)]
    pub release: String,
    /// Links that the job offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provides: Option<BTreeMap<String, Link<ProvidedLink>>>,
    /// Links that the job needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumes: Option<BTreeMap<String, Link<ConsumedLink>>>,
    /// Links that the job offers although its release does not know them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_provider_definitions: Option<Vec<CustomProviderDefinition>>,
    /// Properties. The job receives those that its release declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<FreeMap>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

// Properties may hold secrets and are not shown.
shows_only!(Job { name, release });

impl Job {
    /// A job of a release.
    pub fn new(name: impl Into<String>, release: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            release: release.into(),
            ..Self::default()
        }
    }

    /// Sets how the job offers a link, replacing an earlier setting.
    pub fn provide(&mut self, name: impl Into<String>, link: ProvidedLink) {
        self.provides
            .get_or_insert_default()
            .insert(name.into(), Link::Set(link));
    }

    /// Sets the source of a link for the job, replacing an earlier setting.
    pub fn consume(&mut self, name: impl Into<String>, link: Link<ConsumedLink>) {
        self.consumes
            .get_or_insert_default()
            .insert(name.into(), link);
    }

    /// Lets the job offer a link that its release does not know.
    pub fn define_provider(&mut self, definition: CustomProviderDefinition) {
        self.custom_provider_definitions
            .get_or_insert_default()
            .push(definition);
    }
}

/// A link in a manifest: its settings, or that there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Link<T> {
    /// The word `nil`: the link is left out.
    Nil,
    /// The link is set like this.
    Set(T),
}

impl<T: JsonSchema> JsonSchema for Link<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("LinkOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How the link is set; the word `nil` leaves it out.",
            "anyOf": [{"const": "nil"}, {"type": "null"}, generator.subschema_for::<T>()],
        })
    }
}

impl<T: Serialize> Serialize for Link<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => serializer.serialize_str("nil"),
            Self::Set(link) => link.serialize(serializer),
        }
    }
}

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for Link<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LinkVisitor(PhantomData))
    }
}

struct LinkVisitor<T>(PhantomData<T>);

impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for LinkVisitor<T> {
    type Value = Link<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a link or the word nil")
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Link<T>, E> {
        match word {
            "nil" => Ok(Link::Nil),
            other => Err(E::invalid_value(Unexpected::Str(other), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Link<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Link::Set)
    }

    /// No setting for the link: the Director applies its default.
    fn visit_unit<E: serde::de::Error>(self) -> Result<Link<T>, E> {
        Ok(Link::Set(T::default()))
    }
}

/// How a job offers a link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProvidedLink {
    /// Name under which others find it.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Whether other deployments, and DNS bindings, can use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<bool>,
    /// DNS names for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aliases: Option<Vec<LinkAlias>>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl ProvidedLink {
    /// A link that other deployments, and DNS bindings, can use.
    pub fn shared() -> Self {
        Self {
            shared: Some(true),
            ..Self::default()
        }
    }

    /// The same link with one more DNS name.
    #[must_use]
    pub fn with_alias(mut self, alias: LinkAlias) -> Self {
        self.aliases.get_or_insert_default().push(alias);
        self
    }
}

/// A DNS name for a link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkAlias {
    /// The name.
    pub domain: String,
    /// Which instances it resolves to by their health.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_filter: Option<String>,
    /// Whether to wait for a first look at their health.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_health_check: Option<String>,
    /// The meaning of a placeholder in the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder_type: Option<String>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl LinkAlias {
    /// A DNS name for the instances that BOSH selects by default.
    pub fn new(domain: impl Into<String>) -> Self {
        Self {
            domain: domain.into(),
            ..Self::default()
        }
    }
}

/// Where a job has a link from: a provider, or values given by hand.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConsumedLink {
    /// Name of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Deployment of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    /// Network whose addresses the link contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Whether the link holds IP addresses rather than DNS names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_addresses: Option<bool>,
    /// Instances, given by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<Vec<LinkInstance>>,
    /// Properties, given by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<FreeMap>,
    /// Address, given by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

// Properties may hold secrets and are not shown.
shows_only!(ConsumedLink {
    from,
    deployment,
    network
});

impl ConsumedLink {
    /// A link from the provider of that name.
    pub fn from(provider: impl Into<String>) -> Self {
        Self {
            from: Some(provider.into()),
            ..Self::default()
        }
    }

    /// A link from the provider of that name in another deployment, where it is shared.
    pub fn from_deployment(provider: impl Into<String>, deployment: impl Into<String>) -> Self {
        Self {
            deployment: Some(deployment.into()),
            ..Self::from(provider)
        }
    }
}

/// An instance of a link given by hand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkInstance {
    /// Address.
    pub address: String,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

/// A link that a job offers although its release does not know it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CustomProviderDefinition {
    /// Name.
    pub name: String,
    /// Type, which consumers ask for.
    #[serde(rename = "type", default)]
    pub link_type: String,
    /// Names of the job's properties that the link shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Vec<String>>,
    /// Keys that the model does not know.
    #[serde(flatten)]
    pub other: FreeMap,
}

impl CustomProviderDefinition {
    /// A provider of that name and type.
    pub fn new(name: impl Into<String>, link_type: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            link_type: link_type.into(),
            ..Self::default()
        }
    }
}
