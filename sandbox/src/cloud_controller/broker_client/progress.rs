//! What the answer to a poll of a last operation means (`spec/contracts/platform-apis.md`, "CC → broker: status
//! handling").

use std::time::Duration;

use serde_json::Value;

use super::raw::{RawAnswer, Silence};

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
    pub(super) fn of(raw: Result<RawAnswer, Silence>) -> Self {
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
mod tests {
    use actix_web::http::StatusCode;
    use reqwest::Method;

    use super::*;

    fn poll(status: u16, body: &str) -> Progress {
        Progress::of(Ok(RawAnswer {
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
