//! The events of the log, in the words of `spec/contracts/errands.md` §4.6.

use std::{fmt, time::Duration};

use odb_api_types::ids::InstanceId;

use super::{Tally, TriggerAnswer};

/// One line for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEvent {
    /// An operation of the interrupted part of the run is watched again.
    TakenUp {
        /// Which instance.
        id: InstanceId,
        /// The Director's task, where it is known.
        task: Option<u64>,
    },
    /// The upgrade through the platform has already succeeded.
    UpgradedThroughPlatform {
        /// Which instance.
        id: InstanceId,
    },
    /// The canaries were processed before the run was interrupted.
    CanariesDoneBefore,
    /// The canaries begin.
    StartingCanaries {
        /// How many have to be processed.
        count: usize,
        /// How they are chosen; empty if they are the first in the list.
        criteria: String,
    },
    /// An attempt begins.
    Attempt {
        /// From one.
        number: u32,
        /// How many there may be.
        of: u32,
        /// How many canaries are left, in their phase.
        canaries: Option<usize>,
    },
    /// An instance is begun.
    Starting {
        /// Which.
        id: InstanceId,
        /// Its number, and of how many; canaries have none.
        number: Option<(usize, usize)>,
    },
    /// The operation was requested.
    Triggered {
        /// Of which instance.
        id: InstanceId,
        /// The answer.
        answer: TriggerAnswer,
    },
    /// The operation is in progress.
    Waiting {
        /// Of which instance.
        id: InstanceId,
        /// The Director's task, where it is known.
        task: Option<u64>,
    },
    /// A call had no answer and is repeated.
    Retrying {
        /// Why, naming the instance.
        cause: String,
        /// How long until then.
        pause: Duration,
    },
    /// The operation has ended.
    Ended {
        /// Of which instance.
        id: InstanceId,
        /// How.
        has_succeeded: bool,
    },
    /// The health of the finished instances is checked.
    LookingAtWave {
        /// How many.
        count: usize,
    },
    /// One of them was deleted before it was seen to be healthy.
    GoneSince {
        /// Which instance.
        id: InstanceId,
    },
    /// They are healthy.
    WaveIsHealthy,
    /// The canaries are done.
    FinishedCanaries,
    /// An attempt has ended.
    Progress {
        /// How long until the next one; zero if there is none.
        pause: Duration,
        /// Where the instances are.
        tally: Tally,
    },
}

impl fmt::Display for LogEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TakenUp { id, task } => {
                write!(
                    f,
                    "[{id}] Operation of the interrupted run continues{}",
                    of_task(*task)
                )
            }
            Self::UpgradedThroughPlatform { id } => write!(
                f,
                "[{id}] Result: already upgraded through the platform - operation skipped"
            ),
            Self::CanariesDoneBefore => {
                f.write_str("The canaries were processed before the run was interrupted")
            }
            Self::StartingCanaries { count, criteria } if criteria.is_empty() => {
                write!(f, "STARTING CANARIES: {count} canaries")
            }
            Self::StartingCanaries { count, criteria } => write!(
                f,
                "STARTING CANARIES: {count} canaries with selection criteria: {criteria}"
            ),
            Self::Attempt {
                number,
                of,
                canaries,
            } => {
                match canaries {
                    Some(_) if *number == 1 => f.write_str("Processing all canaries")?,
                    Some(left) => write!(f, "Processing {left} remaining canaries")?,
                    None if *number == 1 => f.write_str("Processing all instances")?,
                    None => f.write_str("Processing all remaining instances")?,
                }
                write!(f, ". Attempt {number}/{of}")
            }
            Self::Starting { id, number } => {
                write!(f, "[{id}] Starting to process service instance")?;
                match number {
                    Some((number, of)) => write!(f, " {number} of {of}"),
                    None => Ok(()),
                }
            }
            Self::Triggered { id, answer } => write!(f, "[{id}] Result: {}", result(answer)),
            Self::Waiting { id, task } => {
                write!(
                    f,
                    "[{id}] Waiting for operation to complete{}",
                    of_task(*task)
                )
            }
            Self::Retrying { cause, pause } => {
                write!(f, "{cause}; retrying in {}", in_go_notation(*pause))
            }
            Self::Ended { id, has_succeeded } => {
                let end = if *has_succeeded { "success" } else { "failure" };
                write!(f, "[{id}] Result: Service Instance operation {end}")
            }
            Self::LookingAtWave { count } => {
                write!(f, "Waiting for {count} service instances to be healthy")
            }
            Self::GoneSince { id } => {
                write!(
                    f,
                    "[{id}] deleted in the meantime: not waiting for its health"
                )
            }
            Self::WaveIsHealthy => f.write_str("All instances are healthy"),
            Self::FinishedCanaries => f.write_str("FINISHED CANARIES"),
            Self::Progress { pause, tally } => write!(
                f,
                "Progress summary: Sleep interval until next attempt: {}; {}",
                in_go_notation(*pause),
                tally.so_far()
            ),
        }
    }
}

fn result(answer: &TriggerAnswer) -> &'static str {
    match answer {
        TriggerAnswer::Accepted { .. } => "operation accepted",
        TriggerAnswer::Succeeded => "Service Instance operation success",
        TriggerAnswer::Skipped => "instance already up to date - operation skipped",
        TriggerAnswer::Busy => "operation in progress",
        TriggerAnswer::Deleted => "already deleted from platform",
        TriggerAnswer::Orphan => {
            "orphan service instance detected - no corresponding bosh deployment"
        }
        TriggerAnswer::Failed { .. } | TriggerAnswer::Unanswered { .. } => "unexpected result",
    }
}

fn of_task(task: Option<u64>) -> String {
    task.map_or_else(String::new, |task| format!(": bosh task id {task}"))
}

/// A duration of seconds as the Go programs print it: `1h0m5s`, `1m0s`, `2s`.
fn in_go_notation(duration: Duration) -> String {
    let all = duration.as_secs();
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}
