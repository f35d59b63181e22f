//! Properties that hold for every run.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    time::Duration,
};

use proptest::{collection::vec, option, prelude::*};

use super::*;

/// The outcome of an instance, for every request to it.
#[derive(Clone, Debug)]
struct Outcome {
    first: State,
    /// How many triggers find it busy.
    busy: usize,
    /// How many triggers get no answer.
    unanswered_triggers: usize,
    trigger: TriggerResponse,
    /// How many polls get no answer.
    unanswered_polls: usize,
    /// How many triggers find it being prepared.
    later: usize,
    /// How many polls find that it has to be requested again.
    again: usize,
    /// How many polls find it in progress.
    polls: usize,
    has_success: bool,
    /// How many health checks find it unhealthy.
    unhealthy: usize,
    /// Its user deletes it before it was seen healthy.
    is_gone: bool,
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let first = prop_oneof![
        12 => Just(State::NotStarted),
        1 => Just(State::Done),
        1 => Just(State::Skipped),
        1 => Just(State::Accepted(None)),
        1 => Just(State::Failed("earlier".to_owned())),
    ];
    let trigger = prop_oneof![
        8 => Just(TriggerResponse::Accepted(Some(1))),
        1 => Just(TriggerResponse::Succeeded),
        1 => Just(TriggerResponse::Skipped),
        1 => Just(TriggerResponse::Deleted),
        1 => Just(TriggerResponse::Orphan),
        1 => Just(TriggerResponse::Failed("refused".to_owned())),
    ];
    let unanswered = prop_oneof![6 => Just(0_usize), 1 => 1..12_usize];
    (
        first,
        prop_oneof![4 => Just(0_usize), 1 => 1..5_usize],
        unanswered.clone(),
        trigger,
        unanswered,
        (0..3_usize, 0..3_usize, 0..2_usize),
        prop::bool::weighted(0.9),
        0..4_usize,
        prop::bool::weighted(0.1),
    )
        .prop_map(
            |(
                first,
                busy,
                unanswered_triggers,
                trigger,
                unanswered_polls,
                (polls, later, again),
                has_success,
                unhealthy,
                is_gone,
            )| Outcome {
                first,
                busy,
                unanswered_triggers,
                trigger,
                unanswered_polls,
                later,
                again,
                polls,
                has_success,
                unhealthy,
                is_gone,
            },
        )
}

#[derive(Clone, Debug)]
struct World {
    settings: Settings,
    outcomes: Vec<Outcome>,
    canaries: usize,
    /// Which of the calls that are on their way is answered next.
    order: Vec<usize>,
    /// The number of answers after which the operator stops the run.
    stop: Option<usize>,
}

fn world() -> impl Strategy<Value = World> {
    let budget = option::weighted(
        0.3,
        prop_oneof![
            (0..4_usize).prop_map(FailureBudget::Instances),
            (0..50_u8).prop_map(FailureBudget::Percent)
        ],
    );
    let gate = option::weighted(0.3, option::of(1..4_u32)).prop_map(|gate| {
        gate.map(|wave| HealthGate {
            wave: wave.and_then(NonZeroU32::new),
            timeout: Duration::from_secs(15),
        })
    });
    let settings = (1..6_usize, 1..4_u32, 0..90_u64, budget, gate).prop_map(
        |(max_in_flight, attempts, timeout, budget, gate)| Settings {
            max_in_flight,
            attempts,
            attempt_pause: Duration::from_mins(1),
            poll_pause: Duration::from_secs(10),
            timeout: Duration::from_secs(timeout),
            budget,
            gate,
        },
    );
    (
        settings,
        vec(outcome(), 0..14),
        0..6_usize,
        vec(any::<usize>(), 1..60),
        option::weighted(0.2, 0..30_usize),
    )
        .prop_map(|(settings, outcomes, canaries, order, stop)| World {
            settings,
            outcomes,
            canaries,
            order,
            stop,
        })
}

/// The observations of a pass.
#[derive(Debug)]
struct Seen {
    result: RolloutResult,
    most_in_flight: usize,
    taken_up: usize,
    /// Accepted triggers of each instance.
    accepted: Vec<usize>,
    /// Triggers after the pass had reason to stop.
    triggers_after_end: usize,
    states: Vec<State>,
    failed_canary_then_triggered: bool,
    /// Triggers while something of an earlier wave had never been seen healthy.
    blind_triggers: usize,
}

/// The instances that a gate has not seen healthy yet.
#[derive(Debug, Default)]
struct Unseen {
    /// Processed before the interruption, or by the canaries.
    earlier: BTreeSet<Location>,
    /// Done since.
    latest: BTreeSet<Location>,
}

impl Unseen {
    fn at_begin(world: &World) -> Self {
        let mut unseen = Self::default();
        for (location, outcome) in world.outcomes.iter().enumerate() {
            if matches!(outcome.first, State::Done | State::Accepted(_)) {
                unseen.earlier.insert(location);
            }
        }
        unseen
    }

