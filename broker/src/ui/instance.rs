//! One service instance: its facts, its latest operation, and what an upgrade would change.

use actix_web::{HttpResponse, http::StatusCode, web::Path};
use jiff::Timestamp;
use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{
    ids::{InstanceId, PlanId},
    kind::OperationKind,
    management::{
        ChangeSort, DeploymentPresence, DryRun, InventoryEntry, OperationState, OperationStatus,
        Owner, PlannedChange, StageState, StageStatus,
    },
};
use odb_config::UiAction;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    answer::{ErrorView, PageError, offers, page},
    words::{self, Moment, Tone, Toned},
};
use crate::api::{ApiError, Parameters, RequestKind, Run, instance_id};

#[derive(Serialize)]
struct Content {
    id: String,
    name: String,
    notice: Option<&'static str>,
    facts: Option<Facts>,
    facts_error: Option<ErrorView>,
    operation: OperationView,
    may_upgrade: bool,
    may_delete: bool,
}

#[derive(Serialize)]
struct Facts {
    plan: String,
    place: String,
    up_to_date: Toned,
    deployed: Option<Moment>,
    deployment: Toned,
    owner: &'static str,
    purge: Option<String>,
}

/// The latest operation, also as the part of the page that events replace.
#[derive(Serialize)]
pub(super) struct OperationView {
    id: String,
    pub(super) is_in_progress: bool,
    operation: Option<Operation>,
    error: Option<ErrorView>,
    may_cancel: bool,
}

#[derive(Serialize)]
struct Operation {
    kind: String,
    state: Toned,
    is_cancelled: bool,
    began: Option<Moment>,
    request: Option<String>,
    description: String,
    stages: Vec<Stage>,
}

#[derive(Serialize)]
struct Stage {
    name: String,
    state: Toned,
    task: Option<u64>,
    steps: Vec<Step>,
    error: Option<String>,
}

#[derive(Serialize)]
struct Step {
    stage: String,
    done: u64,
    total: u64,
    current: Option<String>,
}

pub(super) async fn show(
    run: Run,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, PageError> {
    let instance = instance_id(path.into_inner())?;
    let (entry, operation) = tokio::join!(entry(&run, &instance), latest(&run, &instance));
    let is_gone = |error: &ApiError| error.status == StatusCode::NOT_FOUND;
    if entry.as_ref().is_err_and(is_gone) && matches!(operation, Ok(None)) {
        return Err(ApiError::not_found(
            "This service instance is listed neither by the platform nor by the Director.",
        )
        .into());
    }
    let name = entry
        .as_ref()
        .ok()
        .map(|entry| words::name(entry).to_owned());
    let may = |action| offers(&run, action);
    let operation = OperationView::of(&instance, operation, may(UiAction::Cancel));
    let (facts, facts_error) = match &entry {
        Ok(entry) => (Some(Facts::of(entry, Timestamp::now())), None),
        Err(error) => (None, Some(ErrorView::of(error))),
    };
    let is_at_rest = !operation.is_in_progress;
    let content = Content {
        name: name.unwrap_or_else(|| instance.to_string()),
        id: instance.to_string(),
        notice: notice(&query),
        may_upgrade: may(UiAction::Upgrade) && is_at_rest && facts.is_some(),
        may_delete: may(UiAction::Delete) && is_at_rest && facts.is_some(),
        facts,
        facts_error,
        operation,
    };
    page(&run, "instances", "instance.html", &content)
}

/// What an action has done, as the page shows it after the redirect.
fn notice(query: &Parameters) -> Option<&'static str> {
    Some(match query.get("notice")? {
        "upgrade" => "The upgrade has begun.",
        "up-to-date" => "The instance is up to date: nothing was done.",
        "cancel" => "The operation ends as soon as possible.",
        "cancel-later" => {
            "The operation ends after this step: the Director did not let the broker cancel its task."
        }
        "delete" => "The deletion has begun.",
        "deleted" => "The instance had no deployment: only residual resources were removed.",
        _ => return None,
    })
}

pub(super) async fn entry(run: &Run, instance: &InstanceId) -> Result<InventoryEntry, ApiError> {
    let instance = instance.clone();
    let entry = run.operator(RequestKind::Inventory, |operations, context| async move {
        operations.inventory_entry(context, instance).await
    });
    entry.await
}

pub(super) async fn latest(
    run: &Run,
    instance: &InstanceId,
) -> Result<Option<OperationStatus>, ApiError> {
    let instance = instance.clone();
    let status = run.operator(RequestKind::Other, |operations, context| async move {
        let call = context.call();
        Ok(operations.engine().operation(&call, &instance).await?)
    });
    status.await
}

impl Facts {
    fn of(entry: &InventoryEntry, now: Timestamp) -> Self {
        Self {
            plan: words::plan(entry),
            place: words::place(entry),
            up_to_date: words::up_to_date(entry),
            deployed: entry
                .deployed
                .as_ref()
                .map(|deployed| Moment::of(deployed.at, now)),
            deployment: match entry.deployment {
                DeploymentPresence::Present => Toned::new("present", Tone::Good),
                DeploymentPresence::Absent => Toned::new("absent", Tone::Bad),
            },
            owner: match entry.owner {
                Owner::ThisBroker => "this broker",
                Owner::AnotherBroker => "another broker",
                Owner::Unknown => "unknown",
            },
            purge: (entry.deployment == DeploymentPresence::Absent)
                .then(|| words::purge_command(entry))
                .flatten(),
        }
    }
}

