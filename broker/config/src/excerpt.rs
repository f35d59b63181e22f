//! The line of the file that a finding is about, without secrets.

use std::ops::Range;

use super::{
    ConfigFinding,
    document::{Document, Node},
    keys::Keys,
    scalars::{self, Part, Scalar},
};

/// Replaces hidden text.
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

/// The line of a finding.
pub(super) fn of(
    document: &Document,
    keys: &'static Keys,
    finding: &ConfigFinding,
) -> Option<Excerpt> {
    let (line, column) = finding.location()?;
    let start = document.start_of_line(line)?;
    let column = start + usize::try_from(column).ok()?.checked_sub(1)?;
    let source = document.source();
    let length = source[start..].iter().position(|letter| *letter == '\n');
    let end = length.map_or(source.len(), |length| start + length);
    let mut shown: Vec<_> = scalars::all(document, keys)
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

/// A part of the line, and whether it can be shown.
struct Shown {
    range: Range<usize>,
    is_visible: bool,
}

/// The finding's text contains no secret: what it names may be shown, and nothing else that could be a secret.
fn is_visible(scalar: &Scalar<'_>, finding: &ConfigFinding) -> bool {
    match (scalar.part, scalar.declared) {
        (Part::Name(_), Some(_)) => true,
        (Part::Name(name), None) => finding
            .key()
            .split(['.', '['])
            .any(|segment| segment == name),
        (Part::Value(_), None) => false,
        (Part::Value(_), Some(key)) if key.is_secret => false,
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
