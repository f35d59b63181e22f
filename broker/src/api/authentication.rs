//! Basic authentication, on every path but one. Answers to failed authentication are delayed, longer each time; a request
//! with the right password is never delayed.

use std::{
    collections::HashMap,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use actix_web::{
    Error, HttpMessage, HttpResponse,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        StatusCode,
        header::{self, HeaderMap, HeaderValue},
    },
    middleware::Next,
    web::Data,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use odb_api_types::code::Code;
use odb_core::metrics;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::{
    AppState,
    connection::{Activity, Client},
    endpoints,
    error::ApiError,
    unauthenticated::{Summarized, UnauthenticatedLog},
};
use crate::ui::{self, Page};

pub(super) async fn authenticate(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    if request.path() == endpoints::HEALTH || is_admitted(&request) {
        return next
            .call(request)
            .await
            .map(ServiceResponse::map_into_boxed_body);
    }
    // The body of an unauthenticated request is neither read nor kept during the delay.
    let (request, body) = request.into_parts();
    drop(body);
    let activity = request.conn_data::<Rc<Activity>>();
    if let Some(activity) = activity {
        activity.leave_unread(request.head());
    }
    let app = request.app_data::<Data<AppState>>();
    let is_of_page = app.is_some_and(|app| app.page_at(request.path()).is_some());
    let is_attempt = !(is_of_page && ui::awaits_challenge(request.headers()));
    if is_attempt {
        metrics().failed_authentication();
    }
    UnauthenticatedLog::note(&request);
    let is_summarized = request
        .extensions()
        .get::<Summarized>()
        .is_some_and(Summarized::is_set);
    let error = ApiError::new(
        StatusCode::UNAUTHORIZED,
        Code::Unauthorized,
        if is_of_page {
            "Not authorized: give the user name and password of the page."
        } else {
            "Not authorized: give the broker's user name and password."
        },
    );
    let mut response: HttpResponse = error.answer_unless(is_summarized);
    if is_of_page {
        // Browsers remember one login for each realm.
        let challenge = HeaderValue::from_static("Basic realm=\"on-demand-broker page\"");
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    let throttle = request.app_data::<Data<AuthenticationThrottle>>();
    if let Some(throttle) = throttle.filter(|_| is_attempt) {
        let client = request.peer_addr().map(Client::at);
        match throttle.refuse(client, Instant::now()) {
            Delay::Now => {}
            Delay::After(delay, turn) => {
                tokio::time::sleep(delay).await;
                drop(turn);
            }
            Delay::HangUp => {
                if let Some(activity) = activity {
                    activity.end();
                }
            }
        }
    }
    Ok(ServiceResponse::new(request, response))
}

pub(super) fn is_admitted(request: &ServiceRequest) -> bool {
    let Some(app) = request.app_data::<Data<AppState>>() else {
        return false;
    };
    let page = app.page_at(request.path());
    let credentials = page.map_or(&app.broker.credentials, Page::credentials);
    given(request.headers())
        .is_some_and(|(username, password)| credentials.admit(&username, &password))
}

/// Name and password of a request.
fn given(headers: &HeaderMap) -> Option<(Vec<u8>, Vec<u8>)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (_, encoded) = value
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))?;
    let mut username = BASE64_STANDARD.decode(encoded.trim()).ok()?;
    let colon = username.iter().position(|byte| *byte == b':')?;
    let password = username.split_off(colon + 1);
    username.pop();
    Some((username, password))
}

/// The name that a request gives. It is verified only after authentication.
pub(crate) fn basic_username(headers: &HeaderMap) -> Option<String> {
    let (username, _) = given(headers)?;
    Some(String::from_utf8_lossy(&username).into_owned())
}

/// Failures that are answered at once: a typing error.
const FREE: u32 = 3;
const FIRST_DELAY: Duration = Duration::from_millis(250);
/// A client without failures for this long starts anew.
const FORGOTTEN: Duration = Duration::from_mins(10);
/// Clients that are counted one by one. All others share one count.
const CLIENTS: usize = 4096;
const WAITING: usize = 64;

