//! What an event changes: the answers to triggers, polls and health checks.

use std::{collections::BTreeSet, time::Duration};

use odb_api_types::ids::InstanceId;

use crate::{
    Engine, Health, Location, Moment, PollResponse, State, TriggerResponse,
    engine::{Halt, in_go_notation, of_task},
};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Since when a call gets no answer. It is repeated with growing pauses, for a limited time: the operation of the
/// instance continues meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failures {
    since: Moment,
    pause: Duration,
}

impl Failures {
    /// When the call is to be repeated; never when it has been repeated for `timeout`.
    fn retry_at(failures: &mut Option<Self>, now: Moment, timeout: Duration) -> Option<Moment> {
        let failures = failures.get_or_insert(Self {
            since: now,
            pause: FIRST_PAUSE,
        });
        let end = failures.since + timeout;
        if now >= end {
            return None;
        }
        let at = (now + failures.pause).min(end);
        failures.pause = (failures.pause * 2).min(LONGEST_PAUSE);
        Some(at)
    }
}

/// A health check of instances that were started together, before more start.
#[derive(Debug)]
pub(crate) struct HealthCheck {
    /// Those that are not known to be healthy yet.
    pub(crate) pending: BTreeSet<Location>,
    until: Moment,
}

impl Engine {
    pub(crate) fn triggered(&mut self, location: Location, answer: TriggerResponse, now: Moment) {
        self.triggers_out -= 1;
        self.instances[location].is_asked = false;
        if let TriggerResponse::Unanswered(cause) = &answer
            && self.halt != Some(Halt::Stopped)
            && self.retry(location, cause, now)
        {
            return;
        }
        self.instances[location].failures = None;
        let (result, state) = match answer {
            TriggerResponse::Later(pause) => {
                self.timers.insert((now + pause, location));
                return;
            }
            TriggerResponse::Failed(cause) | TriggerResponse::Unanswered(cause) => {
                self.fail(location, cause, now);
                return;
            }
            TriggerResponse::Accepted(task) => ("operation accepted", State::Accepted(task)),
            TriggerResponse::Succeeded => ("Service Instance operation success", State::Succeeded),
            TriggerResponse::Busy => ("operation in progress", State::Busy),
            TriggerResponse::Skipped => (
                "instance already up to date - operation skipped",
                State::Skipped,
            ),
            TriggerResponse::Deleted => ("already deleted from platform", State::Deleted),
            TriggerResponse::Orphan => (
                "orphan service instance detected - no corresponding bosh deployment",
                State::Orphan,
            ),
        };
        let id = self.instances[location].id.clone();
        self.show(format!("[{id}] Result: {result}"));
        if let State::Accepted(task) = state {
            self.show(format!(
                "[{id}] Waiting for operation to complete{}",
                of_task(task)
            ));
            self.become_state(location, state, now);
            self.poll(location);
            return;
        }
        if state != State::Succeeded {
            // It does not count for the wave: its health is not new.
            self.phase.wave.retain(|member| *member != location);
        }
        self.in_flight -= 1;
        self.become_state(location, state, now);
    }

    pub(crate) fn polled(&mut self, location: Location, answer: PollResponse, now: Moment) {
        self.instances[location].is_asked = false;
        let State::Accepted(task) = self.instances[location].state else {
            return;
        };
        if let PollResponse::Unanswered(cause) = &answer
            && self.retry(location, cause, now)
        {
            return;
        }
        self.instances[location].failures = None;
        let id = self.instances[location].id.clone();
        match answer {
            PollResponse::InProgress => {
                self.timers
                    .insert((now + self.settings.poll_pause, location));
            }
            PollResponse::Later(pause) => {
                self.timers.insert((now + pause, location));
            }
            PollResponse::Again(pause) => {
                self.timers.insert((now + pause, location));
                self.become_state(location, State::Triggering, now);
            }
            PollResponse::Succeeded => {
                self.show(format!("[{id}] Result: Service Instance operation success"));
                self.in_flight -= 1;
                self.become_state(location, State::Succeeded, now);
            }
            PollResponse::Failed(description) => {
                self.show(format!("[{id}] Result: Service Instance operation failure"));
                self.fail(location, failure(&id, task, &description), now);
            }
            PollResponse::Gone => {
                self.show(format!("[{id}] Result: already deleted from platform"));
                self.phase.wave.retain(|member| *member != location);
                self.in_flight -= 1;
                self.become_state(location, State::Deleted, now);
            }
            PollResponse::Senseless(cause) | PollResponse::Unanswered(cause) => {
                self.fail(location, cause, now);
            }
        }
    }

    /// Whether a call without an answer is repeated.
    fn retry(&mut self, location: Location, cause: &str, now: Moment) -> bool {
        let failures = &mut self.instances[location].failures;
        let Some(at) = Failures::retry_at(failures, now, self.settings.timeout) else {
            return false;
        };
        let pause = in_go_notation(at.saturating_sub(now));
        self.log(format!("{cause}; retrying in {pause}"));
        self.timers.insert((at, location));
        true
    }

