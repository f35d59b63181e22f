//! An operation whose tasks the Director does not have: either nothing was submitted, or the Director has dropped old
//! tasks. The Director's audit outlives them, and so does the deployment, if the audit has no records.

use std::{collections::BTreeMap, time::SystemTime};

use odb_api_types::kind::OperationKind;
use odb_clients::{
    ServiceError,
    director::{
        AuditFilter, AuditRecord, Deployment, DeploymentName, Director, TaskFilter, TaskId,
    },
    http::Call,
};
use odb_redaction::Chain;

use crate::reconciler::{
    next_step::{Progress, TaskKind, TaskOutcome},
    observer::{LOCK_ERROR, Observer},
    operation::Context,
};

/// The operation's part of the audit, which is read when tasks are missing.
#[derive(Default)]
pub(super) struct History(Option<Recalled>);

struct Recalled {
    traces: Traces,
    newest: Option<TaskId>,
}

impl History {
    /// The audit was read after the newest task started.
    pub(super) fn is_known(&self, observer: &Observer) -> bool {
        let newest = observer.newest();
        let recalled = self.0.as_ref();
        recalled.is_some_and(|recalled| recalled.newest == newest)
    }

    /// Why a task has failed that the Director has dropped.
    pub(super) fn error_of(&self, task: TaskId) -> Option<&str> {
        let mut traced = self.traced();
        let trace = traced.find(|trace| trace.outcomes.id == task)?;
        trace.error.as_deref()
    }

    fn traced(&self) -> impl Iterator<Item = &Trace> {
        let recalled = self.0.iter();
        recalled.flat_map(|recalled| &recalled.traces.tasks)
    }

    /// Adds the audit's records of tasks that are no longer listed.
    pub(super) fn complete(&self, tasks: &mut Vec<TaskOutcome>) {
        let dropped: Vec<TaskOutcome> = self
            .traced()
            .filter(|trace| tasks.iter().all(|task| task.id != trace.outcomes.id))
            .map(|trace| trace.outcomes.clone())
            .collect();
        tasks.extend(dropped);
        tasks.sort_by_key(|task| task.id);
    }

    /// Reads the outcome of the operation's tasks from the audit. A Director without an answer has no records.
    pub(super) async fn read_history(&mut self, context: &Context, observer: &Observer) {
        let traces = read(context, observer).await.unwrap_or_else(|error| {
            tracing::debug!(error = %Chain(&error), "the Director does not give access to its audit");
            Traces::default()
        });
        if !traces.tasks.is_empty() {
            tracing::info!(
                tasks = traces.tasks.len(),
                "the Director has dropped tasks of the operation; its audit records their results"
            );
        }
        self.0 = Some(Recalled {
            traces,
            newest: observer.newest(),
        });
    }

    /// Decides by the current state. The outcome reports that nothing has changed only if that is known.
    pub(super) async fn assess(
        &self,
        context: &Context,
        observer: &Observer,
    ) -> Result<Assessment, ServiceError> {
        let operation = &context.operation;
        let are_complete = self
            .0
            .as_ref()
            .is_some_and(|recalled| recalled.traces.are_complete);
        let untraced = Untraced {
            kind: operation.kind(),
            has_errands: !operation.record.errands.is_empty(),
            began: observer.newest().is_some(),
            is_known_in_full: are_complete || has_older_tasks(context).await?,
        };
        Ok(untraced.assess(&context.deployment().await?))
    }
}

async fn read(context: &Context, observer: &Observer) -> Result<Traces, ServiceError> {
    let written = write_of_record(context).await?;
    let known: Vec<u64> = observer.known.iter().map(|task| task.number()).collect();
    let footprint = match &written {
        Some(written) => Footprint::Since(written),
        None if known.is_empty() => return Ok(Traces::default()),
        None => Footprint::Tasks(&known),
    };
    let (director, name) = (&context.upstreams.director, &context.operation.deployment());
    let read = |call| async move { traces(director, &call, name, footprint).await };
    context.retrier.retry("read the audit", read).await
}

/// When the operation record was written: the operation's actions are later. A cancellation has written the operation
/// record once more.
async fn write_of_record(context: &Context) -> Result<Option<AuditRecord>, ServiceError> {
    let (records, operation) = (&context.upstreams.records, &context.operation);
    if operation.stored.is_none() {
        return Ok(None);
    }
    let read = |call| async move { records.writes(&call, &operation.instance).await };
    let writes = context
        .retrier
        .retry("read the audit of the operation record", read)
        .await?;
    let later_writes = usize::from(context.is_cancelled());
    Ok(writes.into_iter().nth(later_writes))
}

