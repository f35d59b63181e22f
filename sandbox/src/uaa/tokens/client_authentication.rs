//! How a client says who it is.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, http::header::AUTHORIZATION};
use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded;

use super::rejection::Rejection;
use crate::uaa::directory::{Directory, Registration};

#[derive(Default)]
pub(in crate::uaa) struct Form(BTreeMap<String, String>);

/// A client that has shown its secret.
pub(in crate::uaa) struct AuthenticatedClient {
    pub(in crate::uaa) client: Registration,
    pub(super) method: AuthenticationMethod,
}

/// How it has done so.
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
