//! Which tasks are meant: by a list, and by a call that cancels several.

use serde::Deserialize;

use super::{Task, TaskState};
use crate::director::ids::TeamName;

/// Which tasks a list shows.
#[derive(Default)]
pub(in crate::director) struct TaskFilter {
    /// Names of states; none means all. A name that no state has matches nothing.
    pub(in crate::director) states: Vec<String>,
    pub(in crate::director) deployment: Option<String>,
    pub(in crate::director) context_id: Option<String>,
    pub(in crate::director) kinds: Kinds,
    /// Only tasks that one of these teams may see, or all tasks.
    pub(in crate::director) teams: Option<Vec<TeamName>>,
    pub(in crate::director) limit: Option<usize>,
}

/// Which kinds of tasks are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::director) enum Kinds {
    #[default]
    Main,
    All,
}

/// Which tasks are to be cancelled together.
#[derive(Debug, Deserialize)]
pub(in crate::director) struct CancelSelector {
    /// Names of states that can be cancelled; `queued` alone if nothing is said.
    pub(in crate::director) states: Option<Vec<String>>,
    /// Names of kinds; all if nothing is said.
    types: Option<Vec<String>>,
    deployment: Option<String>,
}

impl TaskFilter {
    /// Whether a task is shown.
    pub(super) fn passes(&self, task: &Task) -> bool {
        let state =
            self.states.is_empty() || self.states.iter().any(|name| name == task.state.name());
        let kind = self.kinds == Kinds::All || task.kind.is_main();
        let deployment = self
            .deployment
            .as_ref()
            .is_none_or(|name| name == task.deployment.as_ref());
        let context = self
            .context_id
            .as_ref()
            .is_none_or(|id| id == task.context_id.as_ref());
        let team = self
            .teams
            .as_ref()
            .is_none_or(|teams| task.teams.iter().any(|team| teams.contains(team)));
        state && kind && deployment && context && team
    }
}

impl CancelSelector {
    /// Whether a task is meant.
    pub(super) fn selects(&self, task: &Task) -> bool {
        let has_state = match &self.states {
            None => task.state == TaskState::Queued,
            Some(states) => states.iter().any(|name| name == task.state.name()),
        };
        let has_kind = self
            .types
            .as_ref()
            .is_none_or(|types| types.iter().any(|name| name == task.kind.name()));
        let is_of_deployment = self
            .deployment
            .as_ref()
            .is_none_or(|name| name == task.deployment.as_ref());
        has_state && has_kind && is_of_deployment
    }
}
