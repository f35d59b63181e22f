//! An instance with other parameters, or on another plan.

use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::ManifestText;
use odb_platform::{director::Deployment, http::Call};
use secrecy::ExposeSecret;

use super::{
    Fault, Instances, OperationKind, Order, Started, StoredMarker, config_name, deployment,
    hand_over::HandOver, preparation::Previous, unfinished_of,
};
use crate::{
    config::BoshConfigs,
    ids::{InstanceId, PlanId},
};

/// What an update finds.
enum Current {
    /// An instance at rest.
    AtRest {
        manifest: ManifestText,
        stored: Option<Box<StoredMarker>>,
        configs: Option<BTreeMap<String, String>>,
    },
    /// This very request, in progress.
    SameInProgress(Started),
}

impl Instances {
    /// The plan that the instance is on, as far as its marker knows.
    pub async fn current_plan(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<PlanId>, Fault> {
        let stored = self.neighbours.markers.read(call, instance).await?;
        Ok(stored.map(|stored| stored.marker.plan))
    }

    /// Deploys the instance anew with what is ordered. `from` is the plan it has been on.
    pub async fn update(&self, order: &Order, from: &PlanId) -> Result<Started, Fault> {
        let (manifest, stored, configs) = match self.look_at_current(&order.call(), order).await? {
            Current::AtRest {
                manifest,
                stored,
                configs,
            } => (manifest, stored, configs),
            Current::SameInProgress(started) => return Ok(started),
        };
        let previous = Previous {
            manifest,
            plan: self.offering.plan(from).map(|plan| self.adapter_plan(plan)),
            configs: configs.clone(),
        };
        let prepared = self
            .prepare(order, OperationKind::Update, Some(previous))
            .await?;
        let context = prepared.marker.context.clone();
        let hand_over = HandOver {
            order,
            marker: prepared.marker,
            before: stored.as_deref(),
            configs: prepared.configs,
            configs_before: configs.unwrap_or_default(),
        };
        let (director, manifest, context) = (
            &self.neighbours.director,
            prepared.manifest.as_str(),
            &context,
        );
        self.hand_over(hand_over, |call| async move {
            director.deploy(&call, manifest, context).await
        })
        .await
    }

    async fn look_at_current(&self, call: &Call, order: &Order) -> Result<Current, Fault> {
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
        if let Some(stored) = stored
            .as_ref()
            .filter(|stored| stored.marker.outcome.is_none())
            && let Some(started) = self.started_before(call, &order.instance, stored).await?
        {
            let same = stored.marker.operation == OperationKind::Update
                && stored.marker.digest.matches(order.identity());
            return if same {
                Ok(Current::SameInProgress(started))
            } else {
                Err(Fault::Busy)
            };
        }
        if !unfinished.is_empty() || self.is_in_progress_here(&order.instance) {
            return Err(Fault::Busy);
        }
        let configs = configs.map(|configs| {
            configs
                .into_iter()
                .map(|config| (config.kind.to_string(), config.content))
                .collect()
        });
        Ok(Current::AtRest {
            manifest,
            stored: stored.map(Box::new),
            configs,
        })
    }
}
