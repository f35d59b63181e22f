//! Reads one map of the configuration file: coerces as the Go broker does, notes what is wrong, knows which keys it was asked for.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::{
    document::{Document, Located, Node, Place, place},
    problems::Problems,
};

/// A map of the file, or the absence of one: then every key is absent.
pub(super) struct Section<'a> {
    context: Context<'a>,
    path: String,
    place: Place,
    entries: &'a [(odb_adapter_sdk::yaml::Spanned<String>, Located)],
    asked: RefCell<Vec<&'static str>>,
}

/// What all sections of a file share.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) document: &'a Document,
    pub(super) problems: &'a Problems,
}

/// A value with its place and the full name of its key.
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) place: Place,
    pub(super) key: String,
}

impl<'a> Section<'a> {
    /// The whole file.
    pub(super) fn root(context: Context<'a>) -> Self {
        Self::read(context, String::new(), &context.document.root)
    }

    fn read(context: Context<'a>, path: String, node: &'a Located) -> Self {
        let entries: &[_] = match &node.value {
            Node::Map(entries) => entries,
            Node::Null => &[],
            other => {
                let text = format!("is {}; it must be a map", other.kind());
                context.problems.refuse::<()>(place(node), &path, text);
                &[]
            }
        };
        Self {
            context,
            path,
            place: place(node),
            entries,
            asked: RefCell::default(),
        }
    }

    /// Some leaf below is neither null nor empty. A rendered file has all keys, most of them null.
    pub(super) fn holds_a_value(&self) -> bool {
        self.entries.iter().any(|(_, node)| has_value(&node.value))
    }

    /// The key has a value, whatever its kind.
    pub(super) fn has_value(&self, key: &str) -> bool {
        self.entries
            .iter()
            .any(|(name, node)| name.value == key && has_value(&node.value))
    }

