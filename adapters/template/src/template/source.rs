use std::fmt;

use super::scan::Scan;

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

    /// The location of a byte of the author's text.
    pub(crate) fn location(&self, offset: usize) -> Location {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Location {
            file: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    /// The location of a byte of the prepared text.
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
