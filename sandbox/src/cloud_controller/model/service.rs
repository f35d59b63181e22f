//! Offerings and plans as read from catalogs.
//!
//! Registered service brokers.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{BrokerGuid, Keyed, Metadata, OfferingGuid, OrganizationGuid, PlanGuid};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Offering {
    pub(crate) guid: OfferingGuid,
    pub(crate) broker: BrokerGuid,
    /// The id that the broker gave it, unique within that broker only.
    pub(crate) catalog_id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    /// Whether the catalog still has it.
    pub(crate) available: bool,
    pub(crate) features: BTreeSet<Feature>,
    pub(crate) tags: Vec<String>,
    pub(crate) requires: Vec<String>,
    pub(crate) catalog_metadata: Map<String, Value>,
    pub(crate) metadata: Metadata,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Feature {
    Bindable,
    PlanUpdateable,
    InstancesRetrievable,
    BindingsRetrievable,
    AllowContextUpdates,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) guid: PlanGuid,
    pub(crate) offering: OfferingGuid,
    /// The id that the broker gave it, unique within that broker only.
    pub(crate) catalog_id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) visibility: Visibility,
    /// Whether the catalog still has it.
    pub(crate) available: bool,
    pub(crate) free: bool,
    pub(crate) bindable: Option<bool>,
    /// Whether instances may move away to another plan, if the plan has a say of its own in it.
    pub(crate) updateable: Option<bool>,
    pub(crate) maximum_polling_duration: Option<Duration>,
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
    pub(crate) schemas: Value,
    pub(crate) catalog_metadata: Map<String, Value>,
    pub(crate) metadata: Metadata,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MaintenanceInfo {
    pub(crate) version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Visibility {
    Admin,
    Public,
    /// Members of these organizations, of which there is at least one.
    Organizations(BTreeSet<OrganizationGuid>),
}

impl Offering {
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// Whether its instances can be bound to routes.
    pub(crate) fn forwards_routes(&self) -> bool {
        self.requires.iter().any(|what| what == "route_forwarding")
    }

    /// Whether its instances may be shared into other spaces.
    pub(crate) fn is_shareable(&self) -> bool {
        self.catalog_metadata
            .get("shareable")
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }
}

impl Plan {
    /// The schemas of parameters, empty where the catalog has none.
    pub(crate) fn parameter_schemas(&self) -> Value {
        let schema = |order: &str| {
            let schema = self.schemas.pointer(&format!("/{order}/parameters"));
            json!({"parameters": schema.unwrap_or(&json!({}))})
        };
        json!({
            "service_instance": {
                "create": schema("service_instance/create"),
                "update": schema("service_instance/update"),
            },
            "service_binding": {"create": schema("service_binding/create")},
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OfferingKey {
    Broker(BrokerGuid),
    Name(String),
    CatalogId(String),
}

impl Keyed for Offering {
    type Key = OfferingKey;

    fn keys(&self) -> Vec<OfferingKey> {
        vec![
            OfferingKey::Broker(self.broker.clone()),
            OfferingKey::Name(self.name.clone()),
            OfferingKey::CatalogId(self.catalog_id.clone()),
        ]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PlanKey {
    Offering(OfferingGuid),
}

impl Keyed for Plan {
    type Key = PlanKey;

    fn keys(&self) -> Vec<PlanKey> {
        vec![PlanKey::Offering(self.offering.clone())]
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Broker {
    pub(crate) guid: BrokerGuid,
    pub(crate) name: String,
    pub(crate) address: BrokerAddress,
    pub(crate) state: BrokerState,
    pub(crate) metadata: Metadata,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BrokerAddress {
    pub(crate) url: String,
    pub(crate) username: String,
    #[serde(serialize_with = "password_into_the_state")]
    pub(crate) password: SecretString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BrokerState {
    Synchronizing,
    Available,
    /// The catalog could not be read, or not be taken. The record stays and can be corrected.
    SynchronizationFailed,
    Deleting,
}

impl Broker {
    /// A broker whose catalog is still to be read.
    pub(crate) fn new(name: String, address: BrokerAddress) -> Self {
        let now = Timestamp::now();
        Self {
            guid: BrokerGuid::random(),
            name,
            address,
            state: BrokerState::Synchronizing,
            metadata: Metadata::default(),
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether a job works on the broker.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(
            self.state,
            BrokerState::Synchronizing | BrokerState::Deleting
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BrokerKey {
    Name(String),
}

impl Keyed for Broker {
    type Key = BrokerKey;

    fn keys(&self) -> Vec<BrokerKey> {
        vec![BrokerKey::Name(self.name.clone())]
    }
}

/// The one way on which a password leaves: into the state, which only its owner can read.
fn password_into_the_state<S: Serializer>(
    password: &SecretString,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(password.expose_secret())
}