    /// The full name of a key of this section.
    pub(super) fn key(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// Notes a fault of this section as a whole, or of a key that is not there.
    pub(super) fn refuse<T>(&self, key: &str, text: impl Into<String>) -> Option<T> {
        self.context
            .problems
            .refuse(self.place, &self.key(key), text)
    }

    /// Notes something about a key that is odd, or left out.
    pub(super) fn remark(&self, key: &str, text: impl Into<String>) {
        self.context
            .problems
            .remark(self.place, &self.key(key), text);
    }

    /// Notes something about this section as a whole that is odd.
    pub(super) fn remark_here(&self, text: impl Into<String>) {
        self.context.problems.remark(self.place, &self.path, text);
    }

    /// Notes something about a value that was found that is odd.
    pub(super) fn remark_value<V>(&self, found: &Found<V>, text: impl Into<String>) {
        self.context.problems.remark(found.place, &found.key, text);
    }

    /// Notes a fault of a value that was found.
    pub(super) fn refuse_value<T, V>(
        &self,
        found: &Found<V>,
        text: impl Into<String>,
    ) -> Option<T> {
        self.context.problems.refuse(found.place, &found.key, text)
    }

    /// Text; absent, null and empty are the same. Any scalar is taken as it is spelled.
    pub(super) fn text(&self, key: &'static str) -> Option<Found<String>> {
        let node = self.node(key)?;
        match self.context.document.spelling(node) {
            Some(text) if text.is_empty() => None,
            Some(text) => Some(self.found(key, node, text)),
            None => self.wrong_kind(key, node, "text"),
        }
    }

    /// Text that must be there. `right` says what belongs there.
    pub(super) fn required_text(&self, key: &'static str, right: &str) -> Option<Found<String>> {
        let node = self.node(key);
        if node.is_some_and(|node| matches!(node.value, Node::List(_) | Node::Map(_))) {
            return self.text(key);
        }
        self.text(key).or_else(|| match node {
            Some(node) => self.context.problems.refuse(
                place(node),
                &self.key(key),
                format!("is empty; give {right}"),
            ),
            None => self.refuse(key, format!("is missing; give {right}")),
        })
    }

    /// A whole number; a fraction is cut off, as the Go broker does. Text is refused, digits in quotes too.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "that is how the Go broker reads a float"
    )]
    pub(super) fn number(&self, key: &'static str) -> Option<Found<i64>> {
        let node = self.node(key)?;
        match &node.value {
            Node::Null => None,
            Node::Integer(value) => Some(self.found(key, node, *value)),
            Node::Float(value) if value.is_finite() => {
                Some(self.found(key, node, value.trunc() as i64))
            }
            Node::Boolean(_)
            | Node::Large(_)
            | Node::Float(_)
            | Node::Text(_)
            | Node::List(_)
            | Node::Map(_) => self.wrong_kind(key, node, "a whole number without quotes"),
        }
    }

    /// A boolean, `default` where absent.
    pub(super) fn flag(&self, key: &'static str, default: bool) -> bool {
        self.optional_flag(key).map_or(default, |found| found.value)
    }

    /// A boolean that may be left out on purpose.
    pub(super) fn optional_flag(&self, key: &'static str) -> Option<Found<bool>> {
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

    /// A section below this one; empty where absent.
    pub(super) fn section(&self, key: &'static str) -> Self {
        match self.node(key) {
            Some(node) => Self::read(self.context, self.key(key), node),
            None => Self {
                context: self.context,
                path: self.key(key),
                place: self.place,
                entries: &[],
                asked: RefCell::default(),
            },
        }
    }

    /// The members of a list of maps. Null members are left out.
    pub(super) fn sections(&self, key: &'static str) -> Vec<Self> {
        self.items(key)
            .into_iter()
            .filter(|(_, node)| !matches!(node.value, Node::Null))
            .map(|(index, node)| {
                Self::read(self.context, format!("{}[{index}]", self.key(key)), node)
            })
            .collect()
    }

    /// A map of maps, with the names in the file's order.
    pub(super) fn named_sections(&self, key: &'static str) -> Vec<(String, Self)> {
        let section = self.section(key);
        section
            .entries
            .iter()
            .map(|(name, node)| {
                let path = format!("{}.{}", section.path, name.value);
                (name.value.clone(), Self::read(self.context, path, node))
            })
            .collect()
    }

    /// A list of texts. Null and empty members are left out.
    pub(super) fn texts(&self, key: &'static str) -> Vec<Found<String>> {
        self.items(key)
            .into_iter()
            .filter_map(|(index, node)| {
                let key = format!("{}[{index}]", self.key(key));
                match self.context.document.spelling(node) {
                    Some(value) if value.is_empty() => None,
                    Some(value) => Some(Found {
                        value,
                        place: place(node),
                        key,
                    }),
                    None => {
                        let text = format!("is {}; it must be text", node.value.kind());
                        self.context.problems.refuse(place(node), &key, text)
                    }
                }
            })
            .collect()
    }

    /// A map from text to text; scalars keep their spelling, anything nested is refused.
    pub(super) fn text_map(&self, key: &'static str) -> Vec<(String, String)> {
        let section = self.section(key);
        section
            .entries
            .iter()
            .filter_map(|(name, node)| {
                let Some(value) = self.context.document.spelling(node) else {
                    let text = format!("is {}; it must be text", node.value.kind());
                    return self.context.problems.refuse(
                        place(node),
                        &section.key(&name.value),
                        text,
                    );
                };
                Some((name.value.clone(), value))
            })
            .collect()
    }

    /// A free-form map that passes through with its YAML types.
    pub(super) fn free_map(&self, key: &'static str) -> Map<String, Value> {
        let section = self.section(key);
        section.all_as_json()
    }

    /// Every key of this section that was not asked for, for maps with free additions.
    pub(super) fn remaining(&self) -> Map<String, Value> {
        let asked = self.asked.borrow();
        self.entries
            .iter()
            .filter(|(key, _)| !asked.contains(&key.value.as_str()))
            .map(|(key, node)| (key.value.clone(), node.value.to_json()))
            .collect()
    }

    /// The value of a key as JSON, null where absent.
    pub(super) fn json(&self, key: &'static str) -> Option<Found<Value>> {
        let node = self.node(key)?;
        match node.value.to_json() {
            Value::Null => None,
            value => Some(self.found(key, node, value)),
        }
    }

    /// Marks a key as known though nothing here needs it.
    pub(super) fn ignore(&self, keys: &[&'static str]) {
        self.asked.borrow_mut().extend(keys);
    }

    /// Remarks on keys that nobody asked for: the Go broker ignores them silently, a typo costs its operator an afternoon.
    pub(super) fn remark_unknown_keys(&self) {
        let asked = self.asked.borrow();
        for (key, _) in self.entries {
            if asked.contains(&key.value.as_str()) {
                continue;
            }
            let nearest = asked
                .iter()
                .map(|known| (strsim::damerau_levenshtein(known, &key.value), known))
                .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
                .min();
            let text = match nearest {
                Some((_, known)) => format!("is not known and ignored; is `{known}` meant?"),
                None => "is not known and ignored".to_owned(),
            };
            self.context
                .problems
                .remark(place(key), &self.key(&key.value), text);
        }
    }

    fn all_as_json(&self) -> Map<String, Value> {
        self.entries
            .iter()
            .map(|(key, node)| (key.value.clone(), node.value.to_json()))
            .collect()
    }

    fn items(&self, key: &'static str) -> Vec<(usize, &'a Located)> {
        match self.node(key) {
            None => Vec::new(),
            Some(node) => match &node.value {
                Node::Null => Vec::new(),
                Node::List(items) => items.iter().enumerate().collect(),
                Node::Boolean(_)
                | Node::Integer(_)
                | Node::Large(_)
                | Node::Float(_)
                | Node::Text(_)
                | Node::Map(_) => {
                    self.wrong_kind::<()>(key, node, "a list");
                    Vec::new()
                }
            },
        }
    }

    /// Of a key given twice the last one counts, as for the Go broker.
    fn node(&self, key: &'static str) -> Option<&'a Located> {
        self.asked.borrow_mut().push(key);
        self.entries
            .iter()
            .rev()
            .find(|(name, _)| name.value == key)
            .map(|(_, node)| node)
    }

    fn found<T>(&self, key: &str, node: &Located, value: T) -> Found<T> {
        Found {
            value,
            place: place(node),
            key: self.key(key),
        }
    }

    fn wrong_kind<T>(&self, key: &str, node: &Located, right: &str) -> Option<T> {
        let text = format!("is {}; it must be {right}", node.value.kind());
        self.context
            .problems
            .refuse(place(node), &self.key(key), text)
    }
}

fn has_value(node: &Node) -> bool {
    match node {
        Node::Null => false,
        Node::Boolean(value) => *value,
        Node::Integer(_) | Node::Large(_) | Node::Float(_) => true,
        Node::Text(text) => !text.is_empty(),
        Node::List(items) => items.iter().any(|item| has_value(&item.value)),
        Node::Map(entries) => entries.iter().any(|(_, value)| has_value(&value.value)),
    }
}
