//! Executes the commands of the rollout engine: makes the calls, and returns their answers to it.

use std::{future::Future, pin::Pin};

use futures_util::stream::{FuturesUnordered, StreamExt};
use odb_api_types::ids::InstanceId;
use odb_rollout::{
    Canaries, Command, Engine, Event, Health, Location, PollResponse, Settings, State,
    TriggerResponse,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The requests of one kind of operation. An implementation keeps what it needs of each instance by its location.
pub(crate) trait Requests {
    /// Requests the operation on an instance.
    async fn trigger(&self, location: Location, is_repeat: bool) -> TriggerResponse;

    /// Polls an operation. The call is dropped when the run is stopped.
    async fn poll(&self, location: Location) -> PollResponse;

    /// Reads the health of an instance, for a health gate.
    async fn examine(&self, location: Location) -> Health;
}

/// Runs a pass to its end; an interrupt lets the current requests finish. Calls run concurrently. `observe` gets the
/// lines of the log and the changes of instances.
pub(crate) async fn run(
    requests: &impl Requests,
    settings: Settings,
    instances: Vec<(InstanceId, State)>,
    canaries: Option<Canaries>,
    stopping: &CancellationToken,
    mut observe: impl FnMut(Command),
) -> Engine {
    let (mut engine, mut commands) = Engine::begin(settings, instances, canaries);
    let began = Instant::now();
    let mut calls: FuturesUnordered<Pin<Box<dyn Future<Output = Event> + '_>>> =
        FuturesUnordered::new();
    let mut is_stopping = false;
    loop {
        for command in commands.drain(..) {
            match command {
                Command::Trigger {
                    location,
                    is_repeat,
                } => calls.push(Box::pin(async move {
                    Event::Triggered(location, requests.trigger(location, is_repeat).await)
                })),
                Command::Poll(location) => calls.push(Box::pin(async move {
                    Event::Polled(location, requests.poll(location).await)
                })),
                Command::Examine(location) => calls.push(Box::pin(async move {
                    Event::Examined(location, requests.examine(location).await)
                })),
                seen => observe(seen),
            }
        }
        if engine.is_over() {
            return engine;
        }
        let tick = engine.next_tick().map(|tick| began + tick);
        commands = tokio::select! {
            biased;
            Some(event) = calls.next(), if !calls.is_empty() => {
                // An answer may end the run: it counts, but no other instance is started because of it.
                if stopping.is_cancelled() && !is_stopping {
                    is_stopping = true;
                    engine.stop();
                }
                engine.handle(event, began.elapsed())
            }
            () = stopping.cancelled(), if !is_stopping => {
                is_stopping = true;
                engine.handle(Event::Stop, began.elapsed())
            }
            () = sleep_until(tick.unwrap_or(began)), if tick.is_some() => {
                engine.tick(began.elapsed())
            }
        };
    }
}
