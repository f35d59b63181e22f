use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    manifest::{compared, leaves, references},
    service::Service,
};
use crate::executable::Run;

/// A manifest before and after an operation, and the names of what the request changed.
pub(crate) struct Change<'c> {
    pub(crate) service: &'c Service,
    pub(crate) before: &'c str,
    pub(crate) after: &'c str,
    pub(crate) changed: &'c BTreeSet<String>,
    /// The instance groups that the plan still has.
    pub(crate) groups: &'c BTreeSet<String>,
}

impl Change<'_> {
    fn may_change(&self, path: &str) -> bool {
        let changed = self.changed.iter().map(String::as_str);
        self.service.may_change(path, changed) || self.is_of_a_dropped_group(path)
    }

    fn is_of_a_dropped_group(&self, path: &str) -> bool {
        path.strip_prefix("/instance_groups/")
            .and_then(|rest| rest.split('/').next())
            .is_some_and(|group| !self.groups.contains(group))
    }
}

/// Deployed values that the request did not change stay as they were.
pub(crate) fn nothing_is_lost(change: &Change<'_>) {
    let after = leaves(change.after);
    for (path, value) in leaves(change.before) {
        if !change.may_change(&path) {
            assert_eq!(
                after.get(&path),
                Some(&value),
                "`{path}` is not what it was, though only {:?} changed",
                change.changed
            );
        }
    }
}

/// A secret that the deployed manifest refers to has the value that it had: a failed deployment must not find another.
pub(crate) fn no_secret_changes(
    change: &Change<'_>,
    vault_before: &BTreeMap<String, Value>,
    vault: &BTreeMap<String, Value>,
) {
    let locations = leaves(change.before);
    for reference in references(change.before) {
        let is_the_same = vault_before.get(reference) == vault.get(reference);
        let location = format!("(({reference}))");
        let mut uses = locations
            .iter()
            .filter(|(_, value)| value.as_str().is_some_and(|text| text.contains(&location)));
        let is_asked_for = uses.all(|(path, _)| change.may_change(path));
        assert!(
            is_the_same || is_asked_for,
            "`{reference}` has another value"
        );
    }
}

/// Operators' logs hold no secrets.
pub(crate) fn no_secret_is_said(run: &Run, vault: &BTreeMap<String, Value>) {
    for (path, secret) in vault {
        let secret = secret.as_str().unwrap_or_default();
        let is_said = secret.len() >= 8 && run.stderr.contains(secret);
        assert!(!is_said, "the value of `{path}` is on stderr");
    }
}

/// The broker, which asks once more and compares, finds nothing that would block an update.
pub(crate) fn nothing_is_pending(deployed: &str, regenerated: &str) {
    let (deployed, regenerated) = (compared(deployed), compared(regenerated));
    assert_eq!(deployed, regenerated, "there are changes without a cause");
}
