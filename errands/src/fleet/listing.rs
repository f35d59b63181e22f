//! The instances of a pass, listed by the broker, and which of them are selected.

use std::collections::{BTreeSet, HashSet};

use anyhow::{Context, bail};
use odb_api_types::{
    ids::{InstanceId, PlanId},
    management::{DeploymentPresence, InventoryEntry, ListedInstance, Owner},
};

use super::run::FleetRun;
use crate::{
    broker_api::is_unknown_list,
    report::{Outcome, Report, Row},
};

pub(super) struct Members {
    pub(super) entries: Vec<InventoryEntry>,
    /// The entries have all that the broker knows. A Go broker has no inventory and lists only ids.
    pub(super) has_inventory: bool,
}

/// Whether a run has listed its instances before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    /// The first list: a named instance that is missing is a typo.
    First,
    /// It has: an instance that is not there any more was deleted meanwhile.
    Later,
}

/// A log line names at most this many instances.
const NAMED_INSTANCES: usize = 10;

impl FleetRun<'_> {
    pub(super) fn is_narrow(&self) -> bool {
        !self.query().is_empty() || !self.run.excluded.is_empty()
    }

    /// The selection, as the query of the request to the broker.
    fn query(&self) -> Vec<(&str, &str)> {
        let run = &self.run;
        [
            ("plan", &run.plans),
            ("organization", &run.organizations),
            ("space", &run.spaces),
            ("instance", &run.instances),
        ]
        .into_iter()
        .flat_map(|(name, values)| values.iter().map(move |value| (name, value.as_str())))
        .collect()
    }

    /// Logs the start of a pass, and lists its instances.
    pub(super) async fn begin_pass(
        &self,
        is_continued: bool,
        listing: Listing,
        report: &mut Report,
    ) -> anyhow::Result<Members> {
        self.detail(format_args!(
            "STARTING OPERATION with {} concurrent workers",
            self.file.max_in_flight
        ));
        match self.inventory(listing, report).await {
            // The ids are enough for a new run over the complete fleet.
            Err(error) if is_unknown_list(&error) && !is_continued && !self.is_narrow() => {
                let listed = self.list(&[]).await?;
                let members = Members {
                    entries: listed.into_iter().map(entry_of).collect(),
                    has_inventory: false,
                };
                self.log_listed(&members);
                Ok(members)
            }
            members => members,
        }
    }

    pub(super) async fn list(
        &self,
        filter: &[(String, String)],
    ) -> anyhow::Result<Vec<ListedInstance>> {
        let listed = self.dependencies.unless_stopped(self.broker.list(filter));
        listed.await?.context("error listing service instances")
    }

    /// The selected instances, with all that is known of them.
    pub(super) async fn inventory(
        &self,
        listing: Listing,
        report: &mut Report,
    ) -> anyhow::Result<Members> {
        let query = self.query();
        let listed = self.broker.inventory(&query);
        let found = self.dependencies.unless_stopped(listed).await?;
        let found = found.context("error listing service instances")?;
        if !found.complete {
            bail!("error listing service instances: the list is incomplete");
        }
        let mut entries = found.service_instances;
        let excluded: BTreeSet<&str> = self.run.excluded.iter().map(String::as_str).collect();
        if listing == Listing::First {
            let known: BTreeSet<&str> = entries.iter().flat_map(names).collect();
            let unknown: Vec<&str> = excluded.difference(&known).copied().collect();
            if !unknown.is_empty() {
                bail!(
                    "cannot exclude instances that are not in the selection: {}",
                    unknown.join(", ")
                );
            }
        }
        entries.retain(|entry| !names(entry).any(|name| excluded.contains(name)));
        let listed: HashSet<&str> = entries
            .iter()
            .map(|entry| entry.service_instance_id.as_str())
            .collect();
        let wanted = self.run.instances.iter().map(String::as_str);
        let missing: Vec<&str> = wanted
            .filter(|id| !listed.contains(id) && !excluded.contains(id))
            .collect();
        if listing == Listing::Later {
            self.report_gone(&missing, report);
        } else if !missing.is_empty() {
            bail!(
                "these service instances are not in the selection: {}",
                missing.join(", ")
            );
        } else if entries.is_empty() && self.is_narrow() {
            bail!("the selection has no service instance after exclusions");
        }
        let members = Members {
            entries,
            has_inventory: true,
        };
        self.log_listed(&members);
        Ok(members)
    }

    /// The results that an earlier pass recorded for them are out of date.
    fn report_gone(&self, missing: &[&str], report: &mut Report) {
        for id in missing {
            self.console.log(format_args!(
                "[{id}] deleted in the meantime, or never created"
            ));
            if let Ok(id) = InstanceId::try_from((*id).to_owned()) {
                report.add(Row::of(id, Outcome::Gone));
            }
        }
    }

    /// Logs the instances to process (`spec/contracts/errands.md` §4.6). The Go errand names every instance of a fleet.
    fn log_listed(&self, members: &Members) {
        let entries = &members.entries;
        self.detail(format_args!("Service Instances: {}", named(entries)));
        self.console.log(format_args!(
            "Total Service Instances found: {}",
            entries.len()
        ));
    }
}

