//! The last operation of an instance or a binding.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The last operation on an instance or a binding, and its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LastOperation {
    /// Distinguishes this operation from later ones of the same kind: work on an older operation stops when it sees
    /// another id.
    pub(crate) id: u64,
    pub(crate) kind: OperationKind,
    pub(crate) state: OperationState,
    pub(crate) description: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OperationKind {
    Create,
    Update,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OperationState {
    /// The row exists, and the broker has not answered yet.
    #[serde(rename = "initial")]
    Initial,
    #[serde(rename = "in progress")]
    InProgress,
    #[serde(rename = "succeeded")]
    Succeeded,
    #[serde(rename = "failed")]
    Failed,
}

impl LastOperation {
    pub(crate) fn new(id: u64, kind: OperationKind, state: OperationState) -> Self {
        let now = Timestamp::now();
        Self {
            id,
            kind,
            state,
            description: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether something is being done at the moment.
    pub(crate) fn is_running(&self) -> bool {
        matches!(
            self.state,
            OperationState::Initial | OperationState::InProgress
        )
    }

    /// Whether the resource cannot be deleted now. A create that the broker is at can be given up.
    pub(crate) fn prevents_delete(&self) -> bool {
        self.is_running() && !self.is(OperationKind::Create, OperationState::InProgress)
    }

    /// Whether this kind of operation ended in this state.
    pub(crate) fn is(&self, kind: OperationKind, state: OperationState) -> bool {
        self.kind == kind && self.state == state
    }

    pub(crate) fn becomes(&mut self, state: OperationState, description: Option<String>) {
        self.state = state;
        self.updated_at = Timestamp::now();
        self.description = description;
    }
}
