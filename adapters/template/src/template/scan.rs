//! Finds the expressions of a template and the names in them, so that a wrong name is an error when the folder is
//! loaded and not at a user's order.

use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The text between double braces, without them: byte ranges in the source.
    pub(crate) holes: Vec<Range<usize>>,
    /// Names in use, in the order of the source.
    pub(crate) names: Vec<Name>,
    /// Names that the template gives itself, by `set`, `for` or a component's arguments.
    pub(crate) locals: BTreeSet<String>,
    /// Templates that it includes or extends.
    pub(crate) includes: BTreeSet<String>,
    /// The offsets of expressions or includes inside text that a block captures.
    pub(crate) captured: Vec<usize>,
    /// Whether it defines components, which others use without including it.
    pub(crate) has_components: bool,
    /// How many blocks that take their content as a text are open.
    open_captures: usize,
}

/// A used name, by its kind of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) kind: NameKind,
    /// The segments of a path, or the one name of anything else, each with its byte offset.
    pub(crate) segments: Vec<(String, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// A value, such as `plan.properties`.
    Value,
    Function,
    Filter,
    Test,
}

impl Scan {
    /// Scans a template. Syntax errors are left to the engine.
    pub(crate) fn of(source: &str) -> Self {
        let mut scan = Self::default();
        let mut at = 0;
        while let Some(found) = source[at..].find(['{']) {
            at += found;
            let rest = &source[at..];
            if rest.starts_with("{#") {
                at = rest.find("#}").map_or(source.len(), |end| at + end + 2);
            } else if rest.starts_with("{%") {
                at = scan.tag(source, at);
            } else if rest.starts_with("{{") {
                at = scan.hole(source, at);
            } else {
                at += 1;
            }
        }
        scan
    }

    /// Reads `{{ … }}` and says where it ends.
    fn hole(&mut self, source: &str, at: usize) -> usize {
        let start = at + 2 + usize::from(source[at + 2..].starts_with('-'));
        let (tokens, inside, end) = tokens(source, start, "}}");
        let is_component = matches!(
            tokens.first().map(|token| &token.kind),
            Some(Kind::Marker("<"))
        );
        if !is_component {
            self.holes.push(inside);
            if self.open_captures > 0 {
                self.captured.push(at);
            }
        }
        self.expression(&tokens);
        end
    }

    /// Reads `{% … %}` and says where it ends.
    fn tag(&mut self, source: &str, at: usize) -> usize {
        let start = at + 2 + usize::from(source[at + 2..].starts_with('-'));
        let (tokens, _, end) = tokens(source, start, "%}");
        let word = tokens.first().and_then(Token::ident).unwrap_or_default();
        let rest = tokens.get(1..).unwrap_or_default();
        match word {
            "raw" => {
                return source[end..]
                    .find("endraw")
                    .map_or(source.len(), |to| end + to);
            }
            "set" | "set_global" => {
                if rest.get(1).and_then(Token::mark) != Some("=") {
                    self.open_captures += 1;
                }
                self.locals
                    .extend(rest.first().and_then(Token::ident).map(str::to_owned));
                self.expression(rest.get(1..).unwrap_or_default());
            }
            "for" => self.for_loop(rest),
            "endset" | "endset_global" | "endfilter" => {
                self.open_captures = self.open_captures.saturating_sub(1);
            }
            "filter" => {
                self.open_captures += 1;
                if let Some(filter) = rest.first() {
                    self.name(NameKind::Filter, filter);
                }
                self.expression(rest.get(1..).unwrap_or_default());
            }
            "component" => {
                let arguments = rest.iter().skip(1).filter_map(Token::ident);
                self.locals.extend(arguments.map(str::to_owned));
                self.locals.insert("body".to_owned());
                self.has_components = true;
            }
            "include" | "extends" => {
                if self.open_captures > 0 {
                    self.captured.push(at);
                }
                let named = rest.iter().filter_map(|token| match token.kind {
                    Kind::Literal(literal) => Some(literal.trim_matches(['"', '\'', '`'])),
                    _ => None,
                });
                self.includes.extend(named.map(str::to_owned));
            }
            "block" | "break" | "continue" => {}
            word if word.starts_with("end") => {}
            _ => self.expression(&tokens),
        }
        end
    }

