//! A service instance as one request looks at it: the names of its deployment and configs, its record, its operation in
//! progress, the health of its VMs.

use std::sync::atomic::Ordering;

use odb_adapter_sdk::protocol::ManifestText;
use odb_api_types::{
    ids::InstanceId,
    kind::OperationKind,
    management::{Health, InstanceHealth, ProcessHealth},
};
use odb_clients::{
    director::{
        ConfigName, ContextId, Deployment, DeploymentName, Director, Force, InstanceState, Task,
        TaskFilter, TaskId, TaskState,
    },
    http::Call,
};
use odb_core::engine::Started;
use secrecy::ExposeSecret;

use crate::{
    BoshEngine,
    error::{Error, is_not_allowed},
    reconciler::{
        Known,
        operation::{Operation, SnapshotState},
    },
    records::operation_record::{FoundRecord, OperationRecord, RecordError, StoredRecord},
};

/// The prefix of each service instance's deployment, for every on-demand broker.
const DEPLOYMENT_PREFIX: &str = "service-instance_";

pub(crate) fn instance_of(deployment: &str) -> Option<InstanceId> {
    let id = deployment.strip_prefix(DEPLOYMENT_PREFIX)?;
    InstanceId::try_from(id.to_owned()).ok()
}

/// The deployment that holds a service instance. The name is the Go broker's.
pub(crate) fn deployment(instance: &InstanceId) -> DeploymentName {
    DeploymentName::try_from(format!("{DEPLOYMENT_PREFIX}{instance}"))
        .expect("an id that travels fits into a path")
}

/// The name of the configs that an adapter asks for: the deployment's, as with the Go broker.
pub(crate) fn config_name(deployment: &DeploymentName) -> ConfigName {
    ConfigName::try_from(deployment.as_str().to_owned())
        .expect("a deployment's name fits into an address")
}

pub(crate) fn of_context(context: &ContextId) -> TaskFilter {
    TaskFilter {
        context: Some(context.clone()),
        ..TaskFilter::default()
    }
}

/// Whether the Director swallows the errors of a deletion.
pub(crate) fn force(kind: OperationKind) -> Force {
    match kind {
        OperationKind::ForceDelete => Force::Yes,
        _ => Force::No,
    }
}

pub(crate) fn task_reference(task: TaskId) -> String {
    format!("task-id: {task}")
}

/// How the Director describes tasks of a deployment that take no lock and change nothing of it
/// (`spec/contracts/director-api.md`, "Deploying").
const HARMLESS: &[&str] = &[
    "retrieve vm-stats",
    "fetch logs",
    "ssh: ",
    "snapshot deployment",
];

/// A service instance as one request looks at it.
#[derive(Clone, Copy)]
pub(crate) struct Instance<'a> {
    pub(crate) engine: &'a BoshEngine,
    pub(crate) call: &'a Call,
    pub(crate) id: &'a InstanceId,
}

pub(crate) enum InFlight {
    /// An operation, which has been submitted.
    OnItsWay {
        stored: StoredRecord,
        /// The answer that its request got, or should have got.
        started: Started,
    },
    /// Nothing. An operation record without outcome is left of an operation that never began.
    AtRest(Option<StoredRecord>),
}

/// An unknown task is assumed to take the lock.
pub(crate) fn takes_the_lock(task: &Task) -> bool {
    !HARMLESS
        .iter()
        .any(|text| task.description.starts_with(text))
}

pub(crate) fn manifest_of(deployed: Deployment) -> Result<ManifestText, Error> {
    match deployed {
        Deployment::Deployed(manifest) => Ok(ManifestText::from(manifest.expose_secret())),
        Deployment::ForeignTeam => Err(Error::Foreign),
        Deployment::Absent | Deployment::NeverDeployed => Err(Error::NotFound),
    }
}

impl<'a> Instance<'a> {
    pub(crate) fn new(engine: &'a BoshEngine, call: &'a Call, id: &'a InstanceId) -> Self {
        Self { engine, call, id }
    }

