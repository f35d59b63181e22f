use std::collections::{BTreeMap, BTreeSet};

use super::scan::{Name, NameKind};
use super::source::{Source, TemplateError};
use crate::near::NearNames;

/// The members of a value, as far as they are known before it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Anything.
    Open,
    /// A map of these keys and no others, each of which may be missing.
    Closed(BTreeMap<String, Shape>),
}

impl Shape {
    pub(crate) fn of_names(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Closed(
            names
                .into_iter()
                .map(|name| (name.into(), Self::Open))
                .collect(),
        )
    }

    pub(crate) fn of<const N: usize>(members: [(&str, Shape); N]) -> Self {
        Self::Closed(
            members
                .into_iter()
                .map(|(name, shape)| (name.to_owned(), shape))
                .collect(),
        )
    }

    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Closed(mut members), Self::Closed(others)) => {
                for (name, other) in others {
                    let shape = match members.remove(&name) {
                        Some(shape) => shape.or(other),
                        None => other,
                    };
                    members.insert(name, shape);
                }
                Self::Closed(members)
            }
            _ => Self::Open,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct KnownNames {
    /// Values, as the members of a map.
    pub(crate) values: Shape,
    pub(crate) functions: BTreeSet<&'static str>,
}

/// Filters of the engine that behave the same for any text or value, and our own, separated by blanks.
const FILTERS: &str = "abs capitalize default first float from_json from_yaml get group_by indent int join json \
    keys last length lower nth pairs pluralize replace reverse round safe sort split str \
    title trim trim_end trim_start truncate unique upper urlencode values";

const TESTS: &str = "array bool containing defined divisible_by ending_with even float integer iterable map \
    none number odd starting_with string undefined";

/// Finds the first name that is not known. `locals` are those that templates around this one may
/// have given.
pub(crate) fn check(
    source: &Source,
    known: &KnownNames,
    locals: &BTreeSet<String>,
) -> Result<(), TemplateError> {
    source
        .scan
        .names
        .iter()
        .find_map(|name| error(source, name, known, locals))
        .map_or(Ok(()), Err)
}

fn error(
    source: &Source,
    name: &Name,
    known: &KnownNames,
    locals: &BTreeSet<String>,
) -> Option<TemplateError> {
    let (first, offset) = name.segments.first()?;
    let unknown = |what: &str, near: NearNames| {
        Some(TemplateError::new(
            source.location(*offset),
            format!("unknown {what} `{first}`; {near}"),
        ))
    };
    match name.kind {
        NameKind::Value => path_error(source, name, &known.values, locals),
        NameKind::Function if !known.functions.contains(&**first) => unknown(
            "function",
            NearNames::to(first, known.functions.iter().copied()),
        ),
        NameKind::Filter if FILTERS.split(' ').all(|filter| filter != first) => {
            unknown("filter", NearNames::to(first, FILTERS.split(' ')))
        }
        NameKind::Test if TESTS.split(' ').all(|test| test != first) => {
            unknown("test", NearNames::to(first, TESTS.split(' ')))
        }
        _ => None,
    }
}

fn path_error(
    source: &Source,
    name: &Name,
    values: &Shape,
    locals: &BTreeSet<String>,
) -> Option<TemplateError> {
    let (root, _) = name.segments.first()?;
    if locals.contains(root) || root == "loop" {
        return None;
    }
    let mut shape = values;
    let mut path = Vec::new();
    for (segment, offset) in &name.segments {
        let Shape::Closed(members) = shape else {
            return None;
        };
        let Some(member) = members.get(segment) else {
            let location = match &*path.join(".") {
                "" => String::new(),
                parent => format!(" in `{parent}`"),
            };
            let near = NearNames::to(segment, members.keys());
            return Some(TemplateError::new(
                source.location(*offset),
                format!("unknown name `{segment}`{location}; {near}"),
            ));
        };
        path.push(segment.as_str());
        shape = member;
    }
    None
}
