//! What is wrong with a document, and where, in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::Location;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::expectation;
use crate::redaction::without_values;

/// The most errors that are reported, and the most names in one list, so that the text stays short.
const REPORTED: usize = 10;

#[derive(Debug, Clone, Copy)]
pub(super) enum Subject {
    Parameter,
    PlanProperty,
}

/// All errors of a document, in an order of their own. No value is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ParameterErrors {
    /// Unknown names, by location.
    unsupported: BTreeMap<String, Unsupported>,
    /// The other errors by their locations, each as the text after the name.
    others: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Unsupported {
    /// The object that the name is in.
    parent: String,
    /// The names that the object supports, sorted.
    supported: Vec<String>,
    /// The supported name that the user probably meant.
    meant: Option<String>,
}

impl ParameterErrors {
    pub(super) fn must_be(location: String, expected: &str) -> Self {
        Self {
            others: BTreeMap::from([(location, format!("must be {expected}"))]),
            ..Self::default()
        }
    }

    pub(super) fn found<'e>(
        schema: &Value,
        document: &Value,
        errors: impl Iterator<Item = ValidationError<'e>>,
    ) -> Self {
        let mut found = Self::default();
        for error in errors {
            found.add(schema, document, &error);
        }
        found
    }

    /// An error of a type that its schema does not find. The text may be the type's own; quoted parts may be values and
    /// are left out.
    pub(super) fn of_decoding(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let message = without_values(&error.inner().to_string());
        let what = if message.starts_with("must ") {
            message
        } else if let Some((_, expected)) = message.rsplit_once(", expected ") {
            format!("must be {expected}")
        } else {
            format!("is not valid: {message}")
        };
        Self {
            others: BTreeMap::from([(location_of_decoding(error.path()), what)]),
            ..Self::default()
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.unsupported.is_empty() && self.others.is_empty()
    }

    pub(super) fn unsupported(&self) -> impl Iterator<Item = &str> {
        self.unsupported.keys().map(String::as_str)
    }

    fn add(&mut self, root: &Value, document: &Value, error: &ValidationError<'_>) {
        let here = in_words(document, error.instance_path().as_str());
        let schema = parent_schema(root, error);
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                self.no_such(&here, schema, unexpected.iter());
            }
            // An object that takes no name at all.
            ValidationErrorKind::FalseSchema => {
                match document.pointer(error.instance_path().as_str()) {
                    Some(Value::Object(members)) => {
                        self.no_such(&here, schema, members.keys());
                    }
                    _ => self.wrong(here, &expectation::of(root, schema)),
                }
            }
            ValidationErrorKind::Required {
                property: Value::String(name),
            } => {
                let expected = schema
                    .get("properties")
                    .and_then(|properties| properties.get(name))
                    .map(|property| expectation::of(root, property));
                let what = match expected {
                    Some(expected) => format!("must be set to {expected}"),
                    None => "must be set".to_owned(),
                };
                self.others.insert(below(&here, name), what);
            }
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                match meant_branch(error, context) {
                    Some(branch) if !are_about_the_value(branch, error.instance_path()) => {
                        for error in branch {
                            self.add(root, document, error);
                        }
                    }
                    Some(_) | None => self.wrong(here, &expectation::of(root, schema)),
                }
            }
            ValidationErrorKind::Not { schema } => {
                self.wrong(here, &expectation::of_refused(schema));
            }
            _ => self.wrong(here, &expectation::of(root, schema)),
        }
    }

    fn no_such<'n>(
        &mut self,
        location: &str,
        schema: &Value,
        names: impl Iterator<Item = &'n String>,
    ) {
        let supported = supported_by(schema);
        for name in names {
            self.unsupported.insert(
                below(location, name),
                Unsupported {
                    parent: location.to_owned(),
                    meant: nearest(name, &supported).map(str::to_owned),
                    supported: supported.clone(),
                },
            );
        }
    }

    fn wrong(&mut self, location: String, expected: &str) {
        self.others.insert(location, format!("must be {expected}"));
    }

    pub(super) fn report(&self, subject: Subject, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, all, no_such] = subject.words();
        let mut reported: Vec<String> = Vec::new();
        if !self.unsupported.is_empty() {
            reported.push(format!("{no_such}: {}", self.names_unsupported()));
            reported.extend(self.supported());
        }
        reported.extend(self.others.iter().take(REPORTED).map(|(location, what)| {
            if location.is_empty() {
                format!("the {all} {what}")
            } else {
                format!("{one} `{location}` {what}")
            }
        }));
        if self.others.len() > REPORTED {
            reported.push(format!("and {} more", self.others.len() - REPORTED));
        }
        f.write_str(&reported.join("; "))
    }

    fn names_unsupported(&self) -> String {
        let reported = self.unsupported.iter().take(REPORTED);
        let mut names: Vec<String> = reported
            .map(|(location, unsupported)| match &unsupported.meant {
                Some(meant) => format!("{location} (did you mean `{meant}`?)"),
                None => location.clone(),
            })
            .collect();
        if self.unsupported.len() > REPORTED {
            names.push(format!("and {} more", self.unsupported.len() - REPORTED));
        }
        names.join(", ")
    }

    /// The supported names, once for each object with unknown names.
    fn supported(&self) -> impl Iterator<Item = String> {
        let objects: BTreeSet<(&str, &[String])> = self
            .unsupported
            .values()
            .map(|unsupported| (&*unsupported.parent, &*unsupported.supported))
            .collect();
        objects.into_iter().take(REPORTED).map(|(parent, names)| {
            let names = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            if parent.is_empty() {
                format!("supported: {names}")
            } else {
                format!("supported in `{parent}`: {names}")
            }
        })
    }
}

