//! The begin and the end of a service instance.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::ids::{InstanceId, OfferingId, PlanId};
use serde_json::{Map, Value, json};

use super::{Operations, Refused, RequestContext, require_async};
use crate::{
    engine::{Deleted, Deletion, Found, Origin, Started},
    offering::{CatalogError, ParametersOf, PlanVersion, check_maintenance_version},
};

/// An order for a new service instance (Open Service Broker API 2.17, "Provisioning").
#[derive(Debug)]
pub struct ProvisionRequest {
    pub instance: InstanceId,
    pub service: OfferingId,
    pub plan: PlanId,
    /// The user's parameters; absent and null are the same.
    pub parameters: Option<Value>,
    pub organization: Option<String>,
    pub space: Option<String>,
    pub maintenance_version: Option<String>,
    pub accepts_incomplete: bool,
    pub body: RequestParameters,
}

/// The end of a service instance (Open Service Broker API 2.17, "Deprovisioning").
#[derive(Debug)]
pub struct DeprovisionRequest {
    pub instance: InstanceId,
    pub service: OfferingId,
    /// Its plan. A plan that the catalog no longer has does not prevent the deletion.
    pub plan: PlanId,
    /// Whether to continue after failures (`force=true`).
    pub deletion: Deletion,
    pub accepts_incomplete: bool,
}

#[derive(Debug)]
pub enum Provisioned {
    Started(Started),
    Exists {
        dashboard_url: Option<String>,
        labels: Map<String, Value>,
    },
}

impl Operations {
    /// Makes a new service instance. The order of the checks is that of `spec/contracts/broker-behaviour.md` §3.3.
    #[tracing::instrument(name = "provision", skip_all, fields(plan.id = %request.plan))]
    pub async fn provision(
        &self,
        request_context: RequestContext,
        request: ProvisionRequest,
    ) -> Result<Provisioned, Refused> {
        let plan = self.check_in_catalog(&request.service, &request.plan)?;
        require_async(request.accepts_incomplete)?;
        let parameters = object(request.parameters.as_ref(), "parameters")?;
        let published = PlanVersion::of(&plan.maintenance_info);
        check_maintenance_version(published.as_ref(), request.maintenance_version.as_deref())
            .map_err(CatalogError::from)?;

        let _turn = self
            .locks
            .instance(&request.instance, request_context.deadline)
            .await?;
        let identity = json!({
            "service_id": request.service,
            "plan_id": request.plan,
            "organization_guid": request.organization,
            "space_guid": request.space,
            "parameters": parameters,
        });
        let order = request_context.order(request.instance, request.plan, identity, request.body);
        let vacancy = match self.engine.find(&order).await? {
            Found::Vacant(vacancy) => vacancy,
            Found::InProgress(started) => return Ok(Provisioned::Started(started)),
            Found::Completed {
                dashboard_url,
                labels,
            } => {
                return Ok(Provisioned::Exists {
                    dashboard_url,
                    labels,
                });
            }
        };
        let _reservation = match &self.counting {
            Some(counting) => Some(
                counting
                    .reserve(&request_context, &order.instance, &order.plan)
                    .await?,
            ),
            None => None,
        };
        self.schemas
            .check(&order.plan, ParametersOf::InstanceCreate, &parameters)?;
        Ok(Provisioned::Started(vacancy.create(&order).await?))
    }

    #[tracing::instrument(name = "deprovision", skip_all)]
    pub async fn deprovision(
        &self,
        request_context: RequestContext,
        request: DeprovisionRequest,
    ) -> Result<Deleted, Refused> {
        self.check_service(&request.service)?;
        require_async(request.accepts_incomplete)?;

        let _turn = self
            .locks
            .instance(&request.instance, request_context.deadline)
            .await?;
        let identity = json!({ "service_id": request.service, "plan_id": request.plan });
        let nothing = RequestParameters::from_fields(Map::new());
        let order = request_context.order(request.instance, request.plan, identity, nothing);
        let deleted = self
            .engine
            .delete(&order, request.deletion, Origin::Platform);
        Ok(deleted.await?)
    }
}

/// A member that has to be an object if it is there; absent and null are an empty one.
pub(super) fn object(
    value: Option<&Value>,
    member: &'static str,
) -> Result<Map<String, Value>, Refused> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(Refused::NotAnObject { member })
        }
    }
}
