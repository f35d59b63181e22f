//! The audit: who did what to which object (`spec/contracts/director-api.md`, "Events").

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ids::{DeploymentName, EventId, TaskId};
use crate::store::{Rows, Store, StoreError};

/// So many records are kept.
const KEPT: usize = 10_000;

/// All records that are kept.
pub(super) struct Audit {
    records: Mutex<Rows<EventId, AuditRecord>>,
}

/// Something that was done, or begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AuditRecord {
    parent: Option<EventId>,
    pub(super) timestamp: Timestamp,
    pub(super) user: String,
    pub(super) action: String,
    pub(super) object_type: String,
    pub(super) object_name: Option<String>,
    error: Option<String>,
    pub(super) task: Option<TaskId>,
    pub(super) deployment: Option<DeploymentName>,
    pub(super) instance: Option<String>,
    context: Value,
}

/// An action, without its author and time.
#[derive(Clone, Debug)]
pub(super) struct Deed {
    parent: Option<EventId>,
    action: &'static str,
    object_type: String,
    object_name: Option<String>,
    error: Option<String>,
    instance: Option<String>,
    context: Value,
}

pub(super) struct Doer<'a> {
    pub(super) user: &'a str,
    pub(super) task: Option<TaskId>,
    pub(super) deployment: Option<&'a DeploymentName>,
}

impl Audit {
    pub(super) fn open(store: &Store) -> Result<Self, StoreError> {
        Ok(Self {
            records: Mutex::new(Rows::open(store, "director_events")?),
        })
    }

    /// Adds a record, dated now.
    pub(super) fn record(&self, doer: &Doer<'_>, deed: Deed) -> EventId {
        let mut records = self.lock();
        let last = records.keys().next_back().copied();
        let id = last.unwrap_or(EventId::NONE).next();
        let record = AuditRecord {
            parent: deed.parent,
            timestamp: Timestamp::now(),
            user: doer.user.to_owned(),
            action: deed.action.to_owned(),
            object_type: deed.object_type,
            object_name: deed.object_name,
            error: deed.error,
            task: doer.task,
            deployment: doer.deployment.cloned(),
            instance: deed.instance,
            context: deed.context,
        };
        records.insert(id, record);
        while records.len() > KEPT {
            let Some(oldest) = records.keys().next().copied() else {
                break;
            };
            records.remove(&oldest);
        }
        records.save();
        id
    }

    /// Records that pass, the newest first, as the API shows them.
    pub(super) fn list(
        &self,
        limit: usize,
        passes: impl Fn(EventId, &AuditRecord) -> bool,
    ) -> Vec<Value> {
        let records = self.lock();
        let passing = records
            .iter()
            .rev()
            .filter(|(id, record)| passes(**id, record));
        passing
            .take(limit)
            .map(|(id, record)| record.view(*id))
            .collect()
    }

    /// The record of this id, as the API shows it.
    pub(super) fn find(&self, id: EventId) -> Option<Value> {
        self.lock().get(&id).map(|record| record.view(id))
    }

    fn lock(&self) -> MutexGuard<'_, Rows<EventId, AuditRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuditRecord {
    fn view(&self, id: EventId) -> Value {
        let mut shown = json!({
            "id": id.to_string(),
            "parent_id": self.parent.map(|parent| parent.to_string()),
            "timestamp": self.timestamp.as_second(),
            "user": self.user,
            "action": self.action,
            "object_type": self.object_type,
            "object_name": self.object_name,
            "error": self.error,
            "task": self.task.map(|task| task.to_string()),
            "deployment": self.deployment,
            "instance": self.instance,
            "context": self.context,
        });
        if let Some(members) = shown.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        shown
    }
}

impl Deed {
    pub(super) fn new(action: &'static str, object_type: impl Into<String>) -> Self {
        Self {
            parent: None,
            action,
            object_type: object_type.into(),
            object_name: None,
            error: None,
            instance: None,
            context: json!({}),
        }
    }

    /// The object's name, if it has one already.
    pub(super) fn named(mut self, name: &(impl ToString + ?Sized)) -> Self {
        self.object_name = Some(name.to_string());
        self
    }

    /// The instance that it concerns, `group/id`.
    pub(super) fn on(mut self, instance: impl Into<String>) -> Self {
        self.instance = Some(instance.into());
        self
    }

    pub(super) fn after(mut self, beginning: EventId) -> Self {
        self.parent = Some(beginning);
        self
    }

    /// The outcome: only errors are recorded.
    pub(super) fn ended<T, E: ToString>(mut self, outcome: &Result<T, E>) -> Self {
        self.error = outcome.as_ref().err().map(ToString::to_string);
        self
    }

    pub(super) fn with(mut self, context: Value) -> Self {
        self.context = context;
        self
    }
}
