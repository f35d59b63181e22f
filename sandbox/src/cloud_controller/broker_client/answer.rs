//! What a broker's answer to a request means (`spec/contracts/platform-apis.md`, "CC → broker: status handling").
//!
//! What the answer to a poll of a last operation means (`spec/contracts/platform-apis.md`, "CC → broker: status
//! handling").

use std::time::Duration;

use serde_json::{Map, Value};

use super::{
    exchange::{RawResponse, Silence},
    failure::{BrokerError, BrokerFailure},
    shape::{self, Shape},
};

/// A request whose answer is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call<'a> {
    Provision,
    /// With what the offering may be given (`requires`).
    Bind(&'a [String]),
    Update,
    Deprovision,
    Unbind,
    Fetch,
}

/// What the answer to a change means.
#[derive(Debug)]
pub(crate) enum Response {
    Done(Map<String, Value>),
    /// Begun: poll the last operation.
    Accepted {
        operation: Option<String>,
        body: Map<String, Value>,
    },
    Failed(BrokerFailure, Mitigation),
}

/// Whether the broker may have created an orphan, which must be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mitigation {
    Needed,
    NotNeeded,
}

impl Response {
    pub(super) fn of(call: Call<'_>, raw: Result<RawResponse, Silence>) -> Self {
        let outcome = raw
            .map_err(BrokerFailure::from)
            .and_then(|raw| success(call, &raw));
        match outcome {
            Ok(Success::Done(body)) => Self::Done(body),
            Ok(Success::Accepted(body)) => Self::Accepted {
                operation: body
                    .get("operation")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
                body,
            },
            Err(failure) => {
                let mitigation = mitigation(call, &failure);
                Self::Failed(failure, mitigation)
            }
        }
    }
}

enum Success {
    Done(Map<String, Value>),
    Accepted(Map<String, Value>),
}

fn success(call: Call<'_>, raw: &RawResponse) -> Result<Success, BrokerFailure> {
    use Call::{Bind, Deprovision, Fetch, Provision, Unbind, Update};
    match (raw.status.as_u16(), call) {
        (401, _) => Err(BrokerFailure::unauthenticated(raw)),
        (408, _) => Err(BrokerFailure::answered_timeout(raw)),
        (200 | 201, Provision) | (200, Update) => shaped(raw, Shape::Instance).map(Success::Done),
        (200 | 201, Bind(requires)) => {
            let body = object(raw)?;
            shape::check(raw, &body, requires)?;
            Ok(Success::Done(body))
        }
        (200, Deprovision | Unbind) => object(raw).map(Success::Done),
        (200, Fetch) => shaped(raw, Shape::Fetched).map(Success::Done),
        (202, Provision | Update) => shaped(raw, Shape::Instance).map(Success::Accepted),
        (202, Bind(_) | Deprovision | Unbind) => {
            shaped(raw, Shape::Accepted).map(Success::Accepted)
        }
        (201, Update | Deprovision | Unbind) => Err(BrokerFailure::wrong_success(raw)),
        (410, Deprovision | Unbind) => Ok(Success::Done(Map::new())),
        (409, Provision | Bind(_)) => Err(BrokerFailure::conflict(raw)),
        (422, _) => Err(unprocessable(call, raw)),
        (409 | 410, _) => Err(BrokerFailure::bad_response(raw)),
        (400..=499, _) => Err(BrokerFailure::rejected(raw)),
        _ => Err(BrokerFailure::bad_response(raw)),
    }
}

fn object(raw: &RawResponse) -> Result<Map<String, Value>, BrokerFailure> {
    raw.object().ok_or_else(|| {
        let what = format!(
            "expected valid JSON object in body, broker returned '{}'",
            raw.body
        );
        BrokerFailure::malformed(raw, &what)
    })
}

fn shaped(raw: &RawResponse, shape: Shape) -> Result<Map<String, Value>, BrokerFailure> {
    let body = object(raw)?;
    match shape.errors(&body) {
        None => Ok(body),
        Some(errors) => Err(BrokerFailure::malformed(raw, &errors)),
    }
}

/// Which of the coded errors mean something depends on the call; the others count as any 422.
fn unprocessable(call: Call<'_>, raw: &RawResponse) -> BrokerFailure {
    let coded = raw
        .object()
        .and_then(|body| BrokerFailure::coded(raw, &body));
    let known = coded.filter(|failure| match (failure.kind, call) {
        (BrokerError::AsyncRequired, _) => true,
        (BrokerError::Concurrency, call) => call != Call::Update,
        (BrokerError::AppRequired, call) => matches!(call, Call::Bind(_)),
        (BrokerError::MaintenanceInfoConflict, call) => {
            matches!(call, Call::Provision | Call::Update)
        }
        _ => false,
    });
    known.unwrap_or_else(|| match call {
        Call::Update => BrokerFailure::rejected(raw),
        _ => BrokerFailure::bad_response(raw),
    })
}

