//! A location in a document, and which part of it may be shown: names, versions, sizes and the like. A value that is not
//! listed here may be a secret.

use std::fmt;

use odb_redaction::redact;
use serde_json::Value;

use self::Allowed::{Address, Members, Nothing, Plain};

/// A location in a document. Displayed as `instance_groups[redis-server].vm_type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    segments: Vec<Segment>,
    allowed: Allowed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Member(String),
    /// The member of a list, by name or index; or the member of a map whose keys may be secrets, by index.
    Item(String),
}

/// What may be shown at a path. The members of a list have the rule of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowed {
    /// No value, no key and no name of anything below.
    Nothing,
    Plain,
    /// An address without query, which may hold a signature.
    Address,
    /// The listed keys, separated by `|`, with what they allow. Of members that are not listed only the key.
    Members(&'static [(&'static str, Allowed)]),
}

impl Allowed {
    fn of_member(self, key: &str) -> Self {
        let Members(members) = self else {
            return Nothing;
        };
        let is_listed = |keys: &str| keys.split('|').any(|listed| listed == key);
        let listed = members.iter().find(|(keys, _)| is_listed(keys));
        listed.map_or(Nothing, |(_, allowed)| *allowed)
    }

    fn of_config(kind: &str) -> Self {
        match kind {
            "cloud" => CLOUD_CONFIG,
            "runtime" => RUNTIME_CONFIG,
            _ => Nothing,
        }
    }
}

impl Path {
    pub(super) fn of_manifest() -> Self {
        Self {
            segments: Vec::new(),
            allowed: MANIFEST,
        }
    }

    pub(super) fn of_config(kind: &str) -> Self {
        Self {
            segments: vec![
                Segment::Member("configs".to_owned()),
                Segment::Item(kind.to_owned()),
            ],
            allowed: Allowed::of_config(kind),
        }
    }

    /// A member of the map at this path: by its key, or by its number if keys may be secrets.
    pub(super) fn member(&self, key: &str, number: usize) -> Self {
        let segment = match self.allowed {
            Allowed::Members(_) => Segment::Member(key.to_owned()),
            Allowed::Nothing | Allowed::Plain | Allowed::Address => {
                Segment::Item(number.to_string())
            }
        };
        self.then(segment, self.allowed.of_member(key))
    }

    /// A member of the list at this path, by its name or number.
    pub(super) fn item(&self, name: &str) -> Self {
        self.then(Segment::Item(name.to_owned()), self.allowed)
    }

    /// The same location; nothing at and below it is shown.
    pub(super) fn masked(self) -> Self {
        Self {
            allowed: Allowed::Nothing,
            ..self
        }
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether the name under this key of a list's member may be shown.
    pub(super) fn shows_name(&self, key: &str, name: &str) -> bool {
        self.allowed.of_member(key) == Allowed::Plain && !looks_secret(name)
    }

    /// The value at this path, unless it may be or contain a secret, as a map or list may.
    pub(super) fn show(&self, value: &Value) -> Option<Value> {
        match (self.allowed, value) {
            (_, Value::Object(_) | Value::Array(_))
            | (Allowed::Nothing | Allowed::Members(_), _) => None,
            (_, Value::String(text)) if looks_secret(text) => None,
            (Allowed::Address, Value::String(text)) => Some(without_query(text).into()),
            (Allowed::Plain | Allowed::Address, value) => Some(value.clone()),
        }
    }

    fn then(&self, segment: Segment, allowed: Allowed) -> Self {
        let mut segments = self.segments.clone();
        segments.push(segment);
        Self { segments, allowed }
    }
}

/// An address can hold a password, and a text anything.
fn looks_secret(text: &str) -> bool {
    let has_user = text
        .split_once("://")
        .is_some_and(|(_, rest)| rest.contains('@'));
    has_user || redact(text) != text
}

fn without_query(address: &str) -> &str {
    let end = address.find(['?', '#']);
    end.map_or(address, |end| &address[..end])
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Member(key) if index == 0 => f.write_str(key)?,
                Segment::Member(key) => write!(f, ".{key}")?,
                Segment::Item(name) => write!(f, "[{name}]")?,
            }
        }
        Ok(())
    }
}

const MANIFEST: Allowed = Members(&[
    ("name", Plain),
    ("releases", RELEASE),
    ("stemcells", STEMCELL),
    ("update", UPDATE),
    ("instance_groups", INSTANCE_GROUP),
    ("variables", VARIABLE),
]);

const RELEASE: Allowed = Members(&[("name|version", Plain), ("url", Address)]);

const STEMCELL: Allowed = Members(&[("alias|name|os|version", Plain), ("url", Address)]);

const UPDATE: Allowed = Members(&[(
    "canaries|max_in_flight|canary_watch_time|update_watch_time|serial|vm_strategy|\
         initial_deploy_az_update_strategy",
    Plain,
)]);

const INSTANCE_GROUP: Allowed = Members(&[
    (
        "name|instances|azs|lifecycle|stemcell|vm_type|vm_extensions|persistent_disk|persistent_disk_type|\
         persistent_disk_pool",
        Plain,
    ),
    ("networks", NAME),
    ("jobs", Members(&[("name|release", Plain)])),
    ("update", UPDATE),
]);

const NAME: Allowed = Members(&[("name", Plain)]);

const VARIABLE: Allowed = Members(&[("name|type", Plain)]);

const CLOUD_CONFIG: Allowed = Members(&[
    ("azs", Members(&[("name|cpi", Plain)])),
    ("vm_types|vm_extensions", NAME),
    ("disk_types", Members(&[("name|disk_size", Plain)])),
    (
        "networks",
        Members(&[("name|type", Plain), ("subnets", SUBNET)]),
    ),
    (
        "compilation",
        Members(&[("workers|reuse_compilation_vms|az|vm_type|network", Plain)]),
    ),
]);

const SUBNET: Allowed = Members(&[("range|gateway|dns|static|reserved|az|azs", Plain)]);

const RUNTIME_CONFIG: Allowed = Members(&[("releases", RELEASE), ("variables", VARIABLE)]);
