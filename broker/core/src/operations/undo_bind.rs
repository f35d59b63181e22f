//! Rolls back a failed bind.

use std::sync::Arc;

use odb_api_types::code::Code;
use odb_clients::http::{Call, Deadline};
use odb_redaction::Chain;
use tokio::time::{sleep, timeout_at};

use super::{Operations, locks::BindingLock, secure_bindings::Keeping};
use crate::engine::{Bindable, BindingOrder, EngineErrorKind};

/// A bind that failed after the adapter had made it.
pub(super) struct PartialBinding {
    /// No other request works on the binding meanwhile, and no operation on its instance.
    pub(super) turn: BindingLock,
    pub(super) order: BindingOrder,
    pub(super) instance: Arc<dyn Bindable>,
    /// Where credentials may be kept already.
    pub(super) keeping: Option<Keeping>,
    /// Something that was sent to the runtime CredHub without an answer may yet arrive there.
    pub(super) may_still_come: bool,
}

impl Operations {
    /// Rolls back a bind. It continues after the request's time; a failure is logged for the operator, and the platform
    /// deletes the binding after the error answer.
    pub(super) async fn undo_bind(&self, partial_binding: PartialBinding) {
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
                        code = %Code::HalfMadeBinding, error = %Chain(&error),
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
                        code = %Code::HalfMadeBinding, error = %Chain(&error), name = keeping.reference(),
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