/// Only what was to come into being can be left over: after an answer that does not say whether it did.
fn mitigation(call: Call<'_>, failure: &BrokerFailure) -> Mitigation {
    let creates = matches!(call, Call::Provision | Call::Bind(_));
    let unclear = match failure.kind {
        BrokerError::Timeout
        | BrokerError::BadResponse
        | BrokerError::InvalidSyslogDrain
        | BrokerError::InvalidVolumeMounts => true,
        // With a 200 it was there before.
        BrokerError::Malformed => failure
            .exchange
            .as_ref()
            .is_none_or(|exchange| exchange.status != 200),
        BrokerError::Unreachable
        | BrokerError::Disconnected
        | BrokerError::AuthenticationFailed
        | BrokerError::AnsweredTimeout
        | BrokerError::Conflict
        | BrokerError::Rejected
        | BrokerError::AsyncRequired
        | BrokerError::AppRequired
        | BrokerError::Concurrency
        | BrokerError::MaintenanceInfoConflict
        | BrokerError::BindingNotRetrievable => false,
    };
    if creates && unclear {
        Mitigation::Needed
    } else {
        Mitigation::NotNeeded
    }
}

/// The result of a poll of a last operation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Running {
        description: Option<String>,
        /// How long the broker wants to be left alone.
        retry_after: Option<Duration>,
    },
    Succeeded {
        description: Option<String>,
    },
    Failed {
        description: Option<String>,
    },
    /// The broker knows nothing of it any more.
    Gone,
    /// Not understood: ask again.
    Unclear,
}

impl Progress {
    pub(super) fn of(raw: Result<RawResponse, Silence>) -> Self {
        let Ok(raw) = raw else {
            return Self::Unclear;
        };
        let body = raw.object().unwrap_or_default();
        let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
        let description = text("description");
        match (raw.status.as_u16(), text("state").as_deref()) {
            (200, Some("succeeded")) => Self::Succeeded { description },
            (200, Some("failed")) => Self::Failed { description },
            (200, Some("in progress")) => Self::Running {
                description,
                retry_after: raw.retry_after,
            },
            (400, _) => Self::Failed {
                description: Some(description.unwrap_or_else(|| "Bad request".to_owned())),
            },
            (410, _) => Self::Gone,
            _ => Self::Unclear,
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod progress_tests {
    use actix_web::http::StatusCode;
    use reqwest::Method;

    use super::*;

    fn poll(status: u16, body: &str) -> Progress {
        Progress::of(Ok(RawResponse {
            method: Method::GET,
            url: String::new(),
            status: StatusCode::from_u16(status).unwrap(),
            retry_after: Some(Duration::from_secs(7)),
            body: body.into(),
        }))
    }

    #[test]
    fn a_poll_ends_only_when_the_broker_says_so() {
        let description = |text: &str| Some(text.to_owned());

        assert_eq!(
            poll(200, r#"{"state":"succeeded"}"#),
            Progress::Succeeded { description: None }
        );
        assert_eq!(
            poll(200, r#"{"state":"failed","description":"why"}"#),
            Progress::Failed {
                description: description("why")
            }
        );
        assert_eq!(
            poll(400, r#"{"description":"why"}"#),
            Progress::Failed {
                description: description("why")
            }
        );
        assert_eq!(
            poll(400, "garbage"),
            Progress::Failed {
                description: description("Bad request")
            }
        );
        assert_eq!(
            poll(200, r#"{"state":"in progress"}"#),
            Progress::Running {
                description: None,
                retry_after: Some(Duration::from_secs(7))
            }
        );
        assert_eq!(poll(410, ""), Progress::Gone);
        for (status, body) in [
            (200, r#"{"state":"resting"}"#),
            (200, "{}"),
            (200, "garbage"),
            (201, r#"{"state":"succeeded"}"#),
            (202, r#"{"state":"succeeded"}"#),
            (302, ""),
            (401, "{}"),
            (404, "{}"),
            (408, "{}"),
            (409, "{}"),
            (422, "{}"),
            (500, ""),
        ] {
            assert_eq!(poll(status, body), Progress::Unclear, "{status} {body}");
        }
    }

    #[test]
    fn silence_is_asked_again() {
        let url = "http://broker".to_owned();
        assert_eq!(
            Progress::of(Err(Silence::Timeout { url })),
            Progress::Unclear
        );
    }
}
