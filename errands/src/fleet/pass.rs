//! One pass over the instances: its beginning, its course, its end.

use std::collections::{HashMap, HashSet};

use odb_api_types::ids::InstanceId;
use tokio_util::sync::CancellationToken;

use super::{members::Member, runner, runner::Beginning, runner::Observer, runner::Operator};
use crate::{
    Console,
    progress::Progress,
    report::{Outcome, Row},
};
use odb_rollout::{
    Canaries, Engine, Location, LogEvent, PriorResult, RolloutResult, Settings, Start, State,
};

/// One pass over the instances.
pub(super) struct Pass<'a> {
    pub(super) console: &'a Console,
    /// The activity as a word for the progress bar.
    pub(super) activity: &'static str,
    pub(super) settings: Settings,
    pub(super) members: &'a [Member],
    pub(super) canaries: Option<Canaries>,
    pub(super) stopping: &'a CancellationToken,
}

/// The state of an instance at the start of the pass, with the data to poll an operation in progress.
pub(super) struct Known<U> {
    pub(super) prior_result: PriorResult,
    pub(super) underway: Option<U>,
}

impl<U> Known<U> {
    /// An instance without an operation in progress.
    pub(super) fn prior_result(prior_result: PriorResult) -> Self {
        Self {
            prior_result,
            underway: None,
        }
    }

    /// An instance with an operation in progress.
    pub(super) fn underway(prior_result: PriorResult, underway: U) -> Self {
        Self {
            prior_result,
            underway: Some(underway),
        }
    }
}

/// How a pass has ended.
pub(super) struct Ended {
    pub(super) result: RolloutResult,
    /// Those that were brought up to date in it.
    pub(super) succeeded: HashSet<InstanceId>,
    /// A row for each instance.
    pub(super) rows: Vec<Row>,
}

/// A log line names at most this many instances.
const NAMED_INSTANCES: usize = 10;

/// Logs the instances to process (`spec/contracts/errands.md` §4.6). The Go errand names every instance of a fleet.
pub(super) fn say_listed(console: &Console, members: &[Member]) {
    console.say(format_args!("Service Instances: {}", named(members)));
    console.say(format_args!(
        "Total Service Instances found: {}",
        members.len()
    ));
}

fn named(members: &[Member]) -> String {
    let first = members.iter().take(NAMED_INSTANCES);
    let mut named: Vec<String> = first.map(|member| member.id.to_string()).collect();
    if let Some(more) = members
        .len()
        .checked_sub(NAMED_INSTANCES)
        .filter(|more| *more > 0)
    {
        named.push(format!("and {more} more"));
    }
    named.join(" ")
}

impl Pass<'_> {
    /// Runs the pass. `known` has the instances with a recorded state.
    pub(super) async fn run<O: Operator>(
        self,
        operator: &O,
        mut known: HashMap<Location, Known<O::Underway>>,
    ) -> Ended {
        let (mut starts, mut underway) = (Vec::new(), HashMap::new());
        for (location, member) in self.members.iter().enumerate() {
            let known = known.remove(&location);
            let (prior_result, goes_on) = known.map_or((PriorResult::Untouched, None), |known| {
                (known.prior_result, known.underway)
            });
            if let Some(goes_on) = goes_on {
                underway.insert(location, goes_on);
            }
            starts.push(Start {
                id: member.id.clone(),
                prior_result,
            });
        }
        let total = u64::try_from(starts.len()).unwrap_or(u64::MAX);
        let is_over = |start: &&Start| match start.prior_result {
            PriorResult::Done
            | PriorResult::UpgradedThroughPlatform
            | PriorResult::Failed { .. } => true,
            PriorResult::Untouched | PriorResult::Underway { .. } => false,
        };
        let before = starts.iter().filter(is_over).count();
        let before = u64::try_from(before).unwrap_or(u64::MAX);
        let (engine, commands) = Engine::begin(self.settings, starts, self.canaries);
        let mut observer = PassObserver {
            console: self.console,
            progress: Progress::resume(self.console, self.activity, total, before),
            tasks: HashMap::new(),
        };
        let beginning = Beginning {
            engine,
            commands,
            underway,
        };
        let engine = runner::run(operator, beginning, &mut observer, self.stopping).await;
        let PassObserver {
            progress, tasks, ..
        } = observer;
        drop(progress);
        let result = engine.result();
        self.console.say(&result.summary);
        let states = (0..engine.len()).map(|location| engine.instance(location));
        let succeeded = states
            .filter(|(_, state, _)| matches!(state, State::Succeeded))
            .map(|(id, ..)| id.clone());
        Ended {
            result,
            succeeded: succeeded.collect(),
            rows: (0..engine.len())
                .map(|location| {
                    row(
                        &engine,
                        location,
                        &self.members[location],
                        tasks.get(&location),
                    )
                })
                .collect(),
        }
    }
}

