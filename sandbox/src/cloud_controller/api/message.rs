//! Request bodies.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::cloud_controller::{
    model::MetadataChange,
    rejection::{ErrorKind, Rejection},
};

const KEY_LIMIT: usize = 63;
const PREFIX_LIMIT: usize = 253;
const LABEL_VALUE_LIMIT: usize = 63;
const ANNOTATION_VALUE_LIMIT: usize = 5_000;

/// Decodes a body. Invalid JSON is one error, unknown members are another.
pub(super) fn message<T: DeserializeOwned>(body: &[u8]) -> Result<T, Rejection> {
    let value: Value = serde_json::from_slice(body).map_err(|_| {
        ErrorKind::MessageParseError
            .with("Request invalid due to parse error: invalid request body")
    })?;
    serde_json::from_value(value).map_err(|error| {
        let text = error.to_string();
        let unknown = text
            .strip_prefix("unknown field `")
            .and_then(|rest| rest.split_once('`'));
        match unknown {
            Some((field, _)) => Rejection::unprocessable(format!("Unknown field(s): '{field}'")),
            None => Rejection::unprocessable(text),
        }
    })
}

/// `{"data":{"guid":…}}`
#[derive(Debug, Deserialize)]
pub(super) struct Relation {
    pub(super) data: Named,
}

/// `{"data":[{"guid":…}]}`
#[derive(Debug, Deserialize)]
pub(super) struct Relations {
    pub(super) data: Vec<Named>,
}

/// `{"guid":…}`
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) guid: String,
}

pub(super) fn checked_name(name: &str) -> Result<String, Rejection> {
    match name.chars().count() {
        0 => Err(Rejection::unprocessable("Name must not be blank")),
        1..=255 => Ok(name.to_owned()),
        _ => Err(Rejection::unprocessable(
            "Name is too long (maximum is 255 characters)",
        )),
    }
}

/// Labels and annotations that can be kept (v3 API, "Metadata").
pub(super) fn checked_metadata(change: MetadataChange) -> Result<MetadataChange, Rejection> {
    check(&change.labels, "label", label_value_error)?;
    check(&change.annotations, "annotation", annotation_value_error)?;
    Ok(change)
}

fn check(
    entries: &BTreeMap<String, Option<String>>,
    kind: &str,
    value_error: fn(&str) -> Option<String>,
) -> Result<(), Rejection> {
    for (key, value) in entries {
        let error = key_error(key)
            .map(|error| ("key", error))
            .or_else(|| Some(("value", value_error(value.as_deref()?)?)));
        if let Some((part, error)) = error {
            return Err(Rejection::unprocessable(format!(
                "Metadata {kind} {part} error: {error}"
            )));
        }
    }
    Ok(())
}

fn key_error(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if key.is_empty() {
        return Some("key cannot be empty string".to_owned());
    }
    if name.contains('/') {
        return Some("key has more than one '/'".to_owned());
    }
    if let Some(prefix) = prefix {
        if !is_domain(prefix) {
            return Some(format!("prefix '{prefix}' must be in valid dns format"));
        }
        if prefix.len() > PREFIX_LIMIT {
            let start: String = prefix.chars().take(8).collect();
            return Some(format!(
                "prefix '{start}...' is greater than {PREFIX_LIMIT} characters"
            ));
        }
        if prefix.eq_ignore_ascii_case("cloudfoundry.org") {
            return Some("prefix 'cloudfoundry.org' is reserved".to_owned());
        }
    }
    if name.is_empty() {
        return Some("key cannot be empty string".to_owned());
    }
    word_error(name, KEY_LIMIT)
}

fn label_value_error(value: &str) -> Option<String> {
    if value.is_empty() {
        None
    } else {
        word_error(value, LABEL_VALUE_LIMIT)
    }
}

fn annotation_value_error(value: &str) -> Option<String> {
    let start: String = value.chars().take(8).collect();
    (value.chars().count() > ANNOTATION_VALUE_LIMIT)
        .then(|| format!("'{start}...' is greater than {ANNOTATION_VALUE_LIMIT} characters"))
}

fn word_error(word: &str, limit: usize) -> Option<String> {
    let inner = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let outer = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    if !word.chars().all(inner) {
        Some(format!("'{word}' contains invalid characters"))
    } else if !outer(word.chars().next()) || !outer(word.chars().last()) {
        Some(format!("'{word}' starts or ends with invalid characters"))
    } else if word.len() > limit {
        Some(format!(
            "'{}...' is greater than {limit} characters",
            &word[..8]
        ))
    } else {
        None
    }
}

fn is_domain(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
    };
    text.contains('.') && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_labels_are_held_to_their_rules() {
        for (key, wanted) in [
            ("tier", None),
            ("example.com/tier", None),
            ("", Some("key cannot be empty string")),
            ("a/b/c", Some("key has more than one '/'")),
            (
                "no_dns/tier",
                Some("prefix 'no_dns' must be in valid dns format"),
            ),
            (
                "cloudfoundry.org/x",
                Some("prefix 'cloudfoundry.org' is reserved"),
            ),
            ("a b", Some("'a b' contains invalid characters")),
            ("-a", Some("'-a' starts or ends with invalid characters")),
        ] {
            assert_eq!(key_error(key).as_deref(), wanted, "{key}");
        }
    }
}
