//! Filters: `client_id eq "x"`, `userName sw "a" and (origin eq "uaa" or verified eq false)`.

use std::{iter::Peekable, vec::IntoIter};

use serde_json::Value;

/// How deep brackets may be nested.
const DEPTH: usize = 16;

/// A condition on an entry of a list.
#[derive(Debug, PartialEq)]
pub(in crate::uaa) enum Filter {
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Present(String),
    Compare(String, Comparison, Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::uaa) enum Comparison {
    Equal,
    Contains,
    StartsWith,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// The text is no filter, or it is about attributes that the entries do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a filter")]
pub(super) struct InvalidFilter;

impl Filter {
    /// Reads a filter over these attributes.
    pub(super) fn parse(text: &str, attributes: &[&str]) -> Result<Self, InvalidFilter> {
        let mut parser = Parser {
            tokens: tokens(text)?.into_iter().peekable(),
            attributes,
            depth: 0,
        };
        let filter = parser.any_of()?;
        match parser.tokens.next() {
            None => Ok(filter),
            Some(_) => Err(InvalidFilter),
        }
    }

    /// Whether the entry meets the condition.
    pub(super) fn matches(&self, entry: &Value) -> bool {
        match self {
            Self::And(one, other) => one.matches(entry) && other.matches(entry),
            Self::Or(one, other) => one.matches(entry) || other.matches(entry),
            Self::Present(name) => !attribute(entry, name).is_empty(),
            Self::Compare(name, comparison, wanted) => attribute(entry, name)
                .into_iter()
                .any(|value| comparison.holds(value, wanted)),
        }
    }
}

impl Comparison {
    fn holds(self, value: &Value, wanted: &Value) -> bool {
        if let (Value::Number(value), Value::Number(wanted)) = (value, wanted) {
            return self.holds_for_order(value.as_f64().partial_cmp(&wanted.as_f64()));
        }
        let (value, wanted) = (lower(value), lower(wanted));
        match self {
            Self::Contains => value.contains(&wanted),
            Self::StartsWith => value.starts_with(&wanted),
            Self::Equal | Self::Greater | Self::GreaterOrEqual | Self::Less | Self::LessOrEqual => {
                self.holds_for_order(Some(value.cmp(&wanted)))
            }
        }
    }

    fn holds_for_order(self, order: Option<std::cmp::Ordering>) -> bool {
        order.is_some_and(|order| match self {
            Self::Equal | Self::Contains | Self::StartsWith => order.is_eq(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
        })
    }
}

/// Texts are compared without regard to case.
fn lower(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_lowercase(),
        other => other.to_string(),
    }
}

/// The values of an attribute, whose name's case does not matter. A dot leads into an object or a list of objects; a
/// list of objects by itself stands for their `value`s.
pub(super) fn attribute<'a>(entry: &'a Value, path: &str) -> Vec<&'a Value> {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let Some(object) = entry.as_object() else {
        return Vec::new();
    };
    let found = object
        .iter()
        .filter(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value);
    found
        .flat_map(|value| match value {
            Value::Array(list) => list.iter().collect(),
            Value::Null => Vec::new(),
            one => vec![one],
        })
        .flat_map(|value| match (rest, value) {
            (Some(rest), value) => attribute(value, rest),
            (None, Value::Object(object)) => object.get("value").into_iter().collect(),
            (None, value) => vec![value],
        })
        .collect()
}

#[derive(Debug, PartialEq)]
enum Token {
    Open,
    Close,
    Word(String),
    Value(Value),
}

struct Parser<'a> {
    tokens: Peekable<IntoIter<Token>>,
    attributes: &'a [&'a str],
    depth: usize,
}

