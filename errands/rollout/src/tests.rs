//! The rules of `spec/contracts/errands.md` §4.5, and §11.1 fixed.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use odb_api_types::ids::InstanceId;

use super::*;

const ATTEMPT_PAUSE: Duration = Duration::from_mins(1);
const POLL_PAUSE: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_mins(5);

fn settings(max_in_flight: usize) -> Settings {
    Settings {
        max_in_flight,
        attempts: 3,
        attempt_pause: ATTEMPT_PAUSE,
        poll_pause: POLL_PAUSE,
        timeout: TIMEOUT,
        budget: None,
        gate: None,
    }
}

fn id(location: usize) -> InstanceId {
    format!("i{location}").try_into().unwrap()
}

fn ids(count: usize) -> Vec<InstanceId> {
    (0..count).map(id).collect()
}

fn untouched(count: usize) -> Vec<(InstanceId, State)> {
    in_states(vec![State::NotStarted; count])
}

fn in_states(states: Vec<State>) -> Vec<(InstanceId, State)> {
    let states = states.into_iter().enumerate();
    states
        .map(|(location, state)| (id(location), state))
        .collect()
}

fn first(count: usize, of: usize) -> Option<Canaries> {
    let selection = CanarySelection {
        count,
        criteria: BTreeMap::new(),
    };
    selection.among(&ids(of), &[]).unwrap()
}

/// A pass with the hand of a test in it.
struct Pass {
    engine: Engine,
    now: Moment,
    said: Vec<String>,
    /// The commands without an answer yet.
    asked: Vec<Command>,
}

impl Pass {
    fn begin(
        settings: Settings,
        starts: Vec<(InstanceId, State)>,
        canaries: Option<Canaries>,
    ) -> Self {
        let (engine, commands) = Engine::begin(settings, starts, canaries);
        let mut pass = Self {
            engine,
            now: Moment::ZERO,
            said: Vec::new(),
            asked: Vec::new(),
        };
        pass.take(commands);
        pass
    }

    fn take(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Log(text) | Command::Show(text) => self.said.push(text),
                Command::Changed(..) => {}
                asked => self.asked.push(asked),
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let commands = self.engine.handle(event, self.now);
        self.take(commands);
    }

    /// Instances that are being triggered.
    fn triggers(&self) -> Vec<Location> {
        let location = |command: &Command| match command {
            Command::Trigger { location, .. } => Some(*location),
            _ => None,
        };
        self.asked.iter().filter_map(location).collect()
    }

    fn answer(&mut self, location: Location, answer: TriggerResponse) {
        let is_it = |command: &Command| matches!(command, Command::Trigger { location: found, .. } if *found == location);
        let found = self.asked.iter().position(is_it).expect("it was triggered");
        self.asked.remove(found);
        self.handle(Event::Triggered(location, answer));
    }

    fn accept(&mut self, location: Location) {
        self.answer(location, TriggerResponse::Accepted(Some(7)));
    }

    fn poll(&mut self, location: Location, answer: PollResponse) {
        let found = self
            .asked
            .iter()
            .position(|command| *command == Command::Poll(location))
            .expect("it was polled");
        self.asked.remove(found);
        self.handle(Event::Polled(location, answer));
    }

    fn succeed(&mut self, location: Location) {
        self.accept(location);
        self.poll(location, PollResponse::Succeeded);
    }

    fn fail(&mut self, location: Location) {
        self.accept(location);
        let description = "no".to_owned();
        self.poll(location, PollResponse::Failed(description));
    }

    fn examine(&mut self, location: Location, health: Health) {
        let found = self
            .asked
            .iter()
            .position(|command| *command == Command::Examine(location))
            .expect("it was examined");
        self.asked.remove(found);
        self.handle(Event::Examined(location, health));
    }

    /// Lets time pass until something is due.
    fn wait(&mut self) -> Duration {
        let next = self.engine.next_tick().expect("something is waited for");
        let waited = next.checked_sub(self.now).expect("time goes on");
        self.now = next;
        let commands = self.engine.tick(next);
        self.take(commands);
        waited
    }

