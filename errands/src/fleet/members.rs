//! The instances of a pass.

use std::collections::BTreeSet;

use odb_api_types::{
    ids::{InstanceId, PlanId},
    management::InventoryEntry,
};

use crate::{
    broker_api::ListedInstance,
    report::{Outcome, Row},
};

/// An instance of a pass, as it was listed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) id: InstanceId,
    /// Its plan by the catalog's id, where that is known.
    pub(super) plan: Option<PlanId>,
    pub(super) plan_name: Option<String>,
    /// Its organization: the name, else the guid.
    pub(super) organization: Option<String>,
    pub(super) space: Option<String>,
    pub(super) space_name: Option<String>,
    /// The broker's inventory entry, if it was requested.
    pub(super) entry: Option<Box<InventoryEntry>>,
}

impl From<ListedInstance> for Member {
    fn from(listed: ListedInstance) -> Self {
        Self {
            id: listed.instance,
            plan: Some(listed.plan),
            plan_name: None,
            organization: None,
            space: listed.space,
            space_name: None,
            entry: None,
        }
    }
}

impl From<InventoryEntry> for Member {
    fn from(entry: InventoryEntry) -> Self {
        let known = entry.clone();
        Self {
            id: entry.service_instance_id,
            plan: entry.plan_id,
            plan_name: entry.plan_name,
            organization: entry.organization_name.or(entry.organization_guid),
            space: entry.space_guid,
            space_name: entry.space_name,
            entry: Some(Box::new(known)),
        }
    }
}

impl Member {
    /// The row of the report.
    pub(super) fn row(&self, outcome: Outcome, cause: Option<String>) -> Row {
        let plan = self.plan.as_ref().map(ToString::to_string);
        Row {
            plan: self.plan_name.clone().or(plan),
            organization: self.organization.clone(),
            space: self.space_name.clone().or_else(|| self.space.clone()),
            cause,
            ..Row::of(self.id.clone(), outcome)
        }
    }
}

pub(super) fn ids(members: &[Member]) -> Vec<InstanceId> {
    members.iter().map(|member| member.id.clone()).collect()
}

/// Which instances are worked on; all where nothing is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) plans: Vec<String>,
    pub(super) organizations: Vec<String>,
    pub(super) spaces: Vec<String>,
    pub(super) instances: Vec<String>,
    pub(super) excluded: BTreeSet<String>,
}

impl Choice {
    /// Only some are worked on.
    pub(super) fn is_narrow(&self) -> bool {
        *self != Self::default()
    }

    /// The query of the request to the broker.
    pub(super) fn query(&self) -> Vec<(&str, &str)> {
        let named = [
            ("plan", &self.plans),
            ("organization", &self.organizations),
            ("space", &self.spaces),
            ("instance", &self.instances),
        ];
        let pairs = named.into_iter().flat_map(|(name, values)| {
            let values = values.iter();
            values.map(move |value| (name, value.as_str()))
        });
        pairs.collect()
    }

    /// The excluded instances, by any of their names.
    pub(super) fn excludes(&self, member: &Member) -> bool {
        let mut names = member.names();
        names.any(|name| self.excluded.contains(name))
    }

    /// The excluded names that match none of these instances.
    pub(super) fn excluded_in_vain(&self, members: &[Member]) -> Vec<&str> {
        let known: BTreeSet<&str> = members.iter().flat_map(Member::names).collect();
        let excluded = self.excluded.iter().map(String::as_str);
        excluded.filter(|name| !known.contains(name)).collect()
    }
}

impl Member {
    /// All names and ids of the instance.
    fn names(&self) -> impl Iterator<Item = &str> {
        let entry = self.entry.as_deref();
        let words = [
            Some(self.id.as_str()),
            self.plan.as_ref().map(PlanId::as_str),
            self.plan_name.as_deref(),
            self.space.as_deref(),
            self.space_name.as_deref(),
            entry.and_then(|entry| entry.organization_guid.as_deref()),
            entry.and_then(|entry| entry.organization_name.as_deref()),
        ];
        words.into_iter().flatten()
    }
}
