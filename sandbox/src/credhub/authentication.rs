//! Authenticates callers by the token of a UAA (`spec/contracts/platform-apis.md`,
//! "CredHub", "Authentication").
//!
//! The caller, as permissions name it (`spec/contracts/platform-apis.md`, "Authentication").

use std::{
    collections::BTreeSet,
    fmt,
    future::{Ready, ready},
};

use actix_web::{
    FromRequest, HttpRequest, HttpResponse, ResponseError,
    dev::Payload,
    http::{StatusCode, header},
    web::Data,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{CredHub, Session};
use crate::uaa::TokenError;

/// By so many seconds the clocks of UAA and CredHub may differ.
const SKEW: i64 = 60;
const SCOPES: [&str; 2] = ["credhub.read", "credhub.write"];
const JSON: &str = "application/json;charset=UTF-8";

/// Why a caller is not authenticated. The texts are a real CredHub's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AuthenticationRejection {
    #[error("Full authentication is required to access this resource")]
    NoCredentials,
    #[error("Access token expired")]
    TokenExpired,
    #[error("An error occurred while attempting to decode the Jwt: {0}")]
    TokenInvalid(&'static str),
    #[error("The request requires higher privileges than provided by the access token.")]
    ScopeMissing,
}

#[derive(Clone, Deserialize)]
struct Claims {
    #[serde(default)]
    iss: String,
    exp: i64,
    #[serde(default)]
    scope: BTreeSet<String>,
    #[serde(default)]
    grant_type: String,
    client_id: Option<String>,
    user_id: Option<String>,
}

impl FromRequest for Session {
    type Error = AuthenticationRejection;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(session(request))
    }
}

fn session(request: &HttpRequest) -> Result<Session, AuthenticationRejection> {
    let credhub = request
        .app_data::<Data<CredHub>>()
        .ok_or(AuthenticationRejection::NoCredentials)?;
    Ok(credhub.session(bearer(credhub, request)?))
}

/// The client or user that a token was given to.
fn bearer(credhub: &CredHub, request: &HttpRequest) -> Result<Actor, AuthenticationRejection> {
    let token = bearer_token(request).ok_or(AuthenticationRejection::NoCredentials)?;
    let tokens = &credhub.inner.tokens;
    let claims: Claims = tokens.signed_claims(token).map_err(|error| {
        AuthenticationRejection::TokenInvalid(match error {
            TokenError::BadSignature => "Signed JWT rejected: Invalid signature",
            _ => "Malformed token",
        })
    })?;
    if Timestamp::now().as_second() - SKEW > claims.exp {
        return Err(AuthenticationRejection::TokenExpired);
    }
    if claims.iss != format!("{}/oauth/token", credhub.inner.uaa_url) {
        return Err(AuthenticationRejection::TokenInvalid(
            "The iss claim is not valid",
        ));
    }
    if !SCOPES.iter().all(|scope| claims.scope.contains(*scope)) {
        return Err(AuthenticationRejection::ScopeMissing);
    }
    let actor = match claims.grant_type.as_str() {
        "client_credentials" => claims.client_id.map(|id| Actor::uaa_client(&id)),
        "password" => claims.user_id.map(|id| Actor::uaa_user(&id)),
        _ => None,
    };
    actor.ok_or(AuthenticationRejection::TokenInvalid(
        "The grant_type claim is not valid",
    ))
}

fn bearer_token(request: &HttpRequest) -> Option<&str> {
    let header = request
        .headers()
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

impl AuthenticationRejection {
    fn challenge(&self) -> String {
        const RFC: &str = r#"error_uri="https://tools.ietf.org/html/rfc6750#section-3.1""#;
        match self {
            Self::NoCredentials => "Bearer".to_owned(),
            Self::TokenExpired => {
                format!(r#"Bearer error="access_token_expired", error_description="{self}""#)
            }
            Self::TokenInvalid(_) => {
                format!(r#"Bearer error="invalid_token", error_description="{self}", {RFC}"#)
            }
            Self::ScopeMissing => {
                format!(r#"Bearer error="insufficient_scope", error_description="{self}", {RFC}"#)
            }
        }
    }
}

impl ResponseError for AuthenticationRejection {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::ScopeMissing => StatusCode::FORBIDDEN,
            Self::NoCredentials | Self::TokenExpired | Self::TokenInvalid(_) => {
                StatusCode::UNAUTHORIZED
            }
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        response.insert_header((header::WWW_AUTHENTICATE, self.challenge()));
        let description = self.to_string();
        let body = match self {
            Self::NoCredentials => {
                json!({"error": "access_denied", "error_description": description})
            }
            Self::TokenExpired => {
                json!({"error": "access_token_expired", "error_description": description})
            }
            Self::TokenInvalid(_) => {
                json!({"error": "invalid_token", "error_description": description})
            }
            Self::ScopeMissing => return response.finish(),
        };
        response.content_type(JSON).body(body.to_string())
    }
}

/// Names a caller for permissions: `uaa-client:ID`, `uaa-user:ID` or `mtls-app:GUID`. Permissions accept any name, so
/// text of another form is an actor too, but no caller ever has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actor(String);

impl Actor {
    pub fn uaa_client(id: &str) -> Self {
        Self(format!("uaa-client:{id}"))
    }

    /// A user, by the id that tokens carry.
    pub fn uaa_user(id: &str) -> Self {
        Self(format!("uaa-user:{id}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Actor {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