    #[track_caller]
    fn result(&self) -> RolloutResult {
        assert!(self.engine.is_over(), "{:?}", self.asked);
        assert_eq!(self.asked, []);
        self.engine.result()
    }

    fn said(&self, text: &str) -> usize {
        let is_it = |line: &&String| line.contains(text);
        self.said.iter().filter(is_it).count()
    }
}

#[test]
fn a_pass_over_nothing_succeeds() {
    let pass = Pass::begin(settings(1), Vec::new(), None);
    let result = pass.result();
    assert_eq!(result.failure, None);
    assert_eq!(
        pass.said,
        [
            "Processing all instances. Attempt 1/3",
            "Progress summary: Sleep interval until next attempt: 0s; Number of successful operations so far: 0; Number of \
             skipped operations so far: 0; Number of service instance orphans detected so far: 0; Number of deleted \
             instances before operation could happen: 0; Number of operations in progress (to retry) so far: 0",
        ]
    );
    assert_eq!(
        result.summary,
        "FINISHED PROCESSING Status: SUCCESS; Summary: Number of successful operations: 0; Number of skipped operations: 0; \
         Number of service instance orphans detected: 0; Number of deleted instances before operation could happen: 0; \
         Number of busy instances which could not be processed: 0; Number of service instances that failed to process: 0"
    );
}

#[test]
fn as_many_are_in_flight_as_may_be_and_each_is_polled_on_its_own() {
    let mut pass = Pass::begin(settings(2), untouched(3), None);
    assert_eq!(pass.triggers(), [0, 1]);
    pass.accept(0);
    assert_eq!(pass.asked.last(), Some(&Command::Poll(0)));
    pass.poll(0, PollResponse::InProgress);
    assert_eq!(pass.engine.next_tick(), Some(POLL_PAUSE));
    pass.succeed(1);
    assert_eq!(pass.triggers(), [2]);
    assert_eq!(pass.wait(), POLL_PAUSE);
    pass.poll(0, PollResponse::Succeeded);
    pass.succeed(2);
    assert_eq!(pass.result().tally.successful, 3);
    for (line, count) in [
        ("[i0] Starting to process service instance 1 of 3", 1),
        ("[i2] Starting to process service instance 3 of 3", 1),
        ("[i1] Result: operation accepted", 1),
        ("[i1] Waiting for operation to complete: bosh task id 7", 1),
        ("[i1] Result: Service Instance operation success", 1),
    ] {
        assert_eq!(pass.said(line), count, "{line}: {:#?}", pass.said);
    }
}

#[test]
fn every_answer_to_a_trigger_has_its_outcome() {
    let mut pass = Pass::begin(settings(9), untouched(5), None);
    pass.answer(0, TriggerResponse::Skipped);
    pass.answer(1, TriggerResponse::Deleted);
    pass.answer(2, TriggerResponse::Orphan);
    pass.answer(3, TriggerResponse::Succeeded);
    let cause = "operation type: upgrade failed for service instance i4: unexpected status code: 500. description: no";
    pass.answer(4, TriggerResponse::Failed(cause.to_owned()));
    let result = pass.result();
    assert_eq!(result.failure.as_deref(), Some(cause));
    assert_eq!(
        result.summary,
        "FINISHED PROCESSING Status: FAILED; Summary: Number of successful operations: 1; Number of skipped operations: 1; \
         Number of service instance orphans detected: 1; Number of deleted instances before operation could happen: 1; \
         Number of busy instances which could not be processed: 0; Number of service instances that failed to process: 1 \
         [i4]"
    );
    for line in [
        "[i0] Result: instance already up to date - operation skipped",
        "[i1] Result: already deleted from platform",
        "[i2] Result: orphan service instance detected - no corresponding bosh deployment",
    ] {
        assert_eq!(pass.said(line), 1, "{line}");
    }
    assert_eq!(pass.said("[i4] Result"), 0);
}

