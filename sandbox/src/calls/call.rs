//! The record of a call.
//!
//! The identity that a caller claims.

use std::{fmt, str::FromStr};

use actix_web::{
    dev::RequestHead,
    http::header::{AUTHORIZATION, USER_AGENT},
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::faults::ServerName;

/// The maximum length of a recorded text, in bytes.
const TEXT_LIMIT: usize = 1024;
/// The header that groups the tasks of one operation for a client of the Director.
const CONTEXT_ID: &str = "X-Bosh-Context-Id";
/// Parameters of a UAA's queries whose values are secrets.
const SECRETS: [&str; 8] = [
    "assertion",
    "client_secret",
    "code",
    "passcode",
    "password",
    "refresh_token",
    "secret",
    "token",
];

/// A request that a server received, and its outcome. Bodies and secrets are not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Counts the calls of all servers, in the order of their arrival.
    pub number: CallNumber,
    pub at: Timestamp,
    pub server: ServerName,
    pub method: String,
    /// The path, as it stood in the request.
    pub path: String,
    /// The query, without secrets; empty when there was none.
    pub query: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing yet.
    Pending,
    /// The server answered, perhaps with an injected fault.
    Answered {
        status: u16,
    },
    Dropped,
    /// The caller went away before there was an answer.
    Abandoned,
}

/// The number of a call. The first is 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CallNumber(u64);

impl Call {
    pub(super) fn begun(number: CallNumber, server: ServerName, request: &RequestHead) -> Self {
        let header = |name: &str| {
            let value = request.headers.get(name)?.to_str().ok()?;
            Some(shortened(value))
        };
        let caller = Caller::of(request);
        Self {
            number,
            at: Timestamp::now(),
            server,
            method: request.method.to_string(),
            path: shortened(request.uri.path()),
            query: shortened(&without_secrets(request.uri.query().unwrap_or_default())),
            client: caller.client.as_deref().map(shortened),
            user: caller.user.as_deref().map(shortened),
            user_agent: header(USER_AGENT.as_str()),
            context_id: header(CONTEXT_ID),
            outcome: Outcome::Pending,
        }
    }
}

impl CallNumber {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// How many calls came between an earlier one and this one, this one included.
    pub(super) fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for CallNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for CallNumber {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending => f.write_str("pending"),
            Self::Answered { status } => status.fmt(f),
            Self::Dropped => f.write_str("dropped"),
            Self::Abandoned => f.write_str("abandoned"),
        }
    }
}

fn without_secrets(query: &str) -> String {
    let parameters = query.split('&').map(|parameter| {
        let (name, _) = parameter.split_once('=').unwrap_or((parameter, ""));
        if SECRETS.contains(&name) {
            format!("{name}=REDACTED")
        } else {
            parameter.to_owned()
        }
    });
    parameters.collect::<Vec<_>>().join("&")
}

fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_LIMIT)].to_owned()
}

/// The names in a request's credentials. They are not verified here; the server's answer shows whether they are valid.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Caller {
    #[serde(rename = "client_id")]
    pub(super) client: Option<String>,
    #[serde(rename = "user_name")]
    pub(super) user: Option<String>,
}

impl Caller {
    /// Empty without readable credentials.
    pub(super) fn of(request: &RequestHead) -> Self {
        Self::read(request).unwrap_or_default()
    }

    fn read(request: &RequestHead) -> Option<Self> {
        let header = request.headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, credentials) = header.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") {
            let claims = credentials.trim().split('.').nth(1)?;
            let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?;
            return serde_json::from_slice(&claims).ok();
        }
        if scheme.eq_ignore_ascii_case("basic") {
            let pair = BASE64_STANDARD.decode(credentials.trim()).ok()?;
            let pair = String::from_utf8(pair).ok()?;
            let (client, _) = pair.split_once(':')?;
            return Some(Self {
                client: Some(client.to_owned()),
                user: None,
            });
        }
        None
    }
}
