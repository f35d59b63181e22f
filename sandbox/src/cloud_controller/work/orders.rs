//! The contents of requests to brokers, from the tables.
//!
//! Questions to a broker that a user waits for, without a job.

use serde_json::{Map, Value, json};

use super::Change;
use crate::cloud_controller::{
    CloudController, SERVICE_KEY_CLIENT,
    broker_client::{
        BindBody, Context, Identity, PreviousValues, ProvisionBody, Response, Target, UpdateBody,
    },
    model::{
        Binding, BindingKind, Feature, Instance, MaintenanceInfo, Offering, Plan, RouteGuid,
        SHARED_DOMAIN, Tables,
    },
    rejection::{ErrorKind, Rejection},
};

/// An instance with what the tables know around it.
pub(super) struct Dependencies<'a> {
    instance: &'a Instance,
    pub(super) plan: &'a Plan,
    pub(super) offering: &'a Offering,
    tables: &'a Tables,
}

impl<'a> Dependencies<'a> {
    /// Of an instance that is still there.
    pub(super) fn of(tables: &'a Tables, instance: &'a Instance) -> Option<Self> {
        let plan = tables.plan_of(instance)?;
        Some(Self {
            instance,
            plan,
            offering: tables.offering_of(plan)?,
            tables,
        })
    }

    pub(super) fn target(&self, binding: Option<&Binding>) -> Option<Target> {
        Some(Target {
            broker: self.tables.broker_of(self.plan)?.address.clone(),
            instance: self.instance.guid.clone(),
            binding: binding.map(|binding| binding.guid.clone()),
            service_id: self.offering.catalog_id.clone(),
            plan_id: self.plan.catalog_id.clone(),
        })
    }

    pub(super) fn provision(
        &self,
        parameters: Option<Map<String, Value>>,
    ) -> Option<ProvisionBody> {
        let context = self.context()?;
        Some(ProvisionBody {
            service_id: self.offering.catalog_id.clone(),
            plan_id: self.plan.catalog_id.clone(),
            organization_guid: context.organization_guid.clone(),
            space_guid: context.space_guid.clone(),
            context: Context {
                instance_name: Some(self.instance.name.clone()),
                instance_annotations: Some(self.instance.metadata.prefixed_annotations()),
                ..context
            },
            parameters,
            maintenance_info: self.plan.maintenance_info.clone(),
        })
    }

    pub(super) fn update(&self, change: &Change) -> Option<UpdateBody> {
        let context = self.context()?;
        let new_plan = change
            .plan
            .as_ref()
            .and_then(|plan| self.tables.plans.get(plan));
        let version = new_plan.map_or(change.maintenance_version.clone(), |plan| {
            plan.maintenance_info
                .as_ref()
                .map(|info| info.version.clone())
        });
        Some(UpdateBody {
            service_id: self.offering.catalog_id.clone(),
            plan_id: new_plan.unwrap_or(self.plan).catalog_id.clone(),
            previous_values: PreviousValues {
                plan_id: self.plan.catalog_id.clone(),
                service_id: self.offering.catalog_id.clone(),
                organization_id: context.organization_guid.clone(),
                space_id: context.space_guid.clone(),
                maintenance_info: self.instance.maintenance_info.clone(),
            },
            context: Context {
                instance_name: Some(
                    change
                        .name
                        .clone()
                        .unwrap_or_else(|| self.instance.name.clone()),
                ),
                ..context
            },
            parameters: change.parameters.clone().unwrap_or_default(),
            maintenance_info: version.map(|version| MaintenanceInfo {
                version,
                description: None,
            }),
        })
    }

    pub(super) fn bind(
        &self,
        binding: &Binding,
        parameters: Option<Map<String, Value>>,
    ) -> Option<BindBody> {
        let context = self.context()?;
        let (app_guid, bind_resource) = match &binding.kind {
            BindingKind::App(app) => {
                let app = self.tables.apps.get(app)?;
                let resource = json!({
                    "app_guid": app.guid,
                    "space_guid": app.space,
                    "app_annotations": app.metadata.prefixed_annotations(),
                });
                (Some(app.guid.to_string()), resource)
            }
            BindingKind::Key => (None, json!({"credential_client_id": SERVICE_KEY_CLIENT})),
            BindingKind::Route(route) => (None, json!({"route": self.route(route)?})),
        };
        Some(BindBody {
            service_id: self.offering.catalog_id.clone(),
            plan_id: self.plan.catalog_id.clone(),
            app_guid,
            bind_resource: bind_resource.as_object().cloned().unwrap_or_default(),
            context,
            parameters,
        })
    }

    /// A route in the form for brokers: host, domain and path.
    fn route(&self, guid: &RouteGuid) -> Option<String> {
        let route = self.tables.routes.get(guid)?;
        Some(format!("{}.{SHARED_DOMAIN}{}", route.host, route.path))
    }

    /// The context without what belongs to the instance, as a bind has it.
    fn context(&self) -> Option<Context> {
        let space = self.tables.spaces.get(&self.instance.space)?;
        let organization = self.tables.organizations.get(&space.organization)?;
        Some(Context {
            platform: "cloudfoundry",
            organization_guid: organization.guid.to_string(),
            space_guid: space.guid.to_string(),
            organization_name: organization.name.clone(),
            space_name: space.name.clone(),
            organization_annotations: organization.metadata.prefixed_annotations(),
            space_annotations: space.metadata.prefixed_annotations(),
            instance_name: None,
            instance_annotations: None,
        })
    }
}

impl Tables {
    /// How the broker knows an instance.
    pub(crate) fn target(&self, instance: &Instance) -> Option<Target> {
        Dependencies::of(self, instance)?.target(None)
    }

    /// The same, if the offering lets its instances be asked for.
    pub(crate) fn fetchable(&self, instance: &Instance) -> Option<Target> {
        let dependencies = Dependencies::of(self, instance)?;
        if dependencies.offering.has(Feature::InstancesRetrievable) {
            dependencies.target(None)
        } else {
            None
        }
    }
}

impl CloudController {
    pub(crate) async fn fetched(
        &self,
        target: &Target,
        identity: &Identity,
    ) -> Result<Map<String, Value>, Rejection> {
        match self.0.broker_client.fetch(target, identity).await {
            Response::Done(body) => Ok(body),
            Response::Failed(failure, _) => Err(ErrorKind::BrokerFailed.with(failure.to_string())),
            Response::Accepted { .. } => {
                Err(ErrorKind::BrokerFailed.with("The service broker answered a question with 202"))
            }
        }
    }
}
