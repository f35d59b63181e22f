//! The rate limits (`spec/contracts/platform-apis.md`, "Errors, headers, limits").

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use actix_web::{
    Error, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method,
        header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
    },
    middleware::Next,
    web::Data,
};
use jiff::Timestamp;
use rand::RngExt;
use serde_json::json;

use super::caller::{Caller, Rights};
use crate::cloud_controller::{
    CloudController,
    rejection::{ErrorKind, Rejection},
    settings::RateLimits,
};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
/// Paths that do not count.
const UNLIMITED: [&str; 4] = ["/", "/v3", "/v2/info", "/healthz"];
/// Counters of intervals that are over are dropped when there are more than these.
const COUNTERS: usize = 10_000;

/// The counters of a Cloud Controller.
#[derive(Default)]
pub(crate) struct RequestCounts(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    requests: HashMap<Party, Interval>,
    with_brokers: HashMap<String, u32>,
}

/// The counted party: a user, or an address without a user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Party {
    User(String),
    Address(IpAddr),
}

struct Interval {
    requests: u32,
    until: Timestamp,
}

/// A place among the requests of a user that are with brokers. Dropping it frees the place.
struct WithBroker {
    controller: CloudController,
    user: String,
}

/// Counts requests and turns down those beyond the limits. Admins are not counted.
pub(super) async fn limited(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let Some(controller) = request.app_data::<Data<CloudController>>().cloned() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let settings = &controller.0.settings;
    if settings.rate_limits.is_none() && settings.concurrent_broker_requests.is_none() {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let caller = Caller::of_any_scope(request.request()).ok();
    let exempt = caller
        .as_ref()
        .is_some_and(|caller| matches!(caller.rights, Rights::Admin | Rights::AdminReadOnly));
    if exempt {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let user = caller.and_then(|caller| caller.identity.user);
    let mut headers = HeaderMap::new();
    if let Some(limits) = settings
        .rate_limits
        .filter(|_| !UNLIMITED.contains(&request.path()))
    {
        let address = request
            .peer_addr()
            .map_or(IpAddr::from([0, 0, 0, 0]), |address| address.ip());
        let party = user.clone().map_or(Party::Address(address), Party::User);
        let (admitted, counted) = controller.0.counts.count(&party, limits);
        headers = counted;
        if !admitted {
            let rejection = match party {
                Party::User(_) => ErrorKind::RateLimitExceeded.with("Rate Limit Exceeded"),
                Party::Address(_) => ErrorKind::AddressRateLimitExceeded.with(
                    "Rate Limit Exceeded: Unauthenticated requests from this IP address have exceeded the limit. \
                     Please log in.",
                ),
            };
            if let Some(reset) = headers.get(RESET).cloned() {
                headers.insert(RETRY_AFTER, reset);
            }
            return Ok(request.into_response(too_many(&rejection, headers)));
        }
    }
    let location = match (&user, settings.concurrent_broker_requests) {
        (Some(user), Some(limit)) if reaches_broker(&request) => {
            let Some(location) = controller.place_with_broker(user, limit.get()) else {
                let timeout = settings.brokers.timeout;
                headers.insert(RETRY_AFTER, retry_after(timeout).into());
                let rejection = ErrorKind::BrokerRateLimitExceeded
                    .with("Service broker concurrent request limit exceeded");
                return Ok(request.into_response(too_many(&rejection, headers)));
            };
            Some(location)
        }
        _ => None,
    };
    let mut response = next.call(request).await?.map_into_boxed_body();
    drop(location);
    for (name, value) in headers {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// Whether a broker is asked while the client waits.
fn reaches_broker(request: &ServiceRequest) -> bool {
    let path = request.path();
    let kinds = [
        "service_instances",
        "service_credential_bindings",
        "service_route_bindings",
        "service_bindings",
        "service_keys",
    ];
    let of_service = |version: &str| {
        path.strip_prefix(version)
            .is_some_and(|rest| kinds.iter().any(|kind| rest.starts_with(kind)))
    };
    let changes = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    (of_service("/v2/") && changes.contains(request.method()))
        || (of_service("/v3/") && path.ends_with("/parameters"))
}

/// 429. The body is JSON, its type says otherwise.
fn too_many(rejection: &Rejection, headers: HeaderMap) -> HttpResponse {
    let body = json!({"errors": [rejection.entry()]});
    let mut response = HttpResponse::TooManyRequests()
        .content_type("text/plain; charset=utf-8")
        .body(body.to_string());
    for (name, value) in headers {
        response.headers_mut().insert(name, value);
    }
    response
}

/// Between half the time that a broker has and one and a half of it, in seconds.
fn retry_after(timeout: Duration) -> u64 {
    let seconds = timeout.as_secs();
    rand::rng().random_range(seconds / 2..=(seconds * 3).div_ceil(2))
}

impl RequestCounts {
    /// Counts a request. Returns whether it is within the limit, and the headers of the answer.
    fn count(&self, party: &Party, limits: RateLimits) -> (bool, HeaderMap) {
        let now = Timestamp::now();
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.requests.len() > COUNTERS {
            counts.requests.retain(|_, interval| interval.until > now);
        }
        let fresh = || Interval {
            requests: 0,
            until: now + limits.reset_interval,
        };
        let interval = counts.requests.entry(party.clone()).or_insert_with(fresh);
        if interval.until < now {
            *interval = fresh();
        }
        let limit = match party {
            Party::User(_) => limits.general,
            Party::Address(_) => limits.unauthenticated,
        };
        let requests = interval.requests + 1;
        let admitted = requests <= limit;
        if admitted {
            interval.requests = requests;
        }
        let headers = [
            (LIMIT, limit.into()),
            (REMAINING, remaining(limit, requests).into()),
            (RESET, HeaderValue::from(interval.until.as_second())),
        ];
        (admitted, headers.into_iter().collect())
    }
}

/// The remaining requests in tenths of the limit, as a Cloud Controller of several processes estimates them.
fn remaining(limit: u32, requests: u32) -> u32 {
    let left = u64::from(limit.saturating_sub(requests));
    match left.saturating_mul(10).checked_div(u64::from(limit)) {
        Some(tenths) => u32::try_from(tenths * u64::from(limit) / 10).unwrap_or(limit),
        None => 0,
    }
}

impl CloudController {
    fn place_with_broker(&self, user: &str, limit: u32) -> Option<WithBroker> {
        let counts = &self.0.counts.0;
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = counts.with_brokers.entry(user.to_owned()).or_default();
        if *taken >= limit {
            return None;
        }
        *taken += 1;
        Some(WithBroker {
            controller: self.clone(),
            user: user.to_owned(),
        })
    }
}

impl Drop for WithBroker {
    fn drop(&mut self) {
        let counts = &self.controller.0.counts.0;
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = counts.with_brokers.get_mut(&self.user) {
            *taken -= 1;
            if *taken == 0 {
                counts.with_brokers.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_is_reported_in_tenths_of_the_limit() {
        assert_eq!(
            [1, 99, 100, 101, 950, 1000, 1001].map(|requests| remaining(1000, requests)),
            [900, 900, 900, 800, 0, 0, 0]
        );
        assert_eq!(remaining(0, 1), 0);
    }
}
