//! A map of a YAML file, read key by key. Errors are collected with their places.

use odb_adapter_sdk::{
    document::{Document, Located, Node, location},
    yaml::{Error, Spanned},
};
use odb_api_types::finding::Location;
use serde_json::{Map, Value};

use crate::{findings::Findings, near};

/// A parsed file with its name in findings.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) document: Document,
}

/// A map of a file.
#[derive(Clone, Debug)]
pub(crate) struct Section<'f> {
    file: &'f File,
    /// The path of the map, empty for the file.
    path: String,
    at: Location,
    entries: &'f [(Spanned<String>, Located)],
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Found<T> {
    pub(crate) value: T,
    pub(crate) key: String,
    pub(crate) at: Location,
}

impl File {
    /// Parses a file; reports why it is not YAML.
    pub(crate) fn parse(name: &str, bytes: &[u8], findings: &mut Findings) -> Option<Self> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            let at = Location::file(name);
            findings.error(at, None, "the file is not UTF-8", "save it as UTF-8");
            return None;
        };
        match Document::parse(text) {
            Ok(document) => Some(Self {
                name: name.to_owned(),
                document,
            }),
            Err(error) => {
                let found = format!("the file is not valid YAML: {}", error.message());
                findings.error(at_error(name, &error), None, found, "correct it from here");
                None
            }
        }
    }

    /// The file as a map; reports what else it is. An empty file is an empty map.
    pub(crate) fn map(&self, findings: &mut Findings) -> Option<Section<'_>> {
        self.section(&self.document.root, String::new(), findings)
    }

    pub(crate) fn section<'f>(
        &'f self,
        node: &'f Located,
        path: String,
        findings: &mut Findings,
    ) -> Option<Section<'f>> {
        let at = self.at(node);
        match &node.value {
            Node::Map(entries) => Some(Section {
                file: self,
                path,
                at,
                entries,
            }),
            Node::Null => Some(Section {
                file: self,
                path,
                at,
                entries: &[],
            }),
            other => {
                let found = format!("{} is {}, not a map", named(&path), other.kind());
                findings.error(at, Some(&path), found, "write `key: value` lines");
                None
            }
        }
    }

    /// Where a key stands, or the nearest one around it.
    pub(crate) fn key_at(&self, path: &[&str]) -> Location {
        let mut node = &self.document.root;
        let mut at = Location::file(&self.name);
        for key in path {
            let Node::Map(entries) = &node.value else {
                break;
            };
            let same = entries.iter().rev().find(|(name, _)| name.value == *key);
            let Some((name, below)) = same else { break };
            at = self.at(name);
            node = below;
        }
        at
    }

    pub(crate) fn at<T>(&self, node: &Spanned<T>) -> Location {
        let at = location(node);
        Location {
            file: self.name.clone(),
            line: (at.line > 0).then_some(at.line),
            column: (at.line > 0).then_some(at.column),
        }
    }
}

pub(crate) fn at_error(file: &str, error: &Error) -> Location {
    Location {
        file: file.to_owned(),
        line: error.line(),
        column: error.column(),
    }
}

fn named(path: &str) -> String {
    if path.is_empty() {
        "the file".to_owned()
    } else {
        format!("`{path}`")
    }
}

impl<'f> Section<'f> {
    pub(crate) fn at(&self) -> Location {
        self.at.clone()
    }

    pub(crate) fn path(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'f str> + use<'f> {
        self.entries.iter().map(|(name, _)| name.value.as_str())
    }

    /// The value of a key. As everywhere in YAML 1.1, the last of two equal keys counts; `null` is none.
    pub(crate) fn get(&self, key: &str) -> Option<&'f Located> {
        let mut entries = self.entries.iter().rev();
        let (_, node) = entries.find(|(name, _)| name.value == key)?;
        (!matches!(node.value, Node::Null)).then_some(node)
    }

