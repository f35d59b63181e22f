//! The state machine: events in, commands out. This file decides the next commands.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use odb_api_types::ids::InstanceId;

use super::{
    Canaries, Command, Event, Location, LogEvent, Moment, RolloutResult, Settings, Start, State,
    Tally,
    instance::Instance,
    outcome::{Halt, Remains},
    phase::{Phase, PhaseKind},
};

/// A pass over a fleet.
#[derive(Debug)]
pub struct Engine {
    pub(super) settings: Settings,
    pub(super) instances: Vec<Instance>,
    pub(super) phase: Phase,
    pub(super) halt: Option<Halt>,
    pub(super) is_over: bool,
    /// The next requests by their times.
    pub(super) timers: BTreeSet<(Moment, Location)>,
    pub(super) in_flight: usize,
    /// Triggers without an answer yet.
    pub(super) triggers_out: usize,
    /// Those that have failed, in the order in which they did.
    pub(super) failures: Vec<Location>,
    /// Instances that an interrupted part of the run has finished or begun, without a health check.
    unseen: Vec<Location>,
    /// Those that did not become healthy in time, with their last state.
    pub(super) unhealthy: BTreeMap<Location, String>,
    pub(super) commands: Vec<Command>,
}

impl Engine {
    /// Starts a pass over these instances. Returns the first commands.
    pub fn begin(
        settings: Settings,
        starts: Vec<Start>,
        canaries: Option<Canaries>,
    ) -> (Self, Vec<Command>) {
        let instances: Vec<_> = starts
            .into_iter()
            .map(|start| Instance::new(start.id, start.prior_result))
            .collect();
        let mut engine = Self {
            settings,
            instances,
            phase: Phase::new(PhaseKind::Main, Vec::new()),
            halt: None,
            is_over: false,
            timers: BTreeSet::new(),
            in_flight: 0,
            triggers_out: 0,
            failures: Vec::new(),
            unseen: Vec::new(),
            unhealthy: BTreeMap::new(),
            commands: Vec::new(),
        };
        engine.take_up(Moment::ZERO);
        match canaries {
            Some(canaries) => engine.begin_canaries(canaries),
            None => engine.begin_main(),
        }
        engine.go_on(Moment::ZERO);
        let commands = std::mem::take(&mut engine.commands);
        (engine, commands)
    }

    /// Handles an event. Returns the next commands.
    pub fn handle(&mut self, event: Event, now: Moment) -> Vec<Command> {
        if !self.is_over {
            match event {
                Event::Triggered { location, answer } => self.triggered(location, answer, now),
                Event::Polled { location, answer } => self.polled(location, answer, now),
                Event::Examined { location, health } => self.examined(location, health, now),
                Event::Stop => self.halt = Some(Halt::Stopped),
            }
            self.go_on(now);
        }
        std::mem::take(&mut self.commands)
    }

    /// Handles the passage of time. Returns the next commands.
    pub fn tick(&mut self, now: Moment) -> Vec<Command> {
        if !self.is_over {
            self.ring(now);
            self.go_on(now);
        }
        std::mem::take(&mut self.commands)
    }

    /// When [`tick`](Self::tick) is due, unless something is heard before.
    pub fn next_tick(&self) -> Option<Moment> {
        let timer = self.timers.first().map(|(at, _)| *at);
        timer.into_iter().chain(self.phase.pause).min()
    }

    /// The pass has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// How many instances are where.
    pub fn tally(&self) -> Tally {
        Tally::of(self.instances.iter().map(|instance| &instance.state))
    }

    /// An instance: its id, its state, and its duration in this pass.
    pub fn instance(&self, location: Location) -> (&InstanceId, &State, Option<Duration>) {
        let instance = &self.instances[location];
        (&instance.id, &instance.state, instance.taken())
    }

    /// The last description of an instance that did not become healthy in time.
    pub fn unhealthy(&self, location: Location) -> Option<&str> {
        self.unhealthy.get(&location).map(String::as_str)
    }

    /// How many instances there are.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// How the pass has ended.
    pub fn result(&self) -> RolloutResult {
        let ids = |wanted: fn(&State) -> bool| -> Vec<InstanceId> {
            let found = self.instances.iter().filter(|found| wanted(&found.state));
            found.map(|instance| instance.id.clone()).collect()
        };
        let causes = self.failures.iter().filter_map(|location| {
            let State::Failed { cause } = &self.instances[*location].state else {
                return None;
            };
            Some(cause.clone())
        });
        RolloutResult::of(&Remains {
            tally: self.tally(),
            causes: causes.collect(),
            busy: ids(|state| matches!(state, State::Busy)),
            failed: ids(|state| matches!(state, State::Failed { .. })),
            phase: &self.phase,
            halt: self.halt.as_ref(),
            allowed: self.allowed(),
            canaries_tried: self.tried(),
        })
    }

