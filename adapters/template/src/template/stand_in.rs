//! Values are not rendered as text. Each leaves a stand-in, a short word that no value can spell, and replaces it when
//! the rendered text has been parsed. So no part of a value can become syntax, every value keeps its type, and errors
//! of the parser cannot repeat a value.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

const OPEN: char = '\u{e000}';
const CLOSE: char = '\u{e001}';

/// Encloses the number of the value that removes its key or element.
const OMIT: char = '\u{e002}';

pub(crate) struct StandIns {
    /// Makes the words of this process unlike those of any other; decimal, so that no filter for
    /// letters changes it.
    nonce: u64,
    values: Vec<Option<Value>>,
}

/// Why values do not fit their location. No message contains a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FillError {
    #[error(
        "{kind} cannot be part of a text: use it alone and without quotation marks, or use the filter `json`"
    )]
    NotText { kind: &'static str },
    #[error("what `<<` merges must be a map, not {kind}")]
    NotAMap { kind: &'static str },
    #[error("two keys of one map have the same text after values were put in")]
    EqualKeys,
    #[error("a value and the text beside it would together begin a reference, `((`")]
    Reference,
    #[error("`omit` cannot be a key or part of a text")]
    OmitInText,
}

enum Piece<'t> {
    Text(&'t str),
    StandIn(usize),
}

impl StandIns {
    pub(crate) fn new() -> Self {
        Self {
            nonce: rand::random(),
            values: Vec::new(),
        }
    }

    /// Keeps a value, or the absence of one, and gives the word for it.
    pub(crate) fn put(&mut self, value: Option<Value>) -> String {
        self.values.push(value);
        self.word(self.values.len() - 1)
    }

    pub(crate) fn word(&self, number: usize) -> String {
        format!("{OPEN}{}.{number}{CLOSE}", self.nonce)
    }

    /// The value that removes its key or element. It is random for each process, so that no user can spell it.
    pub(crate) fn omit(&self) -> String {
        format!("{OMIT}{}{OMIT}", self.nonce)
    }

    /// A value without the keys and elements that are to be omitted; nothing if all of it is.
    pub(crate) fn without_omissions(&self, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) if *text == self.omit() => None,
            Value::Array(elements) => {
                let elements = elements.iter();
                Some(
                    elements
                        .filter_map(|one| self.without_omissions(one))
                        .collect(),
                )
            }
            Value::Object(members) => {
                let members = members
                    .iter()
                    .filter_map(|(key, value)| Some((key.clone(), self.without_omissions(value)?)));
                Some(Value::Object(members.collect()))
            }
            other => Some(other.clone()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The number of the stand-in, if the text consists of one.
    pub(crate) fn whole(&self, text: &str) -> Option<usize> {
        match *self.pieces(text) {
            [Piece::StandIn(number)] => Some(number),
            _ => None,
        }
    }

    /// The value for a number of [`whole`](Self::whole).
    pub(crate) fn value(&self, number: usize) -> Option<&Value> {
        self.values.get(number)?.as_ref()
    }

    /// The text with every stand-in replaced by its value as text, changed by `quote`.
    pub(crate) fn text(
        &self,
        text: &str,
        quote: impl Fn(&str) -> String,
    ) -> Result<String, FillError> {
        let mut filled = String::with_capacity(text.len());
        for piece in self.pieces(text) {
            let piece = match piece {
                Piece::Text(text) => text.to_owned(),
                Piece::StandIn(number) => match self.value(number) {
                    Some(value) => quote(&self.as_text(value)?),
                    None => return Err(FillError::NotText { kind: "nothing" }),
                },
            };
            if filled.ends_with('(') && piece.starts_with('(') {
                return Err(FillError::Reference);
            }
            filled.push_str(&piece);
        }
        Ok(filled)
    }

    pub(crate) fn rewrite(&self, text: &str, rewrite: impl Fn(usize) -> String) -> String {
        let pieces = self.pieces(text).into_iter();
        pieces
            .map(|piece| match piece {
                Piece::Text(text) => text.to_owned(),
                Piece::StandIn(number) => rewrite(number),
            })
            .collect()
    }

    /// The document with values in place of their stand-ins. `is_whole` decides which of them are values and not text;
    /// a `merge` key merges a map.
    pub(crate) fn fill(
        &self,
        document: Value,
        is_whole: &impl Fn(&str) -> Option<usize>,
        is_merge: &impl Fn(&str) -> bool,
    ) -> Result<Option<Value>, FillError> {
        match document {
            Value::String(text) => match is_whole(&text) {
                Some(number) => Ok(self
                    .value(number)
                    .and_then(|value| self.without_omissions(value))),
                None => Ok(Some(Value::String(self.text(&text, str::to_owned)?))),
            },
            Value::Array(elements) => {
                let mut list = Vec::with_capacity(elements.len());
                for element in elements {
                    list.extend(self.fill(element, is_whole, is_merge)?);
                }
                Ok(Some(Value::Array(list)))
            }
            Value::Object(members) => {
                let mut map = Map::new();
                let mut merged = Vec::new();
                let mut omitted = BTreeSet::new();
                for (key, value) in members {
                    let value = self.fill(value, is_whole, is_merge)?;
                    if is_merge(&key) {
                        merged.extend(value);
                        continue;
                    }
                    let key = match is_whole(&key).and_then(|number| self.value(number)) {
                        Some(key) => self.as_text(key)?,
                        None => self.text(&key, str::to_owned)?,
                    };
                    match value {
                        None => drop(omitted.insert(key)),
                        Some(value) => {
                            if map.insert(key, value).is_some() {
                                return Err(FillError::EqualKeys);
                            }
                        }
                    }
                }
                for value in merged {
                    let Value::Object(members) = value else {
                        return Err(FillError::NotAMap { kind: kind(&value) });
                    };
                    for (key, value) in members {
                        if !omitted.contains(&key) {
                            map.entry(key).or_insert(value);
                        }
                    }
                }
                Ok(Some(Value::Object(map)))
            }
            scalar => Ok(Some(scalar)),
        }
    }

    fn pieces<'t>(&self, text: &'t str) -> Vec<Piece<'t>> {
        let open = format!("{OPEN}{}.", self.nonce);
        let mut pieces = Vec::new();
        let (mut done, mut from) = (0, 0);
        while let Some(at) = text[from..].find(&open).map(|at| from + at) {
            let digits = at + open.len();
            from = digits;
            let Some(end) = text[digits..].find(CLOSE).map(|end| digits + end) else {
                break;
            };
            let number = text[digits..end].parse().ok();
            if let Some(number) = number.filter(|&number: &usize| number < self.values.len()) {
                if done < at {
                    pieces.push(Piece::Text(&text[done..at]));
                }
                pieces.push(Piece::StandIn(number));
                done = end + CLOSE.len_utf8();
                from = done;
            }
        }
        if done < text.len() {
            pieces.push(Piece::Text(&text[done..]));
        }
        pieces
    }

    fn as_text(&self, value: &Value) -> Result<String, FillError> {
        match value {
            Value::String(text) if text.contains(&self.omit()) => Err(FillError::OmitInText),
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(boolean) => Ok(boolean.to_string()),
            other => Err(FillError::NotText { kind: kind(other) }),
        }
    }
}

/// The type of a value, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_cannot_spell_a_stand_in() {
        let mut stand_ins = StandIns::new();
        let first = stand_ins.put(Some("secret".into()));
        let second = stand_ins.put(Some(first.clone().into()));
        assert_eq!(
            stand_ins.text(&format!("a {second} b"), str::to_owned),
            Ok(format!("a {first} b"))
        );
        let foreign = StandIns::new().put(Some(json!(1)));
        assert_eq!(stand_ins.text(&foreign, str::to_owned), Ok(foreign));
    }

    #[test]
    fn only_text_is_allowed_inside_text() {
        let mut stand_ins = StandIns::new();
        let map = stand_ins.put(Some(json!({"a": 1})));
        let error = stand_ins
            .text(&format!("x{map}"), str::to_owned)
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("a map cannot be part of a text")
        );
    }
}