/// The Director drops its oldest tasks first, each kind for itself: where it has one from before that deployed the
/// same, it would have that of this operation.
async fn has_older_tasks(context: &Context) -> Result<bool, ServiceError> {
    let operation = &context.operation;
    if operation.kind() == OperationKind::Create || operation.kind().deletes() {
        return Ok(false);
    }
    let director = &context.upstreams.director;
    let filter = &TaskFilter {
        deployment: Some(operation.deployment()),
        ..TaskFilter::default()
    };
    let list = |call| async move { director.tasks(&call, filter).await };
    let tasks = context
        .retrier
        .retry("list the deployment's tasks", list)
        .await?;
    let Some(began) = operation.record.began.map(SystemTime::from) else {
        return Ok(false);
    };
    Ok(tasks.iter().any(|task| {
        TaskKind::of(&task.description) == TaskKind::Deploy
            && task.started_at.is_some_and(|started| started < began)
    }))
}

pub(super) fn has_lost_newest(observer: &Observer, tasks: &[TaskOutcome]) -> bool {
    let newest = observer.newest();
    newest.is_some_and(|newest| tasks.last().is_none_or(|last| last.id < newest))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traces {
    pub(crate) tasks: Vec<Trace>,
    /// The audit reaches back to before the first task: there were no others.
    pub(crate) are_complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) outcomes: TaskOutcome,
    /// Why it failed. For the operator only.
    pub(crate) error: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Footprint<'a> {
    /// The actions of the same user since this record, the write of the operation record.
    Since(&'a AuditRecord),
    Tasks(&'a [u64]),
}

/// The outcomes of an operation's tasks. Empty if the Director keeps no audit.
pub(crate) async fn traces(
    director: &Director,
    call: &Call,
    deployment: &DeploymentName,
    footprint: Footprint<'_>,
) -> Result<Traces, ServiceError> {
    let mut records = director
        .audit(call, AuditFilter::Deployment(deployment))
        .await?;
    let errands = director.audit(call, AuditFilter::Errands(deployment));
    records.extend(errands.await?);
    records.retain(|record| footprint.includes(record));
    Ok(Traces {
        tasks: judge(&records),
        are_complete: matches!(footprint, Footprint::Since(_)),
    })
}

impl Footprint<'_> {
    fn includes(self, record: &AuditRecord) -> bool {
        match self {
            Self::Since(written) => record.id > written.id && record.user == written.user,
            Self::Tasks(tasks) => record
                .task
                .is_some_and(|task| tasks.contains(&task.number())),
        }
    }
}

/// An action is recorded at its beginning and, with the beginning as parent, at its end. One that fails early has no
/// beginning, and one that was killed has no end. An errand is recorded for each of its instances.
fn judge(records: &[AuditRecord]) -> Vec<Trace> {
    let mut tasks: BTreeMap<_, Vec<&AuditRecord>> = BTreeMap::new();
    for record in records {
        if let Some(task) = record.task {
            tasks.entry(task).or_default().push(record);
        }
    }
    let outcomes = tasks.into_iter().filter_map(|(id, records)| {
        let task_kind = records.iter().find_map(|record| task_kind(record))?;
        let error = records.iter().find_map(|record| record.error.clone());
        let has_ended = |record: &&&AuditRecord| record.parent.is_some() || record.error.is_some();
        let ends = records.iter().filter(has_ended).count();
        let bad_exit = records
            .iter()
            .find_map(|record| record.exit_code.filter(|code| *code != 0));
        let progress = match &error {
            Some(error) if error.starts_with(LOCK_ERROR) => Progress::LockTimeout,
            None if bad_exit.is_none() && 2 * ends >= records.len() => Progress::Done,
            Some(_) | None => Progress::Failed,
        };
        let error = error.or_else(|| bad_exit.map(|code| format!("the errand exited with {code}")));
        Some(Trace {
            outcomes: TaskOutcome {
                id,
                task_kind,
                progress,
            },
            error,
        })
    });
    outcomes.collect()
}

fn task_kind(record: &AuditRecord) -> Option<TaskKind> {
    match (record.object_type.as_str(), record.action.as_str()) {
        ("deployment", "create" | "update") => Some(TaskKind::Deploy),
        ("deployment", "delete") => Some(TaskKind::Delete),
        ("errand", "run") => record.object_name.clone().map(TaskKind::Errand),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Untraced {
    pub(crate) kind: OperationKind,
    pub(crate) has_errands: bool,
    pub(crate) began: bool,
    /// Had it had a task, that would be known.
    pub(crate) is_known_in_full: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assessment {
    NeverBegan,
    /// It has succeeded, except for the clean-up of a deletion.
    Succeeded,
    Failed,
    /// A deletion has not deleted anything.
    StillThere,
    Gone,
    Unknown,
}

impl Untraced {
    /// A deployment exists from the submission of its first deploy, and has a manifest once a deploy has succeeded
    /// completely (`spec/contracts/director-api.md`, "Deploying").
    pub(crate) fn assess(self, deployment: &Deployment) -> Assessment {
        let creates = self.kind == OperationKind::Create;
        match deployment {
            Deployment::Absent | Deployment::ForeignTeam if self.kind.deletes() => {
                Assessment::Succeeded
            }
            Deployment::Absent | Deployment::ForeignTeam if creates && !self.began => {
                Assessment::NeverBegan
            }
            Deployment::Absent | Deployment::ForeignTeam => Assessment::Gone,
            _ if self.is_known_in_full && !self.began => Assessment::NeverBegan,
            _ if self.kind.deletes() => Assessment::StillThere,
            Deployment::NeverDeployed => Assessment::Failed,
            Deployment::Deployed(_) if creates && !self.has_errands => Assessment::Succeeded,
            Deployment::Deployed(_) => Assessment::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use odb_clients::director::TaskId;

    use super::*;

    fn record(id: u64, task: u64, object_type: &str, action: &str) -> AuditRecord {
        AuditRecord {
            id,
            parent: None,
            user: "broker".to_owned(),
            action: action.to_owned(),
            object_type: object_type.to_owned(),
            object_name: Some("health-check".to_owned()),
            error: None,
            task: Some(TaskId::new(task)),
            exit_code: None,
        }
    }

    fn end(id: u64, task: u64, object_type: &str, action: &str) -> AuditRecord {
        AuditRecord {
            parent: Some(id - 1),
            ..record(id, task, object_type, action)
        }
    }

    fn progress(records: &[AuditRecord]) -> Vec<(u64, Progress)> {
        judge(records)
            .into_iter()
            .map(|trace| (trace.outcomes.id.number(), trace.outcomes.progress))
            .collect()
    }

    #[test]
    fn an_action_is_done_when_its_end_reports_no_error() {
        let error = |text: &str| AuditRecord {
            error: Some(text.to_owned()),
            ..record(11, 7, "deployment", "update")
        };
        let exit = |code| AuditRecord {
            exit_code: Some(code),
            ..end(13, 8, "errand", "run")
        };
        let begun = || record(12, 8, "errand", "run");
        for (records, expected) in [
            (
                vec![
                    end(11, 7, "deployment", "create"),
                    record(10, 7, "deployment", "create"),
                ],
                vec![(7, Progress::Done)],
            ),
            (vec![error("no disk")], vec![(7, Progress::Failed)]),
            (
                vec![error("Failed to acquire lock for lock:deployment:d")],
                vec![(7, Progress::LockTimeout)],
            ),
            // Its process was killed.
            (
                vec![record(10, 7, "deployment", "delete")],
                vec![(7, Progress::Failed)],
            ),
            (vec![exit(0), begun()], vec![(8, Progress::Done)]),
            (vec![exit(1), begun()], vec![(8, Progress::Failed)]),
            (vec![record(14, 9, "vm", "create")], vec![]),
        ] {
            assert_eq!(progress(&records), expected, "{records:?}");
        }
    }

    #[test]
    fn of_two_instances_of_an_errand_each_counts() {
        let records = [
            end(12, 8, "errand", "run"),
            record(11, 8, "errand", "run"),
            record(10, 8, "errand", "run"),
        ];
        assert_eq!(progress(&records), [(8, Progress::Failed)]);
    }

    #[test]
    fn only_what_the_same_user_did_later_belongs_to_a_record() {
        let written = record(20, 0, "config/odb-operation", "create");
        let footprint = Footprint::Since(&written);
        assert!(footprint.includes(&record(21, 7, "deployment", "update")));
        assert!(!footprint.includes(&record(19, 7, "deployment", "update")));
        let others = AuditRecord {
            user: "admin".to_owned(),
            ..record(21, 7, "deployment", "update")
        };
        assert!(!footprint.includes(&others));
    }

    #[test]
    fn that_nothing_has_changed_is_said_only_where_it_is_known() {
        let deployed = || Deployment::Deployed("name: d".to_owned().into());
        let update = Untraced {
            kind: OperationKind::Update,
            has_errands: false,
            began: false,
            is_known_in_full: false,
        };
        assert_eq!(update.assess(&deployed()), Assessment::Unknown);
        let known = Untraced {
            is_known_in_full: true,
            ..update
        };
        assert_eq!(known.assess(&deployed()), Assessment::NeverBegan);
        let begun = Untraced {
            began: true,
            ..known
        };
        assert_eq!(begun.assess(&deployed()), Assessment::Unknown);

        let create = Untraced {
            kind: OperationKind::Create,
            ..update
        };
        assert_eq!(create.assess(&deployed()), Assessment::Succeeded);
        assert_eq!(
            create.assess(&Deployment::NeverDeployed),
            Assessment::Failed
        );
        assert_eq!(create.assess(&Deployment::Absent), Assessment::NeverBegan);
        let with_errands = Untraced {
            has_errands: true,
            ..create
        };
        assert_eq!(with_errands.assess(&deployed()), Assessment::Unknown);

        let delete = Untraced {
            kind: OperationKind::Delete,
            ..update
        };
        assert_eq!(delete.assess(&deployed()), Assessment::StillThere);
        assert_eq!(delete.assess(&Deployment::Absent), Assessment::Succeeded);
    }
}
