//! The objects created on the broker, so that none of them is left behind.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

/// The instances that may exist, with their bindings. Written before a request is sent, for its answer may get lost.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<BTreeMap<String, Entry>>);

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) service: String,
    pub(super) plan: String,
    pub(super) bindings: BTreeSet<String>,
}

impl Ledger {
    pub(super) fn may_exist(&self, instance: &str, service: &str, plan: &str) {
        self.change(|entries| {
            entries.entry(instance.to_owned()).or_insert_with(|| Entry {
                service: service.to_owned(),
                plan: plan.to_owned(),
                bindings: BTreeSet::new(),
            });
        });
    }

    pub(super) fn binding_may_exist(&self, instance: &str, binding: &str) {
        self.change(|entries| {
            if let Some(entry) = entries.get_mut(instance) {
                entry.bindings.insert(binding.to_owned());
            }
        });
    }

    pub(super) fn binding_is_gone(&self, instance: &str, binding: &str) {
        self.change(|entries| {
            if let Some(entry) = entries.get_mut(instance) {
                entry.bindings.remove(binding);
            }
        });
    }

    pub(super) fn moved_to(&self, instance: &str, plan: &str) {
        self.change(|entries| {
            if let Some(entry) = entries.get_mut(instance) {
                plan.clone_into(&mut entry.plan);
            }
        });
    }

    pub(super) fn is_gone(&self, instance: &str) {
        self.change(|entries| {
            entries.remove(instance);
        });
    }

    pub(super) fn instances(&self) -> Vec<String> {
        self.0
            .lock()
            .map(|entries| entries.keys().cloned().collect())
            .unwrap_or_default()
    }

    pub(super) fn entry(&self, instance: &str) -> Option<Entry> {
        self.0.lock().ok()?.get(instance).cloned()
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Entry>)) {
        if let Ok(mut entries) = self.0.lock() {
            change(&mut entries);
        }
    }
}
