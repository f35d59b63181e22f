//! The sections `service_catalog.plans[]`: what can be ordered.

use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::{
    LifecycleErrand, LifecycleErrands, MaxInFlight, MigratedFrom, PlanInstanceGroup, PlanUpdate,
};
use serde_json::{Map, Value};

use super::{
    platform_limits,
    problems::Faulty,
    section::{Found, Section},
};
use crate::ids::PlanId;

/// A plan of the offering.
#[derive(Debug)]
pub struct Plan {
    /// The catalog id.
    pub id: PlanId,
    /// The name in the marketplace.
    pub name: String,
    /// A sentence for the marketplace.
    pub description: String,
    /// Whether it costs nothing; left out of the catalog when absent.
    pub free: Option<bool>,
    /// Whether its instances can be bound; the offering decides when absent.
    pub bindable: Option<bool>,
    /// Metadata for the marketplace, keys as the platform wants them.
    pub metadata: Map<String, Value>,
    /// Limits.
    pub quotas: PlanQuotas,
    /// What the adapter gets beside the global properties.
    pub properties: Map<String, Value>,
    /// The VMs of an instance.
    pub instance_groups: Vec<PlanInstanceGroup>,
    /// How an instance is updated.
    pub update: Option<PlanUpdate>,
    /// What runs after a deployment and before a deletion.
    pub lifecycle_errands: LifecycleErrands,
    /// The version of what the plan deploys, global values included.
    pub maintenance_info: MaintenanceInfo,
}

/// Limits of one plan.
#[derive(Debug, Default)]
pub struct PlanQuotas {
    /// How many instances there may be.
    pub service_instances: Option<u64>,
    /// What an instance costs and the plan may use.
    pub resources: BTreeMap<String, ResourceQuota>,
}

/// What an instance costs of a resource, and how much of it all instances of the plan may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceQuota {
    /// Zero: no limit.
    pub limit: u64,
    /// Zero: costs nothing.
    pub cost: u64,
}

impl PlanQuotas {
    /// Some limit is set.
    pub fn limits_something(&self) -> bool {
        self.service_instances.is_some()
            || self.resources.values().any(|resource| resource.limit > 0)
    }

    /// What an instance costs of a resource; nothing, unless the plan says so.
    pub fn cost(&self, resource: &str) -> u64 {
        self.resources.get(resource).map_or(0, |quota| quota.cost)
    }
}

/// The version of what a plan deploys (`spec/contracts/broker-behaviour.md` §3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceInfo {
    /// A semantic version.
    pub version: Option<String>,
    /// What a platform user reads about it.
    pub description: Option<String>,
    /// Values of which a change calls for an upgrade.
    pub public: BTreeMap<String, String>,
    /// The same, for values that nobody sees.
    pub private: BTreeMap<String, String>,
}

impl MaintenanceInfo {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let info = Self {
            version: section
                .text("version")
                .and_then(|found| semantic(section, found)),
            description: section.text("description").map(|found| found.value),
            public: section.text_map("public").into_iter().collect(),
            private: section.text_map("private").into_iter().collect(),
        };
        section.remark_unknown_keys();
        info
    }

    /// This plan's values over the global ones.
    fn over(self, global: &Self) -> Self {
        let merged = |own: BTreeMap<String, String>, global: &BTreeMap<String, String>| {
            let mut merged = global.clone();
            merged.extend(own);
            merged
        };
        Self {
            version: self.version.or_else(|| global.version.clone()),
            description: self.description.or_else(|| global.description.clone()),
            public: merged(self.public, &global.public),
            private: merged(self.private, &global.private),
        }
    }
}