#[test]
fn a_busy_instance_is_tried_again_after_a_pause_and_abandoned_after_the_last_attempt() {
    let mut pass = Pass::begin(settings(2), untouched(3), None);
    pass.answer(0, TriggerResponse::Busy);
    pass.succeed(1);
    pass.succeed(2);
    assert_eq!(pass.asked, []);
    assert_eq!(pass.wait(), ATTEMPT_PAUSE);
    pass.answer(0, TriggerResponse::Busy);
    assert_eq!(pass.wait(), ATTEMPT_PAUSE);
    pass.answer(0, TriggerResponse::Busy);
    let result = pass.result();
    assert_eq!(
        result.failure.as_deref(),
        Some("The following instances could not be processed: i0")
    );
    assert!(
        result.summary.contains("could not be processed: 1 [i0];"),
        "{}",
        result.summary
    );
    let attempts: Vec<_> = pass
        .said
        .iter()
        .filter(|line| line.contains("Attempt"))
        .collect();
    assert_eq!(
        attempts,
        [
            "Processing all instances. Attempt 1/3",
            "Processing all remaining instances. Attempt 2/3",
            "Processing all remaining instances. Attempt 3/3",
        ]
    );
    // No pause follows the last attempt, and no event announces one.
    assert_eq!(pass.said("until next attempt: 1m0s"), 2);
    assert_eq!(pass.said("until next attempt: 0s"), 1);
    assert_eq!(
        pass.said("[i0] Starting to process service instance 1 of 3"),
        3
    );
}

#[test]
fn a_failure_does_not_keep_busy_instances_from_their_attempts() {
    let mut pass = Pass::begin(settings(3), untouched(3), None);
    pass.fail(0);
    pass.answer(1, TriggerResponse::Busy);
    pass.answer(2, TriggerResponse::Busy);
    pass.wait();
    pass.succeed(1);
    pass.answer(2, TriggerResponse::Busy);
    pass.wait();
    pass.answer(2, TriggerResponse::Busy);
    let result = pass.result();
    assert_eq!(
        result.failure.as_deref(),
        Some(
            "2 errors occurred:\n\n* [i0] Operation failed: bosh task id 7: no\n* The following instances could not be \
             processed: i2"
        )
    );
    assert_eq!(result.tally.successful, 1);
}

#[test]
fn canaries_go_first_and_all_others_follow() {
    let mut pass = Pass::begin(settings(5), untouched(4), first(2, 4));
    assert_eq!(pass.triggers(), [0, 1]);
    pass.succeed(0);
    assert_eq!(pass.triggers(), [1]);
    pass.succeed(1);
    assert_eq!(pass.triggers(), [2, 3]);
    pass.succeed(2);
    pass.succeed(3);
    assert_eq!(pass.result().failure, None);
    let lines: Vec<_> = pass
        .said
        .iter()
        .filter(|line| !line.starts_with("[i"))
        .collect();
    assert_eq!(
        lines[..4],
        [
            "STARTING CANARIES: 2 canaries",
            "Processing all canaries. Attempt 1/3",
            "FINISHED CANARIES",
            "Processing all instances. Attempt 1/3",
        ]
    );
    assert!(
        pass.said
            .contains(&"[i0] Starting to process service instance".to_owned())
    );
    assert_eq!(
        pass.said("[i2] Starting to process service instance 1 of 2"),
        1
    );
}

#[test]
fn after_a_canary_has_failed_nothing_further_is_begun() {
    let mut pass = Pass::begin(settings(2), untouched(6), first(4, 6));
    pass.accept(1);
    pass.fail(0);
    assert_eq!(pass.triggers(), [] as [Location; 0]);
    pass.poll(1, PollResponse::Succeeded);
    let result = pass.result();
    assert_eq!(
        result.failure.as_deref(),
        Some("canaries didn't process successfully: [i0] Operation failed: bosh task id 7: no")
    );
    assert_eq!(result.tally.not_started, 4);
    assert!(
        result
            .summary
            .ends_with("Number of service instances that were not started: 4"),
        "{}",
        result.summary
    );
}

