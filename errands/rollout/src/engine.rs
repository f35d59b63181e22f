//! The state machine: events in, commands out. This file decides the next commands.
//!
//! A pass has two phases, canaries and all that are left. Each walks over its instances in attempts, and with a health
//! gate in waves.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use odb_api_types::ids::InstanceId;

use crate::{
    Canaries, Command, Event, Location, Moment, RolloutResult, Settings, State, Tally,
    events::{Failures, HealthCheck},
};

/// A pass over a fleet.
#[derive(Debug)]
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) instances: Vec<Instance>,
    pub(crate) phase: Phase,
    pub(crate) halt: Option<Halt>,
    is_over: bool,
    /// The next requests by their times.
    pub(crate) timers: BTreeSet<(Moment, Location)>,
    pub(crate) in_flight: usize,
    /// Triggers without an answer yet.
    pub(crate) triggers_out: usize,
    /// Those that have failed, in the order in which they did.
    pub(crate) failures: Vec<Location>,
    /// Instances that an interrupted part of the run has finished or begun, without a health check.
    unseen: Vec<Location>,
    /// Those that did not become healthy in time, with their last description.
    pub(crate) unhealthy: BTreeMap<Location, String>,
    pub(crate) commands: Vec<Command>,
}

#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: InstanceId,
    pub(crate) state: State,
    /// A call is on its way, so that the next one waits.
    pub(crate) is_asked: bool,
    pub(crate) failures: Option<Failures>,
    /// When it was first started.
    began: Option<Moment>,
    /// When it reached its state.
    since: Moment,
}

/// One walk over instances.
#[derive(Debug)]
pub(crate) struct Phase {
    pub(crate) kind: PhaseKind,
    /// The indices of its instances, in the order of the list.
    pub(crate) members: Vec<Location>,
    /// From one.
    attempt: u32,
    /// Where in `members` to look for the next to begin.
    cursor: usize,
    /// When the next attempt begins, while it is waited for.
    pause: Option<Moment>,
    /// Those that were tried since the last health check, in order.
    pub(crate) wave: Vec<Location>,
    /// The health check in progress.
    pub(crate) check: Option<HealthCheck>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseKind {
    /// So many go first.
    Canaries { limit: usize },
    /// All that are left.
    Main,
}

/// Why no further instance starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// A canary has failed.
    Canary,
    /// More have failed than may.
    Budget,
    /// A finished instance is unhealthy.
    Unhealthy,
    /// The operator wants an end.
    Stopped,
}

impl Phase {
    fn new(kind: PhaseKind, members: Vec<Location>) -> Self {
        Self {
            kind,
            members,
            attempt: 1,
            cursor: 0,
            pause: None,
            wave: Vec::new(),
            check: None,
        }
    }

    pub(crate) fn is_of_canaries(&self) -> bool {
        matches!(self.kind, PhaseKind::Canaries { .. })
    }
}

