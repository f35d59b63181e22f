//! Executes the commands of the engine and returns their results to it.

use std::{cell::RefCell, collections::HashMap, future::Future, pin::Pin};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use odb_rollout::{
    Command, Engine, Event, Health, Location, LogEvent, PollAnswer, State, TriggerAnswer,
};

/// A way to bring operations about.
pub(super) trait Operator {
    /// The data for polling an operation.
    type Underway: Clone;

    /// Requests the operation on an instance. An operation in progress comes with the data for polling it.
    async fn trigger(
        &self,
        location: Location,
        is_repeat: bool,
    ) -> (TriggerAnswer, Option<Self::Underway>);

    /// Polls an operation.
    async fn poll(&self, location: Location, underway: &Self::Underway) -> PollAnswer;

    /// Asks whether an instance is healthy.
    async fn examine(&self, location: Location) -> Health;
}

/// An observer of a pass.
pub(super) trait Observer {
    /// Called with each event of the log.
    fn said(&mut self, log_event: &LogEvent);

    /// An instance has changed its state.
    fn changed(&mut self, location: Location, state: &State);
}

/// The input of a pass.
pub(super) struct Beginning<U> {
    pub(super) engine: Engine,
    pub(super) commands: Vec<Command>,
    /// Operations in progress from the interrupted part of the run.
    pub(super) underway: HashMap<Location, U>,
}

type Calls<'c> = FuturesUnordered<Pin<Box<dyn Future<Output = Event> + 'c>>>;

/// Runs a pass to its end; an interrupt lets the current operations finish. Calls run concurrently.
pub(super) async fn run<O: Operator>(
    operator: &O,
    beginning: Beginning<O::Underway>,
    observer: &mut dyn Observer,
    stopping: &CancellationToken,
) -> Engine {
    let Beginning {
        mut engine,
        mut commands,
        underway,
    } = beginning;
    let (began, underway) = (Instant::now(), RefCell::new(underway));
    let mut calls: Calls<'_> = FuturesUnordered::new();
    let mut is_stopping = false;
    loop {
        for command in commands.drain(..) {
            match command {
                Command::Say(log_event) => observer.said(&log_event),
                Command::Changed { location, state } => observer.changed(location, &state),
                Command::Trigger {
                    location,
                    is_repeat,
                } => {
                    calls.push(Box::pin(trigger(operator, &underway, location, is_repeat)));
                }
                Command::Poll { location } => {
                    calls.push(Box::pin(poll(operator, &underway, location)));
                }
                Command::Examine { location } => calls.push(Box::pin(async move {
                    let health = operator.examine(location).await;
                    Event::Examined { location, health }
                })),
            }
        }
        if engine.is_over() {
            return engine;
        }
        let tick = engine.next_tick().map(|tick| began + tick);
        commands = tokio::select! {
            Some(event) = calls.next(), if !calls.is_empty() => engine.handle(event, began.elapsed()),
            () = sleep_until(tick.unwrap_or(began)), if tick.is_some() => {
                engine.tick(began.elapsed())
            }
            () = stopping.cancelled(), if !is_stopping => {
                is_stopping = true;
                engine.handle(Event::Stop, began.elapsed())
            }
        };
    }
}

async fn trigger<O: Operator>(
    operator: &O,
    underway: &RefCell<HashMap<Location, O::Underway>>,
    location: Location,
    is_repeat: bool,
) -> Event {
    let (answer, begun) = operator.trigger(location, is_repeat).await;
    if let Some(begun) = begun {
        underway.borrow_mut().insert(location, begun);
    }
    Event::Triggered { location, answer }
}

async fn poll<O: Operator>(
    operator: &O,
    underway: &RefCell<HashMap<Location, O::Underway>>,
    location: Location,
) -> Event {
    let begun = underway.borrow().get(&location).cloned();
    let answer = match begun {
        Some(begun) => operator.poll(location, &begun).await,
        None => PollAnswer::Senseless {
            cause: "an operation is in progress and cannot be polled".to_owned(),
        },
    };
    Event::Polled { location, answer }
}