/// Weakness 1 of `spec/contracts/errands.md` §11.1: an endless loop.
#[test]
fn a_spare_candidate_takes_the_location_of_a_busy_canary() {
    let mut pass = Pass::begin(settings(1), untouched(3), first(2, 3));
    pass.answer(0, TriggerResponse::Busy);
    pass.succeed(1);
    pass.succeed(2);
    assert_eq!(pass.said("FINISHED CANARIES"), 1);
    pass.succeed(0);
    assert_eq!(pass.result().failure, None);
}

/// Weakness 2: empty attempts, each with its pause.
#[test]
fn there_are_no_more_canaries_than_instances() {
    let mut pass = Pass::begin(settings(9), untouched(2), first(5, 2));
    assert_eq!(pass.said("STARTING CANARIES: 2 canaries"), 1);
    pass.succeed(0);
    pass.succeed(1);
    assert_eq!(pass.result().failure, None);
    assert_eq!(pass.said("Attempt 2"), 0);
}

#[test]
fn busy_canaries_are_abandoned_after_the_last_attempt() {
    let mut pass = Pass::begin(settings(9), untouched(3), first(2, 3));
    pass.answer(0, TriggerResponse::Busy);
    pass.answer(1, TriggerResponse::Busy);
    pass.succeed(2);
    for _ in 0..2 {
        pass.wait();
        pass.answer(0, TriggerResponse::Busy);
        pass.answer(1, TriggerResponse::Busy);
    }
    assert_eq!(
        pass.result().failure.as_deref(),
        Some(
            "canaries didn't process successfully: attempted to process 2 canaries, but only found 1 instances not already \
             in use by another BOSH task."
        )
    );
    assert_eq!(pass.said("Processing 1 remaining canaries. Attempt 2/3"), 1);
}

#[test]
fn where_there_is_nothing_to_do_the_canaries_go_through_the_whole_list() {
    let mut pass = Pass::begin(settings(1), untouched(4), first(2, 4));
    for location in 0..4 {
        pass.answer(location, TriggerResponse::Skipped);
    }
    assert_eq!(pass.result().tally.skipped, 4);
}

#[test]
fn canaries_are_chosen_as_the_table_has_it() {
    let all = ids(4);
    let choose = |count, criteria: &[(&str, &str)], matching: &[usize]| {
        let pairs = criteria
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let selection = CanarySelection {
            count,
            criteria: pairs.collect(),
        };
        let matching: Vec<_> = matching.iter().map(|location| id(*location)).collect();
        let chosen = selection.among(&all, &matching);
        chosen.map(|canaries| canaries.map(|canaries| (canaries.candidates, canaries.limit)))
    };
    let dev = [("cf_space", "dev"), ("cf_org", "acme")];
    assert_eq!(choose(0, &[], &[]), Ok(None));
    assert_eq!(choose(3, &[], &[]), Ok(Some((vec![0, 1, 2, 3], 3))));
    assert_eq!(choose(0, &dev, &[3, 1]), Ok(Some((vec![3, 1], 2))));
    assert_eq!(choose(1, &dev, &[3, 1]), Ok(Some((vec![3, 1], 1))));
    assert_eq!(choose(9, &dev, &[3, 1]), Ok(Some((vec![3, 1], 2))));
    let nothing = choose(1, &dev, &[]).unwrap_err().to_string();
    assert!(
        nothing.starts_with(
            "Failed to find a match to the canary selection criteria: cf_org: acme, cf_space: dev"
        ),
        "{nothing}"
    );
    assert_eq!(
        choose(1, &dev, &[7]).unwrap_err().to_string(),
        "error with canary instance listing: Canary 'i7' not in instance list"
    );
    let selection = CanarySelection {
        count: 1,
        criteria: BTreeMap::from([("cf_org".to_owned(), "acme".to_owned())]),
    };
    assert_eq!(selection.among(&[], &[]), Ok(None));
}

