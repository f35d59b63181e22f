//! A request and its answer, in reports: never with credentials.

use std::{fmt, time::Duration};

use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::Value;

use super::{Checked, Objection, result::ensure};

/// Replaces a secret.
const MASK: &str = "***";

/// The most characters of a body in a report.
const REPORTED: usize = 4096;

/// The members with confidential values, at every depth.
const SECRET_WORDS: [&str; 6] = [
    "credential",
    "password",
    "secret",
    "token",
    "private_key",
    "uri",
];

#[derive(Clone, Debug)]
pub struct Exchange {
    pub method: Method,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub request_headers: Vec<(String, String)>,
    pub request_body: Option<String>,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
    pub took: Duration,
}

impl Exchange {
    /// The status is one of these, or the rule is broken.
    pub(super) fn expect(self: &std::sync::Arc<Self>, statuses: &[u16]) -> Checked {
        ensure(self.has_status(statuses), self, || {
            let wanted: Vec<String> = statuses.iter().map(u16::to_string).collect();
            format!(
                "the answer should be {}, and is {}",
                wanted.join(" or "),
                self.status.as_u16()
            )
        })
    }

    /// The answer is 422 with this word for machines, or the rule is broken.
    pub(super) fn expect_word(self: &std::sync::Arc<Self>, word: &str) -> Checked {
        self.expect(&[422])?;
        let given = self.json()?["error"].as_str().map(str::to_owned);
        ensure(given.as_deref() == Some(word), self, || {
            format!("the answer should have \"error\": \"{word}\"")
        })
    }

    pub(super) fn json(self: &std::sync::Arc<Self>) -> Result<Value, Objection> {
        serde_json::from_str(&self.body).map_err(|error| {
            Objection::shown_by(self, format!("the body of the answer is not JSON: {error}"))
        })
    }

    pub(super) fn has_status(&self, statuses: &[u16]) -> bool {
        statuses.contains(&self.status.as_u16())
    }

    pub(super) fn is_error(&self) -> bool {
        self.status.is_client_error() || self.status.is_server_error()
    }

    /// A header, empty where there is none.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The member of the body that is a text, if there is a body with it.
    pub(super) fn text(&self, member: &str) -> Option<String> {
        let body: Value = serde_json::from_str(&self.body).ok()?;
        body[member].as_str().map(str::to_owned)
    }

    pub fn request_line(&self) -> String {
        let mut line = format!("{} {}", self.method, self.path);
        for (index, (name, value)) in self.query.iter().enumerate() {
            let sign = if index == 0 { "?" } else { "&" };
            line.extend([sign, name, "=", value]);
        }
        line
    }

    /// The body of the request, without secrets.
    pub fn reported_request_body(&self) -> Option<String> {
        self.request_body.as_deref().map(reported)
    }

    /// The body of the answer, without secrets.
    pub fn reported_body(&self) -> String {
        reported(&self.body)
    }
}

/// As HTTP looks like.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "> {}", self.request_line())?;
        for (name, value) in &self.request_headers {
            writeln!(f, "> {name}: {value}")?;
        }
        if let Some(body) = self.reported_request_body() {
            writeln!(f, "> {body}")?;
        }
        writeln!(f, "< {}", self.status)?;
        for (name, value) in &self.headers {
            let value = value.to_str().unwrap_or("(no text)");
            writeln!(f, "< {name}: {value}")?;
        }
        write!(f, "< {}", self.reported_body())
    }
}

/// A body without what is secret in it.
fn reported(body: &str) -> String {
    let mut text = match serde_json::from_str::<Value>(body) {
        Ok(mut value) => {
            mask(&mut value);
            value.to_string()
        }
        Err(_) => body.to_owned(),
    };
    if text.len() > REPORTED {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(REPORTED));
        text.extend(["… (", &whole.to_string(), " bytes in all)"]);
    }
    text
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if is_secret(name) {
                    hide(member);
                } else {
                    mask(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The names of members may be seen, their values may not.
fn hide(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(hide),
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Null | Value::Bool(_) => {}
        Value::Number(_) | Value::String(_) => *value = MASK.into(),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // The id of a client is none.
    !name.ends_with("_id") && SECRET_WORDS.iter().any(|word| name.contains(word))
}