    /// Continues an interrupted part of the run. A health gate checks it first: the interruption may have come before
    /// the check, or because of it.
    fn take_up(&mut self, now: Moment) {
        for location in 0..self.instances.len() {
            let state = &self.instances[location].state;
            if self.settings.gate.is_some() && matches!(state, State::Accepted { .. } | State::Done)
            {
                self.unseen.push(location);
            }
            match self.instances[location].state.clone() {
                State::Accepted { task } => {
                    self.in_flight += 1;
                    self.instances[location].began = Some(now);
                    let id = self.instances[location].id.clone();
                    self.say(LogEvent::TakenUp { id, task });
                    self.poll(location);
                    self.changed(location);
                }
                State::Failed { .. } => self.failures.push(location),
                State::Skipped => {
                    let id = self.instances[location].id.clone();
                    self.say(LogEvent::UpgradedThroughPlatform { id });
                }
                _ => {}
            }
        }
    }

    fn begin_canaries(&mut self, canaries: Canaries) {
        let Canaries {
            candidates,
            limit,
            criteria,
        } = canaries;
        let is_done = |location: &&Location| self.instances[**location].state == State::Done;
        if candidates.iter().filter(is_done).count() >= limit {
            self.say(LogEvent::CanariesDoneBefore);
            self.begin_main();
            return;
        }
        let has_failed =
            |location: &Location| matches!(self.instances[*location].state, State::Failed { .. });
        if candidates.iter().any(has_failed) {
            self.halt = Some(Halt::Canary);
        }
        self.phase = Phase::new(PhaseKind::Canaries { limit }, candidates);
        self.say(LogEvent::StartingCanaries {
            count: limit,
            criteria,
        });
        self.say_attempt();
    }

    fn begin_main(&mut self) {
        for instance in &mut self.instances {
            if instance.state == State::Busy {
                instance.state = State::NotStarted;
            }
        }
        let left = |location: &Location| !self.instances[*location].state.is_final();
        let members = (0..self.instances.len()).filter(left).collect();
        self.phase = Phase::new(PhaseKind::Main, members);
        self.say_attempt();
        self.watch_budget();
    }

    /// Does all that can be done now.
    fn go_on(&mut self, now: Moment) {
        while !self.is_over {
            self.trigger_more(now);
            let is_waiting = match self.halt {
                // Operations in progress are not awaited, but an answer that is under way is: it shows whether another
                // operation has begun.
                Some(Halt::Stopped) => self.triggers_out > 0,
                _ => self.in_flight > 0,
            };
            if is_waiting || !self.next_step(now) {
                return;
            }
        }
    }

    /// Nothing is in flight and nothing can begin: decides the next step. Returns whether to continue at once.
    fn next_step(&mut self, now: Moment) -> bool {
        if self.halt == Some(Halt::Stopped) {
            self.is_over = true;
            return false;
        }
        if let Some(look) = &self.phase.wave.look {
            if !look.pending.is_empty() {
                return false;
            }
            self.end_look();
            return true;
        }
        if self.halt.is_some() {
            self.is_over = true;
            return false;
        }
        if !self.unseen.is_empty() {
            let unseen = std::mem::take(&mut self.unseen);
            self.begin_look(unseen, now);
            return true;
        }
        if let Some(pause) = self.phase.pause {
            if now < pause {
                return false;
            }
            self.begin_attempt();
            return true;
        }
        if self.settings.gate.is_some() && !self.phase.wave.members.is_empty() {
            let members = std::mem::take(&mut self.phase.wave.members);
            self.begin_look(members, now);
            return true;
        }
        self.end_attempt(now);
        true
    }

    fn end_attempt(&mut self, now: Moment) {
        let is_complete = self.is_complete();
        if is_complete && self.phase.is_of_canaries() {
            self.say(LogEvent::FinishedCanaries);
            self.begin_main();
            return;
        }
        let is_last = is_complete || self.phase.attempt >= self.settings.attempts;
        if !is_complete || self.failures.is_empty() {
            let pause = (!is_last).then_some(self.settings.attempt_pause);
            self.say(LogEvent::Progress {
                pause: pause.unwrap_or_default(),
                tally: self.tally(),
            });
        }
        if is_last {
            self.is_over = true;
        } else {
            self.phase.pause = Some(now + self.settings.attempt_pause);
        }
    }