impl Engine {
    /// Starts a pass over these instances in their states. Returns the first commands.
    pub fn begin(
        settings: Settings,
        instances: Vec<(InstanceId, State)>,
        canaries: Option<Canaries>,
    ) -> (Self, Vec<Command>) {
        let instances = instances.into_iter().map(|(id, state)| Instance {
            id,
            state,
            is_asked: false,
            failures: None,
            began: None,
            since: Moment::ZERO,
        });
        let mut engine = Self {
            settings,
            instances: instances.collect(),
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
        engine.take_up();
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
                Event::Triggered(location, answer) => self.triggered(location, answer, now),
                Event::Polled(location, answer) => self.polled(location, answer, now),
                Event::Examined(location, health) => self.examined(location, health, now),
                Event::Stop => self.stop(),
            }
            self.go_on(now);
        }
        std::mem::take(&mut self.commands)
    }

    /// Stops the run without deciding the next step, so that an event that came first still counts.
    pub fn stop(&mut self) {
        self.halt = Some(Halt::Stopped);
    }

    /// Handles the passage of time. Returns the next commands.
    pub fn tick(&mut self, now: Moment) -> Vec<Command> {
        if !self.is_over {
            self.send_due(now);
            self.go_on(now);
        }
        std::mem::take(&mut self.commands)
    }

    /// When [`tick`](Self::tick) is due, unless an event comes before.
    pub fn next_tick(&self) -> Option<Moment> {
        let timer = self.timers.first().map(|(at, _)| *at);
        timer.into_iter().chain(self.phase.pause).min()
    }

    /// Whether the pass has ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// How many instances are where.
    pub fn tally(&self) -> Tally {
        Tally::of(self.instances.iter().map(|instance| &instance.state))
    }

    /// The instances: id, state, and how long each took in this pass.
    pub fn instances(&self) -> impl Iterator<Item = (&InstanceId, &State, Option<Duration>)> {
        self.instances.iter().map(|instance| {
            let taken = |began| instance.since.saturating_sub(began);
            (&instance.id, &instance.state, instance.began.map(taken))
        })
    }

    /// The last description of an instance that did not become healthy in time.
    pub fn unhealthy(&self, location: Location) -> Option<&str> {
        self.unhealthy.get(&location).map(String::as_str)
    }

    /// How the pass has ended.
    pub fn result(&self) -> RolloutResult {
        RolloutResult::of(self)
    }

    /// Continues an interrupted part of the run. A health gate checks it first: the interruption may have come before
    /// the check, or because of it.
    fn take_up(&mut self) {
        for location in 0..self.instances.len() {
            let Instance { id, state, .. } = &self.instances[location];
            let (id, state) = (id.clone(), state.clone());
            if self.settings.gate.is_some() && matches!(state, State::Accepted(_) | State::Done) {
                self.unseen.push(location);
            }
            match state {
                State::Accepted(task) => {
                    self.in_flight += 1;
                    self.instances[location].began = Some(Moment::ZERO);
                    self.show(format!(
                        "[{id}] Operation of the interrupted run continues{}",
                        of_task(task)
                    ));
                    self.poll(location);
                    self.become_state(location, state, Moment::ZERO);
                }
                State::Failed(_) => self.failures.push(location),
                State::Skipped => self.show(format!(
                    "[{id}] Result: already upgraded through the platform - operation skipped"
                )),
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
            self.log("The canaries were processed before the run was interrupted");
            self.begin_main();
            return;
        }
        let has_failed =
            |location: &Location| matches!(self.instances[*location].state, State::Failed(_));
        if candidates.iter().any(has_failed) {
            self.halt = Some(Halt::Canary);
        }
        self.phase = Phase::new(PhaseKind::Canaries { limit }, candidates);
        self.log(if criteria.is_empty() {
            format!("STARTING CANARIES: {limit} canaries")
        } else {
            format!("STARTING CANARIES: {limit} canaries with selection criteria: {criteria}")
        });
        self.log_attempt();
    }

    fn begin_main(&mut self) {
        for instance in &mut self.instances {
            if instance.state == State::Busy {
                instance.state = State::NotStarted;
            }
        }
        let is_left = |location: &Location| !self.instances[*location].state.is_final();
        let members = (0..self.instances.len()).filter(is_left).collect();
        self.phase = Phase::new(PhaseKind::Main, members);
        self.log_attempt();
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
        if let Some(check) = &self.phase.check {
            if !check.pending.is_empty() {
                return false;
            }
            self.end_health_check();
            return true;
        }
        if self.halt.is_some() {
            self.is_over = true;
            return false;
        }
        if !self.unseen.is_empty() {
            let unseen = std::mem::take(&mut self.unseen);
            self.begin_health_check(unseen, now);
            return true;
        }
        if let Some(pause) = self.phase.pause {
            if now < pause {
                return false;
            }
            self.begin_attempt();
            return true;
        }
        if self.settings.gate.is_some() && !self.phase.wave.is_empty() {
            let wave = std::mem::take(&mut self.phase.wave);
            self.begin_health_check(wave, now);
            return true;
        }
        self.end_attempt(now);
        true
    }

    fn end_attempt(&mut self, now: Moment) {
        let is_complete = match self.phase.kind {
            PhaseKind::Canaries { limit } => self.finals() >= limit,
            PhaseKind::Main => self.finals() == self.phase.members.len(),
        };
        if is_complete && self.phase.is_of_canaries() {
            self.log("FINISHED CANARIES");
            self.begin_main();
            return;
        }
        let is_last = is_complete || self.phase.attempt >= self.settings.attempts;
        let pause = (!is_last).then_some(self.settings.attempt_pause);
        if !is_complete || self.failures.is_empty() {
            self.log(format!(
                "Progress summary: Sleep interval until next attempt: {}; {}",
                in_go_notation(pause.unwrap_or_default()),
                self.tally().so_far()
            ));
        }
        self.is_over = is_last;
        self.phase.pause = pause.map(|pause| now + pause);
    }

    fn begin_attempt(&mut self) {
        for location in &self.phase.members {
            if self.instances[*location].state == State::Busy {
                self.instances[*location].state = State::NotStarted;
            }
        }
        self.phase.pause = None;
        self.phase.cursor = 0;
        self.phase.attempt += 1;
        self.log_attempt();
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
                PhaseKind::Canaries { .. } => String::new(),
                PhaseKind::Main => format!(" {} of {}", position + 1, self.phase.members.len()),
            };
            let instance = &mut self.instances[location];
            instance.began.get_or_insert(now);
            let started = format!(
                "[{}] Starting to process service instance{number}",
                instance.id
            );
            self.phase.wave.push(location);
            self.in_flight += 1;
            self.become_state(location, State::Triggering, now);
            self.show(started);
            self.trigger(location, false);
        }
    }

    fn may_trigger(&self) -> bool {
        let is_in_the_middle =
            self.phase.pause.is_none() && self.phase.check.is_none() && self.unseen.is_empty();
        if self.halt.is_some() || !is_in_the_middle || self.in_flight >= self.settings.max_in_flight
        {
            return false;
        }
        match self.phase.kind {
            PhaseKind::Canaries { limit } => self.tried() < limit,
            PhaseKind::Main => {
                let wave = self.settings.gate.and_then(|gate| gate.wave);
                let is_full = |wave: u32| {
                    usize::try_from(wave).is_ok_and(|wave| self.phase.wave.len() >= wave)
                };
                !wave.is_some_and(|wave| is_full(wave.get()))
            }
        }
    }

    /// How many of the phase's instances indicate the results of the others.
    pub(crate) fn tried(&self) -> usize {
        let is_tried = |location: &&Location| self.instances[**location].state.is_tried();
        self.phase.members.iter().filter(is_tried).count()
    }

    fn finals(&self) -> usize {
        let is_final = |location: &&Location| self.instances[**location].state.is_final();
        self.phase.members.iter().filter(is_final).count()
    }

    pub(crate) fn allowed(&self) -> Option<usize> {
        let budget = self.settings.budget?;
        Some(budget.of(self.instances.len()))
    }

    pub(crate) fn watch_budget(&mut self) {
        let allowed = self.allowed();
        if allowed.is_some_and(|allowed| self.failures.len() > allowed) {
            self.halt.get_or_insert(Halt::Budget);
        }
    }

    pub(crate) fn trigger(&mut self, location: Location, is_repeat: bool) {
        self.instances[location].is_asked = true;
        self.triggers_out += 1;
        self.commands.push(Command::Trigger {
            location,
            is_repeat,
        });
    }

    pub(crate) fn poll(&mut self, location: Location) {
        self.instances[location].is_asked = true;
        self.commands.push(Command::Poll(location));
    }

    pub(crate) fn examine(&mut self, location: Location) {
        self.instances[location].is_asked = true;
        self.commands.push(Command::Examine(location));
    }

    pub(crate) fn become_state(&mut self, location: Location, state: State, now: Moment) {
        self.instances[location].state = state.clone();
        self.instances[location].since = now;
        self.commands.push(Command::Changed(location, state));
    }

    fn log_attempt(&mut self) {
        let which = match (self.phase.kind, self.phase.attempt) {
            (PhaseKind::Canaries { .. }, 1) => "all canaries".to_owned(),
            (PhaseKind::Canaries { limit }, _) => {
                format!("{} remaining canaries", limit.saturating_sub(self.finals()))
            }
            (PhaseKind::Main, 1) => "all instances".to_owned(),
            (PhaseKind::Main, _) => "all remaining instances".to_owned(),
        };
        self.log(format!(
            "Processing {which}. Attempt {}/{}",
            self.phase.attempt, self.settings.attempts
        ));
    }

    pub(crate) fn log(&mut self, text: impl Into<String>) {
        self.commands.push(Command::Log(text.into()));
    }

    pub(crate) fn show(&mut self, text: String) {
        self.commands.push(Command::Show(text));
    }
}

pub(crate) fn of_task(task: Option<u64>) -> String {
    task.map_or_else(String::new, |task| format!(": bosh task id {task}"))
}

/// A duration of seconds as the Go programs print it: `1h0m5s`, `1m0s`, `2s`.
pub(crate) fn in_go_notation(duration: Duration) -> String {
    let all = duration.as_secs();
    match (all / 3600, all / 60 % 60, all % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}