pub(super) fn read(section: &Section<'_>, global: &MaintenanceInfo) -> Option<Plan> {
    let id = section
        .required_text("plan_id", "an id that never changes, best a UUID")
        .and_then(|id| platform_limits::named(section, id));
    let name = section
        .required_text("name", "the name in the marketplace")
        .and_then(|name| platform_limits::named(section, name));
    let description = section
        .required_text("description", "a sentence for the marketplace")
        .and_then(|text| platform_limits::described(section, text));
    let maintenance_info = MaintenanceInfo::read(&section.section("maintenance_info")).over(global);
    let publishable = platform_limits::maintenance_info(section, &maintenance_info);
    let quotas = quotas(&section.section("quotas"));
    let groups: Vec<_> = section
        .sections("instance_groups")
        .iter()
        .map(instance_group)
        .collect();
    let update = update(&section.section("update"));
    let errands = lifecycle_errands(&section.section("lifecycle_errands"));
    if section.has_value("binding_with_dns") {
        section.refuse::<()>(
            "binding_with_dns",
            "is configured; this version does not offer DNS addresses in bindings, remove it",
        );
    }
    let plan = Plan {
        id: id?.value.into(),
        name: name?.value,
        description: description?.value,
        free: section.optional_flag("free").map(|found| found.value),
        bindable: section.optional_flag("bindable").map(|found| found.value),
        metadata: metadata(&section.section("metadata")),
        quotas: quotas?,
        properties: section.free_map("properties"),
        instance_groups: groups.into_iter().collect::<Option<Vec<_>>>()?,
        update: update.ok()?,
        lifecycle_errands: errands?,
        maintenance_info: publishable.map(|()| maintenance_info)?,
    };
    // Read by the errands and by the release's template.
    section.ignore(&[
        "binding_with_dns",
        "cf_service_access",
        "service_access_org",
        "resource_costs",
    ]);
    section.remark_unknown_keys();
    Some(plan)
}

/// Platforms refuse a whole catalog for a version that is none.
fn semantic(section: &Section<'_>, version: Found<String>) -> Option<String> {
    if semver::Version::parse(&version.value).is_err() {
        let text = format!(
            "is `{}`; give a semantic version such as `1.2.3`",
            version.value
        );
        return section.refuse_value(&version, text);
    }
    Some(version.value)
}

/// A limit: absent is none, zero means that nothing may be created.
pub(super) fn limit(section: &Section<'_>, key: &'static str) -> Result<Option<u64>, Faulty> {
    let Some(found) = section.number(key) else {
        return Ok(None);
    };
    if let Ok(limit) = u64::try_from(found.value) {
        return Ok(Some(limit));
    }
    section.refuse_value::<(), _>(&found, format!("is {}; give zero or more", found.value));
    Err(Faulty)
}

fn quotas(section: &Section<'_>) -> Option<PlanQuotas> {
    let service_instances = limit(section, "service_instance_limit");
    let mut resources = BTreeMap::new();
    for (name, resource) in section.named_sections("resources") {
        let quota = ResourceQuota {
            limit: limit(&resource, "limit").ok()?.unwrap_or(0),
            cost: limit(&resource, "cost").ok()?.unwrap_or(0),
        };
        resource.remark_unknown_keys();
        resources.insert(name, quota);
    }
    section.ignore(&["resource_limits"]);
    section.remark_unknown_keys();
    Some(PlanQuotas {
        service_instances: service_instances.ok()?,
        resources,
    })
}

fn instance_group(section: &Section<'_>) -> Option<PlanInstanceGroup> {
    let name = section.required_text("name", "the name of the instance group");
    let vm_type = section.required_text("vm_type", "a VM type of the cloud config");
    let instances = instances(section);
    let texts = |key| -> Vec<String> {
        section
            .texts(key)
            .into_iter()
            .map(|found| found.value)
            .collect()
    };
    let (networks, azs) = (texts("networks"), texts("azs"));
    let mut group = PlanInstanceGroup::new(name?.value, vm_type?.value, instances?, networks, azs);
    group.vm_extensions = texts("vm_extensions");
    group.persistent_disk_type = section
        .text("persistent_disk_type")
        .map(|found| found.value);
    group.lifecycle = section.text("lifecycle").map(|found| found.value);
    group.migrated_from = section
        .sections("migrated_from")
        .iter()
        .filter_map(|from| from.required_text("name", "the former name of the instance group"))
        .map(|found| MigratedFrom::new(found.value))
        .collect();
    section.remark_unknown_keys();
    Some(group)
}

fn instances(section: &Section<'_>) -> Option<u32> {
    let Some(found) = section.number("instances") else {
        return Some(0);
    };
    match u32::try_from(found.value) {
        Ok(count) => Some(count),
        Err(_) => section.refuse_value(&found, format!("is {}; give a count of VMs", found.value)),
    }
}