fn named(entries: &[InventoryEntry]) -> String {
    let first = entries.iter().take(NAMED_INSTANCES);
    let mut named: Vec<String> = first
        .map(|entry| entry.service_instance_id.to_string())
        .collect();
    let more = entries.len().saturating_sub(NAMED_INSTANCES);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    named.join(" ")
}

/// All that a Go broker reports of an instance.
pub(super) fn entry_of(listed: ListedInstance) -> InventoryEntry {
    InventoryEntry {
        service_instance_id: listed.service_instance_id,
        name: None,
        plan_id: Some(listed.plan_id),
        plan_name: None,
        space_guid: listed.space_guid,
        space_name: None,
        organization_guid: None,
        organization_name: None,
        platform_operation: None,
        deployment: DeploymentPresence::Present,
        owner: Owner::Unknown,
        operation: None,
        deployed: None,
        recreated: None,
        up_to_date: None,
    }
}

fn names(entry: &InventoryEntry) -> impl Iterator<Item = &str> {
    let names = [
        Some(entry.service_instance_id.as_str()),
        entry.name.as_deref(),
        entry.plan_id.as_ref().map(PlanId::as_str),
        entry.plan_name.as_deref(),
        entry.space_guid.as_deref(),
        entry.space_name.as_deref(),
        entry.organization_guid.as_deref(),
        entry.organization_name.as_deref(),
    ];
    names.into_iter().flatten()
}

pub(super) fn row(entry: &InventoryEntry, outcome: Outcome, cause: Option<String>) -> Row {
    let name_or_guid =
        |name: &Option<String>, guid: &Option<String>| name.clone().or_else(|| guid.clone());
    let plan_id = entry.plan_id.as_ref().map(ToString::to_string);
    Row {
        name: entry.name.clone(),
        plan: entry.plan_name.clone().or(plan_id),
        organization: name_or_guid(&entry.organization_name, &entry.organization_guid),
        space: name_or_guid(&entry.space_name, &entry.space_guid),
        cause,
        ..Row::of(entry.service_instance_id.clone(), outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_fleet_is_not_listed_in_one_line() {
        let entries = |count: usize| -> Vec<InventoryEntry> {
            let listed = (0..count).map(|number| ListedInstance {
                service_instance_id: format!("i{number}").try_into().unwrap(),
                plan_id: "small".to_owned().into(),
                space_guid: None,
            });
            listed.map(entry_of).collect()
        };
        assert_eq!(named(&entries(2)), "i0 i1");
        assert_eq!(named(&entries(10)), "i0 i1 i2 i3 i4 i5 i6 i7 i8 i9");
        assert_eq!(
            named(&entries(300)),
            "i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 and 290 more"
        );
    }
}
