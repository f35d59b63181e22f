//! Protection against requests that another site makes a browser send with the operator's credentials.
//!
//! A form has a token that is bound to user, action, instance and time. Its key is derived from the password, so that
//! every process with the same configuration takes it. Browsers also name the origin of a request.

use actix_web::http::{
    Method,
    header::{self, HeaderMap},
};
use aws_lc_rs::{hkdf, hmac};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use odb_api_types::ids::InstanceId;
use odb_config::UiAction;
use secrecy::{ExposeSecret, SecretString};

/// How long a confirmation may stay open.
const LIFETIME: SignedDuration = SignedDuration::from_mins(15);

const LABEL: &[u8] = b"on-demand-broker page: tokens of forms, 1";

pub(super) struct FormTokens(hmac::Key);

impl std::fmt::Debug for FormTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FormTokens")
    }
}

/// What a form is for.
#[derive(Clone, Copy)]
pub(super) struct Purpose<'a> {
    pub(super) user: &'a str,
    pub(super) action: UiAction,
    pub(super) instance: &'a InstanceId,
}

impl FormTokens {
    pub(super) fn of(password: &SecretString) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]);
        let secret = salt.extract(password.expose_secret().as_bytes());
        let label = [LABEL];
        let derived = secret
            .expand(&label, hmac::HMAC_SHA256)
            .expect("one block is never too long");
        Self(derived.into())
    }

    pub(super) fn issue(&self, purpose: Purpose<'_>, now: Timestamp) -> String {
        let expiry = now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
        let expiry = expiry.as_second();
        let tag = hmac::sign(&self.0, &purpose.text(expiry));
        format!("{expiry}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag))
    }

    /// Compares in constant time.
    pub(super) fn admits(&self, token: &str, purpose: Purpose<'_>, now: Timestamp) -> bool {
        let Some((expiry, tag)) = token.split_once('.') else {
            return false;
        };
        let (Ok(expiry), Ok(tag)) = (expiry.parse::<i64>(), BASE64_URL_SAFE_NO_PAD.decode(tag))
        else {
            return false;
        };
        hmac::verify(&self.0, &purpose.text(expiry), &tag).is_ok() && now.as_second() < expiry
    }
}

impl Purpose<'_> {
    /// The name of the user is free text and comes last; nothing before it has a line break.
    fn text(self, expiry: i64) -> Vec<u8> {
        let (action, instance, user) = (self.action.name(), self.instance, self.user);
        format!("{expiry}\n{action}\n{instance}\n{user}").into_bytes()
    }
}

/// Views that send requests to upstreams, or hold a connection.
const COSTLY: [&str; 3] = ["/health", "/changes", "/events"];

/// Whether another site has made a browser send the request, and may not. Links of other sites lead to views.
pub(super) fn is_forged(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| text(headers, name) == Some(value);
    let is_link = method == Method::GET
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
        && !COSTLY.iter().any(|end| path.ends_with(end));
    is_of_another_site(headers) && !is_link
}

/// Sites cannot set these headers. The origin counts only without the other one: a proxy may have changed the host.
fn is_of_another_site(headers: &HeaderMap) -> bool {
    if let Some(site) = text(headers, "sec-fetch-site") {
        return !["same-origin", "none"].contains(&site);
    }
    let host = text(headers, header::HOST.as_str()).unwrap_or_default();
    let is_other = |origin: &str| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_none_or(|authority| !authority.eq_ignore_ascii_case(host))
    };
    text(headers, header::ORIGIN.as_str()).is_some_and(is_other)
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let value = headers.get(name)?;
    Some(value.to_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_token_is_for_one_user_action_instance_and_time() {
        let tokens = FormTokens::of(&"secret".to_owned().into());
        let (one, other): (InstanceId, InstanceId) = (
            "i1".to_owned().try_into().unwrap(),
            "i2".to_owned().try_into().unwrap(),
        );
        let purpose = Purpose {
            user: "ada",
            action: UiAction::Upgrade,
            instance: &one,
        };
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let token = tokens.issue(purpose, now);
        let later = now + LIFETIME;

        let of_another_process = FormTokens::of(&"secret".to_owned().into());
        assert!(of_another_process.admits(&token, purpose, now));
        assert!(!tokens.admits(&token, purpose, later), "it has expired");
        let postponed = token.replacen(|digit: char| digit.is_ascii_digit(), "9", 1);
        assert!(!tokens.admits(&postponed, purpose, later));
        for wrong in [
            Purpose {
                user: "eve",
                ..purpose
            },
            Purpose {
                action: UiAction::Delete,
                ..purpose
            },
            Purpose {
                instance: &other,
                ..purpose
            },
        ] {
            assert!(!tokens.admits(&token, wrong, now));
        }
        let of_another_password = FormTokens::of(&"other".to_owned().into());
        assert!(!of_another_password.admits(&token, purpose, now));
        for malformed in ["", ".", "1.", "x.y", &token[1..]] {
            assert!(!tokens.admits(malformed, purpose, now), "{malformed}");
        }
    }

    #[test]
    fn other_sites_may_link_to_views_and_to_nothing_else() {
        let of = |mode: &'static str| {
            let mut headers = HeaderMap::new();
            for (name, value) in [
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", "document"),
            ] {
                let name = HeaderName::from_static(name);
                headers.insert(name, HeaderValue::from_static(value));
            }
            headers
        };
        for (method, path, mode, expected) in [
            (Method::GET, "/ui/quotas", "navigate", false),
            (Method::GET, "/ui/quotas", "no-cors", true),
            (Method::GET, "/ui/health", "navigate", true),
            (Method::GET, "/ui/instances/i/changes", "navigate", true),
            (Method::GET, "/ui/instances/i/events", "cors", true),
            (Method::POST, "/ui/instances/i/delete", "navigate", true),
        ] {
            let is = is_forged(&method, path, &of(mode));
            assert_eq!(is, expected, "{method} {path} {mode}");
        }
    }

    #[test]
    fn a_request_of_another_site_is_recognised() {
        for (headers, expected) in [
            (&[][..], false),
            (&[("sec-fetch-site", "same-origin")], false),
            (&[("sec-fetch-site", "cross-site")], true),
            (&[("sec-fetch-site", "same-site")], true),
            (&[("sec-fetch-site", "none")], false),
            (&[("origin", "https://broker.example:8080")], false),
            (&[("origin", "https://BROKER.example:8080")], false),
            (&[("origin", "https://broker.example")], true),
            (&[("origin", "https://evil.example")], true),
            (&[("origin", "null")], true),
            (
                &[
                    ("sec-fetch-site", "same-origin"),
                    ("origin", "https://behind.a.proxy"),
                ],
                false,
            ),
        ] {
            let mut given = HeaderMap::new();
            given.insert(
                header::HOST,
                HeaderValue::from_static("broker.example:8080"),
            );
            for (name, value) in headers {
                given.insert(
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                );
            }
            assert_eq!(is_of_another_site(&given), expected, "{headers:?}");
        }
    }
}
