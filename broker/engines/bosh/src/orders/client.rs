//! The instance's UAA client during the request: created or read first, and restored if nothing is submitted.

use odb_api_types::{code::Code, kind::OperationKind};
use odb_clients::{
    director::ContextId,
    http::{Call, Deadline},
};
use odb_core::engine::Order;
use odb_redaction::Chain;

use crate::{
    BoshEngine,
    error::Error,
    instance_clients::{CfContext, ClientError, InstanceClient},
    orders::preparation::{self, Previous},
    reconciler::abandoned_writes::{Look, sweep},
};

/// The client of the instance: new for a new one, else as it is. `None` where instances have none.
pub(crate) async fn client(
    engine: &BoshEngine,
    order: &Order,
    kind: OperationKind,
    previous: Option<&Previous>,
    operation: &ContextId,
) -> Result<Option<InstanceClient>, Error> {
    let (call, instance) = (
        preparation::call_of_preparation(engine, order),
        &order.instance,
    );
    let clients = &engine.upstreams.clients;
    let permit = CfContext::of(&order.parameters);
    let client = match previous {
        None => clients.make(&call, instance, &permit, operation).await,
        Some(previous) => {
            let succeeded = previous.succeeded.as_ref();
            clients
                .find_or_make(&call, instance, &permit, operation, succeeded)
                .await
        }
    };
    if client.as_ref().is_err_and(ClientError::may_have_made) {
        delete_abandoned_client(engine, order, operation);
    }
    match client {
        // The platform's operator, who upgrades by API, cannot give the space; users can.
        Err(error @ ClientError::SpaceUnknown) if kind == OperationKind::Upgrade => {
            tracing::warn!(code = %Code::InstanceClient, error = %Chain(&error), "the instance is upgraded without a UAA client; its next update makes one");
            Ok(None)
        }
        client => Ok(client?),
    }
}

/// Nothing is submitted: restores the client.
pub(crate) async fn undo_client(
    engine: &BoshEngine,
    order: &Order,
    client: Option<&InstanceClient>,
) {
    let Some(client) = client else { return };
    let call = Call::until(Deadline::after(engine.upstreams.timings.rollback))
        .with_request_id(order.request.as_str());
    let Err(error) = engine.upstreams.clients.undo(&call, client).await else {
        return;
    };
    tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "what was done to the UAA client of the instance could not be undone yet");
    if let Some(operation) = client.made_by() {
        delete_abandoned_client(engine, order, operation);
    }
}

/// Removes a client that was made for nothing, or that may arrive when its request has long been answered. One that a
/// later request has made stays; while one is in progress nothing is removed behind its back.
fn delete_abandoned_client(engine: &BoshEngine, order: &Order, operation: &ContextId) {
    let (upstreams, instance) = (engine.upstreams.clone(), order.instance.clone());
    let (operation, request) = (operation.clone(), order.request.clone());
    let reconcilers = engine.reconcilers.clone();
    engine.reconcilers.spawn(async move {
        let timings = upstreams.timings;
        let (upstreams, reconcilers) = (&upstreams, &reconcilers);
        let (instance, operation, request) = (&instance, &operation, &request);
        let look = || async move {
            if reconcilers.in_progress(instance).is_some() {
                return Look::Unclear;
            }
            let call = Call::within(timings.reconciler_call).with_request_id(request.as_str());
            match upstreams.clients.unmake(&call, instance, operation).await {
                Ok(true) => Look::Done,
                Ok(false) => Look::NotThere,
                Err(error) => {
                    tracing::debug!(request.id = %request, instance.id = %instance, error = %Chain(&error), "could not look for a UAA client that was made for nothing");
                    if error.is_transient() {
                        Look::Unclear
                    } else {
                        Look::Done
                    }
                }
            }
        };
        sweep(&timings, look).await;
    });
}