    pub(crate) fn director(self) -> &'a Director {
        &self.engine.upstreams.director
    }

    pub(crate) fn name(self) -> DeploymentName {
        deployment(self.id)
    }

    pub(crate) async fn deployment(self) -> Result<Deployment, Error> {
        let found = self.director().deployment(self.call, &self.name()).await;
        found.map_err(Error::director("look the deployment up"))
    }

    /// The tasks of the deployment, the newest last.
    pub(crate) async fn tasks(self, limit: Option<u32>) -> Result<Vec<Task>, Error> {
        let filter = TaskFilter {
            deployment: Some(self.name()),
            limit,
            ..TaskFilter::default()
        };
        let tasks = self.director().tasks(self.call, &filter).await;
        tasks.map_err(Error::director("list the deployment's tasks"))
    }

    /// The tasks that hold the deployment's lock, or wait for it. Tasks that read VMs or logs do not take it.
    pub(crate) async fn unfinished(self) -> Result<Vec<Task>, Error> {
        let filter = TaskFilter {
            deployment: Some(self.name()),
            states: TaskState::unfinished(),
            ..TaskFilter::default()
        };
        let tasks = self.director().tasks(self.call, &filter).await;
        let mut tasks = tasks.map_err(Error::director("look for tasks in progress"))?;
        tasks.retain(takes_the_lock);
        Ok(tasks)
    }

    pub(crate) async fn stored(self) -> Result<Option<StoredRecord>, Error> {
        let records = &self.engine.upstreams.records;
        Ok(records.read(self.call, self.id).await?)
    }

    /// Its latest operation, as far as this process knows it.
    pub(crate) fn known(self) -> Option<Known> {
        self.engine.reconcilers.known(self.id)
    }

    pub(crate) fn in_progress(self) -> Option<Known> {
        self.known().filter(Known::is_in_progress)
    }

    /// Whether it is known here that nothing of the operation was ever submitted.
    pub(crate) fn never_began(self, record: &OperationRecord) -> bool {
        self.engine.upstreams.abandoned.includes(&record.context)
            || self.known().is_some_and(|known| {
                known.is_of(record) && known.snapshot.state == SnapshotState::NeverSubmitted
            })
    }

    /// Whether the operation of a record is in flight. If that is unknown, for example because its process was killed
    /// during the submission, this waits until its reconciler has found out.
    pub(crate) async fn in_flight(self, stored: Option<StoredRecord>) -> Result<InFlight, Error> {
        let stored = match stored {
            Some(stored) if stored.record.outcome.is_none() => stored,
            at_rest => return Ok(InFlight::AtRest(at_rest)),
        };
        if self.never_began(&stored.record) {
            return Ok(InFlight::AtRest(Some(stored)));
        }
        let same = self
            .in_progress()
            .filter(|known| known.is_of(&stored.record));
        let started = match same.and_then(|known| known.operation.started.clone()) {
            Some(started) => Some(started),
            None => self.started(&stored).await?,
        };
        Ok(match started {
            Some(started) => InFlight::OnItsWay { stored, started },
            // The reconciler has rolled the operation record back, as far as possible.
            None => InFlight::AtRest(self.stored().await?),
        })
    }

    /// The answer to the request that began an operation, as soon as its reconciler knows the first task. `None`: there
    /// is none.
    async fn started(self, stored: &StoredRecord) -> Result<Option<Started>, Error> {
        let reconcilers = &self.engine.reconcilers;
        let operation = Operation::of_stored(self.id, stored.clone());
        reconcilers.start(&self.engine.upstreams, operation.clone());
        if stored.record.cuts_short.is_some() {
            return Ok(Some(operation.answer(None)));
        }
        let mut snapshots = reconcilers.watch(self.id).ok_or(Error::OutOfTime)?;
        let found = snapshots
            .wait_for(|snapshot| snapshot.first_task.is_some() || !snapshot.is_in_progress());
        let found = tokio::time::timeout_at(self.call.deadline.instant(), found).await;
        // Out of time, or the process is stopping and its reconcilers have.
        let Ok(Ok(snapshot)) = found else {
            return Err(Error::OutOfTime);
        };
        let began = snapshot.state != SnapshotState::NeverSubmitted;
        Ok(began.then(|| operation.answer(snapshot.first_task)))
    }

    /// The operation that is in progress, as this process knows. Until everything of an earlier process has been picked
    /// up, the operation record is read where nothing is known: an open operation in it is picked up here.
    pub(crate) async fn operation_in_progress(self) -> Result<Option<OperationKind>, Error> {
        let kind_of = |known: Known| known.is_in_progress().then(|| known.operation.kind());
        if let Some(known) = self.known() {
            return Ok(kind_of(known));
        }
        if self.engine.is_resumed.load(Ordering::Acquire) {
            return Ok(None);
        }
        let stored = match self.engine.upstreams.records.find(self.call, self.id).await {
            Ok(Some(FoundRecord::Own(stored))) => stored,
            // An unreadable record cannot be resumed.
            Ok(Some(FoundRecord::Foreign(_)) | None) => return Ok(None),
            Err(error) if is_not_allowed(&error) => return Ok(None),
            Err(error) => return Err(RecordError::Read(error).into()),
        };
        if stored.record.outcome.is_some() || self.never_began(&stored.record) {
            return Ok(None);
        }
        Ok(kind_of(self.take_over(*stored)))
    }

    /// Follows the operation of an operation record to its end, unless that is done already.
    pub(crate) fn take_over(self, stored: StoredRecord) -> Known {
        let operation = Operation::of_stored(self.id, stored);
        let engine = self.engine;
        engine.reconcilers.take_over(&engine.upstreams, operation)
    }
}

