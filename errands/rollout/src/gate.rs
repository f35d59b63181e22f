//! Waves: instances that were started together are checked together before more start.

use std::{collections::BTreeSet, time::Duration};

use super::{Command, Engine, Health, Location, LogEvent, Moment, State, outcome::Halt};

/// Instances that were begun since the last check.
#[derive(Clone, Debug, Default)]
pub(super) struct Wave {
    /// Those that were tried, in order.
    pub(super) members: Vec<usize>,
    /// The health check in progress.
    pub(super) look: Option<Look>,
}

/// A look at a wave.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// Those that are not known to be healthy yet.
    pub(super) pending: BTreeSet<usize>,
    /// Those that did not become healthy in time, with their last state.
    pub(super) unhealthy: Vec<(Location, String)>,
    until: Moment,
}

impl Look {
    pub(super) fn at(members: BTreeSet<usize>, now: Moment, timeout: Duration) -> Self {
        Self {
            pending: members,
            unhealthy: Vec::new(),
            until: now + timeout,
        }
    }

    /// It is healthy.
    pub(super) fn passed(&mut self, location: usize) {
        self.pending.remove(&location);
    }

    /// Records that it is unhealthy. Returns when to check again, or `None` when its time is used up.
    pub(super) fn not_yet(
        &mut self,
        location: usize,
        said: String,
        now: Moment,
        pause: Duration,
    ) -> Option<Moment> {
        if now < self.until {
            return Some((now + pause).min(self.until));
        }
        self.pending.remove(&location);
        self.unhealthy.push((location, said));
        None
    }
}

impl Engine {
    /// Checks the health of those of `members` that succeeded. Without one, there is nothing to wait for.
    pub(super) fn begin_look(&mut self, members: Vec<Location>, now: Moment) {
        let Some(gate) = self.settings.gate else {
            return;
        };
        let is_done = |location: &Location| {
            matches!(
                self.instances[*location].state,
                State::Succeeded | State::Done
            )
        };
        let members: BTreeSet<_> = members.into_iter().filter(is_done).collect();
        if members.is_empty() {
            return;
        }
        self.say(LogEvent::LookingAtWave {
            count: members.len(),
        });
        for location in &members {
            self.instances[*location].is_asked = true;
            self.commands.push(Command::Examine {
                location: *location,
            });
        }
        self.phase.wave.look = Some(Look::at(members, now, gate.timeout));
    }

    pub(super) fn examined(&mut self, location: Location, health: Health, now: Moment) {
        self.instances[location].is_asked = false;
        let Some(look) = &mut self.phase.wave.look else {
            return;
        };
        match health {
            Health::Healthy => look.passed(location),
            Health::Gone => {
                look.passed(location);
                // It was counted as done before, so it is not counted again.
                self.instances[location].state = State::Deleted;
                let id = self.instances[location].id.clone();
                self.say(LogEvent::GoneSince { id });
            }
            Health::NotYet { said } => {
                if let Some(at) = look.not_yet(location, said, now, self.settings.poll_pause) {
                    self.timers.insert((at, location));
                }
            }
        }
    }

    pub(super) fn end_look(&mut self) {
        let Some(look) = self.phase.wave.look.take() else {
            return;
        };
        if look.unhealthy.is_empty() {
            self.say(LogEvent::WaveIsHealthy);
            return;
        }
        let mut causes = Vec::new();
        for (location, said) in look.unhealthy {
            let id = &self.instances[location].id;
            causes.push(format!("[{id}] not healthy after its operation: {said}"));
            self.unhealthy.insert(location, said);
        }
        self.halt.get_or_insert(Halt::Unhealthy { causes });
    }
}
