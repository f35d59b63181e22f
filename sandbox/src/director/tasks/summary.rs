//! The short result that is shown with a task.
//!
//! Which tasks are meant: by a list, and by a call that cancels several.

use serde::Deserialize;

use super::{Task, TaskState};
use crate::director::ids::TeamName;

const LIMIT: usize = 128;

/// Cuts a result to one that is shown with the task. Every line loses its last word with the space before it, and so
/// does a line of one word with the line break before it.
pub(super) fn summary(result: &str) -> String {
    let stripped = result.trim();
    if stripped.chars().count() <= LIMIT {
        return stripped.to_owned();
    }
    let cut: Vec<char> = stripped.chars().take(LIMIT + 1).collect();
    let mut kept = String::new();
    let mut location = 0;
    while let Some(letter) = cut.get(location) {
        if let Some(end) = end_of_last_word(&cut, location) {
            location = end;
        } else {
            kept.push(*letter);
            location += 1;
        }
    }
    format!("{kept}...")
}

/// Where the space that starts here and the word after it end, if the line ends there as well.
fn end_of_last_word(text: &[char], start: usize) -> Option<usize> {
    let is_space = |location: usize| {
        text.get(location)
            .is_some_and(|letter| letter.is_whitespace())
    };
    let is_line_end = |location: usize| text.get(location).is_none_or(|letter| *letter == '\n');
    let spaces = (start..text.len()).take_while(|location| is_space(*location));
    spaces.map(|space| space + 1).find_map(|word| {
        let length = (word..text.len())
            .take_while(|location| !is_space(*location))
            .count();
        is_line_end(word + length).then_some(word + length)
    })
}

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::director) enum Kinds {
    #[default]
    Main,
    All,
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_as_a_director_cuts_it() {
        let error = "Unable to render instance groups for deployment. Errors are:\n  - Unable to render jobs for instance group 'srv'. Errors are:\n    - Unable to render templates for job 'tiny'.";
        assert_eq!(
            summary(error),
            "Unable to render instance groups for deployment. Errors\n  - Unable to render jobs for instance group 'srv'. Errors..."
        );
        let lock = "Failed to acquire lock for lock:deployment:service-instance_c3 uid: dddda479-9144-40b4-b597-85b80988bb09. Locking task id is 28, description: 'run errand smoke from deployment service-instance_c3'";
        assert_eq!(
            summary(lock),
            "Failed to acquire lock for lock:deployment:service-instance_c3 uid: dddda479-9144-40b4-b597-85b80988bb09. Locking task id is 28,..."
        );
        let cpi = "Unknown CPI error 'Creating vm failed' with message 'Creating vm failed\n/var/vcap/packages/director/src/bosh-director/lib/cloud/dummy.rb:87:in `create_vm'";
        assert_eq!(
            summary(cpi),
            "Unknown CPI error 'Creating vm failed' with message 'Creating vm..."
        );
        assert_eq!(summary("/deployments/a\n"), "/deployments/a");
    }
}
