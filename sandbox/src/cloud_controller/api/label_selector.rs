//! `label_selector`: which labels a row must have (v3 API, "Labels and selectors").
//!
//! ```text
//! selector    = requirement *("," requirement)
//! requirement = key / "!" key / key ("=" / "==" / "!=") value / key ("in" / "notin") "(" value *("," value) ")"
//! ```

use std::collections::BTreeMap;

/// What is demanded of one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    key: String,
    demand: Demand,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Demand {
    Exists,
    NotExists,
    In(Vec<String>),
    /// Rows without the label are admitted.
    NotIn(Vec<String>),
}

/// A selector that is none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SelectorFault {
    #[error("empty label selector not allowed")]
    Empty,
    #[error("disallowed character(s), got \"{0}\"")]
    Character(String),
    #[error("expecting {0}, got \"{1}\"")]
    Unexpected(&'static str, String),
}

impl Requirement {
    pub(super) fn admits(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match &self.demand {
            Demand::Exists => value.is_some(),
            Demand::NotExists => value.is_none(),
            Demand::In(wanted) => value.is_some_and(|value| wanted.contains(value)),
            Demand::NotIn(unwanted) => value.is_none_or(|value| !unwanted.contains(value)),
        }
    }
}

/// Reads a selector.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, SelectorFault> {
    if text.is_empty() {
        return Err(SelectorFault::Empty);
    }
    let mut reader = Reader {
        text,
        tokens: tokens(text)?,
        next: 0,
    };
    let mut requirements = Vec::new();
    loop {
        requirements.push(reader.requirement()?);
        match reader.take().kind {
            Kind::Comma => {}
            Kind::End => return Ok(requirements),
            _ => return Err(reader.unexpected("a ',' or end")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Comma,
    Open,
    Close,
    Equal,
    NotEqual,
    Not,
    Word,
    End,
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
    start: usize,
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, SelectorFault> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let (kind, length) = match first {
            ' ' | '\t' | '\n' | '\r' => {
                start += 1;
                continue;
            }
            ',' => (Kind::Comma, 1),
            '(' => (Kind::Open, 1),
            ')' => (Kind::Close, 1),
            '=' if rest.starts_with("==") => (Kind::Equal, 2),
            '=' => (Kind::Equal, 1),
            '!' if rest.starts_with("!=") => (Kind::NotEqual, 2),
            '!' => (Kind::Not, 1),
            letter if is_word(letter) => (Kind::Word, word_length(rest)),
            other => {
                let token = Token {
                    kind: Kind::End,
                    text: &rest[..other.len_utf8()],
                    start,
                };
                return Err(SelectorFault::Character(shown(text, &token)));
            }
        };
        tokens.push(Token {
            kind,
            text: &rest[..length],
            start,
        });
        start += length;
    }
    tokens.push(Token {
        kind: Kind::End,
        text: "",
        start,
    });
    Ok(tokens)
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

/// Letters, and one slash with letters on both of its sides.
fn word_length(text: &str) -> usize {
    let run = |text: &str| text.find(|letter| !is_word(letter)).unwrap_or(text.len());
    let first = run(text);
    match text[first..].strip_prefix('/').map(run) {
        Some(second) if second > 0 => first + 1 + second,
        _ => first,
    }
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Reader<'a> {
    /// The next token. Behind the last one there is the end, again and again.
    fn take(&mut self) -> Token<'a> {
        let token = self.tokens[self.next.min(self.tokens.len() - 1)];
        self.next += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorFault> {
        let first = self.take();
        match first.kind {
            Kind::Word => {
                let demand = self.demand()?;
                Ok(Requirement {
                    key: first.text.to_owned(),
                    demand,
                })
            }
            Kind::Not => Ok(Requirement {
                key: self.word("a key")?,
                demand: Demand::NotExists,
            }),
            Kind::NotEqual => Err(self.unexpected("a key or '!' not followed by '='")),
            _ => Err(self.unexpected("a key or '!'")),
        }
    }

    /// What follows a key.
    fn demand(&mut self) -> Result<Demand, SelectorFault> {
        let operator = self.take();
        match (operator.kind, operator.text) {
            (Kind::Equal, _) => Ok(Demand::In(vec![self.word("a value")?])),
            (Kind::NotEqual, _) => Ok(Demand::NotIn(vec![self.word("a value")?])),
            (Kind::Word, "in") => Ok(Demand::In(self.set()?)),
            (Kind::Word, "notin") => Ok(Demand::NotIn(self.set()?)),
            (Kind::Comma | Kind::End, _) => {
                self.next -= 1;
                Ok(Demand::Exists)
            }
            _ => Err(self.unexpected("a ',', operator, or end")),
        }
    }

    fn set(&mut self) -> Result<Vec<String>, SelectorFault> {
        if self.take().kind != Kind::Open {
            return Err(self.unexpected("a '('"));
        }
        let mut values = vec![self.word("a value")?];
        loop {
            match self.take().kind {
                Kind::Comma => values.push(self.word("a value")?),
                Kind::Close => return Ok(values),
                _ => return Err(self.unexpected("a ',' or ')'")),
            }
        }
    }

    fn word(&mut self, wanted: &'static str) -> Result<String, SelectorFault> {
        let token = self.take();
        if token.kind == Kind::Word {
            Ok(token.text.to_owned())
        } else {
            Err(self.unexpected(wanted))
        }
    }

    /// The token that was just taken is not what it should be.
    fn unexpected(&self, wanted: &'static str) -> SelectorFault {
        let at = self.next.saturating_sub(1).min(self.tokens.len() - 1);
        SelectorFault::Unexpected(wanted, shown(self.text, &self.tokens[at]))
    }
}

/// The selector with the token marked.
fn shown(text: &str, token: &Token<'_>) -> String {
    let (before, rest) = text.split_at(token.start);
    let after = &rest[token.text.len()..];
    format!("{before}<<{}>>{after}", token.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(selector: &str) -> Vec<&'static str> {
        let requirements = requirements(selector).unwrap();
        let rows = [
            ("none", vec![]),
            ("red", vec![("color", "red"), ("example.com/tier", "1")]),
            ("blue", vec![("color", "blue")]),
        ];
        let admits = |labels: &[(&str, &str)]| {
            let labels = labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect();
            requirements.iter().all(|one| one.admits(&labels))
        };
        rows.iter()
            .filter(|(_, labels)| admits(labels))
            .map(|(name, _)| *name)
            .collect()
    }

    #[test]
    fn every_form_of_the_grammar_admits_what_it_says() {
        for (selector, wanted) in [
            ("color", &["red", "blue"][..]),
            ("!color", &["none"]),
            ("color=red", &["red"]),
            ("color == red", &["red"]),
            ("color!=red", &["none", "blue"]),
            ("color in (red, blue)", &["red", "blue"]),
            ("color notin (red)", &["none", "blue"]),
            ("color,example.com/tier=1", &["red"]),
            ("color=red,!example.com/tier", &[]),
        ] {
            assert_eq!(admitted(selector), wanted, "{selector}");
        }
    }

    #[test]
    fn a_fault_is_shown_where_it_is() {
        let fault = |text: &str| requirements(text).unwrap_err().to_string();

        assert_eq!(fault(""), "empty label selector not allowed");
        assert_eq!(
            fault("color in red"),
            "expecting a '(', got \"color in <<red>>\""
        );
        assert_eq!(fault("color="), "expecting a value, got \"color=<<>>\"");
        assert_eq!(
            fault("a b"),
            "expecting a ',', operator, or end, got \"a <<b>>\""
        );
        assert_eq!(fault("a,"), "expecting a key or '!', got \"a,<<>>\"");
        assert_eq!(fault("a?b"), "disallowed character(s), got \"a<<?>>b\"");
    }
}