    /// A scalar with the text that other YAML parsers read: the unquoted `1.10` is `1.1`.
    pub(crate) fn text(&self, key: &str, findings: &mut Findings) -> Option<Found<String>> {
        let node = self.get(key)?;
        let value = match &node.value {
            Node::Text(text) => Some(text.clone()),
            Node::Integer(number) => Some(number.to_string()),
            Node::Large(number) => Some(number.to_string()),
            Node::Float(number) => Some(number.to_string()),
            Node::Boolean(_) | Node::Null | Node::List(_) | Node::Map(_) => None,
        };
        match value {
            Some(value) => Some(self.found(key, node, value)),
            None => self.wrong(key, node, "text", findings),
        }
    }

    /// The text of a scalar as it is written in the file.
    pub(crate) fn spelling(&self, key: &str) -> Option<String> {
        self.file.document.spelling(self.get(key)?)
    }

    pub(crate) fn flag(&self, key: &str, findings: &mut Findings) -> Option<bool> {
        let node = self.get(key)?;
        match node.value {
            Node::Boolean(value) => Some(value),
            _ => self.wrong(key, node, "`true` or `false`", findings),
        }
    }

    pub(crate) fn list(&self, key: &str, findings: &mut Findings) -> Option<&'f [Located]> {
        let node = self.get(key)?;
        match &node.value {
            Node::List(items) => Some(items),
            _ => self.wrong(key, node, "a list", findings),
        }
    }

    pub(crate) fn texts(&self, key: &str, findings: &mut Findings) -> Vec<Found<String>> {
        let items = self.list(key, findings).unwrap_or_default();
        let mut texts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{key}[{index}]");
            match &item.value {
                Node::Text(text) => texts.push(self.found(&path, item, text.clone())),
                _ => {
                    self.wrong::<()>(&path, item, "text", findings);
                }
            }
        }
        texts
    }

    pub(crate) fn map(&self, key: &str, findings: &mut Findings) -> Option<Section<'f>> {
        self.file.section(self.get(key)?, self.path(key), findings)
    }

    /// The maps of a list.
    pub(crate) fn maps(&self, key: &str, findings: &mut Findings) -> Option<Vec<Section<'f>>> {
        let items = self.list(key, findings)?;
        let sections = items.iter().enumerate().filter_map(|(index, item)| {
            let path = format!("{}[{index}]", self.path(key));
            self.file.section(item, path, findings)
        });
        Some(sections.collect())
    }

    /// A map that is passed on.
    pub(crate) fn object(&self, key: &str, findings: &mut Findings) -> Option<Map<String, Value>> {
        let node = self.get(key)?;
        match node.value.to_json() {
            Value::Object(members) => Some(members),
            _ => self.wrong(key, node, "a map", findings),
        }
    }

    /// Reports every key that is none of these.
    pub(crate) fn only(&self, known: &[&str], findings: &mut Findings) {
        for (name, _) in self.entries {
            if !known.contains(&name.value.as_str()) {
                let key = self.path(&name.value);
                let found = format!("`{key}` is not a known key");
                let remedy = near::remedy(&name.value, known);
                findings.error(self.file.at(name), Some(&key), found, remedy);
            }
        }
    }

    fn found<T>(&self, key: &str, node: &Located, value: T) -> Found<T> {
        Found {
            value,
            key: self.path(key),
            at: self.file.at(node),
        }
    }

    fn wrong<T>(
        &self,
        key: &str,
        node: &Located,
        expected: &str,
        findings: &mut Findings,
    ) -> Option<T> {
        let key = self.path(key);
        let found = format!("`{key}` is {}; it must be {expected}", node.value.kind());
        findings.error(self.file.at(node), Some(&key), found, "");
        None
    }
}

impl<T> Found<T> {
    /// Reports an error about the value. The text follows the name of its key.
    pub(crate) fn refuse(
        &self,
        found: impl AsRef<str>,
        remedy: impl Into<String>,
        findings: &mut Findings,
    ) {
        let found = format!("`{}` {}", self.key, found.as_ref());
        findings.error(self.at.clone(), Some(&self.key), found, remedy);
    }
}
