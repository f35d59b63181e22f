//! What a broker's answer means (`spec/contracts/platform-apis.md`, "CC → broker: status handling").

use std::time::Duration;

use actix_web::http::StatusCode;
use serde_json::{Map, Value};

/// A longer body of an error is cut before it is shown.
const SHOWN_BODY_LIMIT: usize = 8 * 1024;
const OPERATION_LIMIT: usize = 10_000;

/// A request whose answer is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Provision,
    Bind,
    Update,
    Deprovision,
    Unbind,
    Fetch,
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(super) url: String,
    pub(super) status: StatusCode,
    /// Seconds.
    pub(super) retry_after: Option<u64>,
    pub(super) body: String,
}

/// No answer came.
#[derive(Debug)]
pub(crate) enum Silence {
    Timeout { url: String },
    Unreachable { url: String },
}

/// What the answer to a change means.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Done. The members of the body.
    Done(Map<String, Value>),
    /// Begun: poll the last operation.
    Accepted {
        /// What to ask with.
        operation: Option<String>,
        /// What else the body says.
        body: Map<String, Value>,
        /// How long to wait before the second poll.
        retry_after: Option<Duration>,
    },
    /// Refused or broken.
    Failed(BrokerFailure, Mitigation),
}

/// Whether something may have come into being that nobody knows of, and is to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mitigation {
    Needed,
    NotNeeded,
}

/// Why a broker did not do what it was asked to. The text is what the user is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BrokerFailure {
    #[error(
        "Authentication with the service broker failed. Double-check that the username and password are correct: {url}"
    )]
    Authentication { url: String },
    #[error("The request to the service broker timed out: {url}")]
    Timeout { url: String },
    #[error("The service broker could not be reached: {url}")]
    Unreachable { url: String },
    #[error("Service broker error: {description}")]
    Described { description: String },
    #[error("The service broker returned an invalid response: status {status}, body {body}")]
    BadResponse { status: u16, body: String },
    #[error(
        "The service broker returned an invalid response: expected valid JSON object in body, broker returned '{body}'"
    )]
    Malformed { body: String },
    #[error("This service plan requires client support for asynchronous service operations.")]
    AsyncRequired,
    #[error("This service supports generation of credentials through binding an application only.")]
    RequiresApp,
    #[error("Another operation for this service instance is in progress.")]
    Concurrent,
    #[error("The service broker did not accept the version of the plan: {description}")]
    MaintenanceInfoConflict { description: String },
    #[error("The service broker catalog is invalid: \n{problems}")]
    InvalidCatalog { problems: String },
    #[error(
        "The service broker responded asynchronously, which needs bindings that can be retrieved."
    )]
    AsyncNotRetrievable,
}

/// What a poll of a last operation found out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Running {
        description: Option<String>,
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
    Unclear {
        retry_after: Option<Duration>,
    },
}

impl From<Silence> for BrokerFailure {
    fn from(silence: Silence) -> Self {
        match silence {
            Silence::Timeout { url } => Self::Timeout { url },
            Silence::Unreachable { url } => Self::Unreachable { url },
        }
    }
}