impl OperationView {
    pub(super) fn of(
        instance: &InstanceId,
        status: Result<Option<OperationStatus>, ApiError>,
        is_cancel_offered: bool,
    ) -> Self {
        let (status, error) = match status {
            Ok(status) => (status, None),
            Err(error) => (None, Some(ErrorView::of(&error))),
        };
        let in_progress = |status: &OperationStatus| status.state == OperationState::InProgress;
        let is_in_progress = status.as_ref().is_some_and(in_progress);
        let is_cancelled = status.as_ref().is_some_and(|status| status.cancelled);
        Self {
            id: instance.to_string(),
            is_in_progress,
            may_cancel: is_cancel_offered && is_in_progress && !is_cancelled,
            operation: status.map(|status| Operation::of(status, Timestamp::now())),
            error,
        }
    }
}

impl Operation {
    fn of(status: OperationStatus, now: Timestamp) -> Self {
        let (word, tone) = words::state_of(status.state);
        let noun = status.kind.map_or("operation", OperationKind::noun);
        Self {
            kind: words::capitalized(noun),
            state: Toned::new(word, tone),
            is_cancelled: status.cancelled,
            began: status.began.map(|began| Moment::of(began, now)),
            request: status.request.map(|request| request.to_string()),
            description: status.description,
            stages: status.stages.into_iter().map(Stage::of).collect(),
        }
    }
}

impl Stage {
    fn of(stage: StageStatus) -> Self {
        let tone = match stage.state {
            StageState::Waiting => Tone::Plain,
            StageState::Running => Tone::Busy,
            StageState::Done => Tone::Good,
            StageState::Failed => Tone::Bad,
        };
        let steps = stage.steps.into_iter().map(|step| Step {
            stage: step.stage,
            done: step.done,
            total: step.total,
            current: step.current,
        });
        Self {
            name: words::capitalized(&stage.name.to_string()),
            state: Toned::new(stage.state.to_string(), tone),
            task: stage.task,
            steps: steps.collect(),
            error: stage.error,
        }
    }
}

#[derive(Serialize)]
struct ChangesContent {
    id: String,
    name: String,
    error: Option<ErrorView>,
    needs_deploy: bool,
    kinds: Vec<Kind>,
    risks: Vec<(&'static str, Vec<String>)>,
    may_upgrade: bool,
}

#[derive(Serialize)]
struct Kind {
    name: String,
    changes: Vec<Change>,
}

#[derive(Serialize)]
struct Change {
    path: String,
    sort: &'static str,
    from: Option<String>,
    to: Option<String>,
}

/// `GET /ui/instances/{instance}/changes`: a dry run of an upgrade.
pub(super) async fn changes(run: Run, path: Path<String>) -> Result<HttpResponse, PageError> {
    let instance = instance_id(path.into_inner())?;
    let entry = entry(&run, &instance).await?;
    let name = words::name(&entry).to_owned();
    let (needs_deploy, kinds, risks, error) = match dry_run(&run, entry).await {
        Ok(found) => (found.needs_deploy, kinds(&found), risks(found), None),
        Err(error) => (false, Vec::new(), Vec::new(), Some(ErrorView::of(&error))),
    };
    let content = ChangesContent {
        id: instance.to_string(),
        name,
        may_upgrade: offers(&run, UiAction::Upgrade) && error.is_none() && needs_deploy,
        error,
        needs_deploy,
        kinds,
        risks,
    };
    page(&run, "instances", "changes.html", &content)
}

async fn dry_run(run: &Run, entry: InventoryEntry) -> Result<DryRun, ApiError> {
    let (plan, body) = order_of_upgrade(&entry);
    let instance = entry.service_instance_id;
    let found = run.operator(RequestKind::DryRun, |operations, context| async move {
        operations.dry_run(context, instance, plan, body).await
    });
    found.await
}

/// Plan and body of an upgrade, as `odb` sends them.
pub(super) fn order_of_upgrade(entry: &InventoryEntry) -> (PlanId, RequestParameters) {
    let plan = entry.plan_id.clone().unwrap_or_else(PlanId::unknown);
    let space = entry.space_guid.as_deref().unwrap_or_default();
    let context = json!({ "space_guid": space });
    let fields = Map::from_iter([("context".to_owned(), context)]);
    (plan, RequestParameters::from_fields(fields))
}

fn kinds(found: &DryRun) -> Vec<Kind> {
    let kinds = found.changes.kinds().map(|(kind, changes)| Kind {
        name: words::capitalized(&kind.to_string()),
        changes: changes.iter().map(Change::of).collect(),
    });
    kinds.collect()
}

fn risks(found: DryRun) -> Vec<(&'static str, Vec<String>)> {
    let risks = [
        ("VMs are recreated in", found.risks.recreates_vms),
        ("Jobs are restarted in", found.risks.restarts_jobs),
        ("VMs are deleted in", found.risks.deletes_instances),
    ];
    let risks = risks.into_iter().filter(|(_, groups)| !groups.is_empty());
    risks.collect()
}

/// An empty text is not a hidden one.
fn shown(text: String) -> String {
    if text.is_empty() {
        "(empty)".to_owned()
    } else {
        text
    }
}

impl Change {
    fn of(change: &PlannedChange) -> Self {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self {
            path: change.path.clone(),
            sort: match change.change {
                ChangeSort::Added => "added",
                ChangeSort::Removed => "removed",
                ChangeSort::Changed => "changed",
            },
            from: change.from.as_ref().map(text).map(shown),
            to: change.to.as_ref().map(text).map(shown),
        }
    }
}
