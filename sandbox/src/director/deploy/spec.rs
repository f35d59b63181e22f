//! Reads the required and optional members of a manifest, with the Director's error texts.
//!
//! The options of a call beside the manifest (`spec/contracts/director-api.md`, "Deploying").

use std::{collections::BTreeSet, sync::LazyLock};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{states::StateChange, update_spec::UpdateOverrides};
use crate::director::{
    ids::{ConfigId, GroupName},
    tasks::TaskFailure,
};

/// A part of the manifest, asked for its keys.
pub(super) struct Spec<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Spec<'a> {
    /// A document, or a part of one. A value that is no hash has no keys.
    pub(super) fn new(value: &'a Value) -> Self {
        static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        Self(value.as_object().unwrap_or(&EMPTY))
    }

    /// A key's value; `null` is none.
    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn required(&self, key: &'static str) -> Result<&'a Value, TaskFailure> {
        self.value(key).ok_or_else(|| self.missing(key))
    }

    /// Text, or a number for which the writer forgot the quotes, as versions often are.
    pub(super) fn text(&self, key: &'static str) -> Result<String, TaskFailure> {
        as_text(key, self.required(key)?)
    }

    pub(super) fn optional_text(&self, key: &'static str) -> Result<Option<String>, TaskFailure> {
        self.value(key).map(|value| as_text(key, value)).transpose()
    }

    pub(super) fn texts(&self, key: &'static str) -> Result<Vec<String>, TaskFailure> {
        self.items(key)?
            .iter()
            .map(|value| as_text(key, value))
            .collect()
    }

    pub(super) fn number(&self, key: &'static str) -> Result<Option<i64>, TaskFailure> {
        self.value(key)
            .map(|value| {
                value
                    .as_i64()
                    .ok_or_else(|| wrong_type(key, value, "Integer"))
            })
            .transpose()
    }

    pub(super) fn required_number(&self, key: &'static str) -> Result<i64, TaskFailure> {
        self.number(key)?.ok_or_else(|| self.missing(key))
    }

    /// `true` or `false`, without quotes.
    pub(super) fn boolean(&self, key: &'static str) -> Result<Option<bool>, TaskFailure> {
        self.value(key)
            .map(|value| {
                value
                    .as_bool()
                    .ok_or_else(|| wrong_type(key, value, "boolean"))
            })
            .transpose()
    }

    pub(super) fn missing(&self, key: &'static str) -> TaskFailure {
        TaskFailure::MissingProperty {
            property: key,
            object: Value::Object(self.0.clone()),
        }
    }

    pub(super) fn list(&self, key: &'static str) -> Result<Vec<Spec<'a>>, TaskFailure> {
        self.required(key)?;
        self.optional_list(key)
    }

    pub(super) fn optional_list(&self, key: &'static str) -> Result<Vec<Spec<'a>>, TaskFailure> {
        let items = self.items(key)?.iter();
        items
            .map(|item| match item {
                Value::Object(_) => Ok(Spec::new(item)),
                other => Err(wrong_type(key, other, "Hash")),
            })
            .collect()
    }

    fn items(&self, key: &'static str) -> Result<&'a [Value], TaskFailure> {
        match self.value(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(wrong_type(key, other, "Array")),
        }
    }

    pub(super) fn map(&self, key: &'static str) -> Result<Spec<'a>, TaskFailure> {
        match self.required(key)? {
            map @ Value::Object(_) => Ok(Spec::new(map)),
            other => Err(wrong_type(key, other, "Hash")),
        }
    }

    pub(super) fn optional_map(
        &self,
        key: &'static str,
    ) -> Result<Map<String, Value>, TaskFailure> {
        match self.value(key) {
            None => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map.clone()),
            Some(other) => Err(wrong_type(key, other, "Hash")),
        }
    }
}

fn as_text(key: &'static str, value: &Value) -> Result<String, TaskFailure> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(wrong_type(key, other, "String")),
    }
}

fn wrong_type(property: &'static str, value: &Value, expected: &'static str) -> TaskFailure {
    TaskFailure::WrongType {
        property,
        value: value.clone(),
        expected,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::director) struct DeployOptions {
    #[serde(default)]
    pub(in crate::director) action: UpdateAction,
    pub(in crate::director) extent: Extent,
    pub(in crate::director) vms: VmRequest,
    pub(in crate::director) disks: DiskRequest,
    pub(in crate::director) silent_agents: SilentAgents,
    pub(in crate::director) skip_drain: SkipDrain,
    pub(in crate::director) overrides: UpdateOverrides,
    pub(in crate::director) state: Option<StateChange>,
    /// The cloud configs that apply, as they were when the call came in or as it says.
    pub(in crate::director) cloud_configs: Vec<ConfigId>,
    /// The runtime configs, which are recorded but not applied.
    pub(in crate::director) runtime_configs: Vec<ConfigId>,
}

/// The kind of an update. Both kinds have the same kind of task, but only a deploy resolves links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum UpdateAction {
    /// `POST /deployments`.
    #[default]
    Deploy,
    /// `PUT /deployments/NAME/jobs/…`.
    ChangeStates,
}

/// How far a deploy goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum Extent {
    #[default]
    Whole,
    /// Preparation only (`dry_run`).
    DryRun,
}

/// Which VMs are replaced although nothing else calls for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum VmRequest {
    #[default]
    Keep,
    /// `recreate`.
    Recreate,
    /// `recreate` together with `recreate_vms_created_before`.
    RecreateOlderThan(Timestamp),
}

/// How persistent disks are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum DiskRequest {
    #[default]
    Keep,
    /// Their data moves to new disks (`recreate_persistent_disks`).
    Recreate,
}

/// How VMs with unresponsive agents are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum SilentAgents {
    #[default]
    Fail,
    /// They are replaced (`fix`).
    Replace,
}

/// The instances whose jobs are stopped without drain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum SkipDrain {
    #[default]
    None,
    All,
    Groups(BTreeSet<GroupName>),
}

impl VmRequest {
    /// Whether a VM of this age is to be replaced.
    pub(super) fn replaces(self, created_at: Timestamp) -> bool {
        match self {
            Self::Keep => false,
            Self::Recreate => true,
            Self::RecreateOlderThan(limit) => created_at < limit,
        }
    }
}

impl SkipDrain {
    /// Reads `*` or a list of groups.
    pub(in crate::director) fn read(text: &str) -> Self {
        if text == "*" {
            return Self::All;
        }
        let groups = text.split(',').filter(|name| !name.is_empty());
        Self::Groups(groups.map(|name| name.to_owned().into()).collect())
    }

    /// Whether the jobs of this group are stopped without a warning.
    pub(super) fn applies_to(&self, group: &GroupName) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Groups(groups) => groups.contains(group),
        }
    }
}
