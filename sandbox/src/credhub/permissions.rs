//! The permissions on credentials (`spec/contracts/platform-apis.md`, "Permissions").

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    authentication::Actor,
    name::{CredentialName, rooted},
};
use crate::store::{Rows, Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Read,
    Write,
    Delete,
    ReadAcl,
    WriteAcl,
}

pub const ALL_OPERATIONS: [Operation; 5] = [
    Operation::Read,
    Operation::Write,
    Operation::Delete,
    Operation::ReadAcl,
    Operation::WriteAcl,
];

/// The name of one credential, or what ends in `/*` and means everything below.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct PermissionPath(String);

/// The permission of one actor below one path. There is at most one for each pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    pub path: PermissionPath,
    pub actor: Actor,
    pub operations: BTreeSet<Operation>,
}

pub(super) struct Permissions {
    rows: Rows<Uuid, Permission>,
    ids: BTreeMap<(Actor, PermissionPath), Uuid>,
}

impl PermissionPath {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// All paths that mean this name: itself, and every path above it with a `*`.
    fn covering(name: &str) -> impl Iterator<Item = Self> {
        let above = name
            .match_indices('/')
            .map(|(slash, _)| Self(format!("{}/*", &name[..slash])));
        std::iter::once(Self(name.to_owned())).chain(above)
    }

    /// Whether a credential of this name is meant.
    pub(super) fn covers(&self, name: &CredentialName) -> bool {
        Self::covering(name.as_str()).any(|path| path == *self)
    }
}

impl From<String> for PermissionPath {
    fn from(text: String) -> Self {
        Self(rooted(&text))
    }
}

impl From<PermissionPath> for String {
    fn from(path: PermissionPath) -> Self {
        path.0
    }
}

impl From<&CredentialName> for PermissionPath {
    fn from(name: &CredentialName) -> Self {
        Self(name.as_str().to_owned())
    }
}

impl Permissions {
    /// The permissions as they were saved; these, when none were.
    pub(super) fn open(
        store: &Store,
        table: &'static str,
        first: Vec<Permission>,
    ) -> Result<Self, StoreError> {
        let rows: Rows<Uuid, Permission> = Rows::open(store, table)?;
        let ids = rows
            .iter()
            .map(|(id, row)| ((row.actor.clone(), row.path.clone()), *id))
            .collect();
        let mut permissions = Self { rows, ids };
        if permissions.rows.is_empty() {
            for permission in first {
                permissions.merge(permission);
            }
        }
        Ok(permissions)
    }

    /// Whether the actor may do this with what has this name or is this path.
    pub(super) fn allow(&self, actor: &Actor, name: &str, operation: Operation) -> bool {
        PermissionPath::covering(name).any(|path| {
            let id = self.ids.get(&(actor.clone(), path));
            id.and_then(|id| self.rows.get(id))
                .is_some_and(|permission| permission.operations.contains(&operation))
        })
    }

    /// The paths below which the actor may read.
    pub(super) fn readable(&self, actor: &Actor) -> Vec<&PermissionPath> {
        self.rows
            .values()
            .filter(|row| row.actor == *actor && row.operations.contains(&Operation::Read))
            .map(|row| &row.path)
            .collect()
    }

    pub(super) fn get(&self, id: Uuid) -> Option<&Permission> {
        self.rows.get(&id)
    }

    pub(super) fn find(&self, actor: &Actor, path: &PermissionPath) -> Option<(Uuid, &Permission)> {
        let id = *self.ids.get(&(actor.clone(), path.clone()))?;
        Some((id, self.rows.get(&id)?))
    }

    /// Adds to what the actor may do below the path.
    pub(super) fn merge(&mut self, permission: Permission) -> Uuid {
        let key = (permission.actor.clone(), permission.path.clone());
        let id = *self.ids.entry(key).or_insert_with(Uuid::new_v4);
        let row = self.rows.get_or_insert_with(id, || Permission {
            operations: BTreeSet::new(),
            ..permission.clone()
        });
        row.operations.extend(permission.operations);
        self.rows.save();
        id
    }

    pub(super) fn replace_operations(&mut self, id: Uuid, operations: BTreeSet<Operation>) {
        if let Some(row) = self.rows.get_mut(&id) {
            row.operations = operations;
        }
        self.rows.save();
    }

    pub(super) fn remove(&mut self, id: Uuid) -> Option<Permission> {
        let removed = self.rows.remove(&id)?;
        self.ids
            .remove(&(removed.actor.clone(), removed.path.clone()));
        self.rows.save();
        Some(removed)
    }

    /// Takes all permissions for exactly this path away.
    pub(super) fn remove_path(&mut self, path: &PermissionPath) {
        let gone: Vec<Uuid> = self
            .rows
            .iter()
            .filter(|(_, row)| row.path == *path)
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            self.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn permissions(path: &str, operations: &[Operation]) -> (Actor, Permissions) {
        let actor = Actor::uaa_client("odb");
        let permission = Permission {
            path: path.to_owned().into(),
            actor: actor.clone(),
            operations: operations.iter().copied().collect(),
        };
        let permissions = Permissions::open(&Store::in_memory(), "permissions", vec![permission]);
        (actor, permissions.unwrap())
    }

    #[test]
    fn a_path_means_what_is_below_it_and_nothing_beside_it() {
        let cases = [
            ("/*", "/a", true),
            ("/*", "/a/b/c", true),
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/b/c", true),
            ("/a/*", "/a", false),
            ("/a/*", "/ab/c", false),
            ("/a/b", "/a/b", true),
            ("/a/b", "/a/b/c", false),
            ("/a/*", "/a/*", true),
        ];
        for (path, name, expected) in cases {
            let (actor, permissions) = permissions(path, &[Operation::Read]);
            assert_eq!(
                permissions.allow(&actor, name, Operation::Read),
                expected,
                "{path} for {name}"
            );
            assert!(!permissions.allow(&actor, name, Operation::Write));
            assert!(!permissions.allow(&Actor::uaa_client("other"), name, Operation::Read));
        }
    }

    proptest! {
        #[test]
        fn every_ancestor_with_a_star_allows_and_no_other_path_does(
            segments in proptest::collection::vec("[a-c]{1,2}", 1..5),
            other in proptest::collection::vec("[a-c]{1,2}", 0..5),
        ) {
            let name = format!("/{}", segments.join("/"));
            let above: Vec<&str> = other.iter().flat_map(|segment| [segment.as_str(), "/"]).collect();
            let path = format!("/{}*", above.concat());
            let (actor, permissions) = permissions(&path, &[Operation::Read]);
            let is_ancestor = other.len() < segments.len() && segments.starts_with(&other);
            prop_assert_eq!(permissions.allow(&actor, &name, Operation::Read), is_ancestor);
            let covers = PermissionPath::from(path).covers(&CredentialName::sought(&name));
            prop_assert_eq!(covers, is_ancestor);
        }
    }
}
