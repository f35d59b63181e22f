//! How much may be ordered.

use serde::{Deserialize, Serialize};

/// How many service instances there may be, and of which plans (`total_services`, `non_basic_services_allowed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceQuota {
    /// How many at most. Without it there is no limit.
    pub service_instances: Option<usize>,
    /// Whether plans that cost something may be ordered.
    pub paid_plans: bool,
}

impl Default for ServiceQuota {
    fn default() -> Self {
        Self {
            service_instances: None,
            paid_plans: true,
        }
    }
}

impl ServiceQuota {
    /// Whether there is no room for one more beside those that are there.
    pub(crate) fn is_full(&self, there: impl FnOnce() -> usize) -> bool {
        self.service_instances.is_some_and(|limit| there() >= limit)
    }
}
