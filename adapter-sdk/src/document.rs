//! A YAML document whose every value has its location, so that each finding can name line and column.

use std::fmt;

use crate::yaml::{self, Spanned};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A location in the file; line and column begin at one, and are zero where they are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The line, from one.
    pub line: u64,
    /// The column in characters, from one.
    pub column: u64,
}

/// A value with its location.
pub type Located = Spanned<Node>;

/// A value as YAML 1.1 resolves it.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Node {
    Null,
    Boolean(bool),
    Integer(i64),
    /// More than an `i64` holds.
    Large(u64),
    Float(f64),
    Text(String),
    List(Vec<Located>),
    Map(Vec<(Spanned<String>, Located)>),
}

/// The parsed file with its source, from which scalars keep their spelling.
pub struct Document {
    source: Vec<char>,
    /// The value of the file.
    pub root: Located,
}

/// Shows nothing, because the file contains passwords.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").finish_non_exhaustive()
    }
}

impl Document {
    /// Parses the first document of `source`. An empty source is null.
    pub fn parse(source: &str) -> Result<Self, yaml::Error> {
        let root = yaml::from_str::<Located>(source)?;
        Ok(Self {
            source: source.chars().collect(),
            root,
        })
    }

    /// The type of the file in words, if it is no map.
    pub fn is_no_map(&self) -> Option<&'static str> {
        match &self.root.value {
            Node::Map(_) => None,
            other => Some(other.kind()),
        }
    }

    /// The spelling of a scalar: `1.10` stays `1.10`, `yes` stays `yes` (`spec/contracts/config-and-release.md` §1.1).
    pub fn spelling(&self, node: &Located) -> Option<String> {
        match &node.value {
            Node::Text(text) => Some(text.clone()),
            Node::Null => Some(String::new()),
            Node::Boolean(_) | Node::Integer(_) | Node::Large(_) | Node::Float(_) => {
                let span = node.defined.span();
                let start = usize::try_from(span.offset()).ok()?;
                let end = start.checked_add(usize::try_from(span.len()).ok()?)?;
                Some(self.source.get(start..end)?.iter().collect())
            }
            Node::List(_) | Node::Map(_) => None,
        }
    }

    /// The characters of the file.
    pub fn source(&self) -> &[char] {
        &self.source
    }

    /// The first character of a line; lines begin at one.
    pub fn start_of_line(&self, line: u64) -> Option<usize> {
        let before = usize::try_from(line).ok()?.checked_sub(1)?;
        let mut starts = std::iter::once(0).chain(
            (1..)
                .zip(&self.source)
                .filter(|(_, letter)| **letter == '\n')
                .map(|(next, _)| next),
        );
        starts.nth(before)
    }

    /// The location of a key's value, such as `service_catalog.plans[0].name`, or of the nearest section around it.
    pub fn nearest(&self, key: &str) -> Location {
        let mut node = &self.root;
        for name in key.split(['.', '[']) {
            let below = match (&node.value, name.strip_suffix(']')) {
                (Node::List(items), Some(index)) => {
                    index.parse().ok().and_then(|index: usize| items.get(index))
                }
                (Node::Map(entries), None) => entries
                    .iter()
                    .rev()
                    .find(|(found, _)| found.value == name)
                    .map(|(_, value)| value),
                _ => None,
            };
            match below {
                Some(below) => node = below,
                None => break,
            }
        }
        location(node)
    }
}

/// Where a value stands; where an alias stands, not its anchor.
pub fn location<T>(node: &Spanned<T>) -> Location {
    Location {
        line: node.referenced.line(),
        column: node.referenced.column(),
    }
}

impl Node {
    /// The kind of the value in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) | Self::Large(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// The same value as JSON, for the parts that pass through unchanged.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(value) => Value::Bool(*value),
            Self::Integer(value) => Value::Number((*value).into()),
            Self::Large(value) => Value::Number((*value).into()),
            // Infinities and NaN have no JSON form; readers of a manifest expect their YAML spelling.
            Self::Float(value) => Number::from_f64(*value)
                .map_or_else(|| Value::String(spell_non_finite(*value)), Value::Number),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => items.iter().map(|item| item.value.to_json()).collect(),
            Self::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.value.clone(), value.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}

fn spell_non_finite(value: f64) -> String {
    if value.is_nan() {
        ".nan"
    } else if value.is_sign_negative() {
        "-.inf"
    } else {
        ".inf"
    }
    .to_owned()
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(i64::try_from(value).map_or(Node::Large(value), Node::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Node::Map(map))
    }
}
