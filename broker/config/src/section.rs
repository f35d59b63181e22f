//! Reads one map of the configuration file: coerces values as the Go broker does, collects findings, and declares the
//! known keys.
//!
//! | file | contents |
//! | --- | --- |
//! | `values` | the values of keys, read as declared |
//! | `secrets` | secrets in other files and in environment variables |
//! | `unknown_keys` | findings about unknown keys |

mod secrets;
mod unknown_keys;
mod values;

use std::{collections::BTreeSet, fmt};

use odb_adapter_sdk::yaml::Spanned;

pub(super) use secrets::{Variables, of_this_process};
pub(super) use unknown_keys::nearest;

use super::{
    document::{Document, Located, Location, Node, location},
    findings::{AlreadyReported, Message, Problems},
    keys::{FREE, Key, Keys},
};

/// A map of the file, or the absence of one: then every key is absent.
pub(super) struct Section<'a> {
    context: Context<'a>,
    path: String,
    location: Location,
    /// The key that is probably a typo of this section, if the section is absent.
    typo: Option<Typo>,
    entries: &'a [(Spanned<String>, Located)],
    keys: &'static Keys,
}

/// An unknown key that is similar to a missing one.
#[derive(Clone)]
struct Typo {
    missing: String,
    written: String,
    meant: &'static str,
    location: Location,
}

#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) document: &'a Document,
    pub(super) findings: &'a Problems,
    pub(super) paths: Paths,
    pub(super) variables: Variables,
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

impl<T: fmt::Display> Found<T> {
    /// The value as the end of a finding: "is `VALUE`".
    pub(super) fn quoted(&self) -> String {
        format!("is `{}`", self.value)
    }
}

impl<T> Found<T> {
    pub(super) fn location(self) -> Found<()> {
        Found {
            value: (),
            location: self.location,
            key: self.key,
        }
    }
}

impl<'a> Section<'a> {
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

    pub(super) fn declares(&self, key: &str) -> bool {
        self.keys.get(key).is_some()
    }

    pub(super) fn paths(&self) -> Paths {
        self.context.paths
    }

    /// Some leaf below is neither null nor empty. A rendered file has all keys, most of them null.
    pub(super) fn holds_a_value(&self) -> bool {
        self.entries.iter().any(|(_, node)| has_value(&node.value))
    }

    /// Whether the key has a value of any kind, or names the file of a secret.
    pub(super) fn has_value(&self, key: &str) -> bool {
        let file = self.keys.file_of(key).map(|file| file.name.as_str());
        self.entries.iter().any(|(name, node)| {
            (name.value == key || Some(name.value.as_str()) == file) && has_value(&node.value)
        })
    }

    /// Whether the key is present with a value other than null.
    pub(super) fn is_there(&self, key: &str) -> bool {
        self.node(key)
            .is_some_and(|node| !matches!(node.value, Node::Null))
    }

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
            let (location, key) = (self.location_of(key), self.key(key));
            return self.context.findings.refuse(location, &key, message);
        };
        // If the complete section is missing, only that is an error, not each key in it.
        let wrong = match &self.typo {
            Some(_) => "is missing".to_owned(),
            None => message.into().wrong,
        };
        let (Typo { written, meant, .. }, Location { line, column }) = (&typo, typo.location);
        let right = format!("write `{meant}` for `{written}` at {line}:{column}");
        let findings = self.context.findings;
        findings.refuse(typo.location, &typo.missing, (wrong, right))
    }

    /// Records a warning about a key, present or not.
    pub(super) fn warning(&self, key: &str, message: impl Into<Message>) {
        // If the complete section is missing, that is reported instead.
        if self.typo.is_none() {
            self.warn_at(self.location_of(key), &self.key(key), message);
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

    pub(super) fn warn_here(&self, message: impl Into<Message>) {
        self.warn_at(self.location, &self.path, message);
    }

    pub(super) fn here(&self) -> Found<()> {
        Found {
            value: (),
            location: self.location,
            key: self.path.clone(),
        }
    }

    pub(super) fn warn_value<V>(&self, found: &Found<V>, message: impl Into<Message>) {
        self.warn_at(found.location, &found.key, message);
    }

    pub(super) fn refuse_value<T, V>(
        &self,
        found: &Found<V>,
        message: impl Into<Message>,
    ) -> Option<T> {
        let findings = self.context.findings;
        findings.refuse(found.location, &found.key, message)
    }

    /// A section below this one; empty where absent.
    pub(super) fn section(&self, key: &str) -> Self {
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
    pub(super) fn sections(&self, key: &str) -> Vec<Self> {
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

    /// Reads a section that may be left out, but not be incomplete.
    pub(super) fn optional<T>(
        &self,
        read: impl FnOnce(&Self) -> Option<T>,
    ) -> Result<Option<T>, AlreadyReported> {
        if self.holds_a_value() {
            read(self).map(Some).ok_or(AlreadyReported)
        } else {
            Ok(None)
        }
    }

    /// Reads all members of a list of maps, so that no error hides another.
    pub(super) fn each<T>(
        &self,
        key: &str,
        read: impl FnMut(&Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let members: Vec<Option<T>> = self.sections(key).iter().map(read).collect();
        members.into_iter().collect()
    }

    /// A map of maps, with the names in the file's order.
    pub(super) fn named_sections(&self, key: &str) -> Vec<(String, Self)> {
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

    fn warn_at(&self, location: Location, key: &str, message: impl Into<Message>) {
        self.context.findings.warning(location, key, message);
    }

    fn items(&self, key: &str) -> Vec<(usize, &'a Located)> {
        match self.node(key).map(|node| (node, &node.value)) {
            None | Some((_, Node::Null)) => Vec::new(),
            Some((_, Node::List(items))) => items.iter().enumerate().collect(),
            Some((node, _)) => {
                self.wrong_kind::<()>(&self.key(key), node, "a list");
                Vec::new()
            }
        }
    }

    /// Of a key given twice the last one counts, as for the Go broker.
    fn node(&self, key: &str) -> Option<&'a Located> {
        self.declaration(key);
        self.entries
            .iter()
            .rev()
            .find(|(name, _)| name.value == key)
            .map(|(_, node)| node)
    }

    fn keys_of(&self, key: &str) -> &'static Keys {
        let declared = self.declaration(key);
        declared.and_then(|key| key.keys.as_ref()).unwrap_or(&FREE)
    }

    fn declaration(&self, key: &str) -> Option<&'static Key> {
        let declared = self.keys.get(key);
        debug_assert!(
            declared.is_some(),
            "`{}` is read and not declared: declare it in `keys.yml`",
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

    /// Records an error of a value of another type, by the full name of its key.
    fn wrong_kind<T>(&self, key: &str, node: &Located, right: &str) -> Option<T> {
        let text = (
            format!("is {}", node.value.kind()),
            format!("it must be {right}"),
        );
        let findings = self.context.findings;
        findings.refuse(location(node), key, text)
    }
}

/// Reports sections with the same text under `key`; `why` is the reason.
pub(super) fn distinct(sections: &[Section<'_>], key: &str, why: &str) -> Option<()> {
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
