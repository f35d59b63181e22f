//! The errors of the token endpoint (`spec/contracts/platform-apis.md`, "Token errors").

use std::collections::BTreeSet;

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header},
};
use serde_json::json;

use super::SignerError;

pub(super) const JSON: &str = "application/json;charset=UTF-8";

/// Why no token was given.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("Bad credentials")]
    BadCredentials,
    #[error("Missing grant type")]
    GrantMissing,
    #[error("Unsupported grant type: {0}")]
    GrantUnknown(String),
    #[error("Unauthorized grant type: {0}")]
    GrantNotRegistered(&'static str),
    #[error("Given client ID does not match authenticated client")]
    OtherClient,
    #[error(
        "Invalid scope: {asked}. Did you know that you can get default scopes by simply sending no value?"
    )]
    ScopeNotAllowed {
        asked: String,
        allowed: BTreeSet<String>,
    },
    #[error("The requested scopes are not granted to the user")]
    NoScopeLeft,
    #[error("{0} is missing")]
    ParameterMissing(&'static str),
    #[error("Invalid refresh token")]
    BadRefreshToken,
    #[error("Wrong client for this refresh token")]
    RefreshTokenOfAnother,
    #[error("Request method not supported")]
    MethodNotAllowed,
    #[error("The server could not sign a token")]
    NotSigned(#[source] SignerError),
}

impl Refusal {
    fn code(&self) -> &'static str {
        match self {
            Self::BadCredentials | Self::GrantNotRegistered(_) | Self::OtherClient => {
                "invalid_client"
            }
            Self::GrantMissing | Self::ParameterMissing(_) => "invalid_request",
            Self::GrantUnknown(_) => "unsupported_grant_type",
            Self::ScopeNotAllowed { .. } => "invalid_scope",
            Self::NoScopeLeft | Self::BadRefreshToken => "invalid_token",
            Self::RefreshTokenOfAnother => "invalid_grant",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NotSigned(_) => "server_error",
        }
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::BadCredentials
            | Self::GrantNotRegistered(_)
            | Self::OtherClient
            | Self::NoScopeLeft
            | Self::BadRefreshToken => StatusCode::UNAUTHORIZED,
            Self::GrantMissing
            | Self::ParameterMissing(_)
            | Self::GrantUnknown(_)
            | Self::ScopeNotAllowed { .. }
            | Self::RefreshTokenOfAnother => StatusCode::BAD_REQUEST,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotSigned(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let description = self.to_string();
        let mut response = HttpResponse::build(self.status_code());
        response.insert_header((header::CACHE_CONTROL, "no-store"));
        response.insert_header((header::PRAGMA, "no-cache"));
        if matches!(self, Self::BadCredentials) {
            let challenge = format!(
                r#"Basic realm="UAA/client", error="unauthorized", error_description="{description}""#
            );
            response.insert_header((header::WWW_AUTHENTICATE, challenge));
        }
        let mut body = json!({"error": self.code(), "error_description": description});
        if let Self::ScopeNotAllowed { allowed, .. } = self {
            body["scope"] = allowed
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" ")
                .into();
        }
        response.content_type(JSON).body(body.to_string())
    }
}