    fn fail(&mut self, location: Location, cause: String, now: Moment) {
        self.in_flight -= 1;
        self.instances[location].failures = None;
        self.failures.push(location);
        self.become_state(location, State::Failed(cause), now);
        // An instance of an interrupted run may be no canary, and end while canaries run.
        if self.phase.is_of_canaries() && self.phase.members.contains(&location) {
            self.halt.get_or_insert(Halt::Canary);
        } else {
            self.watch_budget();
        }
    }

    /// Sends the requests that are due. A stopped run sends none: it only waits for answers that are under way.
    pub(crate) fn send_due(&mut self, now: Moment) {
        if self.halt == Some(Halt::Stopped) {
            self.timers.clear();
        }
        while let Some((at, location)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.pop_first();
            match self.instances[location].state {
                _ if self.instances[location].is_asked => {}
                State::Triggering => self.trigger(location, true),
                State::Accepted(_) => self.poll(location),
                _ => self.examine(location),
            }
        }
    }

    /// Checks the health of those of `members` that succeeded. Without one, there is nothing to wait for.
    pub(crate) fn begin_health_check(&mut self, members: Vec<Location>, now: Moment) {
        let Some(gate) = self.settings.gate else {
            return;
        };
        let is_done = |location: &Location| {
            matches!(
                self.instances[*location].state,
                State::Succeeded | State::Done
            )
        };
        let pending: BTreeSet<_> = members.into_iter().filter(is_done).collect();
        if pending.is_empty() {
            return;
        }
        self.log(format!(
            "Waiting for {} service instances to be healthy",
            pending.len()
        ));
        for location in &pending {
            self.examine(*location);
        }
        self.phase.check = Some(HealthCheck {
            pending,
            until: now + gate.timeout,
        });
    }

    pub(crate) fn examined(&mut self, location: Location, health: Health, now: Moment) {
        self.instances[location].is_asked = false;
        let Some(check) = &mut self.phase.check else {
            return;
        };
        match health {
            Health::NotYet(_) if now < check.until => {
                let at = (now + self.settings.poll_pause).min(check.until);
                self.timers.insert((at, location));
                return;
            }
            Health::NotYet(description) => {
                self.unhealthy.insert(location, description);
                self.halt.get_or_insert(Halt::Unhealthy);
            }
            Health::Healthy => {}
            Health::Gone => {
                // It was counted as done before, so it is not counted again.
                let instance = &mut self.instances[location];
                instance.state = State::Deleted;
                let id = instance.id.clone();
                self.log(format!(
                    "[{id}] deleted in the meantime: not waiting for its health"
                ));
            }
        }
        if let Some(check) = &mut self.phase.check {
            check.pending.remove(&location);
        }
    }

    pub(crate) fn end_health_check(&mut self) {
        self.phase.check = None;
        if self.unhealthy.is_empty() {
            self.log("All instances are healthy");
        }
    }
}

/// `[ID] Operation failed: bosh task id TASK: DESCRIPTION`. The broker's description of a failed upgrade repeats the
/// task (`spec/contracts/errands.md` §4.4); the repetition is removed.
fn failure(id: &InstanceId, task: Option<u64>, description: &str) -> String {
    let Some(task) = task else {
        return format!("[{id}] Operation failed: {description}");
    };
    let named = format!("Failed for bosh task: {task}");
    let cause = match description.strip_prefix(&named) {
        Some("") => String::new(),
        // Another task id with the same first digits has one more digit here.
        Some(rest) if rest.starts_with(": ") => rest.to_owned(),
        _ => format!(": {description}"),
    };
    format!("[{id}] Operation failed: bosh task id {task}{cause}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_task_once() {
        let id: InstanceId = "i1".to_owned().try_into().unwrap();
        for (task, description, expected) in [
            (
                Some(7),
                "Failed for bosh task: 7: disk full",
                "bosh task id 7: disk full",
            ),
            (Some(7), "Failed for bosh task: 7", "bosh task id 7"),
            (
                Some(7),
                "Failed for bosh task: 71: disk full",
                "bosh task id 7: Failed for bosh task: 71: disk full",
            ),
            (Some(7), "disk full", "bosh task id 7: disk full"),
            (None, "disk full", "disk full"),
        ] {
            let expected = format!("[i1] Operation failed: {expected}");
            assert_eq!(failure(&id, task, description), expected);
        }
    }

    #[test]
    fn pauses_grow_and_the_last_attempt_is_at_the_timeout() {
        let (mut failures, mut now, mut at) = (None, Moment::from_secs(100), Vec::new());
        while let Some(next) = Failures::retry_at(&mut failures, now, Duration::from_mins(1)) {
            at.push(next.as_secs());
            now = next;
        }
        assert_eq!(at, [101, 103, 107, 115, 131, 160]);
        let at = Failures::retry_at(&mut None, Moment::ZERO, Duration::ZERO);
        assert_eq!(at, None, "without a timeout nothing is repeated");
    }
}
