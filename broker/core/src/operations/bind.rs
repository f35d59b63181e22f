//! Credentials for an app, or for a key, and the rollback of a failed bind.

use std::sync::Arc;

use odb_adapter_sdk::protocol::{Binding, RequestParameters};
use odb_api_types::{
    code::Code,
    ids::{BindingId, InstanceId, OfferingId, PlanId},
};
use odb_clients::http::{Call, Deadline};
use odb_redaction::Chain;
use serde_json::Value;
use tokio::time::{sleep, timeout_at};

use super::{
    Operations, Refused, RequestContext,
    locks::BindingLock,
    provision::object,
    secure_bindings::{Before, Keeping, SecureBindingError},
};
use crate::{
    engine::{Bindable, BindingOrder, EngineErrorKind},
    offering::{ParametersOf, check_binding},
};

/// A request for credentials (Open Service Broker API 2.17, "Binding").
#[derive(Debug)]
pub struct BindRequest {
    pub instance: InstanceId,
    pub binding: BindingId,
    pub service: OfferingId,
    pub plan: PlanId,
    /// The user's parameters; absent and null are the same.
    pub parameters: Option<Value>,
    pub resource: BindResource,
    pub body: RequestParameters,
}

/// What is bound to the instance; empty for a service key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindResource {
    pub app: Option<String>,
    pub space: Option<String>,
    pub route: Option<String>,
    /// The client of UAA that may read the credentials of a key.
    pub credential_client: Option<String>,
    pub for_backup_agent: bool,
}

#[derive(Debug)]
pub enum Bound {
    New(Binding),
    Same(Binding),
}

struct PartialBinding {
    /// No other request works on the binding meanwhile, and no operation on its instance.
    turn: BindingLock,
    order: BindingOrder,
    instance: Arc<dyn Bindable>,
    /// Where credentials may be kept already.
    keeping: Option<Keeping>,
    /// Something that was sent to the runtime CredHub without an answer may yet arrive there.
    may_still_come: bool,
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

    /// Rolls back a bind. It continues after the request's time; a failure is logged for the operator, and the platform
    /// deletes the binding after the error answer.
    async fn undo_bind(&self, partial_binding: PartialBinding) {
        let deadline = partial_binding
            .order
            .deadline
            .max(Deadline::after(self.timings.rollback));
        let this = self.clone();
        let work = self
            .lifecycle
            .go_on(async move { this.roll_back(partial_binding).await });
        if timeout_at(deadline.instant(), work).await.is_err() {
            tracing::warn!("what the bind created is rolled back after its answer");
        }
    }

    async fn roll_back(&self, partial_binding: PartialBinding) {
        let PartialBinding {
            turn,
            order,
            instance,
            keeping,
            may_still_come,
        } = partial_binding;
        let deadline = Deadline::after(self.timings.undoing_a_bind);
        let call = Call::until(deadline).with_request_id(order.request.as_str());
        let order = order.reversed(&self.offering.id, deadline);
        let in_service = async {
            match instance.unbind(&order).await {
                Ok(()) => true,
                Err(error) if *error.kind() == EngineErrorKind::UnknownBinding => true,
                Err(error) => {
                    tracing::error!(
                        code = %Code::PartialBinding, error = %Chain(&error),
                        "a bind has failed, and the service still has the binding"
                    );
                    false
                }
            }
        };
        let in_credhub = async {
            let Some(keeping) = &keeping else {
                return true;
            };
            let mut removed = keeping.roll_back(&call).await;
            if may_still_come {
                sleep(self.timings.lost_answer).await;
                removed = keeping.roll_back(&call).await;
            }
            match removed {
                Ok(()) => true,
                Err(error) => {
                    tracing::error!(
                        code = %Code::PartialBinding, error = %Chain(&error), name = keeping.reference(),
                        "a bind has failed, and the runtime CredHub may still have its credentials"
                    );
                    false
                }
            }
        };
        if let (true, true) = tokio::join!(in_service, in_credhub) {
            tracing::info!("what the failed bind created is rolled back");
        }
        drop(turn);
    }
}

async fn before(keeping: Option<&Keeping>, call: &Call) -> Result<Before, SecureBindingError> {
    match keeping {
        Some(keeping) => keeping.find(call).await,
        None => Ok(Before::Nothing),
    }
}