#[test]
fn a_poll_without_answer_is_repeated_for_a_while() {
    let mut pass = Pass::begin(settings(1), untouched(2), None);
    pass.accept(0);
    let unanswered = || {
        PollResponse::Unanswered(
            "[i0] error getting last operation: HTTP response status: 502 Bad Gateway".to_owned(),
        )
    };
    pass.poll(0, unanswered());
    assert_eq!(pass.wait(), Duration::from_secs(1));
    pass.poll(0, unanswered());
    assert_eq!(pass.wait(), Duration::from_secs(2));
    pass.poll(0, PollResponse::InProgress);
    assert_eq!(pass.wait(), POLL_PAUSE);
    while pass.asked == [Command::Poll(0)] {
        pass.poll(0, unanswered());
        if pass.asked.is_empty() {
            pass.wait();
        }
    }
    assert_eq!(pass.now, Duration::from_secs(13) + TIMEOUT);
    pass.succeed(1);
    let failure = pass.result().failure.unwrap();
    assert!(
        failure.starts_with("[i0]") && failure.contains("502"),
        "{failure}"
    );
}

#[test]
fn a_trigger_without_answer_is_repeated_and_said_to_be() {
    let mut pass = Pass::begin(settings(1), untouched(1), None);
    let cause = "no answer".to_owned();
    pass.answer(0, TriggerResponse::Unanswered(cause));
    pass.wait();
    assert_eq!(
        pass.asked,
        [Command::Trigger {
            location: 0,
            is_repeat: true
        }]
    );
    pass.succeed(0);
    assert_eq!(pass.result().tally.successful, 1);
}

#[test]
fn when_the_operator_wants_an_end_nothing_is_begun_and_what_goes_on_is_reported() {
    let mut pass = Pass::begin(settings(2), untouched(5), None);
    pass.accept(0);
    pass.poll(0, PollResponse::InProgress);
    pass.handle(Event::Stop);
    assert!(
        !pass.engine.is_over(),
        "the answer to a trigger is waited for"
    );
    pass.accept(1);
    pass.asked.clear();
    let result = pass.result();
    assert_eq!((result.tally.in_progress, result.tally.not_started), (2, 3));
    let failure = result.failure.unwrap();
    assert!(
        failure.contains("2 operations continue") && failure.contains("3 service instances"),
        "{failure}"
    );
}

#[test]
fn a_stopped_run_does_not_wait_for_the_answer_to_a_poll() {
    let mut pass = Pass::begin(settings(1), untouched(1), None);
    pass.accept(0);
    assert_eq!(pass.asked, [Command::Poll(0)]);

    pass.handle(Event::Stop);

    assert!(pass.engine.is_over());
    assert_eq!(pass.engine.result().tally.in_progress, 1);
}

#[test]
fn a_stopped_run_repeats_no_request_while_it_waits_for_the_answer_to_another() {
    let mut pass = Pass::begin(settings(2), untouched(2), None);
    pass.answer(0, TriggerResponse::Later(POLL_PAUSE));
    pass.handle(Event::Stop);
    pass.wait();
    assert_eq!(pass.triggers(), [1]);
    assert_eq!(pass.engine.next_tick(), None);
    pass.accept(1);
    pass.asked.clear();
    pass.result();
}

#[test]
fn an_answer_that_ends_the_run_counts() {
    let mut pass = Pass::begin(settings(1), untouched(2), None);
    pass.accept(0);
    pass.engine.stop();
    pass.poll(0, PollResponse::Senseless("no".to_owned()));
    let tally = pass.result().tally;
    assert_eq!((tally.failed, tally.not_started), (1, 1));
}

