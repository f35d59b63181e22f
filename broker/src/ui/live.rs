//! `GET /ui/instances/{instance}/events`: the operation in progress as server-sent events, each with the part of the
//! page that it replaces. The stream ends with the operation, and when the broker stops.

use std::{
    collections::HashMap,
    convert::Infallible,
    fmt::Write,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Bytes, Path},
};
use futures_util::{Stream, stream};
use jiff::SignedDuration;
use odb_api_types::{code::Code, ids::InstanceId, management::OperationStatus};
use odb_clients::http::Call;
use odb_config::UiAction;
use odb_core::operations::Operations;
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::{Instant, MissedTickBehavior, interval, interval_at, sleep_until},
};

use super::{
    answer::{PageError, offers, part, the_page},
    instance::OperationView,
    latest::Latest,
};
use crate::api::{Activity, ApiError, InFlight, Run, instance_id};

/// How often a stream looks for news.
const PACE: Duration = Duration::from_secs(1);

/// How old a state may be that this process carries out: it is in memory.
const OLDEST_IN_MEMORY: SignedDuration = SignedDuration::from_millis(500);

/// How old another state may be. Without a record, it takes several requests to the Director.
const OLDEST: SignedDuration = SignedDuration::from_secs(5);

/// After this many reads that failed in a row, the reader learns that the state may be old.
const FAILURES: usize = 3;

/// A comment at this pace: routers keep the connection, and a browser that has disconnected is noticed.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// A stream ends after this long. The browser connects again.
const LONGEST: Duration = Duration::from_mins(30);

const READ_LIMIT: Duration = Duration::from_secs(20);

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
        is_cancel_offered: offers(&run, UiAction::Cancel),
        events,
        latest: the_page(&run)?.followed().of(&instance),
        instance,
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

/// The state of each operation that is followed. The streams of one instance share it.
#[derive(Debug, Default)]
pub(super) struct Followed(Mutex<HashMap<InstanceId, Weak<Latest<State>>>>);

#[derive(Debug, PartialEq)]
enum State {
    Known(Option<OperationStatus>),
    /// An upstream has failed.
    Unknown,
}

impl State {
    /// The Director's tasks decide about an operation without a record.
    fn oldest(&self) -> SignedDuration {
        match self {
            Self::Known(Some(status)) if status.kind.is_some() => OLDEST_IN_MEMORY,
            Self::Known(_) | Self::Unknown => OLDEST,
        }
    }
}

impl Followed {
    fn of(&self, instance: &InstanceId) -> Arc<Latest<State>> {
        let mut followed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        followed.retain(|_, latest| latest.strong_count() > 0);
        if let Some(latest) = followed.get(instance).and_then(Weak::upgrade) {
            return latest;
        }
        let latest = Arc::default();
        followed.insert(instance.clone(), Arc::downgrade(&latest));
        latest
    }
}

struct Follower {
    operations: Operations,
    instance: InstanceId,
    is_cancel_offered: bool,
    events: mpsc::Sender<Bytes>,
    latest: Arc<Latest<State>>,
    _permit: OwnedSemaphorePermit,
}

/// The reader has disconnected.
struct Disconnected;

impl Follower {
    /// Sends each change until the operation ends, or the browser disconnects.
    async fn follow(self) {
        let start = Instant::now();
        let mut heartbeats = interval_at(start + HEARTBEAT, HEARTBEAT);
        let changes = self.send_changes();
        tokio::pin!(changes);
        loop {
            tokio::select! {
                _ = &mut changes => return,
                () = self.events.closed() => return,
                () = sleep_until(start + LONGEST) => return,
                _ = heartbeats.tick() => {
                    // With events that wait to be read, it is not needed.
                    let _ = self.events.try_send(Bytes::from_static(b":\n\n"));
                }
            }
        }
    }

    async fn send_changes(&self) -> Result<(), Disconnected> {
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut shown: Option<Arc<State>> = None;
        let mut oldest = OLDEST;
        let mut failures = 0;
        loop {
            pace.tick().await;
            let Ok(latest) = self.latest.get(oldest, self.read()).await;
            let state = latest.value;
            oldest = state.oldest();
            let State::Known(status) = &*state else {
                failures += 1;
                if failures == FAILURES {
                    self.send(event("unknown", "unknown")).await?;
                    // The next state is news, even if it is the same.
                    shown = None;
                }
                continue;
            };
            failures = 0;
            if shown.as_ref() == Some(&state) {
                continue;
            }
            let status = Ok(status.clone());
            let view = OperationView::of(&self.instance, status, self.is_cancel_offered);
            let Ok(html) = part("operation.html", &view) else {
                return Ok(());
            };
            if !view.is_in_progress {
                return self.send(event("end", &html)).await;
            }
            self.send(event("operation", &html)).await?;
            shown = Some(state);
        }
    }

    async fn read(&self) -> Result<State, Infallible> {
        let call = Call::within(READ_LIMIT);
        let status = self.operations.engine().operation(&call, &self.instance);
        Ok(status.await.map_or(State::Unknown, State::Known))
    }

    async fn send(&self, text: String) -> Result<(), Disconnected> {
        let sent = self.events.send(text.into()).await;
        sent.map_err(|_| Disconnected)
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