/// Prints the progress of a pass.
struct PassObserver<'a> {
    console: &'a Console,
    progress: Progress,
    tasks: HashMap<Location, u64>,
}

impl Observer for PassObserver<'_> {
    fn said(&mut self, log_event: &LogEvent) {
        match log_event {
            LogEvent::Starting { .. }
            | LogEvent::Triggered { .. }
            | LogEvent::Waiting { .. }
            | LogEvent::Ended { .. }
            | LogEvent::TakenUp { .. }
            | LogEvent::UpgradedThroughPlatform { .. } => {
                self.progress.event(&log_event.to_string());
            }
            LogEvent::CanariesDoneBefore
            | LogEvent::StartingCanaries { .. }
            | LogEvent::Attempt { .. }
            | LogEvent::Retrying { .. }
            | LogEvent::LookingAtWave { .. }
            | LogEvent::GoneSince { .. }
            | LogEvent::WaveIsHealthy
            | LogEvent::FinishedCanaries
            | LogEvent::Progress { .. } => self.console.say(log_event),
        }
    }

    fn changed(&mut self, location: Location, state: &State) {
        if let State::Accepted { task: Some(task) } = state {
            self.tasks.insert(location, *task);
        }
        if state.is_final() {
            self.progress.advance();
        }
    }
}

fn row(engine: &Engine, location: Location, member: &Member, task: Option<&u64>) -> Row {
    let (_, state, duration) = engine.instance(location);
    let unhealthy = engine.unhealthy(location);
    let outcome = match state {
        _ if unhealthy.is_some() => Outcome::Unhealthy,
        State::NotStarted => Outcome::NotReached,
        State::Triggering | State::Accepted { .. } => Outcome::InProgress,
        State::Busy => Outcome::Busy,
        State::Succeeded | State::Done => Outcome::Succeeded,
        State::Skipped => Outcome::Skipped,
        State::Failed { .. } => Outcome::Failed,
        State::Deleted => Outcome::Gone,
        State::Orphan => Outcome::DeploymentMissing,
    };
    let cause = match state {
        _ if let Some(said) = unhealthy => Some(format!("not healthy after its operation: {said}")),
        State::Failed { cause } => Some(beside_instance_and_task(cause, member, task).to_owned()),
        State::Done => Some("done before the run was interrupted".to_owned()),
        _ => None,
    };
    Row {
        task: task.copied(),
        duration,
        ..member.row(outcome, cause)
    }
}

/// The cause without the texts of the row's other columns.
fn beside_instance_and_task<'c>(cause: &'c str, member: &Member, task: Option<&u64>) -> &'c str {
    let of_instance = format!("[{}] ", member.id);
    let cause = cause.strip_prefix(&of_instance).unwrap_or(cause);
    let of_task = task.map(|task| format!("Operation failed: bosh task id {task}: "));
    of_task
        .and_then(|of_task| cause.strip_prefix(&of_task))
        .unwrap_or(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker_api::ListedInstance;

    fn member(id: &str) -> Member {
        Member::from(ListedInstance {
            instance: id.to_owned().try_into().unwrap(),
            plan: "small".to_owned().into(),
            space: None,
        })
    }

    #[test]
    fn a_cause_does_not_repeat_the_columns_beside_it() {
        let member = member("i1");
        let cause = "[i1] Operation failed: bosh task id 7: the disk is full";
        assert_eq!(
            beside_instance_and_task(cause, &member, Some(&7)),
            "the disk is full"
        );
        assert_eq!(
            beside_instance_and_task(cause, &member, None),
            "Operation failed: bosh task id 7: the disk is full"
        );
        assert_eq!(
            beside_instance_and_task("no answer", &member, Some(&7)),
            "no answer"
        );
    }

    #[test]
    fn a_large_fleet_is_not_listed_in_one_line() {
        let members = |count: usize| -> Vec<Member> {
            let listed = (0..count).map(|number| member(&format!("i{number}")));
            listed.collect()
        };
        assert_eq!(named(&members(2)), "i0 i1");
        assert_eq!(named(&members(10)), "i0 i1 i2 i3 i4 i5 i6 i7 i8 i9");
        assert_eq!(
            named(&members(300)),
            "i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 and 290 more"
        );
    }
}
