//! YAML as BOSH reads and writes it. Only this file knows the library behind it.
//!
//! The Director (Ruby's Psych) and the Go broker (yaml.v2) read YAML **1.1** (`spec/contracts/adapter-protocol.md`,
//! "YAML: what readers on the other side do"):
//!
//! * Read here, `yes`, `no`, `on`, `off` are booleans, `0644` is octal, and the last of two equal keys counts. A text
//!   field accepts any scalar and keeps its source text: `version: 1.10` is `1.10`.
//! * Written here, every string that is not plainly a word is quoted, so that those parsers read the same string.
//!
//! For documents of no fixed shape read a [`Value`]. It holds what JSON can hold: keys that are numbers or booleans
//! become text, `.inf` and `.nan` are rejected.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_saphyr::{
    DefaultMessageFormatter, DoubleQuoted, DuplicateKeyPolicy, LitStr, MessageFormatter as _,
    Options, SerializerOptions, Tagged,
};

use crate::redaction::without_values;

pub use serde_json::Value;
pub use serde_saphyr::{Deserializer, Location, Spanned};

/// The error of a deserializer in [`with_deserializer`]; it is converted to an [`Error`].
pub use serde_saphyr::Error as DeserializerError;

/// Why a text could not be read, or a value not be written, as YAML.
///
/// No part of it repeats a line or a value of the document, because documents read here hold passwords. That includes
/// what a `Deserialize` implementation puts into quotation marks or back-ticks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", LocationSuffix(self.location))]
pub struct Error {
    message: String,
    location: Option<(u64, u64)>,
}

/// Reads the one document of a text.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_saphyr::from_str_with_options(text, reading()).map_err(Error::from)
}

/// Reads the one document of a text through the caller's deserializer, for example one that collects unknown keys.
pub fn with_deserializer<'de, R, F>(text: &'de str, read: F) -> Result<R, Error>
where
    F: for<'e> FnOnce(Deserializer<'de, 'e>) -> Result<R, DeserializerError>,
{
    serde_saphyr::with_deserializer_from_str_with_options(text, reading(), read)
        .map_err(Error::from)
}

/// Writes a value as one document, with a newline at its end.
///
/// The order of keys is kept. The value goes through JSON: a map's keys must be text, numbers or
/// booleans, and a floating point number that is not finite becomes `null`.
pub fn to_string<T: Serialize>(value: &T) -> Result<String, Error> {
    let document = serde_json::to_value(value).map_err(|error| Error {
        message: without_values(&error.to_string()),
        location: None,
    })?;
    serde_saphyr::to_string_with_options(&Node(&document), writing()).map_err(|error| Error {
        message: error.to_string(),
        location: None,
    })
}

impl Error {
    /// The error without its location.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Line of the error, from 1; `None` if the location is unknown.
    pub fn line(&self) -> Option<u64> {
        self.location.map(|(line, _)| line)
    }

    /// Column of the error in characters, from 1; `None` if the location is unknown.
    pub fn column(&self) -> Option<u64> {
        self.location.map(|(_, column)| column)
    }
}

struct LocationSuffix(Option<(u64, u64)>);

impl fmt::Display for LocationSuffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((line, column)) => write!(f, " at line {line} column {column}"),
            None => Ok(()),
        }
    }
}

/// Snippets are off because they print lines of the document. The other defaults limit depth, nodes, aliases and size.
fn reading() -> Options {
    serde_saphyr::options! {
        legacy_octal_numbers: true,
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    }
}

/// Strings are put into their style by [`Text`], so the library chooses none.
fn writing() -> SerializerOptions {
    serde_saphyr::ser_options! { prefer_block_scalars: false, min_fold_chars: 0 }
}

/// Part of a document, written with its strings in the right style.
struct Node<'d>(&'d Value);

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) => Text(text).serialize(serializer),
            Value::Array(elements) => {
                let mut list = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements {
                    list.serialize_element(&Node(element))?;
                }
                list.end()
            }
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(&Key(key), &Node(value))?;
                }
                map.end()
            }
            scalar @ (Value::Null | Value::Bool(_) | Value::Number(_)) => {
                scalar.serialize(serializer)
            }
        }
    }
}

/// A string as a value.
struct Text<'d>(&'d str);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if is_fit_for_a_block(self.0) {
            LitStr(self.0).serialize(serializer)
        } else {
            Line(self.0).serialize(serializer)
        }
    }
}

