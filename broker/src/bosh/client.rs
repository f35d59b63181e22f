//! The instance's UAA client, around what may fail before the hand-over: made or looked up first, and again what it was when
//! nothing is handed over.

use std::sync::Arc;

use odb_api_types::{
    code::Code,
    ids::{InstanceId, RequestId},
};
use odb_platform::{
    director::ContextId,
    http::{Call, Deadline},
};
use tokio::time::{Instant, sleep};

use super::{
    Fault, Instances, Neighbours, OperationKind, Order, drivers::Drivers, preparation::Previous,
};
use crate::{
    instance_clients::{ClientFault, InstanceClient, Whereabouts},
    telemetry::Chain,
};

impl Instances {
    /// The client of the instance: new for a new one, else as it is. `None` where instances have none.
    pub(super) async fn client(
        &self,
        order: &Order,
        kind: OperationKind,
        previous: Option<&Previous>,
        operation: &ContextId,
    ) -> Result<Option<InstanceClient>, Fault> {
        let (call, instance) = (self.call_of_preparation(order), &order.instance);
        let clients = &self.neighbours.clients;
        let place = Whereabouts::of(&order.parameters);
        let client = match previous {
            None => clients.make(&call, instance, &place, operation).await,
            Some(previous) => {
                let succeeded = previous.succeeded.as_ref();
                clients
                    .find_or_make(&call, instance, &place, operation, succeeded)
                    .await
            }
        };
        if client.as_ref().is_err_and(ClientFault::may_have_made) {
            self.sweep_client(order, operation);
        }
        match client {
            // The platform's operator, who upgrades by API, cannot tell the space; users can.
            Err(fault @ ClientFault::SpaceUnknown) if kind == OperationKind::Upgrade => {
                tracing::warn!(code = %Code::InstanceClient, error = %Chain(&fault), "the instance is upgraded without a UAA client; its next update makes one");
                Ok(None)
            }
            client => Ok(client?),
        }
    }

    /// Brings a client to what is defined today.
    pub(super) async fn bring_client_up_to_date(
        &self,
        order: &Order,
        client: &mut InstanceClient,
    ) -> Result<(), Fault> {
        let (call, clients) = (self.call_of_preparation(order), &self.neighbours.clients);
        let place = Whereabouts::of(&order.parameters);
        Ok(clients.bring_up_to_date(&call, client, &place).await?)
    }

    /// Gives the client the secret that the adapter has been told, unless it has it.
    pub(super) async fn renew_client(
        &self,
        order: &Order,
        client: &mut InstanceClient,
    ) -> Result<(), Fault> {
        let (call, clients) = (self.call_of_preparation(order), &self.neighbours.clients);
        Ok(clients.renew(&call, client).await?)
    }

    /// Lets the client send browsers to the dashboard.
    pub(super) async fn redirect_client(
        &self,
        order: &Order,
        client: &mut InstanceClient,
        dashboard: Option<&str>,
    ) -> Result<(), Fault> {
        let (call, clients) = (self.call_of_preparation(order), &self.neighbours.clients);
        Ok(clients.redirect_to(&call, client, dashboard).await?)
    }

    /// Nothing is handed over: the client is again what it was.
    pub(super) async fn undo_client(&self, order: &Order, client: &InstanceClient) {
        let call = Call::until(Deadline::after(self.neighbours.timings.taking_back))
            .with_request_id(order.request.as_str());
        let Err(fault) = self.neighbours.clients.undo(&call, client).await else {
            return;
        };
        tracing::warn!(code = %Code::CleanUp, error = %Chain(&fault), "what was done to the UAA client of the instance could not be undone yet");
        if let Some(operation) = client.made_by() {
            self.sweep_client(order, operation);
        }
    }

    /// Removes a client that was made for nothing, or that may arrive when its request has long been answered.
    fn sweep_client(&self, order: &Order, operation: &ContextId) {
        let (neighbours, instance) = (self.neighbours.clone(), order.instance.clone());
        let (operation, request) = (operation.clone(), order.request.clone());
        let drivers = self.drivers.clone();
        self.drivers.spawn(async move {
            sweep(neighbours, drivers, &instance, &operation, &request).await;
        });
    }
}

/// Looks for the client until it has been removed, or UAA has been seen without it for long enough. One that a later request
/// has made stays; while one is in progress nothing is removed behind its back.
async fn sweep(
    neighbours: Arc<Neighbours>,
    drivers: Drivers,
    instance: &InstanceId,
    operation: &ContextId,
    request: &RequestId,
) {
    let (timings, clients) = (&neighbours.timings, &neighbours.clients);
    let mut pause = timings.first_retry;
    let mut seen_without_since = None;
    loop {
        sleep(pause).await;
        pause = (pause * 3 / 2).min(timings.longest_retry);
        let known = drivers.known(instance);
        if known.is_some_and(|known| known.snapshot.is_in_progress()) {
            seen_without_since = None;
            continue;
        }
        let call = Call::within(timings.driver_call).with_request_id(request.as_str());
        match clients.unmake(&call, instance, operation).await {
            Ok(true) => return,
            Ok(false) => {
                let since = *seen_without_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= timings.lost_answer {
                    return;
                }
            }
            Err(fault) => {
                tracing::debug!(request.id = %request, instance.id = %instance, error = %Chain(&fault), "could not look for a UAA client that was made for nothing");
                if !fault.is_transient() {
                    return;
                }
                seen_without_since = None;
            }
        }
    }
}