fn update(section: &Section<'_>) -> Result<Option<PlanUpdate>, Faulty> {
    if section.holds_a_value() {
        update_block(section).map(Some).ok_or(Faulty)
    } else {
        Ok(None)
    }
}

fn update_block(section: &Section<'_>) -> Option<PlanUpdate> {
    let max_in_flight = max_in_flight(section);
    let canaries = match section.number("canaries") {
        None => 0,
        Some(found) => match u32::try_from(found.value) {
            Ok(count) => count,
            Err(_) => {
                return section
                    .refuse_value(&found, format!("is {}; give a count of VMs", found.value));
            }
        },
    };
    let mut update = PlanUpdate::new(max_in_flight?);
    update.canaries = canaries;
    update.canary_watch_time = text_or_empty(section, "canary_watch_time");
    update.update_watch_time = text_or_empty(section, "update_watch_time");
    update.serial = section.optional_flag("serial").map(|found| found.value);
    update.initial_deploy_az_update_strategy = section
        .text("initial_deploy_az_update_strategy")
        .map(|found| found.value);
    section.remark_unknown_keys();
    Some(update)
}

fn text_or_empty(section: &Section<'_>, key: &'static str) -> String {
    section
        .text(key)
        .map(|found| found.value)
        .unwrap_or_default()
}

fn max_in_flight(section: &Section<'_>) -> Option<MaxInFlight> {
    const RIGHT: &str = "give a count of VMs or a percentage such as `25%`";
    let Some(found) = section.json("max_in_flight") else {
        return section.refuse("max_in_flight", format!("is missing; {RIGHT}"));
    };
    match serde_json::from_value(found.value.clone()) {
        Ok(value) => Some(value),
        Err(_) => section.refuse_value(&found, format!("is `{}`; {RIGHT}", found.value)),
    }
}

fn lifecycle_errands(section: &Section<'_>) -> Option<LifecycleErrands> {
    let post_deploy = errands(section, "post_deploy");
    let pre_delete = errands(section, "pre_delete");
    section.remark_unknown_keys();
    Some(LifecycleErrands::new(post_deploy?, pre_delete?))
}

fn errands(section: &Section<'_>, key: &'static str) -> Option<Vec<LifecycleErrand>> {
    let errands: Vec<Option<LifecycleErrand>> = section
        .sections(key)
        .iter()
        .filter(|errand| !errand.flag("disabled", false))
        .map(|errand| {
            let name = errand.required_text("name", "the name of an errand in the manifest");
            let instances: Vec<_> = errand
                .texts("instances")
                .into_iter()
                .map(|found| instance_selector(errand, found))
                .collect();
            errand.remark_unknown_keys();
            Some(LifecycleErrand::colocated(
                name?.value,
                instances.into_iter().collect::<Option<Vec<_>>>()?,
            ))
        })
        .collect();
    errands.into_iter().collect()
}

/// `group` or `group/index-or-id`, no part of it empty.
fn instance_selector(section: &Section<'_>, found: Found<String>) -> Option<String> {
    let parts: Vec<&str> = found.value.split('/').collect();
    if parts.len() > 2 || parts.iter().any(|part| part.is_empty()) {
        return section.refuse_value(
            &found,
            format!("is `{}`; give `group` or `group/index-or-id`", found.value),
        );
    }
    Some(found.value)
}

fn metadata(section: &Section<'_>) -> Map<String, Value> {
    let mut metadata = Map::new();
    if let Some(found) = section.text("display_name") {
        metadata.insert("displayName".to_owned(), found.value.into());
    }
    let bullets: Vec<Value> = section
        .texts("bullets")
        .into_iter()
        .map(|found| found.value.into())
        .collect();
    if !bullets.is_empty() {
        metadata.insert("bullets".to_owned(), bullets.into());
    }
    let costs: Vec<Value> = section
        .sections("costs")
        .iter()
        .map(|cost| {
            let unit = text_or_empty(cost, "unit");
            serde_json::json!({ "amount": cost.free_map("amount"), "unit": unit })
        })
        .collect();
    if !costs.is_empty() {
        metadata.insert("costs".to_owned(), costs.into());
    }
    metadata.extend(section.remaining());
    metadata
}
