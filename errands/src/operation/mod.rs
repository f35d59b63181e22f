//! `operation`: shows the operation of a service instance, once or until its end.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the operation shown, and what it shares with its cancellation |
//! | `cancel` | `cancel-operation` |
//! | `text` | an operation as text |

mod cancel;
mod text;

use std::{iter, path::PathBuf, time::Duration};

use anyhow::Context;
use clap::{Args, ValueEnum};
use odb_api_types::{
    ids::InstanceId,
    kind::OperationKind,
    management::{OperationState, OperationStatus, StageState},
};
use odb_clients::ServiceError;

use crate::{
    Dependencies, ExitStatus, Progress,
    broker_api::{BrokerApi, BrokerApiRejection},
    waiting,
};
pub(crate) use cancel::CancelOperation;
pub use cancel::cancel_and_wait;
pub use text::whole as operation_text;

/// The pause between two polls. The broker answers from memory.
const PAUSE: Duration = Duration::from_secs(1);

/// Show the latest operation of a service instance: stages, Director tasks and steps
///
/// With --follow it continues until the operation ends: each step is a line on stderr, or part of a progress bar on
/// a terminal.
///
/// Exit status: 0 the operation succeeded; 1 it failed, or its result is unknown; 2 usage error; 10 it is in
/// progress (without --follow).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand operation --config errands.yml --instance 5f3c1a2e --follow\n  odb-errand operation --config errands.yml --instance 5f3c1a2e --output json"
)]
pub(crate) struct ShowOperation {
    #[command(flatten)]
    of: OfInstance,
    /// Follow the operation until it ends.
    #[arg(long)]
    follow: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    output: Form,
}

/// The service instance, and the broker that has it.
#[derive(Debug, Args)]
struct OfInstance {
    /// Path of a configuration with a section `broker_api`, such as that of `orphan-deployments`.
    #[arg(long, alias = "configPath", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Id of the service instance (`cf service NAME --guid`).
    #[arg(long, value_name = "ID", value_parser = instance_id)]
    instance: InstanceId,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people.
    #[default]
    Text,
    /// For programs: the answer of the management API.
    Json,
}

/// The end of a followed operation.
#[derive(Debug)]
enum Seen {
    /// The operation as it was reported last.
    Reported(OperationStatus),
    /// The instance was deleted by a delete operation.
    Gone,
    /// Another operation has replaced it.
    Followed(OperationStatus),
}

impl Seen {
    /// The end of the followed operation, if the next answer shows one.
    fn after(
        first: &OperationStatus,
        next: Result<OperationStatus, ServiceError>,
    ) -> Result<Option<Self>, ServiceError> {
        match next {
            Ok(next) if !is_same(&next, first) => Ok(Some(Self::Followed(next))),
            Ok(next) => {
                Ok((next.state != OperationState::InProgress).then_some(Self::Reported(next)))
            }
            Err(error) if error.is_gone() && first.kind.is_some_and(OperationKind::deletes) => {
                Ok(Some(Self::Gone))
            }
            Err(error) => Err(error),
        }
    }

    /// What to log about it, and the exit status.
    fn summary(&self) -> (Option<&'static str>, ExitStatus) {
        match self {
            Self::Reported(reported) => (
                None,
                match reported.state {
                    OperationState::Succeeded => ExitStatus::Success,
                    OperationState::Failed => ExitStatus::Failure,
                    OperationState::InProgress => ExitStatus::Special,
                },
            ),
            Self::Gone => (
                Some("ended: the service instance does not exist"),
                ExitStatus::Success,
            ),
            Self::Followed(_) => (
                Some("another operation has followed it; its own outcome is unknown"),
                ExitStatus::Failure,
            ),
        }
    }
}

impl ShowOperation {
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let broker = self.of.broker(dependencies)?;
        dependencies
            .unless_stopped(self.show(dependencies, &broker))
            .await?
    }

    async fn show(
        &self,
        dependencies: &Dependencies,
        broker: &BrokerApi,
    ) -> anyhow::Result<ExitStatus> {
        let instance = &self.of.instance;
        let unknown = || format!("the operation on service instance {instance} is unknown");
        let first = broker.operation(instance).await;
        let first = self.of.understood(first, "does not show", unknown)?;
        let (last, status) = operation_result(dependencies, broker, first, self.follow).await?;
        if let Some(last) = &last {
            self.print(dependencies, last)?;
        }
        Ok(status)
    }

    fn print(&self, dependencies: &Dependencies, reported: &OperationStatus) -> anyhow::Result<()> {
        let text = match self.output {
            Form::Text => text::whole(reported),
            Form::Json => format!("{:#}\n", serde_json::to_value(reported)?),
        };
        Ok(dependencies.print(&text)?)
    }
}

