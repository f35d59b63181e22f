//! What an upgrade would change, found out as an upgrade would and without changing anything anywhere. The Director is read
//! from and nothing more: its own dry run leaves deployments behind (`spec/contracts/director-api.md`, "Deploying").

use odb_adapter_sdk::protocol::ManifestText;
use odb_api_types::{code::Code, management::DryRun};
use odb_clients::director::Deployment;
use secrecy::ExposeSecret;

use super::{
    Fault, Instances, OperationKind, Order,
    configs::CurrentConfigs,
    current::AtRest,
    deployment,
    planned::{Planned, PlannedClient, Verdict},
    preparation::Previous,
};
use crate::{
    instance_clients::{ClientFault, ClientPreview, Whereabouts},
    telemetry::Chain,
};

impl Instances {
    /// Tells what an upgrade to the plan would change. An instance that is being worked on is compared as it was deployed last.
    pub async fn dry_run(&self, order: &Order) -> Result<DryRun, Fault> {
        let current = self.deployed_now(order).await?;
        let plan = self.plan(&order.plan)?;
        let previous = self.previous(Some(plan), &current);
        let role = previous.client;
        let preview = self.preview_client(order, &previous).await?;
        let client = match &preview {
            Some(preview) => PlannedClient::of_change(preview.change),
            None => PlannedClient::not_in_hand(role, self.neighbours.clients.are_defined()),
        };
        let told = preview.map(|preview| preview.told);
        let seen = self.adapter_plan(plan);
        let drawn = self.draw_up(order, &seen, Some(previous), told).await?;
        let planned = Planned {
            plan: &order.plan,
            manifest: drawn.manifest.as_str(),
            configs: &drawn.configs.written,
            obsolete_configs: &drawn.configs.obsolete,
            secrets: &drawn.secrets,
            client,
        };
        let foreseen = planned.compared_with(&current)?;
        Ok(DryRun {
            service_instance_id: order.instance.clone(),
            plan_id: order.plan.clone(),
            needs_deploy: foreseen.verdict == Verdict::ToBeDeployed,
            changes: foreseen.changes,
            risks: foreseen.risks,
        })
    }

    async fn deployed_now(&self, order: &Order) -> Result<AtRest, Fault> {
        let call = &order.call();
        let director = &self.neighbours.director;
        let name = deployment(&order.instance);
        let (deployed, stored, configs) = tokio::join!(
            director.deployment(call, &name),
            self.neighbours.markers.read(call, &order.instance),
            CurrentConfigs::read(director, call, &name, self.neighbours.configs)
        );
        let deployed = deployed.map_err(Fault::director("look the deployment up"))?;
        let manifest = match deployed {
            Deployment::Deployed(manifest) => ManifestText::from(manifest.expose_secret()),
            Deployment::ForeignTeam => return Err(Fault::Foreign),
            Deployment::Absent | Deployment::NeverDeployed => return Err(Fault::NotFound),
        };
        Ok(AtRest {
            manifest,
            stored: stored?.map(Box::new),
            configs: configs.map_err(Fault::director("read the instance's configs"))?,
        })
    }

    /// The client as an upgrade would have it, without touching it.
    async fn preview_client(
        &self,
        order: &Order,
        previous: &Previous,
    ) -> Result<Option<ClientPreview>, Fault> {
        let (call, clients) = (self.call_of_preparation(order), &self.neighbours.clients);
        let place = Whereabouts::of(&order.parameters);
        let preview = clients
            .preview(&call, &order.instance, &place, previous.succeeded.as_ref())
            .await;
        match preview {
            Err(fault @ ClientFault::SpaceUnknown) => {
                tracing::warn!(code = %Code::InstanceClient, operation = %OperationKind::Upgrade, error = %Chain(&fault), "an upgrade would not make a UAA client");
                Ok(None)
            }
            preview => Ok(preview?),
        }
    }
}
