//! `GET /ui/instances/{instance}/events`: the operation in progress as server-sent events, each with the part of the
//! page that it replaces. The stream ends with the operation, and when the broker stops.

use std::{fmt::Write, rc::Rc, time::Duration};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Bytes, Path},
};
use futures_util::{Stream, stream};
use odb_api_types::{code::Code, ids::InstanceId, management::OperationStatus};
use odb_clients::http::Call;
use odb_config::UiAction;
use odb_core::operations::Operations;
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    answer::{PageError, offers, part, the_page},
    instance::OperationView,
};
use crate::api::{Activity, ApiError, InFlight, Run, instance_id};

/// How often the operation is looked at. A reconciler's snapshot is in memory.
const LOOK: Duration = Duration::from_secs(1);

/// A comment after this long without an event: routers keep the connection, and a browser that has left is noticed.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// A stream ends after this long. The browser connects again.
const LONGEST: Duration = Duration::from_mins(30);

const LOOK_LIMIT: Duration = Duration::from_secs(20);

const WAITING: usize = 2;

pub(super) async fn events(
    request: HttpRequest,
    run: Run,
    path: Path<String>,
) -> Result<HttpResponse, PageError> {
    let instance = instance_id(path.into_inner())?;
    let Ok(permit) = the_page(&run)?.streams().clone().try_acquire_owned() else {
        return Err(ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::Busy,
            "Too many pages follow operations already: reload this one instead.",
        )
        .into());
    };
    let (events, sent) = mpsc::channel(WAITING);
    let follower = Follower {
        operations: run.app.operations.clone(),
        instance,
        is_cancel_offered: offers(&run, UiAction::Cancel),
        events,
        _permit: permit,
    };
    let stopping = run.app.lifecycle.stopping();
    // A stop of the broker does not wait for the operation.
    run.app.lifecycle.go_on(async move {
        stopping.run_until_cancelled(follower.follow()).await;
    });
    // The connection is busy for as long as the stream is open.
    let in_flight = request.conn_data::<Rc<Activity>>().map(Activity::begin);
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(body(sent, in_flight)))
}

fn body(
    sent: mpsc::Receiver<Bytes>,
    in_flight: Option<InFlight>,
) -> impl Stream<Item = Result<Bytes, PageError>> {
    stream::unfold((sent, in_flight), async |(mut sent, in_flight)| {
        let bytes = sent.recv().await?;
        Some((Ok(bytes), (sent, in_flight)))
    })
}

struct Follower {
    operations: Operations,
    instance: InstanceId,
    is_cancel_offered: bool,
    events: mpsc::Sender<Bytes>,
    _permit: OwnedSemaphorePermit,
}

/// The reader has disconnected.
struct Gone;

impl Follower {
    /// Sends each change until the operation ends, or the browser disconnects.
    async fn follow(self) {
        let end = Instant::now() + LONGEST;
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut shown = None;
        let mut last_sent = Instant::now();
        while Instant::now() < end {
            let look = async {
                looks.tick().await;
                self.latest().await
            };
            let latest = tokio::select! {
                latest = look => latest,
                () = self.events.closed() => return,
            };
            // An upstream that fails does not end the stream.
            let news = latest.filter(|latest| shown.as_ref() != Some(latest));
            let Some(latest) = news else {
                if last_sent.elapsed() >= HEARTBEAT {
                    if self.send(":\n\n".to_owned()).await.is_err() {
                        return;
                    }
                    last_sent = Instant::now();
                }
                continue;
            };
            let view =
                OperationView::of(&self.instance, Ok(latest.clone()), self.is_cancel_offered);
            let Ok(html) = part("operation.html", &view) else {
                return;
            };
            let is_over = !view.is_in_progress;
            let name = if is_over { "end" } else { "operation" };
            if self.send(event(name, &html)).await.is_err() || is_over {
                return;
            }
            shown = Some(latest);
            last_sent = Instant::now();
        }
    }

    /// `None` if it is unknown for now.
    async fn latest(&self) -> Option<Option<OperationStatus>> {
        let call = Call::within(LOOK_LIMIT);
        let latest = self.operations.engine().operation(&call, &self.instance);
        latest.await.ok()
    }

    async fn send(&self, text: String) -> Result<(), Gone> {
        self.events.send(text.into()).await.map_err(|_| Gone)
    }
}

fn event(name: &str, html: &str) -> String {
    let mut text = format!("event: {name}\n");
    for line in html.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "data: {line}");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::event;

    #[test]
    fn every_line_of_an_event_has_its_name() {
        let text = event("end", "<p>\r\n\n  a</p>");
        assert_eq!(text, "event: end\ndata: <p>\ndata: a</p>\n\n");
    }
}
