//! A new service instance.

use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::ids::{InstanceId, OfferingId, PlanId};
use serde_json::{Map, Value, json};

use super::{AcceptsIncomplete, Operations, Refused, RequestContext};
use crate::{
    engine::{Found, Started},
    offering::ParametersOf,
};

/// An order for a new service instance (Open Service Broker API 2.17, "Provisioning").
#[derive(Debug)]
pub struct ProvisionRequest {
    /// The id that the platform chose.
    pub instance: InstanceId,
    /// The offering.
    pub service: OfferingId,
    /// The plan.
    pub plan: PlanId,
    /// The user's parameters; absent and null are the same.
    pub parameters: Option<Value>,
    /// The organization, deprecated and still sent.
    pub organization: Option<String>,
    /// The space, deprecated and still sent.
    pub space: Option<String>,
    /// The version of the plan as the platform knows it.
    pub maintenance_version: Option<String>,
    /// Whether the platform waits.
    pub accepts_incomplete: AcceptsIncomplete,
    /// The complete body, for the adapter.
    pub body: RequestParameters,
}

/// The result of an order.
#[derive(Debug)]
pub enum Provisioned {
    /// It is being made.
    Started(Started),
    /// The same order made it before.
    Exists {
        /// Where users manage it.
        dashboard_url: Option<String>,
        /// The adapter's labels.
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
        self.check_in_catalog(&request.service, &request.plan)?;
        request.accepts_incomplete.required()?;
        let parameters = object(request.parameters.as_ref(), "parameters")?;
        self.check_maintenance_version(&request.plan, request.maintenance_version.as_deref())?;

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
                    .reserve(
                        &*self.engine,
                        &request_context,
                        &order.instance,
                        &order.plan,
                    )
                    .await?,
            ),
            None => None,
        };
        self.schemas
            .check(&order.plan, ParametersOf::InstanceCreate, &parameters)?;
        Ok(Provisioned::Started(vacancy.create(&order).await?))
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
