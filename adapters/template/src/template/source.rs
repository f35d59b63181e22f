//! The text of a template, places in it, and errors about it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};
use tera::ErrorKind;

use super::scan::Scan;
use crate::near::NearNames;

/// The text of one template file, and its prepared form for the engine: every expression passes through the filter that
/// takes its value out of the text.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    text: String,
    /// For the engine.
    pub(crate) prepared: String,
    /// Where something was put in, as offset in the prepared text and length.
    insertions: Vec<(usize, usize)>,
    pub(crate) scan: Scan,
}

/// A location in a template. Line and column start at 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    file: String,
    line: usize,
    column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Source {
    /// Prepares a template. `filter` is called with the number of the expression in this file.
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>, filter: &str) -> Self {
        let (name, text) = (name.into(), text.into());
        let scan = Scan::of(&text);
        let mut prepared = String::with_capacity(text.len() * 2);
        let mut insertions = Vec::new();
        let mut done = 0;
        for (number, hole) in scan.holes.iter().enumerate() {
            let literal = name.replace(['"', '\\'], "_");
            let pipe = format!(") | {filter}(file=\"{literal}\", hole={number}) ");
            for (at, insertion) in [(hole.start, "("), (hole.end, &pipe)] {
                prepared.push_str(&text[done..at]);
                insertions.push((prepared.len(), insertion.len()));
                prepared.push_str(insertion);
                done = at;
            }
        }
        prepared.push_str(&text[done..]);
        Self {
            name,
            text,
            prepared,
            insertions,
            scan,
        }
    }

    /// The expression of that number, trimmed, and its offset.
    pub(crate) fn expression(&self, number: usize) -> Option<(&str, usize)> {
        let hole = self.scan.holes.get(number)?;
        let text = &self.text[hole.clone()];
        let trimmed = text.trim_start();
        Some((trimmed.trim_end(), hole.start + text.len() - trimmed.len()))
    }

    pub(crate) fn location(&self, offset: usize) -> Location {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Location {
            file: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    pub(crate) fn location_in_prepared(&self, offset: usize) -> Location {
        self.location(self.offset_of_prepared(offset))
    }

    /// The path, such as `plan.properties`, that a byte of the prepared text is part of, and where it
    /// begins in the author's text.
    pub(crate) fn path_in_prepared(&self, offset: usize) -> Option<(&str, usize)> {
        let is_in_a_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let before = self.text.get(..self.offset_of_prepared(offset))?;
        let start = before.trim_end_matches(is_in_a_path).len();
        let path = &self.text[start..];
        let end = path.find(|c| !is_in_a_path(c)).unwrap_or(path.len());
        Some((&path[..end], start))
    }

    fn offset_of_prepared(&self, offset: usize) -> usize {
        let inserted: usize = self
            .insertions
            .iter()
            .take_while(|(at, _)| *at < offset)
            .map(|(at, length)| (*length).min(offset - at))
            .sum();
        offset - inserted
    }
}

/// An error in a template, for its author. The message contains no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {message}")]
pub(crate) struct TemplateError {
    location: Location,
    message: String,
}

impl TemplateError {
    pub(crate) fn new(location: Location, message: impl Into<String>) -> Self {
        Self {
            location,
            message: message.into(),
        }
    }

    pub(super) fn into_place(self) -> Location {
        self.location
    }

    /// The engine's error for rendering the template of that name with these values.
    pub(super) fn of_rendering(
        error: &tera::Error,
        sources: &BTreeMap<String, Source>,
        name: &str,
        values: &Map<String, Value>,
    ) -> Self {
        const OF_NOTHING: [&str; 3] = [
            "Cannot index into an undefined",
            "Field ",
            "Iteration not possible",
        ];
        if let ErrorKind::RenderingError(report) = error.kind()
            && OF_NOTHING
                .iter()
                .any(|start| report.message().starts_with(start))
            && let Some(source) = sources.get(report.filename())
            && let Some(error) = unknown_member(source, report.span().range.start, values)
        {
            return error;
        }
        Self::of_engine(error, sources, name)
    }

    /// The engine's error about the templates, or about the one of that name if the error names none.
    pub(super) fn of_engine(
        error: &tera::Error,
        sources: &BTreeMap<String, Source>,
        name: &str,
    ) -> Self {
        match error.kind() {
            ErrorKind::SyntaxError(report) | ErrorKind::RenderingError(report) => {
                let location = match sources.get(report.filename()) {
                    Some(source) => source.location_in_prepared(report.span().range.start),
                    None => whole(sources, name),
                };
                let is_syntax = matches!(error.kind(), ErrorKind::SyntaxError(_));
                Self::new(location, message(report.message(), is_syntax))
            }
            ErrorKind::Msg(text) => of_report(text, sources, name),
            // These name templates only.
            kind @ (ErrorKind::CircularExtend { .. }
            | ErrorKind::CircularInclude { .. }
            | ErrorKind::MissingParent { .. }
            | ErrorKind::TemplateNotFound(_)
            | ErrorKind::ComponentNotFound(_)) => Self::new(whole(sources, name), kind.to_string()),
            _ => Self::new(whole(sources, name), "the template cannot be rendered"),
        }
    }
}

/// A report that the engine has laid out already: `error: …`, then `--> file:line:column`.
fn of_report(text: &str, sources: &BTreeMap<String, Source>, name: &str) -> TemplateError {
    let mut lines = text.lines();
    let reported = lines.next().unwrap_or_default();
    let reported = reported.strip_prefix("error: ").unwrap_or(reported);
    let location = lines.find_map(|line| {
        let (rest, column) = line.split_once("--> ")?.1.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let source = sources.get(file)?;
        let start: usize = source
            .prepared
            .split_inclusive('\n')
            .take(line.parse::<usize>().ok()?.checked_sub(1)?)
            .map(str::len)
            .sum();
        let column = column.parse::<usize>().ok()?.checked_sub(1)?;
        let column = source.prepared[start..].char_indices().nth(column)?.0;
        Some(source.location_in_prepared(start + column))
    });
    let is_of_names = ["Unknown ", "Component ", "Block "]
        .iter()
        .any(|start| reported.starts_with(start));
    TemplateError::new(
        location.unwrap_or_else(|| whole(sources, name)),
        message(reported, is_of_names),
    )
}

/// The first segment of the path there that its map does not have.
fn unknown_member(
    source: &Source,
    offset: usize,
    values: &Map<String, Value>,
) -> Option<TemplateError> {
    let (path, start) = source.path_in_prepared(offset)?;
    let (root, rest) = path.split_once('.')?;
    if source.scan.locals.contains(root) {
        return None;
    }
    let mut members = values.get(root)?.as_object()?;
    let mut at = root.len() + 1;
    for segment in rest.split('.') {
        let Some(member) = members.get(segment) else {
            let parent = &path[..at - 1];
            let near = NearNames::to(segment, members.keys());
            return Some(TemplateError::new(
                source.location(start + at),
                format!("unknown name `{segment}` in `{parent}`; {near}"),
            ));
        };
        members = member.as_object()?;
        at += segment.len() + 1;
    }
    None
}

fn whole(sources: &BTreeMap<String, Source>, name: &str) -> Location {
    match sources.get(name) {
        Some(source) => source.location(0),
        None => Source::new(name, "", "").location(0),
    }
}

/// The engine's message in our own wording, if it is one that contains no value.
fn message(text: &str, is_of_the_template: bool) -> String {
    const WITHOUT_VALUES: [&str; 25] = [
        "Variable ",
        "Field ",
        "Cannot index into",
        "Cannot slice",
        "Cannot compare",
        "Cannot divide by 0",
        "Cannot sort: ",
        "Index expression",
        "Slice ",
        "Slicing ",
        "Math operations",
        "`+` requires",
        "Iteration not possible",
        "Key/value iteration",
        "Spread operator",
        "Invalid type for the value",
        "Missing keyword argument",
        "Value of type",
        "`in` cannot be used",
        "Map keys must be",
        "Not a valid key type",
        "Maximum render recursion",
        "Tried to render",
        "super() called",
        "Component ",
    ];
    let is_reported =
        is_of_the_template || WITHOUT_VALUES.iter().any(|start| text.starts_with(start));
    let text = if is_reported {
        text.trim_end_matches('.')
    } else {
        "a filter, test or function cannot work with the value that it is given"
    };
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_those_of_the_authors_text() {
        let source = Source::new("a.tera", "{{ x }}: {{ y.z }}\n{{- q -}}", "f");
        assert_eq!(
            source.prepared,
            "{{( x ) | f(file=\"a.tera\", hole=0) }}: {{( y.z ) | f(file=\"a.tera\", hole=1) }}\n{{-( q ) | f(file=\"a.tera\", hole=2) -}}"
        );
        let at = source.prepared.find("y.z").unwrap();
        assert_eq!(source.location_in_prepared(at).to_string(), "a.tera:1:13");
        let at = source.prepared.find("q )").unwrap();
        assert_eq!(source.location_in_prepared(at).to_string(), "a.tera:2:5");
        assert_eq!(source.expression(1), Some(("y.z", 12)));
    }
}