/// A string on one line.
struct Line<'d>(&'d str);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if is_plainly_a_word(self.0) {
            self.0.serialize(serializer)
        } else {
            DoubleQuoted(self.0).serialize(serializer)
        }
    }
}

/// A string as a key. Psych merges the value of `<<` into the map around it, with or without quotation marks, unless
/// the key is tagged as a string.
struct Key<'d>(&'d str);

impl Serialize for Key<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            "<<" => Tagged(DoubleQuoted("<<"), Some("tag:yaml.org,2002:str".to_owned()))
                .serialize(serializer),
            key => Line(key).serialize(serializer),
        }
    }
}

impl From<DeserializerError> for Error {
    fn from(error: DeserializerError) -> Self {
        let location = error.location().map(|at| (at.line(), at.column()));
        Self {
            message: message(&error),
            location: location.filter(|(line, _)| *line > 0),
        }
    }
}

/// The library's message without its values and its own way to name the place.
fn message(error: &DeserializerError) -> String {
    use serde_saphyr::Error as E;
    match error.without_snippet() {
        E::Message { msg, .. }
        | E::ExternalMessage { msg, .. }
        | E::HookError { msg, .. }
        | E::SerdeVariantId { msg, .. } => without_values(msg),
        E::SerdeInvalidType {
            unexpected,
            expected,
            ..
        } => without_values(&format!("invalid type: {unexpected}, expected {expected}")),
        E::SerdeInvalidValue {
            unexpected,
            expected,
            ..
        } => without_values(&format!("invalid value: {unexpected}, expected {expected}")),
        E::SerdeUnknownVariant { expected, .. } => {
            format!("unknown variant, expected one of {}", Names(expected))
        }
        E::SerdeUnknownField {
            field, expected, ..
        } => {
            format!(
                "unknown field `{field}`, expected one of {}",
                Names(expected)
            )
        }
        E::SerdeMissingField { field, .. } => format!("missing field `{field}`"),
        E::NonFiniteFloat { .. } => "a number that is not finite is not allowed".to_owned(),
        E::TaggedEnumMismatch { target, .. } => format!("a tag that is not `{target}`"),
        E::UnsupportedTag { .. } => "a tag that is not supported".to_owned(),
        E::InvalidScalar { ty, .. } => format!("invalid value, expected {ty}"),
        E::Unexpected { expected, .. } => format!("unexpected structure, expected {expected}"),
        E::MultipleDocuments { .. } => "more than one document".to_owned(),
        E::AliasError { error, .. } => message(error),
        other => without_values(&DefaultMessageFormatter.format_message(other)),
    }
}

struct Names<'e>(&'e [&'static str]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if nth > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// Whether every YAML 1.1 parser reads the plain text as a string.
///
/// That holds for plain words: a letter first, then letters, digits and characters that are common in names, unless
/// some parser reads the word as a boolean, a null or a number. It also holds for a BOSH variable such as
/// `((admin_password))`: placeholders are written like the paths that replace them, so a manifest has the same text
/// before and after. Any other text is quoted.
fn is_plainly_a_word(text: &str) -> bool {
    let variable = text
        .strip_prefix("((")
        .and_then(|text| text.strip_suffix("))"));
    match variable {
        Some(name) => !name.is_empty() && name.chars().all(|c| is_common_in_names(c) || c == ':'),
        None => {
            text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.chars().all(is_common_in_names)
                && !means_something_else(text)
        }
    }
}

fn is_common_in_names(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')
}

/// Words of YAML 1.1, and words that some readers mistake for numbers.
fn means_something_else(word: &str) -> bool {
    const WORDS: [&str; 12] = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity",
    ];
    WORDS.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// Whether every parser reads a text of several lines unchanged from a literal block.
///
/// That needs printable characters and lines that end in something visible; the first line must not be indented or
/// empty, because it determines the block's indentation.
fn is_fit_for_a_block(text: &str) -> bool {
    let Some(lines) = text.strip_suffix('\n') else {
        return false;
    };
    lines.contains('\n')
        && !text.starts_with([' ', '\n'])
        && lines.split('\n').all(|line| !line.ends_with(' '))
        && !lines.ends_with('\n')
        && text.chars().all(|c| c == '\n' || is_printable(c))
}

fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}
