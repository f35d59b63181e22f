//! The JSON of version 3, but for that of instances in lists.

use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::pages::{Related, ToOne};
use crate::cloud_controller::{
    AppGuid, BindingGuid, BrokerGuid, BrokerRegistration, CfBinding, CfBindingKind, CfPlan,
    OfferedPlan, OfferingGuid, OrganizationGuid, PlanGuid, PlanVisibility, SpaceGuid,
    WantedVisibility,
    instances::{MaintenanceInfo, ReportedOperation, WireOperation},
};

/// Something of which only the id is needed.
#[derive(Deserialize)]
pub(super) struct WireGuid<Guid> {
    pub(super) guid: Guid,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct WireOffering {
    pub(super) guid: String,
    pub(super) broker_catalog: WireCatalog,
}

#[derive(Deserialize)]
pub(super) struct WireCatalog {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct WirePlan {
    guid: PlanGuid,
    name: String,
    broker_catalog: WireCatalog,
    relationships: PlanRelationships,
}

#[derive(Deserialize)]
struct PlanRelationships {
    service_offering: ToOne<OfferingGuid>,
}

impl From<WirePlan> for CfPlan {
    fn from(wire: WirePlan) -> Self {
        Self {
            guid: wire.guid,
            offering: wire.relationships.service_offering.data.guid,
            name: wire.name,
            unique_id: wire.broker_catalog.id,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct WireOfferedPlan {
    #[serde(flatten)]
    plan: WirePlan,
    available: bool,
    #[serde(default)]
    maintenance_info: MaintenanceInfo,
}

impl WireOfferedPlan {
    pub(super) fn offering(&self) -> &str {
        self.plan.relationships.service_offering.data.guid.as_str()
    }

    pub(super) fn offered(self, offering: &str) -> OfferedPlan {
        OfferedPlan {
            guid: self.plan.guid,
            offering: offering.to_owned(),
            name: self.plan.name,
            unique_id: self.plan.broker_catalog.id,
            is_active: self.available,
            maintenance_version: self.maintenance_info.version,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct PlanVersion {
    #[serde(default)]
    pub(super) maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Deserialize)]
pub(super) struct WireVisibility {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    organizations: Vec<WireOrganization>,
}

#[derive(Deserialize)]
struct WireOrganization {
    guid: OrganizationGuid,
    name: Option<String>,
}

impl From<WireVisibility> for PlanVisibility {
    fn from(wire: WireVisibility) -> Self {
        let organizations = wire.organizations.into_iter();
        match wire.kind.as_str() {
            "public" => Self::Public,
            "admin" => Self::Admin,
            "organization" => Self::Organizations(
                organizations
                    .map(|organization| (organization.guid, organization.name))
                    .collect(),
            ),
            "space" => Self::Space,
            _ => Self::Unknown(wire.kind),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Visibility<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    organizations: Option<Vec<Organization<'a>>>,
}

#[derive(Serialize)]
struct Organization<'a> {
    guid: &'a OrganizationGuid,
}

impl<'a> From<&'a WantedVisibility> for Visibility<'a> {
    fn from(wanted: &'a WantedVisibility) -> Self {
        let (kind, organizations) = match wanted {
            WantedVisibility::Public => ("public", None),
            WantedVisibility::Admin => ("admin", None),
            WantedVisibility::Organizations(guids) => {
                let guids = guids.iter().map(|guid| Organization { guid });
                ("organization", Some(guids.collect()))
            }
        };
        Self {
            kind,
            organizations,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct WireBroker {
    pub(super) guid: BrokerGuid,
    pub(super) name: String,
    pub(super) url: String,
}

#[derive(Serialize)]
pub(super) struct Registration<'a> {
    name: &'a str,
    url: &'a str,
    authentication: Authentication<'a>,
}

#[derive(Serialize)]
struct Authentication<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    credentials: Credentials<'a>,
}

#[derive(Serialize)]
struct Credentials<'a> {
    username: &'a str,
    password: &'a str,
}

impl<'a> Registration<'a> {
    pub(super) fn of(broker: &'a BrokerRegistration) -> Self {
        Self {
            name: &broker.name,
            url: &broker.url,
            authentication: Authentication {
                kind: "basic",
                credentials: Credentials {
                    username: &broker.username,
                    password: broker.password.expose_secret(),
                },
            },
        }
    }
}

#[derive(Deserialize)]
pub(super) struct VersionedInstance {
    pub(super) relationships: InstanceRelationships,
    #[serde(default)]
    pub(super) maintenance_info: Option<MaintenanceInfo>,
    #[serde(default)]
    pub(super) last_operation: Option<ReportedOperation>,
}

#[derive(Deserialize)]
pub(super) struct InstanceRelationships {
    pub(super) service_plan: ToOne<PlanGuid>,
}

#[derive(Deserialize)]
pub(super) struct WireBinding {
    guid: BindingGuid,
    #[serde(default)]
    last_operation: Option<WireOperation>,
    relationships: BindingRelationships,
}

#[derive(Deserialize)]
struct BindingRelationships {
    /// Those of applications have it.
    app: Option<ToOne<AppGuid>>,
}

impl WireBinding {
    pub(super) fn with_credentials(mut self) -> CfBinding {
        let kind = match self.relationships.app.take() {
            Some(app) => CfBindingKind::App(app.data.guid),
            None => CfBindingKind::Key,
        };
        self.binding(kind)
    }

    pub(super) fn of_route(self) -> CfBinding {
        self.binding(CfBindingKind::Route)
    }

    fn binding(self, kind: CfBindingKind) -> CfBinding {
        CfBinding {
            guid: self.guid,
            kind,
            last_operation: self.last_operation.and_then(WireOperation::known),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct WireShares {
    pub(super) data: Vec<Related<SpaceGuid>>,
}
