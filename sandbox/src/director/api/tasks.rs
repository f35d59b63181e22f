//! Tasks: list, show, cancel one or several.
//!
//! `GET /tasks/ID/output`: what a task has written so far, complete or from some byte on.

use std::ops::RangeInclusive;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{CONTENT_RANGE, RANGE},
    },
    web::{Bytes, Data, Path, Query},
};
use jiff::Timestamp;
use serde::Deserialize;

use super::{Rejection, answer, caller::Caller};
use crate::director::{
    Director,
    ids::TaskId,
    tasks::{CancelSelector, Kinds, OutputType, Task, TaskFilter, TaskState},
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

#[derive(Deserialize)]
pub(super) struct OutputOptions {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// The part of an output that a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Bytes(RangeInclusive<usize>),
    Nothing,
}

/// An output of a task. Logs are for who may change the task.
pub(super) async fn output(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    id: Path<String>,
    options: Query<OutputOptions>,
) -> Result<HttpResponse, Rejection> {
    let task = task(&director, &id)?;
    let kind = match options.kind.as_deref() {
        Some("event") => OutputType::Event,
        Some("result") => OutputType::Result,
        Some("cpi") => OutputType::Cpi,
        None | Some("debug") => OutputType::Debug,
        Some("none") => {
            caller.may_read_task(&task)?;
            return Ok(answer::no_content());
        }
        Some(other) => return Err(Rejection::UnknownOutputType(other.to_owned())),
    };
    if kind.is_log() {
        caller.may_change_task(&task)?;
    } else {
        caller.may_read_task(&task)?;
    }
    let content = director.inner.tasks.output(task.id, kind);
    if kind.is_log() && content.is_empty() {
        return Ok(answer::no_content());
    }
    let range = request.headers().get(RANGE);
    let range = range.and_then(|value| value.to_str().ok());
    Ok(partial(&task, kind, content, range.unwrap_or_default()))
}

fn partial(task: &Task, kind: OutputType, content: Vec<u8>, range: &str) -> HttpResponse {
    let answer = |status, body| match kind {
        OutputType::Event | OutputType::Result => answer::html_bytes(status, body),
        OutputType::Debug | OutputType::Cpi => answer::log(status, body, written_at(task)),
    };
    let size = content.len();
    match part(range, size) {
        Part::Whole => answer(StatusCode::OK, content).finish(),
        Part::Bytes(bytes) => {
            let reported = format!("bytes {}-{}/{size}", bytes.start(), bytes.end());
            answer(StatusCode::PARTIAL_CONTENT, content[bytes].to_vec())
                .header((CONTENT_RANGE, reported))
                .finish()
        }
        Part::Nothing => {
            let text = b"Byte range unsatisfiable".to_vec();
            answer(StatusCode::RANGE_NOT_SATISFIABLE, text)
                .header((CONTENT_RANGE, format!("bytes */{size}")))
                .finish()
        }
    }
}

/// A log is written to until its task ends.
fn written_at(task: &Task) -> Timestamp {
    if task.state.is_final() {
        task.timestamp
    } else {
        Timestamp::now()
    }
}

/// Parses `bytes=first-last`, `bytes=first-` and `bytes=-count`. Any other text requests the complete output.
fn part(range: &str, size: usize) -> Part {
    let Some((first, last)) = range
        .strip_prefix("bytes=")
        .and_then(|range| range.split_once('-'))
    else {
        return Part::Whole;
    };
    let bounds = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) if first <= last => (first, last),
        (Ok(first), Err(_)) if last.is_empty() => (first, usize::MAX),
        (Err(_), Ok(count)) if first.is_empty() && count > 0 => {
            (size.saturating_sub(count), usize::MAX)
        }
        _ => return Part::Whole,
    };
    if bounds.0 >= size {
        Part::Nothing
    } else {
        Part::Bytes(bounds.0..=bounds.1.min(size - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_to_what_there_is() {
        assert_eq!(part("", 10), Part::Whole);
        assert_eq!(part("bytes=0-99", 3562), Part::Bytes(0..=99));
        assert_eq!(part("bytes=5-", 10), Part::Bytes(5..=9));
        assert_eq!(part("bytes=-3", 10), Part::Bytes(7..=9));
        assert_eq!(part("bytes=10-", 10), Part::Nothing);
        assert_eq!(part("bytes=7-3", 10), Part::Whole);
        assert_eq!(part("lines=1-3", 10), Part::Whole);
    }
}
