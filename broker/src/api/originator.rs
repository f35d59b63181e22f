//! The user on whose behalf a platform sends a request (Open Service Broker API 2.17, "Originating Identity"). Only the
//! log uses it.

use actix_web::http::header::HeaderMap;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;

const HEADER: &str = "x-broker-api-originating-identity";

/// The most that is kept of a platform's name, or a user's id. Both are a few words or a UUID.
const LONGEST: usize = 128;

/// The user behind a request. Empty if the platform does not name one, as when it refreshes its catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Originator {
    /// The platform's name of itself.
    pub(super) platform: String,
    /// The user's id: `user_id` of Cloud Foundry, `uid` of Kubernetes.
    pub(super) user: String,
}

/// The header is there and cannot be understood, which is no reason to refuse anything.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

#[derive(Deserialize)]
struct Identity {
    #[serde(default, alias = "uid")]
    user_id: String,
}

impl Originator {
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Unreadable> {
        let Some(value) = headers.get(HEADER) else {
            return Ok(Self::default());
        };
        let (platform, identity) = value
            .to_str()
            .ok()
            .and_then(|text| text.trim().split_once(' '))
            .ok_or(Unreadable)?;
        let identity = BASE64_STANDARD
            .decode(identity.trim())
            .map_err(|_| Unreadable)?;
        let identity: Identity = serde_json::from_slice(&identity).map_err(|_| Unreadable)?;
        Ok(Self {
            platform: bounded(platform, LONGEST),
            user: bounded(&identity.user_id, LONGEST),
        })
    }
}

/// Text of a client, short enough for the log and without line breaks.
pub(super) fn bounded(text: &str, longest: usize) -> String {
    let kept = &text[..text.floor_char_boundary(longest)];
    kept.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn of(value: &str) -> Result<Originator, Unreadable> {
        let mut headers = HeaderMap::new();
        headers.insert(
            HeaderName::from_static(HEADER),
            HeaderValue::from_str(value).unwrap(),
        );
        Originator::of(&headers)
    }

    #[test]
    fn users_of_both_platforms_are_known() {
        for (platform, identity, user) in [
            ("cloudfoundry", r#"{"user_id":"u-1"}"#, "u-1"),
            (
                "kubernetes",
                r#"{"username":"duke","uid":"u-2","groups":[]}"#,
                "u-2",
            ),
            ("other", "{}", ""),
        ] {
            let value = format!("{platform} {}", BASE64_STANDARD.encode(identity));
            let originator = of(&value).unwrap();
            assert_eq!((&*originator.platform, &*originator.user), (platform, user));
        }
        assert_eq!(Originator::of(&HeaderMap::new()), Ok(Originator::default()));
    }

    #[test]
    fn a_name_is_kept_to_one_line_of_reasonable_length() {
        let identity = format!(r#"{{"user_id":"a\nb{}"}}"#, "ä".repeat(1000));
        let value = format!("{} {}", "p".repeat(1000), BASE64_STANDARD.encode(identity));
        let originator = of(&value).unwrap();
        assert_eq!(originator.platform, "p".repeat(128));
        assert!(originator.user.starts_with("a\u{fffd}bä"));
        assert!(originator.user.len() <= 130, "{}", originator.user.len());
    }

    #[test]
    fn what_cannot_be_understood_is_reported() {
        let no_object = format!("cloudfoundry {}", BASE64_STANDARD.encode("5"));
        for value in ["cloudfoundry", "cloudfoundry !", "", &no_object] {
            assert_eq!(of(value), Err(Unreadable), "{value}");
        }
    }
}
