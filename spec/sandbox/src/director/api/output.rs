//! `GET /tasks/ID/output`: what a task has written so far, whole or from some byte on.

use std::ops::RangeInclusive;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{CONTENT_RANGE, RANGE},
    },
    web::{Data, Path, Query},
};
use serde::Deserialize;

use super::{Refusal, answer, caller::Caller, tasks::task};
use crate::director::{Director, tasks::OutputType};

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
) -> Result<HttpResponse, Refusal> {
    let task = task(&director, &id)?;
    let kind = match options.kind.as_deref() {
        Some("event") => OutputType::Event,
        Some("result") => OutputType::Result,
        None | Some("debug" | "cpi") => {
            caller.may_change_task(&task)?;
            return Ok(answer::plain(
                director.inner.tasks.output(task.id, OutputType::Debug),
            ));
        }
        Some("none") => {
            caller.may_read_task(&task)?;
            return Ok(answer::no_content());
        }
        Some(other) => return Err(Refusal::UnknownOutputType(other.to_owned())),
    };
    caller.may_read_task(&task)?;
    let content = director.inner.tasks.output(task.id, kind);
    let header = request.headers().get(RANGE);
    let range = header
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    Ok(partial(content, range))
}

fn partial(content: Vec<u8>, range: &str) -> HttpResponse {
    let size = content.len();
    match part(range, size) {
        Part::Whole => answer::html_bytes(StatusCode::OK, content).finish(),
        Part::Bytes(bytes) => {
            let told = format!("bytes {}-{}/{size}", bytes.start(), bytes.end());
            answer::html_bytes(StatusCode::PARTIAL_CONTENT, content[bytes].to_vec())
                .header((CONTENT_RANGE, told))
                .finish()
        }
        Part::Nothing => answer::html_bytes(
            StatusCode::RANGE_NOT_SATISFIABLE,
            b"Byte range unsatisfiable".to_vec(),
        )
        .header((CONTENT_RANGE, format!("bytes */{size}")))
        .finish(),
    }
}

/// Reads `bytes=first-last`, `bytes=first-` and `bytes=-count`. Anything else asks for the whole.
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