    fn changed(&mut self, location: Location, state: &State) {
        match state {
            State::Failed(_) => {
                self.earlier.remove(&location);
            }
            State::Succeeded if !self.earlier.contains(&location) => {
                self.latest.insert(location);
            }
            _ => {}
        }
    }

    fn observe(&mut self, event: &Event) {
        if let Event::Examined(location, Health::Healthy | Health::Gone) = event {
            self.earlier.remove(location);
            self.latest.remove(location);
        }
    }

    fn forbids_a_trigger(&self, gate: HealthGate, in_canaries: bool) -> bool {
        let wave = gate.wave.filter(|_| !in_canaries);
        let is_full =
            wave.is_some_and(|wave| self.latest.len() >= usize::try_from(wave.get()).unwrap());
        !self.earlier.is_empty() || is_full
    }
}

fn run(world: &World) -> Seen {
    let mut outcomes = world.outcomes.clone();
    let ids: Vec<odb_api_types::ids::InstanceId> = (0..outcomes.len())
        .map(|location| format!("i{location}").try_into().unwrap())
        .collect();
    let selection = CanarySelection {
        count: world.canaries,
        criteria: BTreeMap::new(),
    };
    let canaries = selection.among(&ids, &[]).unwrap();
    let has_canaries = canaries.is_some();
    let starts = ids
        .iter()
        .zip(&outcomes)
        .map(|(id, outcome)| (id.clone(), outcome.first.clone()));
    let taken_up = outcomes
        .iter()
        .filter(|outcome| matches!(outcome.first, State::Accepted(_)))
        .count();
    let (mut engine, mut commands) =
        Engine::begin(world.settings.clone(), starts.collect(), canaries);
    let (mut now, mut order) = (Moment::ZERO, world.order.iter().cycle());
    let mut asked: Vec<Command> = Vec::new();
    let mut accepted = vec![0; outcomes.len()];
    let (mut most_in_flight, mut triggers_after_end, mut answers) = (0, 0, 0);
    let (mut is_stopped, mut canary_failed, mut in_canaries) = (false, false, has_canaries);
    let mut failed_canary_then_triggered = false;
    let (mut unseen, mut blind_triggers) = (Unseen::at_begin(world), 0);
    for _ in 0..20_000 {
        for command in commands.drain(..) {
            match command {
                Command::Show(_) => {}
                Command::Log(text) => {
                    if text == "FINISHED CANARIES" || text.starts_with("The canaries were") {
                        in_canaries = false;
                        unseen.earlier.append(&mut unseen.latest);
                    }
                }
                Command::Changed(location, state) => {
                    unseen.changed(location, &state);
                    canary_failed |= matches!(state, State::Failed(_))
                        && in_canaries
                        && outcomes[location].first == State::NotStarted;
                }
                asking => {
                    if let Command::Trigger {
                        is_repeat: false, ..
                    } = asking
                    {
                        triggers_after_end += usize::from(is_stopped);
                        failed_canary_then_triggered |= canary_failed;
                        let gate = world.settings.gate;
                        blind_triggers += usize::from(
                            gate.is_some_and(|gate| unseen.forbids_a_trigger(gate, in_canaries)),
                        );
                    }
                    asked.push(asking);
                }
            }
        }
        let in_flight = engine.tally().in_progress;
        most_in_flight = most_in_flight.max(in_flight);
        if engine.is_over() {
            let states = engine.instances();
            let states = states.map(|(_, state, _)| state.clone()).collect();
            return Seen {
                result: engine.result(),
                most_in_flight,
                taken_up,
                accepted,
                triggers_after_end,
                states,
                failed_canary_then_triggered,
                blind_triggers,
            };
        }
        if world.stop == Some(answers) && !is_stopped {
            is_stopped = true;
            commands = engine.handle(Event::Stop, now);
            continue;
        }
        if asked.is_empty() {
            let next = engine
                .next_tick()
                .expect("a pass that is not over waits for something");
            assert!(next > now, "time goes on");
            now = next;
            commands = engine.tick(now);
            continue;
        }
        answers += 1;
        let next = order.next().copied().unwrap_or_default() % asked.len();
        let event = answer(asked.swap_remove(next), &mut outcomes, &mut accepted);
        unseen.observe(&event);
        commands = engine.handle(event, now);
    }
    panic!("the pass does not end: {world:?}");
}

fn answer(asked: Command, outcomes: &mut [Outcome], accepted: &mut [usize]) -> Event {
    match asked {
        Command::Trigger { location, .. } => Event::Triggered(
            location,
            trigger(&mut outcomes[location], &mut accepted[location]),
        ),
        Command::Poll(location) => Event::Polled(
            location,
            poll(&mut outcomes[location], &mut accepted[location]),
        ),
        Command::Examine(location) => Event::Examined(location, examine(&mut outcomes[location])),
        reported => panic!("{reported:?} was kept"),
    }
}

