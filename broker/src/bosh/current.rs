//! What an update or an upgrade finds.

use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::ManifestText;
use odb_platform::{director::Deployment, http::Call};
use secrecy::ExposeSecret;

use super::{
    Fault, Instances, OperationKind, Order, Started, StoredMarker, config_name, deployment,
    in_flight::InFlight, unfinished_of,
};
use crate::{
    config::BoshConfigs,
    ids::{InstanceId, PlanId},
};

/// What an operation on an existing instance finds.
pub(super) enum Current {
    /// An instance at rest.
    AtRest(AtRest),
    /// This very request, in progress.
    SameInProgress(Started),
}

/// An instance on which nothing is in progress.
pub(super) struct AtRest {
    pub(super) manifest: ManifestText,
    pub(super) stored: Option<Box<StoredMarker>>,
    pub(super) configs: Option<BTreeMap<String, String>>,
}

impl Instances {
    /// The plan that the instance is on, as far as its marker knows.
    pub async fn current_plan(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<PlanId>, Fault> {
        let stored = self.neighbours.markers.read(call, instance).await?;
        Ok(stored.map(|stored| stored.marker.settled_plan().clone()))
    }

    /// Makes sure that there is such an instance.
    pub async fn require(&self, call: &Call, instance: &InstanceId) -> Result<(), Fault> {
        let director = &self.neighbours.director;
        let deployed = director.deployment(call, &deployment(instance)).await;
        match deployed.map_err(Fault::director("look the deployment up"))? {
            Deployment::Deployed(_) => Ok(()),
            Deployment::ForeignTeam => Err(Fault::Foreign),
            Deployment::Absent | Deployment::NeverDeployed => Err(Fault::NotFound),
        }
    }

    /// Looks at the instance before an operation of this kind.
    pub(super) async fn look_at_current(
        &self,
        order: &Order,
        kind: OperationKind,
    ) -> Result<Current, Fault> {
        let call = &order.call();
        let director = &self.neighbours.director;
        let name = deployment(&order.instance);
        let unfinished = unfinished_of(&name);
        let config_name = config_name(&name);
        let (deployed, stored, unfinished, configs) = tokio::join!(
            director.deployment(call, &name),
            self.neighbours.markers.read(call, &order.instance),
            director.tasks(call, &unfinished),
            async {
                match self.neighbours.configs {
                    BoshConfigs::Enabled => {
                        director.configs_named(call, &config_name).await.map(Some)
                    }
                    BoshConfigs::Disabled => Ok(None),
                }
            }
        );
        let deployed = deployed.map_err(Fault::director("look the deployment up"))?;
        let stored = stored?;
        let unfinished = unfinished.map_err(Fault::director("look for tasks in progress"))?;
        let configs = configs.map_err(Fault::director("read the instance's configs"))?;
        let manifest = match deployed {
            Deployment::Deployed(manifest) => ManifestText::from(manifest.expose_secret()),
            Deployment::ForeignTeam => return Err(Fault::Foreign),
            Deployment::Absent => return Err(Fault::NotFound),
            Deployment::NeverDeployed if unfinished.is_empty() => return Err(Fault::NotFound),
            Deployment::NeverDeployed => return Err(Fault::Busy),
        };
        let stored = match self.in_flight(call, &order.instance, stored).await? {
            InFlight::OnItsWay { stored, started } => {
                let marker = &stored.marker;
                let same = marker.operation == kind && marker.digest.matches(order.identity());
                return if same {
                    Ok(Current::SameInProgress(started))
                } else {
                    Err(Fault::Busy)
                };
            }
            InFlight::AtRest(stored) => stored,
        };
        if !unfinished.is_empty() || self.is_in_progress_here(&order.instance) {
            return Err(Fault::Busy);
        }
        let configs = configs.map(|configs| {
            configs
                .into_iter()
                .map(|config| (config.kind.to_string(), config.content))
                .collect()
        });
        Ok(Current::AtRest(AtRest {
            manifest,
            stored: stored.map(Box::new),
            configs,
        }))
    }
}