impl Answer {
    pub(super) fn of(call: Call, raw: Result<RawAnswer, Silence>) -> Self {
        let creates = matches!(call, Call::Provision | Call::Bind);
        let mitigate_creation = if creates {
            Mitigation::Needed
        } else {
            Mitigation::NotNeeded
        };
        let raw = match raw {
            Ok(raw) => raw,
            // Whoever did not get through has not made anything either.
            Err(unreachable @ Silence::Unreachable { .. }) => {
                return Self::Failed(unreachable.into(), Mitigation::NotNeeded);
            }
            Err(timeout @ Silence::Timeout { .. }) => {
                return Self::Failed(timeout.into(), mitigate_creation);
            }
        };
        match (raw.status.as_u16(), call) {
            (200, _) => match raw.object() {
                Some(body) => Self::Done(body),
                None => Self::Failed(raw.malformed(), Mitigation::NotNeeded),
            },
            (201, Call::Provision | Call::Bind) => match raw.object() {
                Some(body) => Self::Done(body),
                None => Self::Failed(raw.malformed(), mitigate_creation),
            },
            (
                202,
                Call::Provision | Call::Bind | Call::Update | Call::Deprovision | Call::Unbind,
            ) => match raw.object().map(|body| (operation(&body), body)) {
                Some((Ok(operation), body)) => Self::Accepted {
                    operation,
                    body,
                    retry_after: raw.retry_after(),
                },
                Some((Err(TooLong), _)) | None => Self::Failed(raw.malformed(), mitigate_creation),
            },
            (410, Call::Deprovision | Call::Unbind) => Self::Done(Map::new()),
            (401, _) => Self::Failed(
                BrokerFailure::Authentication { url: raw.url },
                Mitigation::NotNeeded,
            ),
            (408, _) => Self::Failed(
                BrokerFailure::Timeout { url: raw.url },
                Mitigation::NotNeeded,
            ),
            (422, _) => raw.unprocessable(call, mitigate_creation),
            (410, _) => Self::Failed(raw.error(), mitigate_creation),
            (400..=499, _) => Self::Failed(raw.error(), Mitigation::NotNeeded),
            _ => Self::Failed(raw.error(), mitigate_creation),
        }
    }
}

struct TooLong;

fn operation(body: &Map<String, Value>) -> Result<Option<String>, TooLong> {
    match body.get("operation") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(operation)) if operation.chars().count() <= OPERATION_LIMIT => {
            Ok(Some(operation.clone()))
        }
        Some(_) => Err(TooLong),
    }
}

impl RawAnswer {
    pub(super) fn object(&self) -> Option<Map<String, Value>> {
        serde_json::from_str(&self.body).ok()
    }

    pub(super) fn malformed(&self) -> BrokerFailure {
        BrokerFailure::Malformed {
            body: self.shown_body(),
        }
    }

    /// What went wrong, in the broker's words if it has any.
    pub(super) fn error(&self) -> BrokerFailure {
        match self.described() {
            Some(description) => BrokerFailure::Described { description },
            None => BrokerFailure::BadResponse {
                status: self.status.as_u16(),
                body: self.shown_body(),
            },
        }
    }

    fn unprocessable(self, call: Call, mitigate_creation: Mitigation) -> Answer {
        let body = self.object().unwrap_or_default();
        let failure = match (body.get("error").and_then(Value::as_str), call) {
            (Some("AsyncRequired"), _) => BrokerFailure::AsyncRequired,
            (Some("ConcurrencyError"), _) => BrokerFailure::Concurrent,
            (Some("RequiresApp"), Call::Bind) => BrokerFailure::RequiresApp,
            (Some("MaintenanceInfoConflict"), _) => BrokerFailure::MaintenanceInfoConflict {
                description: self.described().unwrap_or_default(),
            },
            _ => return Answer::Failed(self.error(), mitigate_creation),
        };
        Answer::Failed(failure, Mitigation::NotNeeded)
    }

    fn described(&self) -> Option<String> {
        text(&self.object()?, "description")
    }

    fn shown_body(&self) -> String {
        self.body.chars().take(SHOWN_BODY_LIMIT).collect()
    }

    fn retry_after(&self) -> Option<Duration> {
        self.retry_after.map(Duration::from_secs)
    }
}

impl Progress {
    pub(super) fn of(raw: Result<RawAnswer, Silence>) -> Self {
        let Ok(raw) = raw else {
            return Self::Unclear { retry_after: None };
        };
        let body = raw.object().unwrap_or_default();
        let retry_after = raw.retry_after();
        let description = text(&body, "description");
        match (
            raw.status.as_u16(),
            body.get("state").and_then(Value::as_str),
        ) {
            (200, Some("succeeded")) => Self::Succeeded { description },
            (200, Some("failed")) | (400, _) => Self::Failed { description },
            (200, Some("in progress")) => Self::Running {
                description,
                retry_after,
            },
            (410, _) => Self::Gone,
            _ => Self::Unclear { retry_after },
        }
    }
}

