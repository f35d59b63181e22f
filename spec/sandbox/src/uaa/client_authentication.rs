//! How a client says who it is.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, http::header::AUTHORIZATION};
use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::{ExposeSecret, SecretString};

use super::{
    directory::{Client, Directory},
    refusal::Refusal,
};

/// Parameters of a token request.
pub(super) type Form = BTreeMap<String, String>;

/// The client that sends the request: by the basic header, or by the form when there is no such header.
pub(super) fn authenticated<'a>(
    directory: &'a Directory,
    request: &HttpRequest,
    form: &Form,
) -> Result<&'a Client, Refusal> {
    let given = |name: &str| form.get(name).cloned();
    let (id, secret) = match request.headers().get(AUTHORIZATION) {
        Some(header) => header
            .to_str()
            .ok()
            .and_then(basic)
            .ok_or(Refusal::BadCredentials)?,
        None => (
            given("client_id").ok_or(Refusal::BadCredentials)?,
            given("client_secret").unwrap_or_default().into(),
        ),
    };
    if form.get("client_id").is_some_and(|named| *named != id) {
        return Err(Refusal::OtherClient);
    }
    directory
        .client(&id, secret.expose_secret())
        .ok_or(Refusal::BadCredentials)
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
