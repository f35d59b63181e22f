//! The HTTP terms of faults, each parsed from text and valid afterwards.

use std::{fmt, str::FromStr};

use actix_web::http::{Method, StatusCode, header};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct NotThat {
    text: String,
    wanted: &'static str,
}

macro_rules! word {
    ($(#[$about:meta])* $name:ident, $wanted:literal, $accepts:expr) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl FromStr for $name {
            type Err = NotThat;

            fn from_str(text: &str) -> Result<Self, NotThat> {
                text.to_owned().try_into()
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotThat;

            fn try_from(text: String) -> Result<Self, NotThat> {
                let accepts: fn(&str) -> bool = $accepts;
                if accepts(&text) {
                    Ok(Self(text))
                } else {
                    Err(NotThat { text, wanted: $wanted })
                }
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

word!(
    /// A method of HTTP, such as `POST`.
    RequestMethod,
    "a method of HTTP in capitals",
    |text| Method::from_str(text).is_ok() && !text.contains(|letter: char| letter.is_ascii_lowercase())
);

word!(FieldName, "the name of a header field", |text| {
    header::HeaderName::from_str(text).is_ok()
});

word!(FieldValue, "the value of a header field", |text| {
    header::HeaderValue::from_str(text).is_ok()
});

word!(
    /// Selects paths: `*` matches one segment, and `**` at the end all that follow.
    PathPattern,
    "a path that begins with `/`",
    |text| text.starts_with('/') && !text.contains(['?', '#'])
);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Status(u16);

impl RequestMethod {
    pub(super) fn is(&self, method: &Method) -> bool {
        self.0 == method.as_str()
    }
}

impl FieldName {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FieldValue {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl PathPattern {
    /// Compares segment by segment, without decoding.
    pub(super) fn matches(&self, path: &str) -> bool {
        let mut segments = path.split('/');
        for wanted in self.0.split('/') {
            match (wanted, segments.next()) {
                ("**", _) => return true,
                ("*", Some(_)) => {}
                (wanted, Some(segment)) if wanted == segment => {}
                _ => return false,
            }
        }
        segments.next().is_none()
    }
}

impl Status {
    pub(super) fn code(self) -> StatusCode {
        StatusCode::from_u16(self.0).expect("it was checked when it was made")
    }
}

impl TryFrom<u16> for Status {
    type Error = NotThat;

    /// Informational statuses end no request, so a fault cannot answer with one.
    fn try_from(status: u16) -> Result<Self, NotThat> {
        if (200..600).contains(&status) {
            Ok(Self(status))
        } else {
            Err(NotThat {
                text: status.to_string(),
                wanted: "a status from 200 to 599",
            })
        }
    }
}

impl FromStr for Status {
    type Err = NotThat;

    fn from_str(text: &str) -> Result<Self, NotThat> {
        text.parse::<u16>()
            .unwrap_or_default()
            .try_into()
            .map_err(|NotThat { wanted, .. }| NotThat {
                text: text.to_owned(),
                wanted,
            })
    }
}

impl From<Status> for u16 {
    fn from(status: Status) -> Self {
        status.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_one_segment_and_two_match_all_that_follow() {
        let matches = |pattern: &str, path| pattern.parse::<PathPattern>().unwrap().matches(path);

        assert!(matches("/deployments", "/deployments"));
        assert!(!matches("/deployments", "/deployments/one"));
        assert!(matches("/tasks/*/output", "/tasks/7/output"));
        assert!(!matches("/tasks/*/output", "/tasks/7"));
        assert!(!matches("/tasks/*", "/tasks/7/output"));
        assert!(matches("/v3/**", "/v3/jobs/one"));
        assert!(matches("/v3/**", "/v3"), "nothing may follow as well");
        assert!(!matches("/v3/**", "/v2/jobs"));
    }

    #[test]
    fn words_that_http_does_not_know_are_refused() {
        assert!("post".parse::<RequestMethod>().is_err());
        assert!("X Y".parse::<FieldName>().is_err());
        assert!("one\ntwo".parse::<FieldValue>().is_err());
        assert!("deployments".parse::<PathPattern>().is_err());
        assert_eq!(
            "100".parse::<Status>().unwrap_err().to_string(),
            "`100` is not a status from 200 to 599"
        );
    }
}
