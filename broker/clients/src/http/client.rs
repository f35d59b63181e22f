//! Sends requests.

use std::{fmt, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use hyper_util::client::proxy::matcher::Matcher;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout_at},
};
use tracing::{Instrument, debug, warn};
use url::{Host, Url};

use crate::service_error::is_of_gateway;

use super::{
    Attempt, AttemptOutcome, Break, Call, ClientError, Deadline, Departure, HandshakeError, Limits,
    Repeat, Request, Response, Service, TransportError, Trust,
    error::tls_error,
    observer::observer,
    trace::{self, TRACEPARENT, Traceparent},
};

/// Idle connections are closed before the server's own limit, so that few requests meet a closing connection.
const IDLE: Duration = Duration::from_secs(15);
const IDLE_CONNECTIONS: usize = 16;
/// Requests of one client that are under way at once, and with them its connections; more wait their turn. A connection
/// over TLS costs memory on both sides, and no server answers hundreds at once any sooner.
const CONNECTIONS: usize = 32;
/// How much of an error's body is read.
const ERROR_BODY: usize = 64 * 1024;

/// Sends requests under one [`Trust`] and one set of [`Limits`]. Cheap to clone; clones share
/// their connections.
#[derive(Clone)]
pub struct HttpClient {
    through_proxy: reqwest::Client,
    direct: reqwest::Client,
    turns: Arc<Semaphore>,
    limits: Arc<Limits>,
    service: Option<Service>,
    is_silent: bool,
}

impl HttpClient {
    /// Nothing is sent yet.
    pub fn new(trust: &Trust, limits: Limits) -> Result<Self, ClientError> {
        let build = |builder: reqwest::ClientBuilder| {
            builder
                .build()
                .map_err(|source| ClientError::Settings { source })
        };
        Ok(Self {
            through_proxy: build(settings(trust, &limits))?,
            direct: build(settings(trust, &limits).no_proxy())?,
            turns: Arc::new(Semaphore::new(CONNECTIONS)),
            limits: Arc::new(limits),
            service: None,
            is_silent: false,
        })
    }

    /// The same connections for calls to this service, under which the [observer](super::Observer) is notified of them.
    #[must_use]
    pub(crate) fn of(self, service: Service) -> Self {
        Self {
            service: Some(service),
            ..self
        }
    }

