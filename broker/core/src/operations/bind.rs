//! Credentials for an app, or for a key.

use odb_adapter_sdk::protocol::{Binding, RequestParameters};
use odb_api_types::{
    code::Code,
    ids::{BindingId, InstanceId, OfferingId, PlanId},
};
use odb_clients::http::Call;
use serde_json::Value;

use super::{
    Operations, Refused, RequestContext,
    provision::object,
    secure_bindings::{Before, Keeping, SecureBindingError},
    undo_bind::PartialBinding,
};
use crate::{
    engine::{BindingOrder, EngineErrorKind},
    offering::{ParametersOf, check_binding},
};

/// A request for credentials (Open Service Broker API 2.17, "Binding").
#[derive(Debug)]
pub struct BindRequest {
    /// The service instance.
    pub instance: InstanceId,
    /// The id that the platform chose.
    pub binding: BindingId,
    /// The offering.
    pub service: OfferingId,
    /// The plan.
    pub plan: PlanId,
    /// The user's parameters; absent and null are the same.
    pub parameters: Option<Value>,
    /// The bound resource.
    pub resource: BindResource,
    /// The complete body, for the adapter.
    pub body: RequestParameters,
}

/// What is bound to the instance; empty for a service key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindResource {
    /// The application's GUID, wherever in the request it was.
    pub app: Option<String>,
    /// The space of the application or key.
    pub space: Option<String>,
    /// The route whose requests pass through the service.
    pub route: Option<String>,
    /// The client of UAA that may read the credentials of a key.
    pub credential_client: Option<String>,
    /// An agent that makes backups wants to bind.
    pub for_backup_agent: bool,
}

/// Credentials, with all that a platform receives for a binding.
#[derive(Debug)]
pub enum Bound {
    /// They are new.
    New(Binding),
    /// The same request made them before.
    Same(Binding),
}

impl Operations {
    /// Makes credentials. The order of the checks is that of `spec/contracts/broker-behaviour.md` §3.13 and §3.15.
    #[tracing::instrument(name = "bind", skip_all, fields(binding.id = %request.binding))]
    pub async fn bind(
        &self,
        request_context: RequestContext,
        request: BindRequest,
    ) -> Result<Bound, Refused> {
        self.check_in_catalog(&request.service, &request.plan)?;
        let parameters = object(request.parameters.as_ref(), "parameters")?;
        if request.resource.for_backup_agent && !self.backup_agent_bindings {
            return Err(Refused::BackupAgent);
        }
        let keeping = self.secure_bindings.as_ref();
        let keeping = keeping
            .map(|secure| Keeping::new(secure, &request, &parameters))
            .transpose()?;

        let turn = self
            .locks
            .binding(
                &request.instance,
                &request.binding,
                request_context.deadline,
            )
            .await?;
        let call = request_context.call();
        let order = BindingOrder {
            instance: request.instance,
            binding: request.binding,
            plan: request.plan,
            parameters: request.body,
            request: request_context.request,
            deadline: request_context.deadline,
        };
        let (instance, before) = tokio::join!(
            self.engine.find_bindable(&order),
            before(keeping.as_ref(), &call)
        );
        let instance = instance?;
        match before.map_err(Refused::LookUpBinding)? {
            Before::Nothing => {}
            Before::Same(binding) => return Ok(Bound::Same(binding)),
            Before::Other => return Err(Refused::BindingTaken),
        }
        self.schemas
            .check(&order.plan, ParametersOf::BindingCreate, &parameters)?;

        let made = match instance.bind(&order).await {
            Ok(binding) => self.finish(&call, binding, keeping.as_ref()).await,
            // It has ended well, so the service has the binding.
            Err(error) if matches!(error.kind(), EngineErrorKind::UnusableBinding(_)) => {
                Err(error.into())
            }
            Err(error) => return Err(error.into()),
        };
        match made {
            Ok(binding) => Ok(Bound::New(binding)),
            Err(error) => {
                let may_still_come = match &error {
                    Refused::KeepBinding(error) => error.may_take_effect(),
                    _ => false,
                };
                self.undo_bind(PartialBinding {
                    turn,
                    order,
                    instance,
                    keeping,
                    may_still_come,
                })
                .await;
                Err(error)
            }
        }
    }

    /// Validates the adapter's answer, and stores the credentials if secure bindings are on.
    async fn finish(
        &self,
        call: &Call,
        binding: Binding,
        keeping: Option<&Keeping>,
    ) -> Result<Binding, Refused> {
        for unannounced in check_binding(&binding, &self.offering.requires)? {
            tracing::warn!(
                code = %Code::UnannouncedBinding,
                "the adapter returned {unannounced}: platforms may refuse the binding"
            );
        }
        match keeping {
            Some(keeping) => keeping
                .keep(call, binding)
                .await
                .map_err(Refused::KeepBinding),
            None => Ok(binding),
        }
    }
}

async fn before(keeping: Option<&Keeping>, call: &Call) -> Result<Before, SecureBindingError> {
    match keeping {
        Some(keeping) => keeping.find(call).await,
        None => Ok(Before::Nothing),
    }
}
