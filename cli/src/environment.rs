//! The environment of the process, read once.

use std::{collections::BTreeMap, ffi::OsString};

/// The variables of the environment that are text and not empty: an unset variable and an empty one are the same.
#[derive(Clone, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    pub(crate) fn of(variables: impl Iterator<Item = (OsString, OsString)>) -> Self {
        let texts = variables.filter_map(|(name, value)| {
            let value = value.into_string().ok()?;
            Some((name.into_string().ok()?, value))
        });
        Self(texts.filter(|(_, value)| !value.is_empty()).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Without values: they may be passwords.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
