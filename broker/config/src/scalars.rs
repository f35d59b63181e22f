//! Every scalar of a file: its location and its declaration.

use odb_adapter_sdk::yaml::Location;

use super::{
    document::{Document, Located, Node},
    keys::{Key, Keys, Kind},
};

/// A scalar of a file: the name of a key, or a value.
pub(super) struct Scalar<'d> {
    /// The full name of its key.
    pub(super) key: String,
    pub(super) part: Part<'d>,
    /// The declaration of its key; `None` if the key is passed on or unknown.
    pub(super) declared: Option<&'static Key>,
    /// Where it begins and ends, counted in characters of the file.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The type of a scalar.
#[derive(Clone, Copy)]
pub(super) enum Part<'d> {
    /// The name of a key.
    Name(&'d str),
    /// A value.
    Value(&'d Located),
}

/// The declaration of a node.
#[derive(Clone, Copy)]
enum Declared {
    Section(&'static Keys),
    Sections(&'static Keys),
    Named(&'static Keys),
    Value(&'static Key),
    Nothing,
}

impl Declared {
    fn of(key: Option<&'static Key>) -> Self {
        let Some(key) = key else {
            return Self::Nothing;
        };
        match key.kind {
            Kind::Section(keys) => Self::Section(keys),
            Kind::Sections(keys) => Self::Sections(keys),
            Kind::Named(keys) => Self::Named(keys),
            Kind::TextMap | Kind::FreeMap | Kind::Amounts | Kind::Anything => Self::Nothing,
            Kind::Text
            | Kind::Certificates
            | Kind::Choice(_)
            | Kind::Number { .. }
            | Kind::Flag
            | Kind::Texts
            | Kind::Choices(_)
            | Kind::VmCount => Self::Value(key),
        }
    }

    /// The declaration of a key's value, in a map with this declaration.
    fn below(self, name: &str) -> (Option<&'static Key>, Self) {
        match self {
            Self::Section(keys) => {
                let key = keys.get(name);
                (key, Self::of(key))
            }
            Self::Named(keys) => (None, Self::Section(keys)),
            Self::Sections(_) | Self::Value(_) | Self::Nothing => (None, Self::Nothing),
        }
    }

    /// The declaration of a member, in a list with this declaration.
    fn member(self) -> Self {
        match self {
            Self::Sections(keys) => Self::Section(keys),
            Self::Value(key) => Self::Value(key),
            Self::Section(_) | Self::Named(_) | Self::Nothing => Self::Nothing,
        }
    }
}

/// All scalars of a file with these keys.
pub(super) fn all<'d>(document: &'d Document, keys: &'static Keys) -> Vec<Scalar<'d>> {
    let mut found = Vec::new();
    gather(&document.root, Declared::Section(keys), "", &mut found);
    found
}

fn gather<'d>(node: &'d Located, declared: Declared, path: &str, found: &mut Vec<Scalar<'d>>) {
    match &node.value {
        Node::Map(entries) => {
            for (name, value) in entries {
                let key = match path {
                    "" => name.value.clone(),
                    path => format!("{path}.{}", name.value),
                };
                let (declaration, below) = declared.below(&name.value);
                found.extend(range(name.defined).map(|(start, end)| Scalar {
                    key: key.clone(),
                    part: Part::Name(&name.value),
                    declared: declaration,
                    start,
                    end,
                }));
                gather(value, below, &key, found);
            }
        }
        Node::List(items) => {
            for (index, item) in items.iter().enumerate() {
                gather(item, declared.member(), &format!("{path}[{index}]"), found);
            }
        }
        _ => found.extend(range(node.defined).map(|(start, end)| Scalar {
            key: path.to_owned(),
            part: Part::Value(node),
            declared: match declared {
                Declared::Value(key) => Some(key),
                _ => None,
            },
            start,
            end,
        })),
    }
}

fn range(location: Location) -> Option<(usize, usize)> {
    let span = location.span();
    let start = usize::try_from(span.offset()).ok()?;
    let end = start.checked_add(usize::try_from(span.len()).ok()?)?;
    Some((start, end))
}
