//! What create, update and upgrade ask the adapter for before anything changes: manifest and dashboard, with the checks.

use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::{
    GenerateDashboardUrl, GenerateManifest, GeneratedManifest, ManifestText, Plan as AdapterPlan,
    RequestParameters, ServiceDeployment,
};
use odb_platform::director::ContextId;
use tokio::time::Instant;

use super::{
    Fault, Instances, OperationKind, Order, deployment, manifest,
    marker::{Marker, NewMarker},
};
use crate::{
    adapter::plan_for_adapter,
    config::{BoshConfigs, Plan},
    ids::PlanId,
};

/// What an instance was before.
pub(super) struct Previous {
    pub(super) manifest: ManifestText,
    pub(super) plan: Option<AdapterPlan>,
    pub(super) configs: Option<BTreeMap<String, String>>,
}

/// A manifest that may be deployed, with all that comes with it.
pub(super) struct Prepared {
    pub(super) manifest: ManifestText,
    pub(super) configs: BTreeMap<String, String>,
    pub(super) marker: Marker,
}

impl Instances {
    /// The plan of the configuration.
    pub(super) fn plan(&self, id: &PlanId) -> Result<&Plan, Fault> {
        self.offering
            .plan(id)
            .ok_or_else(|| Fault::UnknownPlan { plan: id.clone() })
    }

    /// The plan as adapters get to see it.
    pub(super) fn adapter_plan(&self, plan: &Plan) -> AdapterPlan {
        plan_for_adapter(&self.offering, plan)
    }

    /// Asks the adapter for everything and checks what it says. Nothing has changed afterwards.
    pub(super) async fn prepare(
        &self,
        order: &Order,
        kind: OperationKind,
        previous: Option<Previous>,
    ) -> Result<Prepared, Fault> {
        let plan = self.plan(&order.plan)?;
        let seen = self.adapter_plan(plan);
        let name = deployment(&order.instance);
        let answer = self
            .generate(order, &seen, order.parameters.clone(), previous)
            .await?;
        manifest::check(answer.manifest.as_str(), &name)?;
        // A config without content is one that the adapter gives up; one that it does not name stays.
        let (configs, obsolete): (BTreeMap<_, _>, BTreeMap<_, _>) = answer
            .configs
            .unwrap_or_default()
            .into_iter()
            .partition(|(_, content)| !content.trim().is_empty());
        if !configs.is_empty() && self.neighbours.configs == BoshConfigs::Disabled {
            return Err(Fault::ConfigsDisabled);
        }
        let dashboard =
            GenerateDashboardUrl::new(order.instance.as_str(), seen, answer.manifest.clone());
        let dashboard_url = self
            .adapter
            .dashboard_url(&dashboard, self.due(order))
            .await?;
        let mut marker = Marker::new(NewMarker {
            offering: self.offering.id.clone(),
            plan: order.plan.clone(),
            operation: kind,
            context: ContextId::random(),
            request: order.request.clone(),
            errands: plan.lifecycle_errands.post_deploy.clone(),
            digest: order.digest(),
            dashboard_url,
            labels: answer.labels,
        });
        marker.obsolete_configs = obsolete.into_keys().collect();
        Ok(Prepared {
            manifest: answer.manifest,
            configs,
            marker,
        })
    }

    /// When the adapter has to be done, so that there is time to hand over.
    fn due(&self, order: &Order) -> Instant {
        let reserve = self.neighbours.timings.submission_reserve;
        order
            .deadline
            .within(order.deadline.remaining().saturating_sub(reserve))
            .instant()
    }

    pub(super) async fn generate(
        &self,
        order: &Order,
        plan: &AdapterPlan,
        parameters: RequestParameters,
        previous: Option<Previous>,
    ) -> Result<GeneratedManifest, Fault> {
        let name = deployment(&order.instance);
        let software = &self.software;
        let service = ServiceDeployment::new(
            name.as_str(),
            software.releases.clone(),
            software.stemcells.clone(),
        );
        let mut request = GenerateManifest::new(service, plan.clone(), parameters);
        if let Some(previous) = previous {
            request.previous_manifest = Some(previous.manifest);
            request.previous_plan = previous.plan;
            request.previous_configs = previous.configs;
        }
        Ok(self
            .adapter
            .generate_manifest(&request, self.due(order))
            .await?)
    }
}