#[test]
fn no_further_instance_is_begun_when_more_have_failed_than_may() {
    for budget in [FailureBudget::Instances(1), FailureBudget::Percent(20)] {
        let settings = Settings {
            budget: Some(budget),
            ..settings(1)
        };
        let mut pass = Pass::begin(settings, untouched(6), None);
        pass.fail(0);
        pass.succeed(1);
        pass.fail(2);
        let result = pass.result();
        assert_eq!(result.tally.not_started, 3);
        let failure = result.failure.unwrap();
        assert!(
            failure.contains("2 service instances have failed and 1 are allowed"),
            "{failure}"
        );
    }
}

#[test]
fn budgets_are_numbers_or_percentages() {
    for (text, budget) in [
        ("0", Some(FailureBudget::Instances(0))),
        ("12", Some(FailureBudget::Instances(12))),
        ("5%", Some(FailureBudget::Percent(5))),
        ("100 %", Some(FailureBudget::Percent(100))),
        ("101%", None),
        ("-1", None),
        ("", None),
        ("%", None),
    ] {
        assert_eq!(text.parse().ok(), budget, "{text}");
    }
}

fn gated(wave: u32) -> Settings {
    Settings {
        gate: Some(HealthGate {
            wave: NonZeroU32::new(wave),
            timeout: Duration::from_secs(20),
        }),
        ..settings(9)
    }
}

#[test]
fn a_wave_waits_until_the_last_one_is_healthy() {
    let mut pass = Pass::begin(gated(2), untouched(4), first(1, 4));
    pass.succeed(0);
    assert_eq!(pass.triggers(), [] as [Location; 0]);
    let said = || "redis is failing".to_owned();
    pass.examine(0, Health::NotYet(said()));
    assert_eq!(pass.wait(), POLL_PAUSE);
    pass.examine(0, Health::Healthy);
    assert_eq!(pass.triggers(), [1, 2]);
    pass.succeed(2);
    pass.fail(1);
    pass.examine(2, Health::Healthy);
    pass.succeed(3);
    pass.examine(3, Health::Healthy);
    let result = pass.result();
    assert_eq!((result.tally.successful, result.tally.failed), (3, 1));
}

#[test]
fn nothing_is_begun_after_a_wave_that_does_not_become_healthy() {
    let mut pass = Pass::begin(gated(2), untouched(4), None);
    pass.succeed(0);
    pass.succeed(1);
    pass.examine(1, Health::Healthy);
    for _ in 0..2 {
        pass.examine(0, Health::NotYet("redis is failing".to_owned()));
        pass.wait();
    }
    pass.examine(0, Health::NotYet("redis is failing".to_owned()));
    let result = pass.result();
    assert_eq!((result.tally.successful, result.tally.not_started), (2, 2));
    assert_eq!(
        result.failure.as_deref(),
        Some("[i0] not healthy after its operation: redis is failing")
    );
}

#[test]
fn a_continued_run_leaves_alone_what_is_done_and_takes_up_what_goes_on() {
    let starts = in_states(vec![
        State::Done,
        State::Accepted(Some(9)),
        State::NotStarted,
        State::Done,
    ]);
    let mut pass = Pass::begin(settings(1), starts, first(2, 4));
    assert_eq!(pass.said("The canaries were processed before"), 1);
    assert_eq!(pass.triggers(), [] as [Location; 0]);
    pass.poll(1, PollResponse::Succeeded);
    pass.succeed(2);
    let tally = pass.result().tally;
    assert_eq!((tally.done_before, tally.successful), (2, 2));
    assert!(
        pass.result()
            .summary
            .ends_with("already processed in this run: 2")
    );
}

#[test]
fn a_canary_that_failed_before_the_interruption_still_keeps_the_others_from_being_begun() {
    let cause = "earlier".to_owned();
    let starts = in_states(vec![State::Done, State::Failed(cause), State::NotStarted]);
    let pass = Pass::begin(settings(1), starts, first(2, 3));
    assert_eq!(
        pass.result().failure.as_deref(),
        Some("canaries didn't process successfully: earlier")
    );
}

