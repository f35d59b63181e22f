//! Links: what a deployment provides to others, and its DNS name.

use serde::Deserialize;
use serde_json::json;

use super::{
    DeploymentName, Director, LinkId, LinkProviderId,
    connection::{code, unless_missing},
};
use crate::{
    http::{Call, Method, Repeat, Request},
    service_error::Result,
};

/// Something that a job of a deployment offers (`spec/contracts/director-api.md`, "Links").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkProvider {
    pub id: LinkProviderId,
    /// The name in the manifest.
    pub name: String,
    /// Whether others than the deployment's own jobs may use it.
    pub shared: bool,
    /// The instance group of the job; absent where something else than a job offers it.
    pub instance_group: Option<String>,
}

/// The health of the instances in a link's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceHealth {
    /// The healthy ones, or all where none is.
    Default,
    Healthy,
    Unhealthy,
    All,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressFilter {
    /// Those in one of these availability zones; in any, if it is empty.
    pub azs: Vec<String>,
    /// Those that are so; the Director's default, if it is absent.
    pub health: Option<InstanceHealth>,
}

impl InstanceHealth {
    pub const ALL: [Self; 4] = [Self::Default, Self::Healthy, Self::Unhealthy, Self::All];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
            Self::All => "all",
        }
    }
}

impl Director {
    /// The providers of a deployment, in the Director's order.
    #[tracing::instrument(name = "director.link_providers", skip_all, fields(%deployment))]
    pub async fn link_providers(
        &self,
        call: &Call,
        deployment: &DeploymentName,
    ) -> Result<Vec<LinkProvider>> {
        let query = [("deployment", deployment.as_str())];
        let wire: Vec<WireProvider> = self.0.read(call, &["link_providers"], &query).await?;
        Ok(wire.into_iter().map(LinkProvider::from).collect())
    }

    /// Creates a link to a provider for a consumer outside of all deployments. The same provider and the same name give
    /// the same link, so it is safe to repeat.
    #[tracing::instrument(name = "director.create_link", skip_all, fields(link.provider = %provider))]
    pub async fn create_link(
        &self,
        call: &Call,
        provider: &LinkProviderId,
        consumer: &str,
    ) -> Result<LinkId> {
        let body = json!({
            "link_provider_id": provider,
            "link_consumer": { "owner_object": { "name": consumer, "type": "external" } },
        });
        let url = self.0.address(&["links"], &[]);
        let request = Request::new(Method::POST, url, Repeat::WhenTransient).json(&body);
        let link: WireLink = self.0.send(call, request).await?.json()?;
        Ok(link.id)
    }

    /// The DNS name behind a link. It resolves on VMs with BOSH DNS only.
    #[tracing::instrument(name = "director.link_address", skip_all, fields(link.id = %link))]
    pub async fn link_address(
        &self,
        call: &Call,
        link: &LinkId,
        filter: &AddressFilter,
    ) -> Result<String> {
        let mut query = vec![("link_id", link.as_str())];
        query.extend(filter.azs.iter().map(|az| ("azs[]", az.as_str())));
        query.extend(filter.health.map(|health| ("status", health.as_str())));
        let found: WireAddress = self.0.read(call, &["link_address"], &query).await?;
        Ok(found.address)
    }

    /// Deletes a link of an external consumer, if it is there.
    #[tracing::instrument(name = "director.delete_link", skip_all, fields(link.id = %link))]
    pub async fn delete_link(&self, call: &Call, link: &LinkId) -> Result<()> {
        let url = self.0.address(&["links", link.as_str()], &[]);
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        unless_missing(self.0.send(call, request).await, code::NO_SUCH_LINK).map(drop)
    }
}

#[derive(Deserialize)]
struct WireProvider {
    id: LinkProviderId,
    name: String,
    #[serde(default)]
    shared: bool,
    owner_object: Option<WireOwner>,
}

#[derive(Deserialize)]
struct WireOwner {
    info: Option<WireOwnerInfo>,
}

#[derive(Deserialize)]
struct WireOwnerInfo {
    instance_group: Option<String>,
}

#[derive(Deserialize)]
struct WireLink {
    id: LinkId,
}

#[derive(Deserialize)]
struct WireAddress {
    address: String,
}

impl From<WireProvider> for LinkProvider {
    fn from(wire: WireProvider) -> Self {
        let info = wire.owner_object.and_then(|owner| owner.info);
        Self {
            id: wire.id,
            name: wire.name,
            shared: wire.shared,
            instance_group: info.and_then(|info| info.instance_group),
        }
    }
}
