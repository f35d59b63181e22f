//! The values of keys, read as declared.

use serde_json::{Map, Value};

use super::{Found, Section};
use crate::{
    document::{Located, Node, location},
    findings::AlreadyReported,
    keys::{Key, Kind},
};

/// The first number that is no `i64` any more, 2^63.
const BEYOND_NUMBERS: f64 = 9_223_372_036_854_775_808.0;

/// How many characters of an invalid number are shown.
const LONGEST_NUMBER: usize = 40;

impl Section<'_> {
    /// Text; absent, null and empty are the same. Any scalar is read as it is spelled.
    pub(crate) fn text(&self, key: &'static str) -> Option<Found<String>> {
        let node = self.node(key)?;
        match self.context.document.spelling(node) {
            Some(text) if text.is_empty() => None,
            Some(text) => Some(self.found(key, node, text)),
            None => self.wrong_kind(key, node, "text"),
        }
    }

    /// Required text. `right` describes the expected value.
    pub(crate) fn required_text(&self, key: &'static str, right: &str) -> Option<Found<String>> {
        let node = self.node(key);
        if node.is_some_and(|node| matches!(node.value, Node::List(_) | Node::Map(_))) {
            return self.text(key);
        }
        self.text(key).or_else(|| match node {
            Some(node) => self.context.findings.refuse(
                location(node),
                &self.key(key),
                ("is empty", format!("give {right}")),
            ),
            None => self.refuse(key, ("is missing", format!("give {right}"))),
        })
    }

    /// The same without its location.
    pub(crate) fn plain_text(&self, key: &'static str) -> Option<String> {
        self.text(key).map(|found| found.value)
    }

    /// An integer; a fraction is cut off, as the Go broker does. Text is rejected, also digits in quotes.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "that is how the Go broker reads a float"
    )]
    pub(crate) fn number(&self, key: &'static str) -> Option<Found<i64>> {
        let node = self.node(key)?;
        match &node.value {
            Node::Null => None,
            Node::Integer(value) => Some(self.found(key, node, *value)),
            Node::Float(value) if value.abs() < BEYOND_NUMBERS => {
                Some(self.found(key, node, value.trunc() as i64))
            }
            Node::Float(value) if value.is_finite() => self.beyond_bounds(key, node),
            Node::Large(_) => self.beyond_bounds(key, node),
            Node::Boolean(_) | Node::Float(_) | Node::Text(_) | Node::List(_) | Node::Map(_) => {
                self.wrong_kind(key, node, "a whole number without quotes")
            }
        }
    }

    /// A number that is no `i64`, nor has any meaning here: as it is written.
    fn beyond_bounds<T>(&self, key: &'static str, node: &Located) -> Option<T> {
        let spelling = self.context.document.spelling(node).unwrap_or_default();
        let written: String = spelling.chars().take(LONGEST_NUMBER).collect();
        let right = match self.keys.get(key).map(|key| key.kind) {
            Some(Kind::Number { least, most }) if i64::try_from(most).is_ok() => {
                format!("give {least} to {most}")
            }
            _ => "give a whole number of at most 18 digits".to_owned(),
        };
        let text = (format!("is {written}"), right);
        self.context
            .findings
            .refuse(location(node), &self.key(key), text)
    }

    /// A number within the declared bounds, which may be absent. `unit` follows the bounds in the remedy.
    pub(crate) fn number_within(
        &self,
        key: &'static str,
        unit: &str,
    ) -> Result<Option<u64>, AlreadyReported> {
        let Some(found) = self.number(key) else {
            return if self.has_value(key) {
                Err(AlreadyReported)
            } else {
                Ok(None)
            };
        };
        let declared = self.keys.get(key).map(|key| key.kind);
        let (least, most) = match declared {
            Some(Kind::Number { least, most }) => (least, most),
            _ => (0, u64::MAX),
        };
        match u64::try_from(found.value) {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => {
                let text = (
                    format!("is {}", found.value),
                    format!("give {least} to {most}{unit}"),
                );
                self.refuse_value::<(), _>(&found, text);
                Err(AlreadyReported)
            }
        }
    }

    /// A boolean, `default` where absent.
    pub(crate) fn flag(&self, key: &'static str, default: bool) -> bool {
        self.optional_flag(key).map_or(default, |found| found.value)
    }

    /// The choice of a switch that is off by default.
    pub(crate) fn choose<T>(&self, key: &'static str, on: T, off: T) -> T {
        if self.flag(key, false) { on } else { off }
    }

    /// A boolean that may be left out on purpose.
    pub(crate) fn optional_flag(&self, key: &'static str) -> Option<Found<bool>> {
        let node = self.node(key)?;
        match &node.value {
            Node::Null => None,
            Node::Boolean(value) => Some(self.found(key, node, *value)),
            Node::Integer(_)
            | Node::Large(_)
            | Node::Float(_)
            | Node::Text(_)
            | Node::List(_)
            | Node::Map(_) => self.wrong_kind(key, node, "`true` or `false`"),
        }
    }

    /// A list of texts. Null and empty members are left out.
    pub(crate) fn texts(&self, key: &'static str) -> Vec<Found<String>> {
        self.items(key)
            .into_iter()
            .filter_map(|(index, node)| {
                let key = format!("{}[{index}]", self.key(key));
                match self.context.document.spelling(node) {
                    Some(value) if value.is_empty() => None,
                    Some(value) => Some(Found {
                        value,
                        location: location(node),
                        key,
                    }),
                    None => {
                        let text = (format!("is {}", node.value.kind()), "it must be text");
                        self.context.findings.refuse(location(node), &key, text)
                    }
                }
            })
            .collect()
    }

    /// The same without their locations.
    pub(crate) fn plain_texts(&self, key: &'static str) -> Vec<String> {
        let found = self.texts(key).into_iter();
        found.map(|found| found.value).collect()
    }

    /// A map from text to text; scalars keep their spelling, anything nested is refused.
    pub(crate) fn text_map(&self, key: &'static str) -> Vec<(String, String)> {
        let section = self.section(key);
        section
            .entries
            .iter()
            .filter_map(|(name, node)| {
                let Some(value) = self.context.document.spelling(node) else {
                    let text = (format!("is {}", node.value.kind()), "it must be text");
                    return self.context.findings.refuse(
                        location(node),
                        &section.key(&name.value),
                        text,
                    );
                };
                Some((name.value.clone(), value))
            })
            .collect()
    }

    /// Every text below this section whose key matches; not those of free-form maps.
    pub(crate) fn texts_below(&self, is_wanted: fn(&Key) -> bool) -> Vec<Found<String>> {
        let texts = self.keys.iter().map(|key| match key.kind {
            Kind::Section(_) => self.section(key.name).texts_below(is_wanted),
            Kind::Sections(_) => self
                .sections(key.name)
                .iter()
                .flat_map(|section| section.texts_below(is_wanted))
                .collect(),
            _ if is_wanted(key) => self.text(key.name).into_iter().collect(),
            _ => Vec::new(),
        });
        texts.flatten().collect()
    }

    /// A free-form map that passes through with its YAML types.
    pub(crate) fn free_map(&self, key: &'static str) -> Map<String, Value> {
        let section = self.section(key);
        section.all_as_json()
    }

    /// A map from names to numbers. They pass through as they are.
    pub(crate) fn amounts(&self, key: &'static str) -> Map<String, Value> {
        let section = self.section(key);
        for (name, node) in section.entries {
            if !matches!(
                node.value,
                Node::Integer(_) | Node::Large(_) | Node::Float(_)
            ) {
                section.wrong_kind::<()>(&name.value, node, "a number without quotes");
            }
        }
        section.all_as_json()
    }

    /// Every key of this section that is not declared, for maps with free additions.
    pub(crate) fn remaining(&self) -> Map<String, Value> {
        self.entries
            .iter()
            .filter(|(key, _)| self.keys.get(&key.value).is_none())
            .map(|(key, node)| (key.value.clone(), node.value.to_json()))
            .collect()
    }

    /// The value of a key as JSON, null where absent.
    pub(crate) fn json(&self, key: &'static str) -> Option<Found<Value>> {
        let node = self.node(key)?;
        match node.value.to_json() {
            Value::Null => None,
            value => Some(self.found(key, node, value)),
        }
    }

    fn all_as_json(&self) -> Map<String, Value> {
        self.entries
            .iter()
            .map(|(key, node)| (key.value.clone(), node.value.to_json()))
            .collect()
    }
}