fn text(body: &Map<String, Value>, key: &str) -> Option<String> {
    body.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use Call::{Bind, Deprovision, Provision, Unbind, Update};

    use super::*;

    fn answer(call: Call, status: u16, body: &str) -> Answer {
        let status = StatusCode::from_u16(status).unwrap();
        Answer::of(
            call,
            Ok(RawAnswer {
                url: "http://broker".into(),
                status,
                retry_after: None,
                body: body.into(),
            }),
        )
    }

    /// One letter per meaning: done, accepted, failed, failed with mitigation.
    fn meaning(answer: &Answer) -> char {
        match answer {
            Answer::Done(_) => 'd',
            Answer::Accepted { .. } => 'a',
            Answer::Failed(_, Mitigation::NotNeeded) => 'f',
            Answer::Failed(_, Mitigation::Needed) => 'm',
        }
    }

    #[test]
    fn statuses_mean_what_they_mean_to_a_cloud_controller() {
        let table = [
            (200, "{}", "ddddd"),
            (201, "{}", "ddfff"),
            (202, "{}", "aaaaa"),
            (204, "", "mmfff"),
            (302, "", "mmfff"),
            (401, "{}", "fffff"),
            (403, "{}", "fffff"),
            (408, "{}", "fffff"),
            (409, "{}", "fffff"),
            (410, "{}", "mmfdd"),
            (422, r#"{"error":"ConcurrencyError"}"#, "fffff"),
            (422, r#"{"error":"AsyncRequired"}"#, "fffff"),
            (422, r#"{"error":"RequiresApp"}"#, "mffff"),
            (422, "{}", "mmfff"),
            (500, "{}", "mmfff"),
            (200, "no JSON", "fffff"),
            (201, "no JSON", "mmfff"),
            (202, "no JSON", "mmfff"),
        ];
        for (status, body, expected) in table {
            let meanings: String = [Provision, Bind, Update, Deprovision, Unbind]
                .into_iter()
                .map(|call| meaning(&answer(call, status, body)))
                .collect();
            assert_eq!(meanings, expected, "status {status} with {body}");
        }
    }

    #[test]
    fn silence_is_mitigated_only_if_the_broker_may_have_heard() {
        let url = || "http://broker".to_owned();
        let timeout = Answer::of(Provision, Err(Silence::Timeout { url: url() }));
        let refused = Answer::of(Provision, Err(Silence::Unreachable { url: url() }));
        assert_eq!((meaning(&timeout), meaning(&refused)), ('m', 'f'));
    }

    #[test]
    fn the_user_reads_the_brokers_description() {
        let Answer::Failed(failure, _) =
            answer(Provision, 500, r#"{"description":"out of disks"}"#)
        else {
            panic!("a 500 is a failure");
        };
        assert_eq!(failure.to_string(), "Service broker error: out of disks");
    }

    #[test]
    fn a_poll_ends_only_when_the_broker_says_so() {
        let poll = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            Progress::of(Ok(RawAnswer {
                url: String::new(),
                status,
                retry_after: Some(7),
                body: body.into(),
            }))
        };
        let retry_after = Some(Duration::from_secs(7));
        let description = Some("why".to_owned());

        assert_eq!(
            poll(200, r#"{"state":"succeeded"}"#),
            Progress::Succeeded { description: None }
        );
        assert_eq!(
            poll(400, r#"{"description":"why"}"#),
            Progress::Failed { description }
        );
        assert_eq!(
            poll(200, r#"{"state":"in progress"}"#),
            Progress::Running {
                description: None,
                retry_after
            }
        );
        assert_eq!(poll(410, ""), Progress::Gone);
        for (status, body) in [
            (200, r#"{"state":"resting"}"#),
            (404, "{}"),
            (500, ""),
            (200, "garbage"),
        ] {
            assert_eq!(poll(status, body), Progress::Unclear { retry_after });
        }
    }
}
