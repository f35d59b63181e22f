//! The errors of the token endpoint (`spec/contracts/platform-apis.md`, "Token errors").

use std::collections::BTreeSet;

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header},
};
use serde_json::json;

use super::{SignerError, validation::InvalidToken};
use crate::uaa::answer::{JSON, joined};

/// Why no token was given.
#[derive(Debug, thiserror::Error)]
pub(in crate::uaa) enum Rejection {
    #[error("Bad credentials")]
    BadCredentials,
    #[error("Your account has been locked because of too many failed attempts to login.")]
    Locked,
    #[error("Account not verified")]
    NotVerified,
    #[error(
        "The origin provided in the login_hint does not match an active Identity Provider, that supports password grant."
    )]
    UnknownOrigin,
    #[error("Missing grant type")]
    GrantMissing,
    #[error("Unsupported grant type: {0}")]
    GrantUnknown(String),
    #[error("Unauthorized grant type: {0}")]
    GrantNotRegistered(&'static str),
    #[error("Invalid authorization code")]
    BadCode,
    #[error("Given client ID does not match authenticated client")]
    OtherClient,
    #[error(
        "Invalid scope: {asked}. Did you know that you can get default scopes by simply sending no value?"
    )]
    ScopeNotAllowed {
        asked: String,
        allowed: BTreeSet<String>,
    },
    #[error(
        "Unable to narrow the scope of the client authentication to [{}].",
        joined(asked, ", ")
    )]
    ScopeNotNarrowed {
        asked: BTreeSet<String>,
        allowed: BTreeSet<String>,
    },
    #[error("The requested scopes are not granted to the user")]
    NoScopeLeft,
    #[error("{0} is missing")]
    ParameterMissing(&'static str),
    #[error("Invalid refresh token: {0}")]
    BadRefreshToken(InvalidToken),
    #[error("Wrong client for this refresh token: {0}")]
    RefreshTokenOfAnother(String),
    #[error("Request method '{0}' not supported")]
    MethodNotAllowed(String),
    #[error("Parameters must be passed in the body of the request")]
    QueryString,
    #[error("The server could not sign a token")]
    NotSigned(#[source] SignerError),
}

impl Rejection {
    fn code(&self) -> &'static str {
        match self {
            Self::BadCredentials
            | Self::UnknownOrigin
            | Self::GrantNotRegistered(_)
            | Self::OtherClient => "invalid_client",
            Self::Locked => "unauthorized",
            Self::NotVerified => "access_denied",
            Self::GrantMissing | Self::ParameterMissing(_) => "invalid_request",
            Self::GrantUnknown(_) => "unsupported_grant_type",
            Self::ScopeNotAllowed { .. } | Self::ScopeNotNarrowed { .. } => "invalid_scope",
            Self::NoScopeLeft | Self::BadRefreshToken(_) => "invalid_token",
            Self::RefreshTokenOfAnother(_) | Self::BadCode => "invalid_grant",
            Self::MethodNotAllowed(_) => "method_not_allowed",
            Self::QueryString => "query_string_not_allowed",
            Self::NotSigned(_) => "server_error",
        }
    }

    /// The `WWW-Authenticate` header, if there is one.
    fn challenge(&self) -> Option<String> {
        let realm = match self {
            Self::BadCredentials | Self::UnknownOrigin | Self::Locked => {
                r#"Basic realm="UAA/client", error="unauthorized""#
            }
            _ => return None,
        };
        Some(format!(r#"{realm}, error_description="{self}""#))
    }
}

impl ResponseError for Rejection {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::BadCredentials
            | Self::UnknownOrigin
            | Self::Locked
            | Self::GrantNotRegistered(_)
            | Self::OtherClient
            | Self::NoScopeLeft
            | Self::BadRefreshToken(_) => StatusCode::UNAUTHORIZED,
            Self::NotVerified => StatusCode::FORBIDDEN,
            Self::GrantMissing
            | Self::ParameterMissing(_)
            | Self::GrantUnknown(_)
            | Self::BadCode
            | Self::ScopeNotAllowed { .. }
            | Self::ScopeNotNarrowed { .. }
            | Self::RefreshTokenOfAnother(_) => StatusCode::BAD_REQUEST,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::QueryString => StatusCode::NOT_ACCEPTABLE,
            Self::NotSigned(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        response.insert_header((header::CACHE_CONTROL, "no-store"));
        response.insert_header((header::PRAGMA, "no-cache"));
        if let Some(challenge) = self.challenge() {
            response.insert_header((header::WWW_AUTHENTICATE, challenge));
        }
        let mut body = json!({"error": self.code(), "error_description": self.to_string()});
        if let Self::ScopeNotAllowed { allowed, .. } | Self::ScopeNotNarrowed { allowed, .. } = self
        {
            body["scope"] = joined(allowed, " ").into();
        }
        response.content_type(JSON).body(body.to_string())
    }
}
