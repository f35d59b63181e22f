//! The caller of a UAA's resource endpoints, and its rights (`spec/contracts/platform-apis.md`, "Token errors").
//!
//! How answers look.

use std::collections::BTreeSet;

use actix_web::{
    Error, FromRequest, HttpRequest, HttpResponse, ResponseError,
    dev::Payload,
    http::{
        StatusCode,
        header::{self, AUTHORIZATION},
    },
    web::{Bytes, Data, Path},
};
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};

use super::{
    Uaa,
    tokens::{InvalidToken, Purpose},
};

pub(super) struct Caller {
    pub(super) client_id: String,
    pub(super) scopes: BTreeSet<String>,
}

/// A request to a resource endpoint: its caller is known before its body is read.
pub(super) struct Call {
    pub(super) uaa: Data<Uaa>,
    pub(super) caller: Caller,
    /// The client that the path names, if it names one.
    pub(super) client: String,
    pub(super) body: Bytes,
}

/// Why a caller is not let in.
#[derive(Debug, thiserror::Error)]
pub(super) enum Denied {
    #[error("Full authentication is required to access this resource")]
    NoToken,
    #[error(transparent)]
    Token(#[from] InvalidToken),
    #[error("Insufficient scope for this resource")]
    Scope(&'static [&'static str]),
}

impl FromRequest for Call {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let uaa = request.app_data::<Data<Uaa>>().ok_or(Denied::NoToken);
        let known = uaa.and_then(|uaa| Ok((uaa.clone(), Caller::of(uaa, request)?)));
        let client = Path::<String>::extract(request).into_inner();
        let client = client.map(Path::into_inner).unwrap_or_default();
        let body = Bytes::from_request(request, payload);
        Box::pin(async move {
            let (uaa, caller) = known?;
            Ok(Self {
                uaa,
                caller,
                client,
                body: body.await?,
            })
        })
    }
}

impl Caller {
    fn of(uaa: &Uaa, request: &HttpRequest) -> Result<Self, Denied> {
        let token = bearer(request).ok_or(Denied::NoToken)?;
        let claims = uaa.validated(token, Purpose::Access)?;
        Ok(Self {
            client_id: claims.client_id,
            scopes: claims.scope,
        })
    }

    /// Whether the token has one of these scopes.
    pub(super) fn has_any(&self, scopes: &[&str]) -> bool {
        scopes.iter().any(|scope| self.scopes.contains(*scope))
    }

    /// Refuses a caller who has none of these scopes.
    pub(super) fn must_have_any(&self, scopes: &'static [&'static str]) -> Result<(), Denied> {
        if self.has_any(scopes) {
            Ok(())
        } else {
            Err(Denied::Scope(scopes))
        }
    }
}

fn bearer(request: &HttpRequest) -> Option<&str> {
    let header = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

impl Denied {
    fn code(&self) -> &'static str {
        match self {
            Self::NoToken => "unauthorized",
            Self::Token(_) => "invalid_token",
            Self::Scope(_) => "insufficient_scope",
        }
    }

    fn challenge(&self) -> String {
        let code = self.code();
        match self {
            Self::NoToken | Self::Token(_) => {
                format!(r#"Bearer realm="UAA/oauth", error="{code}", error_description="{self}""#)
            }
            Self::Scope(scopes) => format!(
                r#"Bearer error="{code}", error_description="{self}", scope="{}""#,
                joined(*scopes, " ")
            ),
        }
    }
}

impl ResponseError for Denied {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::NoToken | Self::Token(_) => StatusCode::UNAUTHORIZED,
            Self::Scope(_) => StatusCode::FORBIDDEN,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        response.insert_header((header::CACHE_CONTROL, "no-store"));
        response.insert_header((header::PRAGMA, "no-cache"));
        response.insert_header((header::WWW_AUTHENTICATE, self.challenge()));
        let mut body = json!({"error": self.code(), "error_description": self.to_string()});
        if let Self::Scope(scopes) = self {
            body["scope"] = joined(*scopes, " ").into();
        }
        response.content_type(JSON).body(body.to_string())
    }
}

/// The content type of all JSON answers.
pub(super) const JSON: &str = "application/json;charset=UTF-8";

pub(super) fn json_answer(body: &Value) -> HttpResponse {
    json_answer_with(StatusCode::OK, body)
}

pub(super) fn json_answer_with(status: StatusCode, body: &Value) -> HttpResponse {
    HttpResponse::build(status)
        .content_type(JSON)
        .body(body.to_string())
}

pub(super) fn joined<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, separator: &str) -> String {
    let mut joined = String::new();
    for text in texts {
        if !joined.is_empty() {
            joined.push_str(separator);
        }
        joined.push_str(text.as_ref());
    }
    joined
}
