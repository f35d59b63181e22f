//! Errors of the control API.

use std::fmt;

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use serde_json::json;

/// The control API does not do it, and why.
#[derive(Debug, thiserror::Error)]
pub(super) enum Rejection {
    #[error("{0}")]
    Bad(String),
    #[error("there is no such route; `docs/authors/sandbox.md` lists them")]
    NoRoute,
    #[error("there is no {what} `{name}`")]
    NotFound { what: &'static str, name: String },
    #[error("{0}")]
    Conflict(String),
}

impl Rejection {
    pub(super) fn bad(error: &impl fmt::Display) -> Self {
        Self::Bad(error.to_string())
    }

    pub(super) fn not_found(what: &'static str, name: &impl fmt::Display) -> Self {
        Self::NotFound {
            what,
            name: name.to_string(),
        }
    }

    pub(super) fn answer(&self) -> HttpResponse {
        HttpResponse::build(self.status_code()).json(json!({"error": self.to_string()}))
    }
}

impl ResponseError for Rejection {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Bad(_) => StatusCode::BAD_REQUEST,
            Self::NoRoute | Self::NotFound { .. } => StatusCode::NOT_FOUND,
            Self::Conflict(_) => StatusCode::CONFLICT,
        }
    }

    fn error_response(&self) -> HttpResponse {
        self.answer()
    }
}