impl Parser<'_> {
    fn any_of(&mut self) -> Result<Filter, InvalidFilter> {
        let mut filter = self.all_of()?;
        while self.takes("or") {
            filter = Filter::Or(Box::new(filter), Box::new(self.all_of()?));
        }
        Ok(filter)
    }

    fn all_of(&mut self) -> Result<Filter, InvalidFilter> {
        let mut filter = self.one()?;
        while self.takes("and") {
            filter = Filter::And(Box::new(filter), Box::new(self.one()?));
        }
        Ok(filter)
    }

    fn one(&mut self) -> Result<Filter, InvalidFilter> {
        match self.tokens.next() {
            Some(Token::Open) if self.depth < DEPTH => {
                self.depth += 1;
                let filter = self.any_of()?;
                self.depth -= 1;
                match self.tokens.next() {
                    Some(Token::Close) => Ok(filter),
                    _ => Err(InvalidFilter),
                }
            }
            Some(Token::Word(name)) => self.condition(name),
            _ => Err(InvalidFilter),
        }
    }

    fn condition(&mut self, name: String) -> Result<Filter, InvalidFilter> {
        let mut known = self.attributes.iter();
        if !known.any(|known| known.eq_ignore_ascii_case(&name)) {
            return Err(InvalidFilter);
        }
        let Some(Token::Word(operator)) = self.tokens.next() else {
            return Err(InvalidFilter);
        };
        let comparison = match operator.to_lowercase().as_str() {
            "pr" => return Ok(Filter::Present(name)),
            "eq" => Comparison::Equal,
            "co" => Comparison::Contains,
            "sw" => Comparison::StartsWith,
            "gt" => Comparison::Greater,
            "ge" => Comparison::GreaterOrEqual,
            "lt" => Comparison::Less,
            "le" => Comparison::LessOrEqual,
            _ => return Err(InvalidFilter),
        };
        match self.tokens.next() {
            Some(Token::Value(value)) => Ok(Filter::Compare(name, comparison, value)),
            // `true`, `false` and numbers.
            Some(Token::Word(word)) => serde_json::from_str(&word)
                .map(|value| Filter::Compare(name, comparison, value))
                .map_err(|_| InvalidFilter),
            _ => Err(InvalidFilter),
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_it =
            |token: &Token| matches!(token, Token::Word(it) if it.eq_ignore_ascii_case(word));
        self.tokens.next_if(is_it).is_some()
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, InvalidFilter> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '"' => quoted(rest, '"')?,
            '\'' => quoted(rest, '\'')?,
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || "()\"'".contains(c));
                let end = end.unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), end)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// A text in quotation marks at the beginning, and how long it is with them.
fn quoted(text: &str, mark: char) -> Result<(Token, usize), InvalidFilter> {
    let mut value = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            _ if c == mark => return Ok((Token::Value(Value::String(value)), at + 1)),
            _ => value.push(c),
        }
    }
    Err(InvalidFilter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const ATTRIBUTES: &[&str] = &[
        "id",
        "userName",
        "emails.value",
        "emails",
        "verified",
        "version",
        "groups",
    ];

    fn is(filter: &str) -> Result<bool, InvalidFilter> {
        let entry = json!({
            "id": "1", "userName": "Admin", "emails": [{"value": "a@b.example"}, {"value": "c"}],
            "verified": true, "version": 10, "groups": ["openid", "scim.me"],
        });
        Filter::parse(filter, ATTRIBUTES).map(|filter| filter.matches(&entry))
    }

    #[test]
    fn a_filter_says_which_entries_are_meant() {
        let table = [
            (r#"userName eq "admin""#, true),
            (r#"USERNAME EQ "ADMIN""#, true),
            ("userName eq 'x'", false),
            ("id pr", true),
            (r#"userName sw "ad""#, true),
            (r#"userName sw "min""#, false),
            (r#"userName co "dmi""#, true),
            ("version gt 9", true),
            ("version le 9", false),
            ("verified eq true", true),
            (r#"emails.value eq "c""#, true),
            (r#"emails co "b.ex""#, true),
            (r#"groups eq "scim.me""#, true),
            (
                r#"id eq "2" or userName eq "admin" and verified eq true"#,
                true,
            ),
            (
                r#"(id eq "2" or userName eq "admin") and verified eq false"#,
                false,
            ),
            (r#"userName eq "a\"b""#, false),
        ];
        for (filter, expected) in table {
            assert_eq!(is(filter), Ok(expected), "{filter}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        let deep = format!("{}id pr{}", "(".repeat(40), ")".repeat(40));
        for filter in [
            "",
            "id",
            "id eq",
            "id eq x",
            r#"id xx "1""#,
            r#"password eq "1""#,
            r#"id eq "1"#,
            "(id pr",
            "id pr id pr",
            &deep,
        ] {
            assert_eq!(is(filter), Err(InvalidFilter), "{filter}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z()\"' \\\\é]{0,40}") {
            let _ = is(&text);
        }
    }
}
