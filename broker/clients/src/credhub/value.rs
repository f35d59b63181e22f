//! Values of credentials.

use std::{collections::BTreeMap, fmt};

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, value::RawValue};
use subtle::ConstantTimeEq;

/// The value of a credential. `Debug` does not show it.
#[derive(Clone)]
pub enum CredentialValue {
    /// A text, of the types `value` and `password`.
    Text(SecretString),
    /// Anything else, as JSON, of the type `json` and all others.
    Json(SecretJson),
}

/// A JSON value that is secret, as text.
#[derive(Clone)]
pub struct SecretJson(SecretString);

/// The text is no JSON. The text itself is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret is not JSON at line {line}, column {column}")]
pub struct InvalidSecretJson {
    /// From 1.
    pub line: usize,
    /// From 0.
    pub column: usize,
}

impl CredentialValue {
    /// A string is a text, all else stays JSON to the last digit.
    pub fn from_json(raw: &RawValue) -> Self {
        match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => Self::Text(text.into()),
            Err(_) => Self::Json(SecretJson(raw.get().into())),
        }
    }

    /// The value as text: a text as it is, all else as JSON.
    pub fn as_text(&self) -> &SecretString {
        match self {
            Self::Text(text) => text,
            Self::Json(json) => json.as_text(),
        }
    }

    /// The value of an object's key; `None` without such a key, or if the value is no object.
    pub fn member(&self, key: &str) -> Option<Self> {
        match self {
            Self::Text(_) => None,
            Self::Json(json) => json.member(key),
        }
    }

    /// Whether two values are known to be equal. Equal objects with differently written members may compare as
    /// different.
    pub fn is_known_to_equal(&self, other: &Self) -> bool {
        let (one, other) = match (self, other) {
            (Self::Text(one), Self::Text(other)) => (one, other),
            (Self::Json(one), Self::Json(other)) => (one.as_text(), other.as_text()),
            (Self::Text(_), Self::Json(_)) | (Self::Json(_), Self::Text(_)) => return false,
        };
        let [one, other] = [one, other].map(|text| text.expose_secret().as_bytes());
        one.ct_eq(other).into()
    }

    /// The type that CredHub knows it under when it is written.
    pub(super) fn credential_type(&self) -> &'static str {
        match self {
            Self::Text(_) => "value",
            Self::Json(_) => "json",
        }
    }

    pub(super) fn to_raw(&self) -> Box<RawValue> {
        let written = match self {
            Self::Text(text) => serde_json::value::to_raw_value(text.expose_secret()),
            Self::Json(json) => RawValue::from_string(json.0.expose_secret().to_owned()),
        };
        written.expect("texts can be written as JSON, and a secret JSON was read as such")
    }
}

impl SecretJson {
    pub fn as_text(&self) -> &SecretString {
        &self.0
    }

    fn member(&self, key: &str) -> Option<CredentialValue> {
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(self.0.expose_secret()).ok()?;
        Some(CredentialValue::from_json(members.get(key)?))
    }
}

impl TryFrom<String> for SecretJson {
    type Error = InvalidSecretJson;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let text = SecretString::from(text);
        match serde_json::from_str::<&RawValue>(text.expose_secret()) {
            Ok(_) => Ok(Self(text)),
            Err(error) => Err(InvalidSecretJson {
                line: error.line(),
                column: error.column(),
            }),
        }
    }
}

impl From<Map<String, Value>> for SecretJson {
    fn from(object: Map<String, Value>) -> Self {
        Self(Value::Object(object).to_string().into())
    }
}

impl fmt::Debug for CredentialValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text([REDACTED])",
            Self::Json(_) => "Json([REDACTED])",
        })
    }
}

impl fmt::Debug for SecretJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretJson([REDACTED])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> CredentialValue {
        CredentialValue::from_json(serde_json::from_str(json).unwrap())
    }

    fn text(value: &CredentialValue) -> &str {
        value.as_text().expose_secret()
    }

    #[test]
    fn a_string_is_its_text_and_all_else_is_json_to_the_last_digit() {
        assert_eq!(text(&value(r#""a\"b\u00e4""#)), "a\"bä");
        let number = r#"{"n":123456789012345678901.10}"#;
        assert_eq!(text(&value(number)), number);
    }

    #[test]
    fn a_member_is_found_by_its_whole_name() {
        let object = value(r#"{"a.b":{"c":1.0},"a":"text","n":null}"#);

        assert_eq!(text(&object.member("a").unwrap()), "text");
        assert_eq!(text(&object.member("a.b").unwrap()), r#"{"c":1.0}"#);
        assert_eq!(text(&object.member("n").unwrap()), "null");
        assert!(object.member("b").is_none());
        assert!(value(r#""text""#).member("a").is_none());
        assert!(value("[1]").member("0").is_none());
    }

    #[test]
    fn a_text_and_an_object_are_never_the_same() {
        assert!(value(r#""{}""#).is_known_to_equal(&value(r#""{}""#)));
        assert!(value("{}").is_known_to_equal(&value("{}")));
        assert!(!value(r#""{}""#).is_known_to_equal(&value("{}")));
        assert!(!value(r#""a""#).is_known_to_equal(&value(r#""b""#)));
    }

    #[test]
    fn what_is_no_json_is_refused_without_being_repeated() {
        let error = SecretJson::try_from("{\"a\":s3cret}".to_owned()).unwrap_err();

        assert!(!format!("{error} {error:?}").contains("s3cret"));
        let shown = format!(
            "{:?} {:?}",
            value(r#""s3cret""#),
            value(r#"{"a":"s3cret"}"#)
        );
        assert!(!shown.contains("s3cret"));
    }
}
