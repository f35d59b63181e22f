//! Why a request about clients is refused (`spec/contracts/platform-apis.md`, "Clients").

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use serde_json::json;

use crate::uaa::caller::{Denied, json_answer_with};

/// Why a request about clients is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientRejection {
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("No such client: {0}")]
    NotFound(String),
    #[error("Client already exists: {0}")]
    Exists(String),
    #[error("{0}")]
    Invalid(String),
    #[error("The client id ({named}) does not match the URL ({addressed})")]
    OtherClient { named: String, addressed: String },
    #[error("The request body is no valid JSON for this request")]
    Unreadable,
}

impl ResponseError for ClientRejection {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Denied(denied) => denied.status_code(),
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Exists(_) => StatusCode::CONFLICT,
            Self::Invalid(_) | Self::OtherClient { .. } | Self::Unreadable => {
                StatusCode::BAD_REQUEST
            }
        }
    }

    fn error_response(&self) -> HttpResponse {
        let code = match self {
            Self::Denied(denied) => return denied.error_response(),
            // A real UAA says nothing at all.
            Self::NotFound(_) => return HttpResponse::NotFound().finish(),
            Self::Exists(_) | Self::Invalid(_) | Self::OtherClient { .. } => "invalid_client",
            Self::Unreadable => "invalid_request",
        };
        let body = json!({"error": code, "error_description": self.to_string()});
        json_answer_with(self.status_code(), &body)
    }
}