#[test]
fn what_the_platform_has_upgraded_is_not_deployed_again() {
    let starts = in_states(vec![State::Skipped, State::NotStarted]);
    let mut pass = Pass::begin(settings(1), starts, None);
    pass.succeed(1);
    let tally = pass.result().tally;
    assert_eq!((tally.skipped, tally.successful), (1, 1));
    assert_eq!(pass.said("[i0]"), 1);
}

fn failing() -> Health {
    Health::NotYet("redis is failing".to_owned())
}

#[test]
fn a_continued_run_looks_at_what_was_done_before_it_begins_anything() {
    let starts = in_states(vec![
        State::Done,
        State::Accepted(Some(9)),
        State::NotStarted,
    ]);
    let mut pass = Pass::begin(gated(2), starts, first(1, 3));
    assert_eq!(pass.said("The canaries were processed before"), 1);
    assert_eq!(pass.triggers(), [] as [Location; 0]);
    pass.poll(1, PollResponse::Succeeded);
    assert_eq!(pass.triggers(), [] as [Location; 0]);
    pass.examine(1, Health::Healthy);
    assert_eq!(pass.triggers(), [] as [Location; 0]);
    pass.examine(0, Health::Healthy);
    pass.succeed(2);
    pass.examine(2, Health::Healthy);
    assert_eq!(pass.result().failure, None);
}

#[test]
fn a_canary_that_was_not_healthy_is_not_forgotten_by_a_continued_run() {
    let starts = in_states(vec![State::Done, State::NotStarted]);
    let mut pass = Pass::begin(gated(2), starts, first(1, 2));
    for _ in 0..2 {
        pass.examine(0, failing());
        pass.wait();
    }
    pass.examine(0, failing());
    let result = pass.result();
    assert_eq!(result.tally.not_started, 1);
    assert_eq!(
        result.failure.as_deref(),
        Some("[i0] not healthy after its operation: redis is failing")
    );
    assert_eq!(pass.engine.unhealthy(0), Some("redis is failing"));
    assert_eq!(pass.engine.unhealthy(1), None);
}

#[test]
fn the_health_of_an_instance_deleted_meanwhile_is_not_waited_for() {
    let mut pass = Pass::begin(gated(1), untouched(2), None);
    pass.succeed(0);
    pass.examine(0, Health::Gone);
    pass.succeed(1);
    pass.examine(1, Health::Healthy);
    let result = pass.result();
    assert_eq!(result.failure, None);
    assert_eq!((result.tally.successful, result.tally.deleted), (1, 1));
    assert_eq!(pass.said("[i0] deleted in the meantime"), 1);
}

#[test]
fn an_unchecked_instance_is_never_called_healthy() {
    let mut pass = Pass::begin(gated(1), untouched(1), None);
    pass.fail(0);
    assert_eq!(pass.result().tally.failed, 1);
    assert_eq!(pass.said("All instances are healthy"), 0);
}

#[test]
fn what_was_begun_before_the_interruption_and_fails_among_canaries_is_none_of_them() {
    let selection = CanarySelection {
        count: 1,
        criteria: BTreeMap::from([("org".to_owned(), "o".to_owned())]),
    };
    let canaries = selection.among(&ids(3), &[id(0)]).unwrap();
    let starts = in_states(vec![
        State::NotStarted,
        State::Accepted(Some(9)),
        State::NotStarted,
    ]);
    let mut pass = Pass::begin(settings(2), starts, canaries);
    let description = "no".to_owned();
    pass.poll(1, PollResponse::Failed(description));
    pass.succeed(0);
    pass.succeed(2);
    let result = pass.result();
    assert_eq!((result.tally.successful, result.tally.failed), (2, 1));
    assert_eq!(
        result.failure.as_deref(),
        Some("[i1] Operation failed: bosh task id 9: no")
    );
}
