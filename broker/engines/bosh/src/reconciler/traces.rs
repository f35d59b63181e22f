//! The traces of an operation whose tasks the Director has dropped: its audit, and the state of the deployment if the
//! audit has no records.

use std::collections::BTreeMap;

use odb_api_types::kind::OperationKind;
use odb_clients::{
    ServiceError,
    director::{AuditFilter, AuditRecord, Deployment, DeploymentName, Director},
    http::Call,
};

use crate::reconciler::{
    next_step::{Progress, TaskKind, TaskOutcome},
    observer::LOCK_ERROR,
};

/// The audit's records of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traces {
    /// The tasks that it had, by rising id.
    pub(crate) tasks: Vec<Trace>,
    /// The audit reaches back to before the first task: there were no others.
    pub(crate) are_complete: bool,
}

/// The audit's record of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) outcomes: TaskOutcome,
    /// Why it failed. For the operator only.
    pub(crate) error: Option<String>,
}

/// Which records are an operation's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Footprint<'a> {
    /// The actions of the same user since this record, the write of the operation record.
    Since(&'a AuditRecord),
    /// The actions of these tasks.
    Tasks(&'a [u64]),
}

/// The outcomes of an operation's tasks. Empty if the Director keeps no audit.
pub(crate) async fn of(
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
            Some(error) if error.starts_with(LOCK_ERROR) => Progress::Shut,
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

/// The knowledge about an operation without tasks and traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Untraced {
    pub(crate) kind: OperationKind,
    pub(crate) has_errands: bool,
    /// It had a task.
    pub(crate) began: bool,
    /// Had it had a task, that would be known.
    pub(crate) is_known_in_full: bool,
}

/// The outcome of an operation without tasks and traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assessment {
    /// Nothing of it was submitted.
    NeverBegan,
    /// It has succeeded, except for the clean-up of a deletion.
    Succeeded,
    /// Its deploy has failed.
    Failed,
    /// A deletion has not deleted anything.
    StillThere,
    /// The instance is gone.
    Gone,
    /// The outcome is unknown.
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
                vec![(7, Progress::Shut)],
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