    /// The same without log lines, for a caller that reports failures itself.
    #[must_use]
    pub fn silent(self) -> Self {
        Self {
            is_silent: true,
            ..self
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sends a request with the allowed retries, and reads the complete answer.
    ///
    /// An answer of any status is an answer. The returned error is that of the last attempt that may have reached the
    /// server: an attempt that was never sent does not undo the effect of an earlier one.
    ///
    /// # Errors
    ///
    /// No attempt had a complete answer.
    pub async fn send(&self, call: &Call, request: &Request) -> Result<Response, TransportError> {
        let mut pauses = self.limits.pauses();
        let mut attempt = 1_usize;
        let mut sent = None;
        loop {
            let started = Instant::now();
            let outcome = self.attempt(call, request, attempt).await;
            let taken = started.elapsed();
            let pause = pauses.next().filter(|pause| {
                may_repeat(request.repeat, &outcome) && *pause < call.deadline.remaining()
            });
            if !self.is_silent {
                report(request, &outcome, taken, attempt, pause);
            }
            if let (Some(service), Some(observer)) = (self.service, observer()) {
                observer.observe(&Attempt {
                    service,
                    outcome: outcome.as_ref().map_or(AttemptOutcome::Failed, |answer| {
                        AttemptOutcome::Answered(answer.status)
                    }),
                    taken,
                    is_repeated: pause.is_some(),
                });
            }
            let Some(pause) = pause else {
                return of_all(sent, outcome);
            };
            if may_have_been_sent(&outcome) {
                sent = Some(outcome);
            }
            sleep(pause).await;
            attempt += 1;
        }
    }

    async fn attempt(
        &self,
        call: &Call,
        request: &Request,
        attempt: usize,
    ) -> Result<Response, TransportError> {
        if call.deadline.has_passed() {
            return Err(TransportError::OutOfTime { sent: false });
        }
        let Ok(Ok(_turn)) = timeout_at(call.deadline.instant(), self.turns.acquire()).await else {
            return Err(TransportError::OutOfTime { sent: false });
        };
        let end = call.deadline.within(self.limits.attempt);
        // Boxed: every request and every reconciler that waits for anything else has room for this future in its own.
        let exchange = Box::pin(self.traced_exchange(request, attempt, end));
        match exchange.await {
            Some(outcome) => outcome,
            None if call.deadline.has_passed() => Err(TransportError::OutOfTime { sent: true }),
            None => Err(TransportError::TooSlow {
                limit_ms: self.limits.attempt.as_millis(),
            }),
        }
    }

    /// `None` after `end`. A call of a service has a span, and is part of its trace.
    async fn traced_exchange(
        &self,
        request: &Request,
        attempt: usize,
        end: Deadline,
    ) -> Option<Result<Response, TransportError>> {
        let Some(service) = self.service else {
            return timeout_at(end.instant(), self.exchange(request, None))
                .await
                .ok();
        };
        let span = trace::of_attempt(service, request, attempt);
        let exchange = self.exchange(request, trace::traceparent(&span));
        let outcome = timeout_at(end.instant(), exchange)
            .instrument(span.clone())
            .await
            .ok();
        trace::note_outcome(&span, outcome.as_ref());
        outcome
    }

    async fn exchange(
        &self,
        request: &Request,
        parent: Option<Traceparent>,
    ) -> Result<Response, TransportError> {
        if let (Some(service), Some(observer)) = (self.service, observer()) {
            observer.depart(&Departure {
                service,
                method: &request.method,
                url: &request.url,
            });
        }
        let mut headers = request.headers.clone();
        if let Some(parent) = parent {
            headers.insert(TRACEPARENT, parent.header());
        }
        let mut response = self
            .client_for(&request.url)
            .request(request.method.clone(), request.url.clone())
            .headers(headers)
            .body(request.body.clone())
            .send()
            .await
            .map_err(failed)?;
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let body = if status.is_client_error() || status.is_server_error() {
            read_start(response, ERROR_BODY.min(self.limits.answer)).await?
        } else {
            read_all(response, self.limits.answer).await?
        };
        Ok(Response {
            status,
            headers,
            body,
        })
    }

    /// Loopback addresses never use a proxy, whatever the environment has.
    fn client_for(&self, url: &Url) -> &reqwest::Client {
        if is_loopback(url) {
            &self.direct
        } else {
            &self.through_proxy
        }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The proxy for a request to this address, if there is one: host and port, without credentials.
pub fn proxy_for(url: &Url) -> Option<String> {
    if is_loopback(url) {
        return None;
    }
    let address = url.as_str().parse().ok()?;
    let proxy = Matcher::from_system().intercept(&address)?;
    let authority = proxy.uri().authority()?;
    Some(match authority.port() {
        Some(port) => format!("{}:{port}", authority.host()),
        None => authority.host().to_owned(),
    })
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn settings(trust: &Trust, limits: &Limits) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(trust.client_config())
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        // One connection for each request in flight: a hanging connection blocks no other request.
        .http1_only()
        .user_agent(concat!("on-demand-broker/", env!("CARGO_PKG_VERSION")))
}

async fn read_all(mut response: reqwest::Response, limit: usize) -> Result<Bytes, TransportError> {
    // A buffer that grows is copied, and for a while there are two of it.
    let announced = response.content_length().unwrap_or_default();
    let mut body = BytesMut::with_capacity(limit.min(usize::try_from(announced).unwrap_or(limit)));
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > limit {
            return Err(TransportError::TooLong { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

async fn read_start(
    mut response: reqwest::Response,
    limit: usize,
) -> Result<Bytes, TransportError> {
    let mut body = BytesMut::new();
    while body.len() < limit
        && let Some(chunk) = response.chunk().await.map_err(failed)?
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(limit);
    Ok(body.freeze())
}

fn failed(error: reqwest::Error) -> TransportError {
    let connecting = error.is_connect();
    let handshake = tls_error(&error).filter(|_| connecting).cloned();
    // The enclosing error has the address.
    let source = Arc::new(error.without_url());
    if let Some(said) = handshake {
        TransportError::Handshake {
            source: HandshakeError(Arc::new(said)),
        }
    } else if connecting {
        TransportError::NotConnected { source }
    } else {
        TransportError::Broken {
            source: Break(source),
        }
    }
}

fn may_have_been_sent(outcome: &Result<Response, TransportError>) -> bool {
    outcome
        .as_ref()
        .err()
        .is_none_or(TransportError::may_have_been_sent)
}

/// The error of all attempts: that of the last attempt, and of the latest earlier one that may have been sent.
fn of_all(
    sent: Option<Result<Response, TransportError>>,
    last: Result<Response, TransportError>,
) -> Result<Response, TransportError> {
    match (sent, last) {
        (Some(_), Err(TransportError::OutOfTime { .. })) => {
            Err(TransportError::OutOfTime { sent: true })
        }
        (Some(sent), last) if !may_have_been_sent(&last) => sent,
        (_, last) => last,
    }
}

fn may_repeat(repeat: Repeat, outcome: &Result<Response, TransportError>) -> bool {
    match (repeat, outcome) {
        (Repeat::WhenTransient, Ok(answer)) => is_of_gateway(answer.status),
        (Repeat::WhenTransient, Err(error)) => error.is_transient(),
        (Repeat::WhileUnsent, Ok(_)) => false,
        (Repeat::WhileUnsent, Err(error)) => matches!(error, TransportError::NotConnected { .. }),
    }
}

fn report(
    request: &Request,
    outcome: &Result<Response, TransportError>,
    taken: Duration,
    attempt: usize,
    pause: Option<Duration>,
) {
    let method = request.method.as_str();
    let path = request.url.path();
    let host = request.url.host_str();
    let status = outcome.as_ref().ok().map(|answer| answer.status.as_u16());
    let error = outcome.as_ref().err().map(tracing::field::display);
    let duration_ms = u64::try_from(taken.as_millis()).unwrap_or(u64::MAX);
    if let Some(pause) = pause {
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        warn!(
            method,
            host,
            path,
            status,
            error,
            duration_ms,
            attempt,
            pause_ms,
            "call to the platform is tried again"
        );
    } else if error.is_some() {
        warn!(
            method,
            host, path, error, duration_ms, attempt, "call to the platform has failed"
        );
    } else {
        debug!(
            method,
            host, path, status, error, duration_ms, attempt, "call to the platform"
        );
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

    fn answer(status: StatusCode) -> Response {
        Response {
            status,
            headers: reqwest::header::HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    fn too_slow() -> TransportError {
        TransportError::TooSlow { limit_ms: 1 }
    }

    async fn not_connected() -> TransportError {
        let client = HttpClient::new(&Trust::unverified().unwrap(), Limits::default()).unwrap();
        // No server listens there.
        let url = Url::parse("http://127.0.0.1:1").unwrap();
        let call = Call::within(Duration::from_secs(10));
        client
            .attempt(&call, &Request::get(url), 1)
            .await
            .err()
            .unwrap()
    }

    #[tokio::test]
    async fn an_attempt_that_may_have_arrived_is_not_forgotten_over_one_that_was_not_sent() {
        let last = not_connected().await;
        assert!(!last.may_have_been_sent(), "{last:?}");

        let reported = of_all(Some(Err(too_slow())), Err(last.clone()))
            .err()
            .unwrap();
        assert!(reported.may_have_been_sent(), "{reported:?}");
        let reported = of_all(Some(Ok(answer(StatusCode::BAD_GATEWAY))), Err(last.clone()));
        assert_eq!(reported.unwrap().status, StatusCode::BAD_GATEWAY);
        let over = || Err(TransportError::OutOfTime { sent: false });
        for (sent, reached) in [(None, false), (Some(Err(too_slow())), true)] {
            let reported = of_all(sent, over()).err().unwrap();
            assert!(matches!(reported, TransportError::OutOfTime { sent } if sent == reached));
        }
        let reported = of_all(None, Err(last)).err().unwrap();
        assert!(!reported.may_have_been_sent(), "{reported:?}");
    }

    /// A server that holds every request until `CONNECTIONS` are there, or all that will come. Gives the most that were
    /// there at once.
    async fn most_at_once(listener: tokio::net::TcpListener, all: usize) -> usize {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};

        let (arrived, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
        let accepting = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let arrived = arrived.clone();
                tokio::spawn(async move {
                    let mut head = [0; 4096];
                    while stream.read(&mut head).await.is_ok_and(|read| read > 0) {
                        let (answer, answered) = tokio::sync::oneshot::channel::<()>();
                        arrived.send(answer).unwrap();
                        answered.await.unwrap();
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                        stream.write_all(answer).await.unwrap();
                    }
                });
            }
        });
        let (mut held, mut seen, mut most) = (Vec::new(), 0, 0);
        while seen < all {
            held.push(arrivals.recv().await.unwrap());
            seen += 1;
            // Requests that arrived together share this one.
            while let Ok(answer) = arrivals.try_recv() {
                held.push(answer);
                seen += 1;
            }
            most = most.max(held.len());
            if held.len() >= CONNECTIONS {
                held.remove(0).send(()).unwrap();
            }
        }
        for answer in held {
            answer.send(()).unwrap();
        }
        accepting.abort();
        most
    }

    #[tokio::test]
    async fn so_many_requests_are_under_way_at_once_and_the_others_follow() {
        let all = 3 * CONNECTIONS;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let url = Url::parse(&url).unwrap();
        let server = tokio::spawn(most_at_once(listener, all));
        let client = HttpClient::new(&Trust::unverified().unwrap(), Limits::default()).unwrap();

        let sent = (0..all).map(|_| {
            // A clone shares its connections.
            let (client, request) = (client.clone(), Request::get(url.clone()));
            async move {
                client
                    .send(&Call::within(Duration::from_mins(1)), &request)
                    .await
            }
        });
        for answer in futures_util::future::join_all(sent).await {
            assert_eq!(answer.unwrap().status, StatusCode::OK);
        }

        assert_eq!(server.await.unwrap(), CONNECTIONS);
    }

    #[tokio::test]
    async fn a_request_whose_turn_does_not_come_in_time_was_not_sent() {
        let client = HttpClient::new(&Trust::unverified().unwrap(), Limits::default()).unwrap();
        let turns = u32::try_from(CONNECTIONS).unwrap();
        let _all = client.turns.acquire_many(turns).await.unwrap();
        // No server listens there.
        let request = Request::get(Url::parse("http://127.0.0.1:1").unwrap());

        let outcome = client
            .send(&Call::within(Duration::from_millis(1)), &request)
            .await;

        assert!(
            matches!(outcome, Err(TransportError::OutOfTime { sent: false })),
            "{outcome:?}"
        );
    }

    #[tokio::test]
    async fn a_request_under_way_is_small_in_the_futures_that_await_it() {
        let client = HttpClient::new(&Trust::unverified().unwrap(), Limits::default()).unwrap();
        let (call, request) = (
            Call::within(Duration::from_secs(1)),
            Request::get(Url::parse("http://127.0.0.1:1").unwrap()),
        );
        let size = size_of_val(&client.send(&call, &request));
        assert!(size < 1536, "{size} bytes");
    }

    #[test]
    fn an_answer_in_the_end_is_what_counts() {
        let reported = of_all(Some(Err(too_slow())), Ok(answer(StatusCode::OK)));
        assert_eq!(reported.unwrap().status, StatusCode::OK);
    }
}
