//! The scalars of a file with their declarations, and the line that a finding is about, without secrets.

use std::ops::Range;

use odb_adapter_sdk::yaml::Location;

use super::{
    ConfigFinding,
    document::{Document, Located, Node},
    keys::{Key, Keys, Kind},
};

const HIDDEN: char = '…';

/// A line of the file with the location of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The number of the line, from 1.
    pub line: u64,
    /// The visible part of the line.
    pub text: String,
    /// The subject of the finding, as a range of bytes of the text.
    pub marked: Range<usize>,
}

pub(super) fn of(
    document: &Document,
    keys: &'static Keys,
    finding: &ConfigFinding,
) -> Option<Excerpt> {
    let (line, column) = finding.location?;
    let start = document.start_of_line(line)?;
    let column = start + usize::try_from(column).ok()?.checked_sub(1)?;
    let source = document.source();
    let length = source[start..].iter().position(|letter| *letter == '\n');
    let end = length.map_or(source.len(), |length| start + length);
    let mut shown: Vec<_> = scalars(document, keys)
        .into_iter()
        .filter(|scalar| scalar.start < end && start < scalar.end && scalar.start < scalar.end)
        .map(|scalar| Shown {
            range: scalar.start.max(start)..scalar.end.min(end),
            is_visible: is_visible(&scalar, finding),
        })
        .collect();
    shown.sort_by_key(|shown| shown.range.start);
    let whole = Line {
        source,
        range: start..end,
        column,
    };
    let (text, marked) = whole.show(&shown);
    Some(Excerpt { line, text, marked })
}

struct Shown {
    range: Range<usize>,
    is_visible: bool,
}

/// The finding's text contains no secret: what it names may be shown, and nothing else that could be a secret.
fn is_visible(scalar: &Scalar<'_>, finding: &ConfigFinding) -> bool {
    match (scalar.part, scalar.declared) {
        (Part::Name(_), Some(_)) => true,
        (Part::Name(name), None) => finding.key.split(['.', '[']).any(|segment| segment == name),
        (Part::Value(_), None) => false,
        (Part::Value(_), Some(key)) if key.secret => false,
        (Part::Value(node), Some(_)) => match &node.value {
            Node::Text(text) => finding.text().contains(&format!("`{text}`")),
            Node::Null | Node::Boolean(_) | Node::Integer(_) | Node::Large(_) | Node::Float(_) => {
                true
            }
            Node::List(_) | Node::Map(_) => false,
        },
    }
}

/// A line of the file as a range of characters, and a location on it.
struct Line<'s> {
    source: &'s [char],
    range: Range<usize>,
    column: usize,
}

impl Line<'_> {
    fn show(&self, scalars: &[Shown]) -> (String, Range<usize>) {
        let mut text = String::new();
        let mut marked = None;
        let mut at = self.range.start;
        while at < self.range.end {
            let scalar = scalars.iter().find(|scalar| scalar.range.contains(&at));
            let (end, is_visible) = match scalar {
                Some(scalar) => (scalar.range.end, scalar.is_visible),
                None if self.begins_comment(at) => break,
                None => (at + 1, is_structure(self.source[at])),
            };
            let begins = text.len();
            if is_visible {
                text.extend(&self.source[at..end]);
            } else if end <= self.column {
                // The marked text stays in its column.
                text.push(HIDDEN);
                text.extend(std::iter::repeat_n(' ', end - at - 1));
            } else if scalar.is_some() || !text.ends_with(HIDDEN) {
                text.push(HIDDEN);
            }
            if (at..end).contains(&self.column) {
                marked = Some(begins..text.len());
            }
            at = end;
        }
        let text = text.trim_end().to_owned();
        let end = text.len();
        let marked = marked.unwrap_or(end..end);
        (text, marked.start.min(end)..marked.end.min(end))
    }

    fn begins_comment(&self, at: usize) -> bool {
        let follows_blank = at == self.range.start || self.source[at - 1].is_whitespace();
        self.source[at] == '#' && follows_blank
    }
}

/// The syntax of YAML around scalars. Anchors and tags are names that may be confidential.
fn is_structure(letter: char) -> bool {
    letter == ' ' || "{}[],:-?|>'\"".contains(letter)
}

pub(super) struct Scalar<'d> {
    pub(super) key: String,
    pub(super) part: Part<'d>,
    /// The declaration of its key; `None` if the key is passed on or unknown.
    pub(super) declared: Option<&'static Key>,
    /// Where it begins and ends, counted in characters of the file.
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Part<'d> {
    Name(&'d str),
    Value(&'d Located),
}

#[derive(Clone, Copy)]
enum Declared {
    /// A map with these keys.
    Map(&'static Keys),
    /// The value of a key, or a member of its list.
    Value(&'static Key),
    Nothing,
}

impl Declared {
    /// The declaration of a key, and of its value, in a map with this declaration.
    fn below(self, name: &str) -> (Option<&'static Key>, Self) {
        let keys = match self {
            Self::Map(keys) => Some(keys),
            Self::Value(key) if key.kind == Kind::Section => key.keys.as_ref(),
            Self::Value(key) if key.kind == Kind::Named => {
                return (None, key.keys.as_ref().map_or(Self::Nothing, Self::Map));
            }
            Self::Value(_) | Self::Nothing => None,
        };
        let key = keys.and_then(|keys| keys.get(name));
        (key, key.map_or(Self::Nothing, Self::Value))
    }

    /// The declaration of a member, in a list with this declaration.
    fn member(self) -> Self {
        match self {
            Self::Value(key) if key.kind == Kind::Sections => {
                key.keys.as_ref().map_or(Self::Nothing, Self::Map)
            }
            Self::Value(key) if key.is_plain() => self,
            Self::Map(_) | Self::Value(_) | Self::Nothing => Self::Nothing,
        }
    }
}

pub(super) fn scalars<'d>(document: &'d Document, keys: &'static Keys) -> Vec<Scalar<'d>> {
    let mut found = Vec::new();
    gather(&document.root, Declared::Map(keys), "", &mut found);
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
                Declared::Value(key) if key.is_plain() => Some(key),
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
