//! Tasks: list, show, cancel one or several.

use actix_web::{
    HttpResponse,
    web::{Bytes, Data, Path, Query},
};
use serde::Deserialize;

use super::{Rejection, answer, caller::Caller};
use crate::director::{
    Director,
    ids::TaskId,
    tasks::{CancelSelector, Kinds, Task, TaskFilter, TaskState},
};

/// Which tasks are asked for. Of the main kinds alone, unless `verbose` is something else than 1.
#[derive(Deserialize)]
pub(super) struct ListOptions {
    deployment: Option<String>,
    state: Option<String>,
    context_id: Option<String>,
    verbose: Option<String>,
    limit: Option<String>,
}

/// Tasks that the caller may see, the newest first.
pub(super) async fn list(
    director: Data<Director>,
    caller: Caller,
    options: Query<ListOptions>,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let options = options.into_inner();
    let states = options.state.unwrap_or_default();
    // As in Ruby, text that is no number counts as 0, and less than one task is never asked for.
    let limit = options.limit.map(|limit| limit.parse().unwrap_or(0).max(1));
    let tasks = director.inner.tasks.list(&TaskFilter {
        states: states
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        deployment: options.deployment,
        context_id: options.context_id,
        kinds: match options.verbose.as_deref() {
            None | Some("1") => Kinds::Main,
            Some(_) => Kinds::All,
        },
        teams: (!caller.reads_all()).then(|| caller.teams_seen()),
        limit,
    });
    let shown: Vec<_> = tasks.iter().map(Task::view).collect();
    Ok(answer::json(&shown))
}

pub(super) async fn show(
    director: Data<Director>,
    caller: Caller,
    id: Path<String>,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let task = task(&director, &id)?;
    caller.may_look_up_task(&task)?;
    Ok(answer::json(&task.view()))
}

/// Asks a task to end. A team may not, even where the task is its own.
pub(super) async fn cancel(
    director: Data<Director>,
    caller: Caller,
    id: Path<String>,
) -> Result<HttpResponse, Rejection> {
    caller.may_administer()?;
    let task = task(&director, &id)?;
    director.inner.tasks.cancel(task.id)?;
    Ok(answer::no_content())
}

/// Asks all tasks to end that a selector names, likewise.
pub(super) async fn cancel_all(
    director: Data<Director>,
    caller: Caller,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    caller.may_administer()?;
    let selector: CancelSelector =
        serde_json::from_slice(&body).map_err(|_| Rejection::Unreadable)?;
    let mut states = selector.states.iter().flatten();
    let stubborn =
        states.find(|name| !TaskState::of_name(name).is_some_and(TaskState::can_be_cancelled));
    if let Some(state) = stubborn {
        return Err(Rejection::NotCancellable(state.clone()));
    }
    director.inner.tasks.cancel_all(&selector);
    Ok(answer::no_content())
}

/// The task in a path. The Director passes the id to its database, which accepts only integers and raises an exception
/// for other text (cloudfoundry/bosh, `api/task_manager.rb`, `find_task`).
pub(super) fn task(director: &Director, id: &str) -> Result<Task, Rejection> {
    if id.parse::<i64>().is_err() {
        return Err(Rejection::Unreadable);
    }
    TaskId::parse(id)
        .and_then(|id| director.inner.tasks.find(id))
        .ok_or_else(|| Rejection::NoSuchTask(id.to_owned()))
}
