//! How an event changes an instance.

use odb_api_types::ids::InstanceId;

use super::{
    Command, Engine, Location, LogEvent, Moment, PollAnswer, State, TriggerAnswer,
    failures::Failures, outcome::Halt,
};

impl Engine {
    pub(super) fn triggered(&mut self, location: Location, answer: TriggerAnswer, now: Moment) {
        self.triggers_out -= 1;
        self.instances[location].is_asked = false;
        if let TriggerAnswer::Unanswered { cause } = &answer
            && self.halt != Some(Halt::Stopped)
            && let Some(at) = self.retry_at(location, now)
        {
            self.say(LogEvent::Retrying {
                cause: cause.clone(),
                pause: at.saturating_sub(now),
            });
            self.timers.insert((at, location));
            return;
        }
        self.instances[location].failures = None;
        let id = self.instances[location].id.clone();
        if !matches!(
            answer,
            TriggerAnswer::Failed { .. } | TriggerAnswer::Unanswered { .. }
        ) {
            self.say(LogEvent::Triggered {
                id: id.clone(),
                answer: answer.clone(),
            });
        }
        let state = match answer {
            TriggerAnswer::Accepted { task } => {
                self.say(LogEvent::Waiting { id, task });
                self.become_state(location, State::Accepted { task }, now);
                self.poll(location);
                return;
            }
            TriggerAnswer::Failed { cause } | TriggerAnswer::Unanswered { cause } => {
                self.fail(location, cause, now);
                return;
            }
            TriggerAnswer::Succeeded => State::Succeeded,
            TriggerAnswer::Busy => State::Busy,
            TriggerAnswer::Skipped => State::Skipped,
            TriggerAnswer::Deleted => State::Deleted,
            TriggerAnswer::Orphan => State::Orphan,
        };
        if state != State::Succeeded {
            // It does not count for the wave: its health is not new.
            self.phase.wave.members.retain(|member| *member != location);
        }
        self.in_flight -= 1;
        self.become_state(location, state, now);
    }

    pub(super) fn polled(&mut self, location: Location, answer: PollAnswer, now: Moment) {
        self.instances[location].is_asked = false;
        let State::Accepted { task } = self.instances[location].state else {
            return;
        };
        let id = self.instances[location].id.clone();
        if let PollAnswer::Unanswered { cause } = answer {
            match self.retry_at(location, now) {
                Some(at) => {
                    self.say(LogEvent::Retrying {
                        cause,
                        pause: at.saturating_sub(now),
                    });
                    self.timers.insert((at, location));
                }
                None => self.fail(location, cause, now),
            }
            return;
        }
        self.instances[location].failures = None;
        match answer {
            PollAnswer::InProgress => {
                self.timers
                    .insert((now + self.settings.poll_pause, location));
            }
            PollAnswer::Succeeded => {
                self.say(LogEvent::Ended {
                    id,
                    has_succeeded: true,
                });
                self.in_flight -= 1;
                self.become_state(location, State::Succeeded, now);
            }
            PollAnswer::Failed { description } => {
                self.say(LogEvent::Ended {
                    id: id.clone(),
                    has_succeeded: false,
                });
                self.fail(location, failure(&id, task, &description), now);
            }
            PollAnswer::Gone => {
                let answer = TriggerAnswer::Deleted;
                self.say(LogEvent::Triggered { id, answer });
                self.phase.wave.members.retain(|member| *member != location);
                self.in_flight -= 1;
                self.become_state(location, State::Deleted, now);
            }
            PollAnswer::Senseless { cause } | PollAnswer::Unanswered { cause } => {
                self.fail(location, cause, now);
            }
        }
    }

    fn retry_at(&mut self, location: Location, now: Moment) -> Option<Moment> {
        let failures = &mut self.instances[location].failures;
        Failures::retry_at(failures, now, self.settings.timeout)
    }

    pub(super) fn fail(&mut self, location: Location, cause: String, now: Moment) {
        self.in_flight -= 1;
        self.instances[location].failures = None;
        self.failures.push(location);
        self.become_state(location, State::Failed { cause }, now);
        // An instance of an interrupted run may be no canary, and end while canaries run.
        if self.phase.is_of_canaries() && self.phase.members.contains(&location) {
            self.halt.get_or_insert(Halt::Canary);
        } else {
            self.watch_budget();
        }
    }

    /// Asks what is due.
    pub(super) fn ring(&mut self, now: Moment) {
        while let Some((at, location)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.pop_first();
            if self.instances[location].is_asked {
                continue;
            }
            match self.instances[location].state {
                State::Triggering => self.trigger(location, true),
                State::Accepted { .. } => self.poll(location),
                _ => {
                    self.instances[location].is_asked = true;
                    self.commands.push(Command::Examine { location });
                }
            }
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
mod failure_tests {
    use super::*;

    #[test]
    fn a_failure_names_its_task_once() {
        let id: InstanceId = "i1".to_owned().try_into().unwrap();
        for (description, expected) in [
            (
                "Failed for bosh task: 7: disk full",
                "bosh task id 7: disk full",
            ),
            ("Failed for bosh task: 7", "bosh task id 7"),
            (
                "Failed for bosh task: 71: disk full",
                "bosh task id 7: Failed for bosh task: 71: disk full",
            ),
            ("disk full", "bosh task id 7: disk full"),
        ] {
            let expected = format!("[i1] Operation failed: {expected}");
            assert_eq!(failure(&id, Some(7), description), expected);
        }
        assert_eq!(
            failure(&id, None, "disk full"),
            "[i1] Operation failed: disk full"
        );
    }
}