fn trigger(outcome: &mut Outcome, accepted: &mut usize) -> TriggerResponse {
    if outcome.unanswered_triggers > 0 {
        outcome.unanswered_triggers -= 1;
        return TriggerResponse::Unanswered("silence".to_owned());
    }
    if outcome.later > 0 {
        outcome.later -= 1;
        return TriggerResponse::Later(Duration::from_secs(1));
    }
    if outcome.busy > 0 {
        outcome.busy -= 1;
        return TriggerResponse::Busy;
    }
    *accepted += usize::from(matches!(
        outcome.trigger,
        TriggerResponse::Accepted(_) | TriggerResponse::Succeeded
    ));
    outcome.trigger.clone()
}

fn poll(outcome: &mut Outcome, accepted: &mut usize) -> PollResponse {
    if outcome.unanswered_polls > 0 {
        outcome.unanswered_polls -= 1;
        return PollResponse::Unanswered("silence".to_owned());
    }
    if outcome.polls > 0 {
        outcome.polls -= 1;
        return match outcome.polls % 2 {
            0 => PollResponse::InProgress,
            _ => PollResponse::Later(Duration::from_secs(3)),
        };
    }
    if outcome.again > 0 && *accepted > 0 {
        outcome.again -= 1;
        *accepted -= 1;
        return PollResponse::Again(Duration::from_secs(1));
    }
    if outcome.has_success {
        PollResponse::Succeeded
    } else {
        PollResponse::Failed("no".to_owned())
    }
}

fn examine(outcome: &mut Outcome) -> Health {
    if outcome.unhealthy > 0 {
        outcome.unhealthy -= 1;
        return Health::NotYet("failing".to_owned());
    }
    if outcome.is_gone {
        return Health::Gone;
    }
    Health::Healthy
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_pass_ends_with_an_exact_summary(world in world()) {
        let seen = run(&world);
        let tally = seen.result.tally;
        prop_assert_eq!(seen.states.len(), world.outcomes.len());
        prop_assert_eq!(tally.failed, seen.states.iter().filter(|state| matches!(state, State::Failed(_))).count());
        let is_clean = tally.failed + tally.busy + tally.not_started + tally.in_progress == 0;
        if is_clean && world.settings.gate.is_none() && world.stop.is_none() {
            prop_assert_eq!(&seen.result.failure, &None);
        }
        if !is_clean {
            prop_assert!(seen.result.failure.is_some(), "{:?}", seen);
        }
        prop_assert_eq!(seen.result.summary.contains("Status: FAILED"), seen.result.failure.is_some());
    }

    #[test]
    fn never_are_more_in_flight_than_may_be(world in world()) {
        let seen = run(&world);
        // Operations of an interrupted run continue, whatever the limit is now.
        prop_assert!(seen.most_in_flight <= world.settings.max_in_flight.max(seen.taken_up), "{:?}", seen);
    }

    #[test]
    fn no_instance_is_deployed_twice(world in world()) {
        let seen = run(&world);
        for (accepted, outcome) in seen.accepted.iter().zip(&world.outcomes) {
            prop_assert!(*accepted <= 1);
            if outcome.first != State::NotStarted {
                prop_assert_eq!(*accepted, 0);
            }
        }
    }

    #[test]
    fn nothing_is_begun_after_a_stop_or_a_failed_canary(world in world()) {
        let seen = run(&world);
        prop_assert_eq!(seen.triggers_after_end, 0);
        prop_assert!(!seen.failed_canary_then_triggered, "{:?}", seen);
    }

    #[test]
    fn nothing_is_begun_while_something_of_an_earlier_wave_was_never_seen_healthy(world in world()) {
        let seen = run(&world);
        prop_assert_eq!(seen.blind_triggers, 0, "{:?}", seen);
    }

    #[test]
    fn without_failures_and_ends_every_instance_is_reached(mut world in world()) {
        world.stop = None;
        world.settings.gate = None;
        world.settings.timeout = Duration::from_hours(1);
        for outcome in &mut world.outcomes {
            outcome.has_success = true;
            outcome.busy = outcome.busy.min(usize::try_from(world.settings.attempts).unwrap() - 1);
            if matches!(outcome.trigger, TriggerResponse::Failed(_)) {
                outcome.trigger = TriggerResponse::Skipped;
            }
            if matches!(outcome.first, State::Failed(_)) {
                outcome.first = State::NotStarted;
            }
        }
        let seen = run(&world);
        let Tally { busy, in_progress, not_started, .. } = seen.result.tally;
        prop_assert_eq!(busy + in_progress + not_started, 0, "{:?}", seen);
        prop_assert_eq!(seen.result.failure, None);
    }
}
