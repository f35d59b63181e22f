//! Reads one map of the configuration file: coerces values as the Go broker does, collects findings, and declares the
//! known keys.
//!
//! | file | contents |
//! | --- | --- |
//! | `values` | the values of keys, read as declared |
//! | `unknown_keys` | findings about unknown keys |

mod unknown_keys;
mod values;

use std::collections::BTreeSet;

use super::{
    document::{Document, Located, Location, Node, location},
    findings::{Message, Problems},
    keys::{FREE, Key, Keys, Kind},
};

/// A map of the file, or the absence of one: then every key is absent.
pub(super) struct Section<'a> {
    context: Context<'a>,
    path: String,
    location: Location,
    /// The key that is probably a typo of this section, if the section is absent.
    typo: Option<Typo>,
    entries: &'a [(odb_adapter_sdk::yaml::Spanned<String>, Located)],
    keys: &'static Keys,
}

/// An unknown key that is similar to a missing one.
#[derive(Clone)]
struct Typo {
    /// The full name of the missing key.
    missing: String,
    written: String,
    meant: &'static str,
    location: Location,
}

/// The data that all sections of a file share.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) document: &'a Document,
    pub(super) findings: &'a Problems,
    pub(super) paths: Paths,
}

/// Whether the paths of a configuration lead anywhere from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// The broker runs on this machine: the files at these paths are checked.
    OfThisMachine,
    /// The broker runs elsewhere: nothing is checked.
    OfAnother,
}

/// A value with its location and the full name of its key.
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) location: Location,
    pub(super) key: String,
}

impl<T> Found<T> {
    /// The location without the value.
    pub(super) fn location(self) -> Found<()> {
        Found {
            value: (),
            location: self.location,
            key: self.key,
        }
    }
}

impl<'a> Section<'a> {
    /// The root of a file with these keys.
    pub(super) fn root(context: Context<'a>, keys: &'static Keys) -> Self {
        Self::read(context, String::new(), &context.document.root, keys)
    }

    fn read(context: Context<'a>, path: String, node: &'a Located, keys: &'static Keys) -> Self {
        let entries: &[_] = match &node.value {
            Node::Map(entries) => entries,
            Node::Null => &[],
            other => {
                let text = (format!("is {}", other.kind()), "it must be a map");
                context.findings.refuse::<()>(location(node), &path, text);
                &[]
            }
        };
        Self {
            context,
            path,
            location: location(node),
            typo: None,
            entries,
            keys,
        }
    }

    /// Whether a key is valid in this section.
    pub(super) fn declares(&self, key: &str) -> bool {
        self.keys.get(key).is_some()
    }

    /// Whether paths lead anywhere from here.
    pub(super) fn paths(&self) -> Paths {
        self.context.paths
    }

    /// Some leaf below is neither null nor empty. A rendered file has all keys, most of them null.
    pub(super) fn holds_a_value(&self) -> bool {
        self.entries.iter().any(|(_, node)| has_value(&node.value))
    }

    /// Whether the key has a value of any kind.
    pub(super) fn has_value(&self, key: &str) -> bool {
        self.entries
            .iter()
            .any(|(name, node)| name.value == key && has_value(&node.value))
    }

    /// Whether the key is present with a value other than null.
    pub(super) fn is_there(&self, key: &'static str) -> bool {
        self.node(key)
            .is_some_and(|node| !matches!(node.value, Node::Null))
    }

