//! Carries out what the engine wants done, and tells it what came of that.

use std::{cell::RefCell, collections::HashMap, future::Future, pin::Pin};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use odb_rollout::{
    Command, Engine, Event, Health, Notice, Place, PollAnswer, State, TriggerAnswer,
};

/// A way to bring operations about.
pub(super) trait Operator {
    /// What it takes to ask how an operation is doing.
    type Underway: Clone;

    /// Asks for the operation on an instance. An operation that goes on has something to ask after it with.
    async fn trigger(
        &self,
        place: Place,
        is_repeat: bool,
    ) -> (TriggerAnswer, Option<Self::Underway>);

    /// Asks how an operation is doing.
    async fn poll(&self, place: Place, underway: &Self::Underway) -> PollAnswer;

    /// Asks whether an instance is healthy.
    async fn examine(&self, place: Place) -> Health;
}

/// Somebody who wants to know how a pass goes.
pub(super) trait Observer {
    /// Something is to be told.
    fn said(&mut self, notice: &Notice);

    /// An instance has come to another state.
    fn changed(&mut self, place: Place, state: &State);
}

/// What a pass begins with.
pub(super) struct Beginning<U> {
    pub(super) engine: Engine,
    pub(super) commands: Vec<Command>,
    /// Operations of an interrupted part of the run that go on.
    pub(super) underway: HashMap<Place, U>,
}

type Calls<'c> = FuturesUnordered<Pin<Box<dyn Future<Output = Event> + 'c>>>;

/// Runs a pass to its end, in good order when it is told to stop. Calls are made side by side.
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
                Command::Say(notice) => observer.said(&notice),
                Command::Changed { place, state } => observer.changed(place, &state),
                Command::Trigger { place, is_repeat } => {
                    calls.push(Box::pin(trigger(operator, &underway, place, is_repeat)));
                }
                Command::Poll { place } => calls.push(Box::pin(poll(operator, &underway, place))),
                Command::Examine { place } => calls.push(Box::pin(async move {
                    let health = operator.examine(place).await;
                    Event::Examined { place, health }
                })),
            }
        }
        if engine.is_over() {
            return engine;
        }
        let tick = engine.next_tick().map(|tick| began + tick);
        commands = tokio::select! {
            Some(event) = calls.next(), if !calls.is_empty() => engine.hear(event, began.elapsed()),
            () = sleep_until(tick.unwrap_or(began)), if tick.is_some() => {
                engine.tick(began.elapsed())
            }
            () = stopping.cancelled(), if !is_stopping => {
                is_stopping = true;
                engine.hear(Event::Stop, began.elapsed())
            }
        };
    }
}

async fn trigger<O: Operator>(
    operator: &O,
    underway: &RefCell<HashMap<Place, O::Underway>>,
    place: Place,
    is_repeat: bool,
) -> Event {
    let (answer, begun) = operator.trigger(place, is_repeat).await;
    if let Some(begun) = begun {
        underway.borrow_mut().insert(place, begun);
    }
    Event::Triggered { place, answer }
}

async fn poll<O: Operator>(
    operator: &O,
    underway: &RefCell<HashMap<Place, O::Underway>>,
    place: Place,
) -> Event {
    let begun = underway.borrow().get(&place).cloned();
    let answer = match begun {
        Some(begun) => operator.poll(place, &begun).await,
        None => PollAnswer::Senseless {
            cause: "an operation goes on and nobody knows how to ask after it".to_owned(),
        },
    };
    Event::Polled { place, answer }
}
