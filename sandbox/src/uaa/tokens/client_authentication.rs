//! How a client says who it is.
//!
//! The errors of the token endpoint (`spec/contracts/platform-apis.md`, "Token errors").

use std::collections::{BTreeMap, BTreeSet};

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{self, AUTHORIZATION},
    },
};
use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::form_urlencoded;

use super::{SignerError, claims::InvalidToken};
use crate::uaa::{
    caller::{JSON, joined},
    directory::{Directory, Registration},
};

#[derive(Default)]
pub(in crate::uaa) struct Form(BTreeMap<String, String>);

/// A client that has shown its secret.
pub(in crate::uaa) struct AuthenticatedClient {
    pub(in crate::uaa) client: Registration,
    pub(super) method: AuthenticationMethod,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthenticationMethod {
    Nothing,
    Basic,
    Form,
}

impl AuthenticationMethod {
    /// The name in tokens (OIDC Core 1.0, section 9).
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Basic => "client_secret_basic",
            Self::Form => "client_secret_post",
        }
    }
}

impl Form {
    /// The parameters of a request: those of the body win over those of the query.
    pub(in crate::uaa) fn of(request: &HttpRequest, body: &[u8]) -> Self {
        let query = form_urlencoded::parse(request.query_string().as_bytes()).into_owned();
        let body = form_urlencoded::parse(body).into_owned();
        Self(query.chain(body).collect())
    }

    pub(in crate::uaa) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// The client that sends the request: by the basic header, or by the form when there is no such header.
pub(in crate::uaa) fn authenticated(
    directory: &Directory,
    request: &HttpRequest,
    form: &Form,
) -> Result<AuthenticatedClient, Rejection> {
    let (id, secret, method) = match request.headers().get(AUTHORIZATION) {
        Some(header) => {
            let pair = header.to_str().ok().and_then(basic);
            let (id, secret) = pair.ok_or(Rejection::BadCredentials)?;
            (id, secret, AuthenticationMethod::Basic)
        }
        None => (
            form.get("client_id")
                .ok_or(Rejection::BadCredentials)?
                .to_owned(),
            form.get("client_secret").unwrap_or_default().into(),
            AuthenticationMethod::Form,
        ),
    };
    if form.get("client_id").is_some_and(|named| named != id) {
        return Err(Rejection::OtherClient);
    }
    let client = directory
        .client(&id, secret.expose_secret())
        .ok_or(Rejection::BadCredentials)?
        .clone();
    let method = if client.is_public() {
        AuthenticationMethod::Nothing
    } else {
        method
    };
    Ok(AuthenticatedClient { client, method })
}

fn basic(header: &str) -> Option<(String, SecretString)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = pair.split_once(':')?;
    Some((form_decoded(id)?, form_decoded(secret)?.into()))
}

/// Both parts are form-encoded by clients (RFC 6749, section 2.3.1).
fn form_decoded(part: &str) -> Option<String> {
    let spaced = part.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced)
        .decode_utf8()
        .ok()
        .map(std::borrow::Cow::into_owned)
}

/// Why no token was given.
#[derive(Debug, thiserror::Error)]
pub(in crate::uaa) enum Rejection {
    #[error("Bad credentials")]
    BadCredentials,
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
            Self::GrantMissing | Self::ParameterMissing(_) => "invalid_request",
            Self::GrantUnknown(_) => "unsupported_grant_type",
            Self::ScopeNotAllowed { .. } | Self::ScopeNotNarrowed { .. } => "invalid_scope",
            Self::NoScopeLeft | Self::BadRefreshToken(_) => "invalid_token",
            Self::RefreshTokenOfAnother(_) | Self::BadCode => "invalid_grant",
            Self::MethodNotAllowed(_) => "method_not_allowed",
            Self::NotSigned(_) => "server_error",
        }
    }

    /// The `WWW-Authenticate` header, if there is one.
    fn challenge(&self) -> Option<String> {
        let realm = match self {
            Self::BadCredentials | Self::UnknownOrigin => {
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
            | Self::GrantNotRegistered(_)
            | Self::OtherClient
            | Self::NoScopeLeft
            | Self::BadRefreshToken(_) => StatusCode::UNAUTHORIZED,
            Self::GrantMissing
            | Self::ParameterMissing(_)
            | Self::GrantUnknown(_)
            | Self::BadCode
            | Self::ScopeNotAllowed { .. }
            | Self::ScopeNotNarrowed { .. }
            | Self::RefreshTokenOfAnother(_) => StatusCode::BAD_REQUEST,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_of_the_basic_header_are_percent_decoded() {
        let header = format!(
            "Basic {}",
            BASE64_STANDARD.encode("my%3Aclient:p%25ss+word")
        );

        let (id, secret) = basic(&header).unwrap();

        assert_eq!(
            (id.as_str(), secret.expose_secret()),
            ("my:client", "p%ss word")
        );
    }

    #[test]
    fn another_scheme_is_no_basic_header() {
        assert!(basic("Bearer abc").is_none());
    }
}