    fn begin_attempt(&mut self) {
        for location in self.phase.members.clone() {
            if self.instances[location].state == State::Busy {
                self.instances[location].state = State::NotStarted;
            }
        }
        self.phase.pause = None;
        self.phase.cursor = 0;
        self.phase.attempt += 1;
        self.say_attempt();
    }

    /// The phase has reached its goal.
    fn is_complete(&self) -> bool {
        let is_final = |location: &&Location| self.instances[**location].state.is_final();
        let finals = self.phase.members.iter().filter(is_final).count();
        match self.phase.kind {
            PhaseKind::Canaries { limit } => finals >= limit,
            PhaseKind::Main => finals == self.phase.members.len(),
        }
    }

    fn trigger_more(&mut self, now: Moment) {
        while self.may_trigger() {
            let rest = &self.phase.members[self.phase.cursor..];
            let is_next =
                |location: &Location| self.instances[*location].state == State::NotStarted;
            let Some(skipped) = rest.iter().position(is_next) else {
                self.phase.cursor = self.phase.members.len();
                return;
            };
            let position = self.phase.cursor + skipped;
            let location = self.phase.members[position];
            self.phase.cursor = position + 1;
            let number = match self.phase.kind {
                PhaseKind::Canaries { .. } => None,
                PhaseKind::Main => Some((position + 1, self.phase.members.len())),
            };
            let instance = &mut self.instances[location];
            instance.began.get_or_insert(now);
            let id = instance.id.clone();
            self.phase.wave.members.push(location);
            self.in_flight += 1;
            self.become_state(location, State::Triggering, now);
            self.say(LogEvent::Starting { id, number });
            self.trigger(location, false);
        }
    }

    fn may_trigger(&self) -> bool {
        let is_in_the_middle =
            self.phase.pause.is_none() && self.phase.wave.look.is_none() && self.unseen.is_empty();
        if self.halt.is_some() || !is_in_the_middle || self.in_flight >= self.settings.max_in_flight
        {
            return false;
        }
        match self.phase.kind {
            PhaseKind::Canaries { limit } => self.tried() < limit,
            PhaseKind::Main => {
                let wave = self.settings.gate.and_then(|gate| gate.wave);
                wave.is_none_or(|wave| {
                    self.phase.wave.members.len()
                        < usize::try_from(wave.get()).unwrap_or(usize::MAX)
                })
            }
        }
    }

    /// How many of the phase's instances indicate the results of the others.
    fn tried(&self) -> usize {
        let is_tried = |location: &&Location| self.instances[**location].state.is_tried();
        self.phase.members.iter().filter(is_tried).count()
    }

    fn allowed(&self) -> Option<usize> {
        let budget = self.settings.budget?;
        Some(budget.of(self.instances.len()))
    }

    pub(super) fn watch_budget(&mut self) {
        if self
            .allowed()
            .is_some_and(|allowed| self.failures.len() > allowed)
        {
            self.halt.get_or_insert(Halt::Budget);
        }
    }

    pub(super) fn trigger(&mut self, location: Location, is_repeat: bool) {
        self.instances[location].is_asked = true;
        self.triggers_out += 1;
        self.commands.push(Command::Trigger {
            location,
            is_repeat,
        });
    }

    pub(super) fn poll(&mut self, location: Location) {
        self.instances[location].is_asked = true;
        self.commands.push(Command::Poll { location });
    }

    pub(super) fn become_state(&mut self, location: Location, state: State, now: Moment) {
        let instance = &mut self.instances[location];
        instance.state = state;
        instance.since = now;
        self.changed(location);
    }

    fn changed(&mut self, location: Location) {
        let state = self.instances[location].state.clone();
        self.commands.push(Command::Changed { location, state });
    }

    fn say_attempt(&mut self) {
        let is_final = |location: &&Location| self.instances[**location].state.is_final();
        let finals = self.phase.members.iter().filter(is_final).count();
        let remaining = match self.phase.kind {
            PhaseKind::Canaries { limit } => Some(limit.saturating_sub(finals)),
            PhaseKind::Main => None,
        };
        self.say(LogEvent::Attempt {
            number: self.phase.attempt,
            of: self.settings.attempts,
            canaries: remaining,
        });
    }

    pub(super) fn say(&mut self, log_event: LogEvent) {
        self.commands.push(Command::Say(log_event));
    }
}
