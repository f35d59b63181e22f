//! The kinds of operations.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of an operation on a service instance. The names on the wire are the Go broker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    Create,
    Update,
    Upgrade,
    Recreate,
    Delete,
    /// Deletes an instance even if its errands fail.
    ForceDelete,
}

impl OperationKind {
    pub const ALL: &[Self] = &[
        Self::Create,
        Self::Update,
        Self::Upgrade,
        Self::Recreate,
        Self::Delete,
        Self::ForceDelete,
    ];

    pub fn deletes(self) -> bool {
        match self {
            Self::Delete | Self::ForceDelete => true,
            Self::Create | Self::Update | Self::Upgrade | Self::Recreate => false,
        }
    }

    pub fn noun(self) -> &'static str {
        match self {
            Self::Create => "provisioning",
            Self::Update => "update",
            Self::Upgrade => "upgrade",
            Self::Recreate => "recreate",
            Self::Delete => "deletion",
            Self::ForceDelete => "forced deletion",
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