#[derive(Debug)]
pub(super) struct AuthenticationThrottle {
    longest: Duration,
    known: Mutex<HashMap<Option<Client>, Failures>>,
    turns: Arc<Semaphore>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

#[derive(Debug)]
enum Delay {
    Now,
    After(Duration, OwnedSemaphorePermit),
    /// At once, because too many answers are delayed already. The connection is closed, so that the next attempt costs
    /// a new one.
    HangUp,
}

impl AuthenticationThrottle {
    /// No answer is delayed longer than `longest`. Zero means no delay at all.
    pub(super) fn new(longest: Duration) -> Self {
        Self {
            longest,
            known: Mutex::default(),
            turns: Arc::new(Semaphore::new(WAITING)),
        }
    }

    /// Notes that a client has failed once more.
    fn refuse(&self, client: Option<Client>, now: Instant) -> Delay {
        if self.longest.is_zero() {
            return Delay::Now;
        }
        let count = self.count(client, now);
        let Some(step) = count.checked_sub(FREE + 1) else {
            return Delay::Now;
        };
        let delay = FIRST_DELAY
            .saturating_mul(2_u32.saturating_pow(step))
            .min(self.longest);
        match self.turns.clone().try_acquire_owned() {
            Ok(turn) => Delay::After(delay, turn),
            Err(_) => Delay::HangUp,
        }
    }

    fn count(&self, client: Option<Client>, now: Instant) -> u32 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |failures: &Failures| now.duration_since(failures.last) < FORGOTTEN;
        let mut client = client;
        if known.len() >= CLIENTS && !known.contains_key(&client) {
            known.retain(|_, failures| is_fresh(failures));
            if known.len() >= CLIENTS {
                client = None;
            }
        }
        let failures = known.entry(client).or_insert(Failures {
            count: 0,
            last: now,
        });
        if !is_fresh(failures) {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        failures.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(5);

    fn client(number: u32) -> Client {
        Client::at((number.to_be_bytes(), 5).into())
    }

    fn delay(delay: &Delay) -> Duration {
        match delay {
            Delay::Now => Duration::ZERO,
            Delay::After(delay, _) => *delay,
            Delay::HangUp => panic!("no other client waits"),
        }
    }

    #[tokio::test]
    async fn a_client_waits_longer_each_time_and_others_do_not() {
        let (throttle, now) = (AuthenticationThrottle::new(LONGEST), Instant::now());
        let delays = [0, 0, 0, 250, 500, 1000, 2000, 4000, 5000, 5000];
        for expected in delays {
            let reported = delay(&throttle.refuse(Some(client(1)), now));
            assert_eq!(reported, Duration::from_millis(expected));
        }
        assert!(delay(&throttle.refuse(Some(client(2)), now)).is_zero());
        let later = now + FORGOTTEN;
        assert!(
            delay(&throttle.refuse(Some(client(1)), later)).is_zero(),
            "it is forgotten"
        );
        assert!(
            delay(&AuthenticationThrottle::new(Duration::ZERO).refuse(Some(client(1)), now))
                .is_zero()
        );
    }

    #[tokio::test]
    async fn neither_the_table_nor_the_queue_grows_without_end() {
        let (throttle, now) = (AuthenticationThrottle::new(LONGEST), Instant::now());
        for number in 0..2 * u32::try_from(CLIENTS).unwrap() {
            throttle.refuse(Some(client(number)), now);
        }
        assert!(throttle.known.lock().unwrap().len() <= CLIENTS + 1);

        let mut waiting = Vec::new();
        for _ in 0..WAITING + usize::try_from(FREE).unwrap() {
            waiting.push(throttle.refuse(Some(client(1)), now));
        }
        let last = throttle.refuse(Some(client(1)), now);
        assert!(matches!(last, Delay::HangUp), "{last:?}");
        waiting.clear();
        let next = throttle.refuse(Some(client(1)), now);
        assert!(matches!(next, Delay::After(..)), "{next:?}");
    }
}
