//! An instance with other parameters, or on another plan.

use odb_adapter_sdk::protocol::{RequestParameters, Secrets};
use odb_api_types::ids::PlanId;
use serde_json::Map;

use super::{
    Fault, Instances, ManifestDifference, Neighbours, OperationKind, Order, Outcome, Started,
    configs::CurrentConfigs,
    current::{AtRest, Current},
    deployment,
    marker::ClientRole,
    preparation::Previous,
    secrets::Unanswered,
};
use crate::config::{PendingChanges, Plan};

impl Instances {
    /// Deploys the instance anew with what is ordered. `from` is the plan it has been on.
    pub async fn update(&self, order: &Order, from: &PlanId) -> Result<Started, Fault> {
        let current = match self.look_at_current(order, OperationKind::Update).await? {
            Current::AtRest(current) => current,
            Current::SameInProgress(started) => return Ok(started),
        };
        let plan = self.offering.plan(from);
        let previous = Previous {
            secrets: self.secrets_of(order, &current).await?,
            ..self.previous(plan, &current)
        };
        if self.pending_changes == PendingChanges::Refused {
            self.check_pending_changes(order, plan, previous.clone())
                .await?;
        }
        let mut prepared = self
            .prepare(order, OperationKind::Update, Some(previous))
            .await?;
        prepared.record.previous_plan = Some(from.clone()).filter(|from| *from != order.plan);
        self.redeploy(order, current, prepared).await
    }

    /// Makes sure that the adapter would make of the instance what is deployed, so that its user changes nothing but
    /// what was asked for (`spec/contracts/broker-behaviour.md` §3.7).
    async fn check_pending_changes(
        &self,
        order: &Order,
        plan: Option<&Plan>,
        previous: Previous,
    ) -> Result<(), Fault> {
        let Some(plan) = plan else {
            tracing::warn!(
                "the instance's plan is gone from the configuration: pending changes cannot be told"
            );
            return Ok(());
        };
        let nothing = RequestParameters::from_fields(Map::new());
        let deployed = previous.manifest.clone();
        let regenerated = self
            .generate(
                order,
                &self.adapter_plan(plan),
                nothing,
                Some(previous),
                None,
            )
            .await?;
        let difference =
            ManifestDifference::between(deployed.as_str(), regenerated.manifest.as_str())?;
        if difference.is_empty() {
            Ok(())
        } else {
            Err(Fault::PendingChanges { difference })
        }
    }

    /// What the adapter is told of the instance as it is.
    pub(super) fn previous(&self, plan: Option<&Plan>, current: &AtRest) -> Previous {
        let stored = current.stored.as_deref();
        let succeeded = stored.filter(|stored| {
            let outcome = stored.marker.outcome.as_ref();
            outcome.is_some_and(Outcome::is_success)
        });
        Previous {
            client: ClientRole::after(stored),
            succeeded: succeeded.map(|stored| stored.marker.context.clone()),
            manifest: current.manifest.clone(),
            plan: plan.map(|plan| self.adapter_plan(plan)),
            configs: current.configs.as_ref().map(CurrentConfigs::contents),
            secrets: None,
        }
    }

    /// The values behind the references of the deployed manifest. An adapter that misses one would make a new secret of it,
    /// so that an update waits until all that is there can be read.
    async fn secrets_of(&self, order: &Order, current: &AtRest) -> Result<Option<Secrets>, Fault> {
        let Neighbours {
            director, secrets, ..
        } = &*self.neighbours;
        let (call, name) = (self.call_of_preparation(order), deployment(&order.instance));
        let manifest = current.manifest.as_str();
        let resolved = secrets.resolve(&call, director, &name, manifest, Unanswered::IsFatal);
        Ok(resolved.await?)
    }
}