/// The last status of an operation, none after a deletion, and how it has ended. An operation in progress is followed to
/// its end if `follows` is set.
pub async fn operation_result(
    dependencies: &Dependencies,
    broker: &BrokerApi,
    first: OperationStatus,
    follows: bool,
) -> anyhow::Result<(Option<OperationStatus>, ExitStatus)> {
    let seen = if follows && first.state == OperationState::InProgress {
        let seen = follow_operation(dependencies, broker, first).await;
        seen.context("the operation continues; its outcome is unknown")?
    } else {
        Seen::Reported(first)
    };
    let (text, status) = seen.summary();
    if let Some(text) = text {
        dependencies.console.log(text);
    }
    Ok(match seen {
        Seen::Reported(last) | Seen::Followed(last) => (Some(last), status),
        Seen::Gone => (None, status),
    })
}

/// Follows an operation in progress to its end. Each step is a line, or part of a progress bar on a terminal.
async fn follow_operation(
    dependencies: &Dependencies,
    broker: &BrokerApi,
    first: OperationStatus,
) -> Result<Seen, ServiceError> {
    let mut steps = Steps {
        progress: Progress::begin(&dependencies.console, "stage", first.stages.len(), 0),
        ended: 0,
        latest: String::new(),
    };
    steps.show(&first);
    let look = async || {
        let next = broker.operation(&first.service_instance_id).await;
        if let Ok(next) = &next
            && is_same(next, &first)
        {
            steps.show(next);
        }
        Seen::after(&first, next)
    };
    follow(look).await
}

struct Steps {
    progress: Progress,
    ended: usize,
    latest: String,
}

impl Steps {
    fn show(&mut self, now: &OperationStatus) {
        let step = text::at_work(now);
        if step != self.latest {
            self.progress.event(&step);
            self.latest = step;
        }
        let has_ended = |state| matches!(state, StageState::Done | StageState::Failed);
        let stages = now.stages.iter();
        let ended = stages.filter(|stage| has_ended(stage.state)).count();
        while self.ended < ended {
            self.progress.advance();
            self.ended += 1;
        }
    }
}

impl OfInstance {
    fn broker(&self, dependencies: &Dependencies) -> anyhow::Result<BrokerApi> {
        BrokerApi::load(self.config.as_deref(), dependencies)
    }

    /// The latest operation, or, of a broker without such operations, that it `cannot` do this.
    #[expect(clippy::unused_self, reason = "it is the operation of this instance")]
    fn understood(
        &self,
        reported: Result<OperationStatus, ServiceError>,
        cannot: &str,
        failed: impl FnOnce() -> String,
    ) -> anyhow::Result<OperationStatus> {
        reported.map_err(|error| {
            let context = if error.is_unknown_route() {
                format!(
                    "the broker {cannot} operations: it is older than this errand, or a Go broker"
                )
            } else {
                failed()
            };
            anyhow::Error::new(error).context(context)
        })
    }
}

/// Polls an operation until `look` returns its end.
async fn follow<T>(
    look: impl AsyncFnMut() -> Result<Option<T>, ServiceError>,
) -> Result<T, ServiceError> {
    let is_transient = BrokerApiRejection::is_transient_or_restart;
    waiting::follow(iter::repeat(PAUSE), look, is_transient).await
}

fn is_same(reported: &OperationStatus, first: &OperationStatus) -> bool {
    (reported.kind, &reported.request) == (first.kind, &first.request)
}

pub(crate) fn instance_id(text: &str) -> Result<InstanceId, String> {
    InstanceId::try_from(text.to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use odb_clients::{
        FailureKind, Service,
        http::{Method, StatusCode},
    };

    use super::*;

    fn status(kind: OperationKind, state: OperationState) -> OperationStatus {
        OperationStatus {
            service_instance_id: "i".to_owned().try_into().unwrap(),
            kind: Some(kind),
            state,
            cancelled: false,
            began: None,
            request: None,
            description: String::new(),
            token: None,
            stages: Vec::new(),
        }
    }

    fn gone() -> ServiceError {
        let kind = FailureKind::Refused {
            status: StatusCode::GONE,
            code: None,
            name: String::new(),
            description: String::new(),
        };
        ServiceError::new(Service::BrokerManagementApi, Method::GET, "/x", kind)
    }

    #[test]
    fn the_end_of_a_followed_operation_has_a_text_and_an_exit_status() {
        use OperationKind::{Delete, Update};
        use OperationState::{Failed, InProgress, Succeeded};

        let absent = "ended: the service instance does not exist";
        let replaced = "another operation has followed it; its own outcome is unknown";
        for (first, next, expected) in [
            (Delete, Err(gone()), (Some(absent), ExitStatus::Success)),
            (
                Delete,
                Ok(status(Delete, Failed)),
                (None, ExitStatus::Failure),
            ),
            (
                Update,
                Ok(status(Update, Succeeded)),
                (None, ExitStatus::Success),
            ),
            (
                Update,
                Ok(status(Delete, InProgress)),
                (Some(replaced), ExitStatus::Failure),
            ),
        ] {
            let seen = Seen::after(&status(first, InProgress), next);
            assert_eq!(seen.unwrap().unwrap().summary(), expected);
        }
        let first = status(Update, InProgress);
        assert!(Seen::after(&first, Err(gone())).is_err());
        let next = Ok(status(Update, InProgress));
        assert!(Seen::after(&first, next).unwrap().is_none());
    }
}
