//! Canaries first, then all that are left; each in attempts.

use super::{Moment, gate::Wave};

/// One walk over instances.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub(super) kind: PhaseKind,
    /// The indices of its instances, in the order of the list.
    pub(super) members: Vec<usize>,
    /// From one.
    pub(super) attempt: u32,
    /// Where in `members` to look for the next to begin.
    pub(super) cursor: usize,
    /// When the next attempt begins, while it is waited for.
    pub(super) pause: Option<Moment>,
    pub(super) wave: Wave,
}

/// Which walk it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseKind {
    /// So many go first.
    Canaries {
        /// How many.
        limit: usize,
    },
    /// All that are left.
    Main,
}

impl Phase {
    pub(super) fn new(kind: PhaseKind, members: Vec<usize>) -> Self {
        Self {
            kind,
            members,
            attempt: 1,
            cursor: 0,
            pause: None,
            wave: Wave::default(),
        }
    }

    pub(super) fn is_of_canaries(&self) -> bool {
        matches!(self.kind, PhaseKind::Canaries { .. })
    }
}