/// The state that BOSH reports for a healthy instance or process.
const RUNNING: &str = "running";

/// The state that BOSH reports for an instance whose VM was removed on purpose.
const DETACHED: &str = "detached";

/// How the VMs of an instance are. An agent that does not answer is one that is not well.
pub(crate) async fn health(instance: Instance<'_>) -> Result<Health, Error> {
    let director = instance.director();
    let states = match director
        .instance_states(instance.call, &instance.name())
        .await
    {
        Err(error) if is_not_allowed(&error) => return Err(Error::Foreign),
        states => states.map_err(Error::director("ask the agents of the VMs how they are"))?,
    };
    let states = states.ok_or(Error::NotFound)?;
    let instances: Vec<InstanceHealth> = states.into_iter().filter_map(of_instance).collect();
    Ok(Health {
        service_instance_id: instance.id.clone(),
        healthy: !instances.is_empty() && instances.iter().all(|instance| instance.healthy),
        instances,
    })
}

/// `None`: it runs errands, and has a VM when it is needed.
fn of_instance(state: InstanceState) -> Option<InstanceHealth> {
    let InstanceState {
        group,
        index,
        id,
        expects_vm,
        desired,
        reported,
        processes,
    } = state;
    let is_detached = desired.as_deref() == Some(DETACHED);
    if !expects_vm && !is_detached {
        return None;
    }
    let state = match reported {
        Some(reported) => reported,
        None if is_detached => DETACHED.to_owned(),
        None => "no vm".to_owned(),
    };
    let healthy = state == RUNNING && processes.iter().all(|process| process.state == RUNNING);
    Some(InstanceHealth {
        instance_group: group,
        id,
        index,
        healthy,
        state,
        processes: processes
            .into_iter()
            .map(|process| ProcessHealth {
                name: process.name,
                state: process.state,
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use odb_clients::director::ProcessState;

    use super::*;

    #[test]
    fn only_deployments_of_service_instances_hold_one() {
        let held = |name| instance_of(name).map(String::from);
        assert_eq!(held("service-instance_one"), Some("one".to_owned()));
        for other in [
            "cf",
            "service-instance_",
            "my-service-instance_one",
            "service-instance_a b",
        ] {
            assert_eq!(held(other), None, "{other}");
        }
    }

    fn state(expects_vm: bool, desired: &str, reported: Option<&str>) -> InstanceState {
        InstanceState {
            group: "redis-server".to_owned(),
            index: Some(0),
            id: None,
            expects_vm,
            desired: Some(desired.to_owned()),
            reported: reported.map(str::to_owned),
            processes: Vec::new(),
        }
    }

    fn health_of(state: InstanceState) -> Option<(String, bool)> {
        of_instance(state).map(|health| (health.state, health.healthy))
    }

    #[test]
    fn an_instance_is_healthy_when_it_runs_and_should() {
        for (expects_vm, desired, reported, health) in [
            (true, "started", Some("running"), Some(("running", true))),
            (true, "started", Some("failing"), Some(("failing", false))),
            (
                true,
                "started",
                Some("unresponsive agent"),
                Some(("unresponsive agent", false)),
            ),
            (true, "started", None, Some(("no vm", false))),
            (true, "stopped", Some("stopped"), Some(("stopped", false))),
            (false, "detached", None, Some(("detached", false))),
            (false, "started", None, None),
            (false, "started", Some("running"), None),
        ] {
            let expected = health.map(|(state, healthy)| (state.to_owned(), healthy));
            assert_eq!(health_of(state(expects_vm, desired, reported)), expected);
        }
    }

    #[test]
    fn a_process_that_fails_makes_its_instance_ill() {
        let mut instance = state(true, "started", Some("running"));
        for (name, healthy) in [("running", true), ("failing", false), ("unknown", false)] {
            instance.processes = vec![ProcessState {
                name: "redis-server".to_owned(),
                state: name.to_owned(),
            }];
            assert_eq!(
                health_of(instance.clone()),
                Some(("running".to_owned(), healthy))
            );
        }
    }
}
