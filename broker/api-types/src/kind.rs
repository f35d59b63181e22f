//! The kinds of operations.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of an operation on a service instance. The names on the wire are the Go broker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// A new instance.
    Create,
    /// Other parameters, or another plan.
    Update,
    /// The same with newer software.
    Upgrade,
    /// The same on new VMs.
    Recreate,
    /// The end of an instance.
    Delete,
    /// Deletes an instance even if its errands fail.
    ForceDelete,
}

impl OperationKind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::Create,
        Self::Update,
        Self::Upgrade,
        Self::Recreate,
        Self::Delete,
        Self::ForceDelete,
    ];

    /// Whether the operation deletes the instance.
    pub fn deletes(self) -> bool {
        match self {
            Self::Delete | Self::ForceDelete => true,
            Self::Create | Self::Update | Self::Upgrade | Self::Recreate => false,
        }
    }

    /// The noun for platform users: "Instance *provisioning* in progress".
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
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Upgrade => "upgrade",
            Self::Recreate => "recreate",
            Self::Delete => "delete",
            Self::ForceDelete => "force-delete",
        })
    }
}
