//! `GET /ui/audit`: the latest changes that this process was asked for.

use actix_web::HttpResponse;
use jiff::Timestamp;
use serde::Serialize;

use super::{
    answer::{PageError, page, the_page},
    words::{Moment, Tone, Toned},
};
use crate::api::{ChangeLine, Run};

#[derive(Serialize)]
struct Content {
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    at: Moment,
    operation: &'static str,
    result: Toned,
    status: Option<u16>,
    instance: String,
    binding: String,
    who: String,
    client: String,
    request: String,
}

pub(super) async fn show(run: Run) -> Result<HttpResponse, PageError> {
    let lines = the_page(&run)?.recent_changes().lines();
    let now = Timestamp::now();
    let lines = lines.into_iter().map(|line| Line::of(line, now)).collect();
    page(&run, "audit", "audit.html", &Content { lines })
}

impl Line {
    fn of(line: ChangeLine, now: Timestamp) -> Self {
        let tone = match line.result {
            "accepted" | "done" => Tone::Good,
            "refused" => Tone::Busy,
            _ => Tone::Bad,
        };
        let who = [line.platform, line.user];
        let who: Vec<String> = who.into_iter().filter(|name| !name.is_empty()).collect();
        Self {
            at: Moment::of(line.at, now),
            operation: line.operation,
            result: Toned::new(line.result, tone),
            status: line.status,
            instance: line.instance,
            binding: line.binding,
            who: who.join(" "),
            client: line.client,
            request: line.request.to_string(),
        }
    }
}