    /// The full name of a key of this section.
    pub(super) fn key(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// Records an error of a key, present or not.
    pub(super) fn refuse<T>(&self, key: &str, message: impl Into<Message>) -> Option<T> {
        let Some(typo) = self.typo_for(key) else {
            let location = self.location_of(key);
            return self
                .context
                .findings
                .refuse(location, &self.key(key), message);
        };
        let Typo {
            missing,
            written,
            meant,
            location,
        } = typo;
        // If the complete section is missing, only that is an error, not each key in it.
        let wrong = if self.typo.is_some() {
            "is missing".to_owned()
        } else {
            message.into().wrong
        };
        let (line, column) = (location.line, location.column);
        let text = (
            wrong,
            format!("write `{meant}` for `{written}` at {line}:{column}"),
        );
        self.context.findings.refuse(location, &missing, text)
    }

    /// Records a warning about a key, present or not.
    pub(super) fn warning(&self, key: &str, message: impl Into<Message>) {
        // If the complete section is missing, that is reported instead.
        if self.typo.is_none() {
            self.warn_key(key, self.location_of(key), message);
        }
    }

    /// The location of a key; if it is missing, that of its section.
    fn location_of(&self, key: &str) -> Location {
        self.entries
            .iter()
            .rev()
            .find(|(name, _)| name.value == key)
            .map_or(self.location, |(name, _)| location(name))
    }

    /// Records a warning about this section.
    pub(super) fn warn_here(&self, message: impl Into<Message>) {
        self.context
            .findings
            .warning(self.location, &self.path, message);
    }

    /// This section as something that was found.
    pub(super) fn here(&self) -> Found<()> {
        Found {
            value: (),
            location: self.location,
            key: self.path.clone(),
        }
    }

    /// Records a warning about a value.
    pub(super) fn warn_value<V>(&self, found: &Found<V>, message: impl Into<Message>) {
        self.context
            .findings
            .warning(found.location, &found.key, message);
    }

    /// Records an error of a value.
    pub(super) fn refuse_value<T, V>(
        &self,
        found: &Found<V>,
        message: impl Into<Message>,
    ) -> Option<T> {
        self.context
            .findings
            .refuse(found.location, &found.key, message)
    }

    /// A section below this one; empty where absent.
    pub(super) fn section(&self, key: &'static str) -> Self {
        let keys = self.keys_of(key);
        match self.node(key) {
            Some(node) => Self::read(self.context, self.key(key), node, keys),
            None => Self {
                context: self.context,
                path: self.key(key),
                location: self.location,
                typo: self.typo_for(key),
                entries: &[],
                keys,
            },
        }
    }

    /// The members of a list of maps. Null members are left out.
    pub(super) fn sections(&self, key: &'static str) -> Vec<Self> {
        let keys = self.keys_of(key);
        self.items(key)
            .into_iter()
            .filter(|(_, node)| !matches!(node.value, Node::Null))
            .map(|(index, node)| {
                let path = format!("{}[{index}]", self.key(key));
                Self::read(self.context, path, node, keys)
            })
            .collect()
    }

    /// Reads all members of a list of maps, so that no error hides another.
    pub(super) fn each<T>(
        &self,
        key: &'static str,
        read: impl FnMut(&Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let members: Vec<Option<T>> = self.sections(key).iter().map(read).collect();
        members.into_iter().collect()
    }

    /// A map of maps, with the names in the file's order.
    pub(super) fn named_sections(&self, key: &'static str) -> Vec<(String, Self)> {
        let section = self.section(key);
        section
            .entries
            .iter()
            .map(|(name, node)| {
                let path = section.key(&name.value);
                let below = Self::read(self.context, path, node, section.keys);
                (name.value.clone(), below)
            })
            .collect()
    }

    fn warn_key(&self, name: &str, location: Location, message: impl Into<Message>) {
        self.context
            .findings
            .warning(location, &self.key(name), message);
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
        self.declaration(key);
        self.entries
            .iter()
            .rev()
            .find(|(name, _)| name.value == key)
            .map(|(_, node)| node)
    }

    /// The declared keys below a key.
    fn keys_of(&self, key: &'static str) -> &'static Keys {
        match self.declaration(key).map(|key| key.kind) {
            Some(Kind::Section(keys) | Kind::Sections(keys) | Kind::Named(keys)) => keys,
            _ => &FREE,
        }
    }

    fn declaration(&self, key: &'static str) -> Option<&'static Key> {
        let declared = self.keys.get(key);
        debug_assert!(
            declared.is_some(),
            "`{}` is read and not declared: declare it in `config::keys`",
            self.key(key)
        );
        declared
    }

    fn found<T>(&self, key: &str, node: &Located, value: T) -> Found<T> {
        Found {
            value,
            location: location(node),
            key: self.key(key),
        }
    }

    fn wrong_kind<T>(&self, key: &str, node: &Located, right: &str) -> Option<T> {
        let text = (
            format!("is {}", node.value.kind()),
            format!("it must be {right}"),
        );
        self.context
            .findings
            .refuse(location(node), &self.key(key), text)
    }
}

/// Reports sections with the same text under `key`; `why` is the reason.
pub(super) fn distinct(sections: &[Section<'_>], key: &'static str, why: &str) -> Option<()> {
    let mut known = BTreeSet::new();
    let mut all = Some(());
    for section in sections {
        // One that is no text has been refused already.
        if let Some(found) = section.text(key)
            && !known.insert(found.value.clone())
        {
            let text = (format!("is `{}` a second time", found.value), why);
            all = section.refuse_value(&found, text);
        }
    }
    all
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