impl Subject {
    /// One of them, all of them, and the start of a list of unknown names: in the words of the Go example adapters,
    /// which users know.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Parameter => [
                "parameter",
                "parameters",
                "unsupported parameter(s) for this service plan",
            ],
            Self::PlanProperty => [
                "plan property",
                "plan properties",
                "unsupported plan properties",
            ],
        }
    }
}

fn parent_schema<'s>(root: &'s Value, error: &ValidationError<'_>) -> &'s Value {
    let keyword = error.schema_path().as_str();
    keyword
        .rsplit_once('/')
        .and_then(|(parent, _)| root.pointer(parent))
        .unwrap_or(root)
}

/// The branch of a choice that the document probably targets: the only one of its kind.
fn meant_branch<'c>(
    error: &ValidationError<'_>,
    branches: &'c [Vec<ValidationError<'static>>],
) -> Option<&'c [ValidationError<'static>]> {
    let here = error.instance_path();
    let mut meant = branches
        .iter()
        .filter(|errors| !are_of_another_kind(errors, here));
    match (meant.next(), meant.next()) {
        (Some(branch), None) => Some(branch),
        _ => None,
    }
}

/// Whether all errors are about the value itself, none about a part of it: then the other branches are possible, too.
fn are_about_the_value(errors: &[ValidationError<'_>], here: &Location) -> bool {
    errors.iter().all(|error| {
        let is_about_a_member = matches!(
            error.kind(),
            ValidationErrorKind::Required { .. }
                | ValidationErrorKind::AdditionalProperties { .. }
                | ValidationErrorKind::FalseSchema
                | ValidationErrorKind::AnyOf { .. }
                | ValidationErrorKind::OneOfNotValid { .. }
        );
        error.instance_path() == here && !is_about_a_member
    })
}

/// Whether the errors of a branch show that it is for another kind: a value of another type, an object with another tag
/// or under another name.
fn are_of_another_kind(errors: &[ValidationError<'_>], here: &Location) -> bool {
    let is_here = |error: &&ValidationError<'_>| error.instance_path() == here;
    let is_wrong_type =
        |error: &ValidationError<'_>| matches!(error.kind(), ValidationErrorKind::Type { .. });
    let is_wrong_tag = |error: &ValidationError<'_>| match error.kind() {
        ValidationErrorKind::Enum { options } => {
            let tag = error.instance_path().as_str().strip_prefix(here.as_str());
            tag.is_some_and(|tag| tag.matches('/').count() <= 1)
                && options.as_array().is_some_and(|words| words.len() == 1)
        }
        _ => false,
    };
    let lacks_a_name = errors
        .iter()
        .filter(is_here)
        .any(|error| matches!(error.kind(), ValidationErrorKind::Required { .. }));
    let has_another = errors.iter().filter(is_here).any(|error| {
        matches!(
            error.kind(),
            ValidationErrorKind::AdditionalProperties { .. }
        )
    });
    errors.iter().filter(is_here).any(is_wrong_type)
        || errors.iter().any(is_wrong_tag)
        || (lacks_a_name && has_another)
}

fn supported_by(schema: &Value) -> Vec<String> {
    let mut names: Vec<String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    names.sort_unstable();
    names
}

fn nearest<'n>(name: &str, names: &'n [String]) -> Option<&'n str> {
    // The distance of a long name is expensive to compute, and no known name is near.
    if name.chars().nth(100).is_some() {
        return None;
    }
    let distance = |known: &str| strsim::damerau_levenshtein(known, name);
    let near = names
        .iter()
        .map(|known| (distance(known), known))
        .filter(|(distance, known)| *distance <= 1 + known.chars().count() / 4);
    near.min().map(|(_, known)| known.as_str())
}

/// The most characters of a name that are shown, so that the text stays short.
const LONGEST: usize = 100;

/// The location of a JSON pointer in words; empty for the document itself.
fn in_words(document: &Value, pointer: &str) -> String {
    let mut words = String::new();
    let mut here = Some(document);
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        here = match here {
            Some(Value::Array(items)) => {
                words = format!("{words}[{name}]");
                name.parse().ok().and_then(|nth: usize| items.get(nth))
            }
            other => {
                words = below(&words, &name);
                other.and_then(|object| object.get(&name))
            }
        };
    }
    words
}

/// The location of a name inside another location.
fn below(location: &str, name: &str) -> String {
    let name = shown(name);
    if location.is_empty() {
        name
    } else {
        format!("{location}.{name}")
    }
}

fn location_of_decoding(path: &serde_path_to_error::Path) -> String {
    path.iter()
        .fold(String::new(), |words, segment| match segment {
            Segment::Seq { index } => format!("{words}[{index}]"),
            Segment::Map { key: name } | Segment::Enum { variant: name } => below(&words, name),
            Segment::Unknown => words,
        })
}

/// A name from outside: short, and on one line.
fn shown(name: &str) -> String {
    let on_one_line = name
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let shown: String = on_one_line.take(LONGEST).collect();
    if name.chars().nth(LONGEST).is_some() {
        shown + "…"
    } else {
        shown
    }
}