    fn for_loop(&mut self, tokens: &[Token<'_>]) {
        let end = tokens
            .iter()
            .position(|token| token.ident() == Some("in"))
            .unwrap_or(tokens.len());
        let variables = tokens[..end].iter().filter_map(Token::ident);
        self.locals.extend(variables.map(str::to_owned));
        self.expression(&tokens[end..]);
    }

    fn expression(&mut self, tokens: &[Token<'_>]) {
        const WORDS: [&str; 15] = [
            "and", "or", "not", "in", "is", "if", "elif", "else", "true", "True", "false", "False",
            "none", "None", "null",
        ];
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let before = at.checked_sub(1).map(|before| &tokens[before]);
            let before_mark = before.and_then(Token::mark);
            let Some(ident) = token.ident() else {
                at += 1;
                continue;
            };
            let next_mark = tokens.get(at + 1).and_then(Token::mark);
            at += 1;
            if ident == "for" {
                // A list comprehension: its variables end at `in`.
                while let Some(token) = tokens.get(at).filter(|token| token.ident() != Some("in")) {
                    self.locals.extend(token.ident().map(str::to_owned));
                    at += 1;
                }
            } else if before_mark == Some("|") {
                self.name(NameKind::Filter, token);
            } else if before.and_then(Token::ident) == Some("is") && ident != "not"
                || before.and_then(Token::ident) == Some("not")
                    && at >= 3
                    && tokens[at - 3].ident() == Some("is")
            {
                self.name(NameKind::Test, token);
            } else if WORDS.contains(&ident)
                || matches!(before_mark, Some("<" | "</")) && at <= 2
                || matches!(next_mark, Some("=" | ":"))
                || matches!(before_mark, Some("." | "?."))
            {
                // Words of the language, names of components, of arguments and of keys, and members in brackets.
            } else if next_mark == Some("(") {
                self.name(NameKind::Function, token);
            } else {
                at = self.path(tokens, at - 1);
            }
        }
    }

    /// Takes a path such as `plan.properties.size` and says where it ends.
    fn path(&mut self, tokens: &[Token<'_>], start: usize) -> usize {
        let mut segments = Vec::new();
        let mut at = start;
        while let Some(token) = tokens.get(at)
            && let Some(ident) = token.ident()
        {
            segments.push((ident.to_owned(), token.offset));
            at += 1;
            match tokens.get(at).and_then(Token::mark) {
                Some("." | "?.") => at += 1,
                _ => break,
            }
        }
        self.names.push(Name {
            kind: NameKind::Value,
            segments,
        });
        at
    }

    fn name(&mut self, kind: NameKind, token: &Token<'_>) {
        if let Some(ident) = token.ident() {
            self.names.push(Name {
                kind,
                segments: vec![(ident.to_owned(), token.offset)],
            });
        }
    }
}

struct Token<'s> {
    kind: Kind<'s>,
    offset: usize,
}

enum Kind<'s> {
    Ident(&'s str),
    Marker(&'s str),
    Literal(&'s str),
}

impl<'s> Token<'s> {
    fn ident(&self) -> Option<&'s str> {
        match self.kind {
            Kind::Ident(ident) => Some(ident),
            _ => None,
        }
    }

    fn mark(&self) -> Option<&'s str> {
        match self.kind {
            Kind::Marker(mark) => Some(mark),
            _ => None,
        }
    }
}

/// Tokens from `start` up to the closing braces, where the content ends, and where the text after
/// the braces begins.
fn tokens<'s>(source: &'s str, start: usize, close: &str) -> (Vec<Token<'s>>, Range<usize>, usize) {
    const MARKS: [&str; 9] = ["...", "//", "**", "==", "!=", ">=", "<=", "</", "?."];
    let mut tokens = Vec::new();
    let mut at = start;
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        let trimmed = rest.strip_prefix('-').unwrap_or(rest);
        if trimmed.starts_with(close) {
            let end = at + (rest.len() - trimmed.len()) + close.len();
            return (tokens, start..at, end);
        }
        let (kind, length) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if matches!(c, '"' | '\'' | '`') {
            let length = literal_length(rest, c);
            (Kind::Literal(&rest[..length]), length)
        } else if c.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
            let length = end.unwrap_or(rest.len());
            (Kind::Literal(&rest[..length]), length)
        } else if c.is_ascii_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let length = end.unwrap_or(rest.len());
            (Kind::Ident(&rest[..length]), length)
        } else {
            let long = MARKS.into_iter().find(|mark| rest.starts_with(mark));
            let length = long.map_or(c.len_utf8(), str::len);
            (Kind::Marker(&rest[..length]), length)
        };
        tokens.push(Token { kind, offset: at });
        at += length;
    }
    (tokens, start..source.len(), source.len())
}

fn literal_length(rest: &str, mark: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == mark => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(source: &str) -> Vec<String> {
        let names = Scan::of(source).names;
        names
            .iter()
            .filter(|name| name.kind == NameKind::Value)
            .map(|name| {
                let segments: Vec<_> = name.segments.iter().map(|(name, _)| &**name).collect();
                segments.join(".")
            })
            .collect()
    }

    #[test]
    fn names_of_values_are_found_and_nothing_else() {
        let source = r#"{# a.b #}{{ plan.properties?.size | default(value=values.x) }}
            {% if request is defined and not "a.b" in context.names %}{% raw %}{{ no }}{% endraw %}
            {% for k, v in plan.properties %}{{ {"a": k} }}{% endfor %}{% set x = [y for y in z] %}{{ x[0].b }}"#;
        assert_eq!(
            values(source),
            [
                "plan.properties.size",
                "values.x",
                "request",
                "context.names",
                "plan.properties",
                "k",
                "y",
                "z",
                "x"
            ]
        );
        let locals = Scan::of(source).locals;
        assert_eq!(Vec::from_iter(locals), ["k", "v", "x", "y"]);
    }

    #[test]
    fn functions_filters_and_tests_are_distinguished() {
        let names = Scan::of("{{ previous(path='/a') | json is not string }}").names;
        let kinds: Vec<_> = names
            .iter()
            .map(|name| (name.kind, &*name.segments[0].0))
            .collect();
        assert_eq!(
            kinds,
            [
                (NameKind::Function, "previous"),
                (NameKind::Filter, "json"),
                (NameKind::Test, "string")
            ]
        );
    }

    #[test]
    fn a_hole_ends_where_the_engine_ends_it() {
        let source = r#"{{- "}}" ~ a -}} {{ <part name="x" /> }}"#;
        let holes = Scan::of(source).holes;
        assert_eq!(holes.len(), 1);
        assert_eq!(source[holes[0].clone()].trim(), r#""}}" ~ a"#);
    }
}
