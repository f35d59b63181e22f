//! An answer as it came, or that none came.

use std::time::Duration;

use actix_web::http::StatusCode;
use reqwest::Method;
use serde_json::{Map, Value};

use super::failure::Exchange;

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) status: StatusCode,
    /// The broker's `Retry-After`, if it is in whole seconds.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: String,
}

/// No answer came.
#[derive(Debug)]
pub(crate) enum Silence {
    /// The broker may have heard.
    Timeout { url: String },
    /// No server listens there, or the name is unknown.
    Unreachable { url: String },
    /// The connection could not be made or broke.
    Disconnected { cause: String },
}

impl RawAnswer {
    pub(super) fn object(&self) -> Option<Map<String, Value>> {
        serde_json::from_str(&self.body).ok()
    }

    pub(super) fn exchange(&self) -> Exchange {
        Exchange {
            method: self.method.clone(),
            status: self.status.as_u16(),
        }
    }

    /// `502 Bad Gateway`
    pub(super) fn status_line(&self) -> String {
        let reason = self.status.canonical_reason().unwrap_or_default();
        format!("{} {reason}", self.status.as_str())
    }

    /// The message for the user when the body has a description of any type.
    pub(super) fn described(&self) -> Option<String> {
        let description = match self.object()?.remove("description")? {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        Some(format!("Service broker error: {description}"))
    }
}
