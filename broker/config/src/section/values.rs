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
    pub(crate) fn text(&self, key: &str) -> Option<Found<String>> {
        self.read_text(key).ok().flatten()
    }

    pub(super) fn read_text(&self, key: &str) -> Result<Option<Found<String>>, AlreadyReported> {
        let written = match self.node(key) {
            None => None,
            Some(node) => match self.context.document.spelling(node) {
                Some(text) if text.is_empty() => None,
                Some(text) => Some(self.found(key, node, text)),
                None => {
                    self.wrong_kind::<()>(&self.key(key), node, "text");
                    return Err(AlreadyReported);
                }
            },
        };
        if self.keys.get(key).is_some_and(|key| key.secret) {
            self.secret(key, written)
        } else {
            Ok(written)
        }
    }

    /// Required text. `right` describes the expected value.
    pub(crate) fn required_text(&self, key: &str, right: &str) -> Option<Found<String>> {
        let found = self.read_text(key).ok()?;
        let right = format!("give {right}");
        found.or_else(|| match self.node(key) {
            Some(node) => {
                let (findings, text) = (self.context.findings, ("is empty", right));
                findings.refuse(location(node), &self.key(key), text)
            }
            None => self.refuse(key, ("is missing", right)),
        })
    }

    pub(crate) fn plain_text(&self, key: &str) -> Option<String> {
        self.text(key).map(|found| found.value)
    }

    /// An integer; a fraction is cut off, as the Go broker does. Text is rejected, also digits in quotes.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "that is how the Go broker reads a float"
    )]
    pub(crate) fn number(&self, key: &str) -> Option<Found<i64>> {
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
                self.wrong_kind(&self.key(key), node, "a whole number without quotes")
            }
        }
    }

    /// A number that is no `i64`, nor has any meaning here: as it is written.
    fn beyond_bounds<T>(&self, key: &str, node: &Located) -> Option<T> {
        let spelling = self.context.document.spelling(node).unwrap_or_default();
        let written: String = spelling.chars().take(LONGEST_NUMBER).collect();
        let Key { least, most, .. } = self.declaration(key)?;
        let text = (format!("is {written}"), format!("give {least} to {most}"));
        let findings = self.context.findings;
        findings.refuse(location(node), &self.key(key), text)
    }

    /// A number within the declared bounds, which may be absent. `unit` follows the bounds in the remedy.
    pub(crate) fn number_within(
        &self,
        key: &str,
        unit: &str,
    ) -> Result<Option<u64>, AlreadyReported> {
        let Some(found) = self.number(key) else {
            return if self.has_value(key) {
                Err(AlreadyReported)
            } else {
                Ok(None)
            };
        };
        let declared = self.declaration(key).ok_or(AlreadyReported)?;
        let (least, most) = (declared.least, declared.most);
        match u64::try_from(found.value) {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => {
                let right = format!("give {least} to {most}{unit}");
                self.refuse_value::<(), _>(&found, (format!("is {}", found.value), right));
                Err(AlreadyReported)
            }
        }
    }

    /// The same, or the declared default where it is absent.
    pub(crate) fn number_or_default(&self, key: &str, unit: &str) -> Option<u64> {
        let given = self.number_within(key, unit).ok()?;
        given.or_else(|| self.declaration(key)?.default.as_ref()?.as_u64())
    }

    /// A boolean; the declared default where it is absent.
    pub(crate) fn flag(&self, key: &str) -> bool {
        let default = || self.declaration(key)?.default.as_ref()?.as_bool();
        match self.optional_flag(key) {
            Some(found) => found.value,
            None => default().unwrap_or_default(),
        }
    }

    pub(crate) fn choose<T>(&self, key: &str, on: T, off: T) -> T {
        if self.flag(key) { on } else { off }
    }

    /// A boolean that may be left out on purpose.
    pub(crate) fn optional_flag(&self, key: &str) -> Option<Found<bool>> {
        let node = self.node(key)?;
        match &node.value {
            Node::Null => None,
            Node::Boolean(value) => Some(self.found(key, node, *value)),
            _ => self.wrong_kind(&self.key(key), node, "`true` or `false`"),
        }
    }

    /// A list of texts. Null and empty members are left out.
    pub(crate) fn texts(&self, key: &str) -> Vec<Found<String>> {
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
                    None => self.wrong_kind(&key, node, "text"),
                }
            })
            .collect()
    }

    pub(crate) fn plain_texts(&self, key: &str) -> Vec<String> {
        let found = self.texts(key).into_iter();
        found.map(|found| found.value).collect()
    }

    /// A map from text to text; scalars keep their spelling, anything nested is refused. Secret ones may be of variables.
    pub(crate) fn text_map(&self, key: &str) -> Vec<(String, String)> {
        let section = self.section(key);
        let is_secret = self.keys.get(key).is_some_and(|key| key.secret);
        section
            .entries
            .iter()
            .filter_map(|(name, node)| {
                let value = self.context.document.spelling(node);
                let value = value.or_else(|| {
                    let key = section.key(&name.value);
                    self.wrong_kind(&key, node, "text")
                });
                let found = section.found(&name.value, node, value?);
                let found = if is_secret {
                    section.resolved(found, None).ok()?
                } else {
                    found
                };
                Some((name.value.clone(), found.value))
            })
            .collect()
    }

    /// All certificates below this section.
    pub(crate) fn certificates(&self) -> Vec<Found<String>> {
        let texts = self.keys.iter().map(|key| match key.kind {
            Kind::Section => self.section(&key.name).certificates(),
            Kind::Sections => {
                let sections = self.sections(&key.name);
                sections.iter().flat_map(Self::certificates).collect()
            }
            Kind::Certificates => self.text(&key.name).into_iter().collect(),
            _ => Vec::new(),
        });
        texts.flatten().collect()
    }

    /// A free-form map that passes through with its YAML types.
    pub(crate) fn free_map(&self, key: &str) -> Map<String, Value> {
        let section = self.section(key);
        section.all_as_json()
    }

    /// A map from names to numbers. They pass through as they are.
    pub(crate) fn amounts(&self, key: &str) -> Map<String, Value> {
        let section = self.section(key);
        for (name, node) in section.entries {
            let value = &node.value;
            if !matches!(value, Node::Integer(_) | Node::Large(_) | Node::Float(_)) {
                let key = section.key(&name.value);
                section.wrong_kind::<()>(&key, node, "a number without quotes");
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
    pub(crate) fn json(&self, key: &str) -> Option<Found<Value>> {
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
