//! What becomes of an instance when something is heard of it.

use super::{
    Command, Engine, Moment, Notice, Place, PollAnswer, State, TriggerAnswer, trouble::Trouble,
    verdict::Halt,
};

impl Engine {
    pub(super) fn triggered(&mut self, place: Place, answer: TriggerAnswer, now: Moment) {
        self.triggers_out -= 1;
        self.instances[place].is_asked = false;
        if let TriggerAnswer::Unanswered { cause } = &answer
            && self.halt != Some(Halt::Stopped)
            && let Some(at) = self.retry_at(place, now)
        {
            self.say(Notice::AskingAgain {
                cause: cause.clone(),
                pause: at.saturating_sub(now),
            });
            self.timers.insert((at, place));
            return;
        }
        self.instances[place].trouble = None;
        let id = self.instances[place].id.clone();
        if !matches!(
            answer,
            TriggerAnswer::Failed { .. } | TriggerAnswer::Unanswered { .. }
        ) {
            self.say(Notice::Triggered {
                id: id.clone(),
                answer: answer.clone(),
            });
        }
        let state = match answer {
            TriggerAnswer::Accepted { task } => {
                self.say(Notice::Waiting { id, task });
                self.become_state(place, State::Accepted { task }, now);
                self.poll(place);
                return;
            }
            TriggerAnswer::Failed { cause } | TriggerAnswer::Unanswered { cause } => {
                self.fail(place, cause, now);
                return;
            }
            TriggerAnswer::Succeeded => State::Succeeded,
            TriggerAnswer::Busy => State::Busy,
            TriggerAnswer::Skipped => State::Skipped,
            TriggerAnswer::Deleted => State::Deleted,
            TriggerAnswer::Orphan => State::Orphan,
        };
        if state != State::Succeeded {
            // It takes no place in the wave: there is nothing new to look at.
            self.phase.wave.members.retain(|member| *member != place);
        }
        self.in_flight -= 1;
        self.become_state(place, state, now);
    }

    pub(super) fn polled(&mut self, place: Place, answer: PollAnswer, now: Moment) {
        self.instances[place].is_asked = false;
        let State::Accepted { task } = self.instances[place].state else {
            return;
        };
        let id = self.instances[place].id.clone();
        if let PollAnswer::Unanswered { cause } = answer {
            match self.retry_at(place, now) {
                Some(at) => {
                    self.say(Notice::AskingAgain {
                        cause,
                        pause: at.saturating_sub(now),
                    });
                    self.timers.insert((at, place));
                }
                None => self.fail(place, cause, now),
            }
            return;
        }
        self.instances[place].trouble = None;
        match answer {
            PollAnswer::InProgress => {
                self.timers.insert((now + self.settings.poll_pause, place));
            }
            PollAnswer::Succeeded => {
                self.say(Notice::Ended {
                    id,
                    has_succeeded: true,
                });
                self.in_flight -= 1;
                self.become_state(place, State::Succeeded, now);
            }
            PollAnswer::Failed { description } => {
                self.say(Notice::Ended {
                    id: id.clone(),
                    has_succeeded: false,
                });
                let of_task =
                    task.map_or_else(String::new, |task| format!("bosh task id {task}: "));
                let cause = format!("[{id}] Operation failed: {of_task}{description}");
                self.fail(place, cause, now);
            }
            PollAnswer::Gone => {
                let answer = TriggerAnswer::Deleted;
                self.say(Notice::Triggered { id, answer });
                self.phase.wave.members.retain(|member| *member != place);
                self.in_flight -= 1;
                self.become_state(place, State::Deleted, now);
            }
            PollAnswer::Senseless { cause } | PollAnswer::Unanswered { cause } => {
                self.fail(place, cause, now);
            }
        }
    }

    fn retry_at(&mut self, place: Place, now: Moment) -> Option<Moment> {
        let trouble = &mut self.instances[place].trouble;
        Trouble::retry_at(trouble, now, self.settings.patience)
    }

    pub(super) fn fail(&mut self, place: Place, cause: String, now: Moment) {
        self.in_flight -= 1;
        self.instances[place].trouble = None;
        self.failures.push(place);
        self.become_state(place, State::Failed { cause }, now);
        // What an interrupted run has begun may be no canary, and ends while they are tried.
        if self.phase.is_of_canaries() && self.phase.members.contains(&place) {
            self.halt.get_or_insert(Halt::Canary);
        } else {
            self.watch_budget();
        }
    }

    /// Asks what is due.
    pub(super) fn ring(&mut self, now: Moment) {
        while let Some((at, place)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.pop_first();
            if self.instances[place].is_asked {
                continue;
            }
            match self.instances[place].state {
                State::Triggering => self.trigger(place, true),
                State::Accepted { .. } => self.poll(place),
                _ => {
                    self.instances[place].is_asked = true;
                    self.commands.push(Command::Examine { place });
                }
            }
        }
    }
}
