//! The sections `service_catalog.plans[]`: the plans of the marketplace.

use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::{
    LifecycleErrand, LifecycleErrands, MaxInFlight, MigratedFrom, PlanInstanceGroup, PlanUpdate,
};
use odb_api_types::ids::PlanId;
use odb_clients::director::{AddressFilter, InstanceHealth};
use serde_json::{Map, Value};

use super::{
    catalog,
    findings::AlreadyReported,
    plan_version::{MaintenanceInfo, PlanVersion},
    section::{Found, Section, distinct},
    software::AdapterForm,
};

/// The limit of platforms (`spec/contracts/osb-api.md` §12.3).
const MAINTENANCE_INFO_CHARACTERS: usize = 2000;

/// A plan of the offering.
#[derive(Debug)]
pub struct Plan {
    /// The catalog id.
    pub id: PlanId,
    /// The name in the marketplace.
    pub name: String,
    /// The description in the marketplace.
    pub description: String,
    /// Whether it costs nothing; left out of the catalog when absent.
    pub free: Option<bool>,
    /// Whether its instances can be bound; the offering decides when absent.
    pub bindable: Option<bool>,
    /// Metadata for the marketplace, with the platform's keys.
    pub metadata: Map<String, Value>,
    /// Limits.
    pub quotas: PlanQuotas,
    /// Properties for the adapter in addition to the global ones.
    pub properties: Map<String, Value>,
    /// The VMs of an instance.
    pub instance_groups: Vec<PlanInstanceGroup>,
    /// How an instance is updated.
    pub update: Option<PlanUpdate>,
    /// Errands to run after a deployment and before a deletion.
    pub lifecycle_errands: LifecycleErrands,
    /// The DNS addresses that its bindings need.
    pub dns_bindings: Vec<DnsBinding>,
    /// The version of the plan's software, including global values.
    pub maintenance_info: MaintenanceInfo,
}

/// Limits of one plan.
#[derive(Debug, Default)]
pub struct PlanQuotas {
    /// How many instances there may be.
    pub service_instances: Option<u64>,
    /// An instance's cost of each resource, and the plan's limit.
    pub resources: BTreeMap<String, ResourceQuota>,
}

/// An instance's cost of a resource, and the limit for all instances of the plan.
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

    /// An instance's cost of a resource; 0 unless the plan has one.
    pub fn cost(&self, resource: &str) -> u64 {
        self.resources.get(resource).map_or(0, |quota| quota.cost)
    }
}

/// A DNS address that bindings of a plan need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsBinding {
    /// The name of the address for the adapter.
    pub name: String,
    /// The name of the link in the manifest. It has to be shared.
    pub link_provider: String,
    /// The instance group whose job provides the link.
    pub instance_group: String,
    /// The criteria for the group's instances.
    pub filter: AddressFilter,
}

pub(super) fn read(section: &Section<'_>, global: &MaintenanceInfo) -> Option<Plan> {
    let id = catalog::name(section, "plan_id", "an id that never changes, best a UUID");
    let name = catalog::name(section, "name", "the name in the marketplace");
    let description = catalog::description(section, "description");
    let maintenance_info = maintenance_info(section, global);
    let quotas = plan_quotas(&section.section("quotas"));
    let groups = instance_groups(section);
    let update = section.section("update").optional(update);
    let errands = lifecycle_errands(&section.section("lifecycle_errands"));
    let dns_bindings = dns_bindings(section);
    let free = section.optional_flag("free").map(|found| found.value);
    let bindable = section.optional_flag("bindable").map(|found| found.value);
    let metadata = metadata(&section.section("metadata"));
    let properties = section.free_map("properties");
    section.warn_unknown_keys();
    // Everything has been read, so that no error hides another.
    Some(Plan {
        id: id?.into(),
        name: name?,
        description: description?,
        free,
        bindable,
        metadata,
        quotas: quotas?,
        properties,
        instance_groups: groups?,
        update: update.ok()?,
        lifecycle_errands: errands?,
        dns_bindings: dns_bindings?,
        maintenance_info: maintenance_info?,
    })
}

/// The version of a plan, which platforms must take as it is published.
fn maintenance_info(section: &Section<'_>, global: &MaintenanceInfo) -> Option<MaintenanceInfo> {
    let info = MaintenanceInfo::read(&section.section("maintenance_info")).over(global);
    let version = PlanVersion::of(&info);
    let published = serde_json::json!({
        "version": version.as_ref().map(PlanVersion::as_str),
        "description": info.description,
    });
    let length = published.to_string().chars().count();
    if version.is_some() && length > MAINTENANCE_INFO_CHARACTERS {
        let wrong = format!("has {length} characters as JSON");
        let right =
            format!("platforms take {MAINTENANCE_INFO_CHARACTERS}, so shorten the description");
        return section.refuse("maintenance_info", (wrong, right));
    }
    Some(info)
}

/// A limit: absent is none, zero means that nothing may be created.
pub(super) fn limit(section: &Section<'_>, key: &str) -> Result<Option<u64>, AlreadyReported> {
    let Some(found) = section.number(key) else {
        return Ok(None);
    };
    if let Ok(limit) = u64::try_from(found.value) {
        return Ok(Some(limit));
    }
    section.refuse_value::<(), _>(&found, (format!("is {}", found.value), "give zero or more"));
    Err(AlreadyReported)
}

/// The limit of service instances, and the resources of a plan or of all.
pub(super) fn quotas<T>(
    section: &Section<'_>,
    resource: fn(&Section<'_>) -> Option<T>,
) -> Option<(Option<u64>, BTreeMap<String, T>)> {
    let service_instances = limit(section, "service_instance_limit");
    let resources = section.named_sections("resources").into_iter();
    let resources: Vec<_> = resources
        .map(|(name, section)| {
            let read = resource(&section);
            section.warn_unknown_keys();
            Some((name, read?))
        })
        .collect();
    section.warn_unknown_keys();
    let resources = resources.into_iter().collect::<Option<_>>()?;
    Some((service_instances.ok()?, resources))
}

fn plan_quotas(section: &Section<'_>) -> Option<PlanQuotas> {
    let (service_instances, resources) = quotas(section, |resource| {
        let [limit, cost] = ["limit", "cost"].map(|key| limit(resource, key));
        Some(ResourceQuota {
            limit: limit.ok()?.unwrap_or(0),
            cost: cost.ok()?.unwrap_or(0),
        })
    })?;
    Some(PlanQuotas {
        service_instances,
        resources,
    })
}

const EMPTY: (&str, &str) = ("is empty, which the release refuses", "give at least one");

fn instance_groups(section: &Section<'_>) -> Option<Vec<PlanInstanceGroup>> {
    let groups = section.each("instance_groups", instance_group);
    if groups.as_ref().is_some_and(Vec::is_empty) {
        section.warning("instance_groups", EMPTY);
    }
    groups
}

fn instance_group(section: &Section<'_>) -> Option<PlanInstanceGroup> {
    let name = section.required_text("name", "the name of the instance group");
    let vm_type = section.required_text("vm_type", "a VM type of the cloud config");
    let instances = vm_count(section, "instances");
    let [networks, azs] = ["networks", "azs"].map(|key| {
        let texts = section.plain_texts(key);
        if texts.is_empty() {
            section.warning(key, EMPTY);
        }
        texts
    });
    let vm_extensions = section.plain_texts("vm_extensions");
    let persistent_disk_type = section.plain_text("persistent_disk_type");
    let lifecycle = section.plain_text("lifecycle");
    let migrated_from = section.each("migrated_from", previous_name);
    section.warn_unknown_keys();
    let mut group = PlanInstanceGroup::new(name?.value, vm_type?.value, instances?, networks, azs);
    group.vm_extensions = vm_extensions;
    group.persistent_disk_type = persistent_disk_type;
    group.lifecycle = lifecycle;
    group.migrated_from = migrated_from?;
    Some(group)
}

fn previous_name(section: &Section<'_>) -> Option<MigratedFrom> {
    let name = section.required_text("name", "the former name of the instance group");
    section.warn_unknown_keys();
    Some(MigratedFrom::new(name?.value))
}

/// A count of VMs; absent is none.
fn vm_count(section: &Section<'_>, key: &str) -> Option<u32> {
    let Some(found) = section.number(key) else {
        return Some(0);
    };
    let text = (format!("is {}", found.value), "give a count of VMs");
    let count = u32::try_from(found.value).ok();
    count.or_else(|| section.refuse_value(&found, text))
}

fn update(section: &Section<'_>) -> Option<PlanUpdate> {
    let max_in_flight = max_in_flight(section);
    let canaries = vm_count(section, "canaries");
    let canary_watch_time = watch_time(section, "canary_watch_time");
    let update_watch_time = watch_time(section, "update_watch_time");
    let serial = section.optional_flag("serial").map(|found| found.value);
    let strategy = section.text("initial_deploy_az_update_strategy");
    if let Some(found) = &strategy
        && !["serial", "parallel"].contains(&found.value.as_str())
    {
        let right = "Directors know `serial` and `parallel`";
        section.warn_value(found, (found.quoted(), right));
    }
    section.warn_unknown_keys();
    let mut update = PlanUpdate::new(max_in_flight?);
    update.canaries = canaries?;
    update.canary_watch_time = canary_watch_time?;
    update.update_watch_time = update_watch_time?;
    update.serial = serial;
    update.initial_deploy_az_update_strategy = strategy.map(|found| found.value);
    Some(update)
}

/// How long a Director watches VMs; empty where absent, for adapters may have a time of their own.
fn watch_time(section: &Section<'_>, key: &str) -> Option<String> {
    let Some(found) = section.text(key) else {
        return Some(String::new());
    };
    let wrong = match WatchTime::read(&found.value) {
        WatchTime::Right => return Some(found.value),
        WatchTime::Unreadable => format!("is `{}`, which the Director rejects", found.value),
        WatchTime::Reversed => format!("is `{}`, which ends before it begins", found.value),
    };
    let right = "give milliseconds, from and to, such as `30000-240000`";
    section.refuse_value(&found, (wrong, right))
}

/// The meaning of a watch time for a Director.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchTime {
    /// A number of milliseconds, or a range of two.
    Right,
    /// A range whose end is before its start.
    Reversed,
    /// Neither.
    Unreadable,
}

impl WatchTime {
    /// Reads `update.canary_watch_time` and `update.update_watch_time` as a Director does.
    pub fn read(text: &str) -> Self {
        let number = |text: &str| -> Option<u128> {
            let digits = text.trim();
            let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            are_digits.then(|| digits.parse().unwrap_or(u128::MAX))
        };
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        match (number(least), number(most)) {
            (Some(least), Some(most)) if least <= most => Self::Right,
            (Some(_), Some(_)) => Self::Reversed,
            _ => Self::Unreadable,
        }
    }
}

fn max_in_flight(section: &Section<'_>) -> Option<MaxInFlight> {
    const RIGHT: &str = "give a count of VMs or a percentage such as `25%`, at most `100%`";
    let Some(found) = section.json("max_in_flight") else {
        return section.refuse("max_in_flight", ("is missing", RIGHT));
    };
    match serde_json::from_value(found.value.clone()) {
        Ok(value) if is_deployable(&value) => Some(value),
        Ok(_) | Err(_) => {
            let written = found.value.as_str().map(str::to_owned);
            let written = written.unwrap_or_else(|| found.value.to_string());
            section.refuse_value(&found, (format!("is `{written}`"), RIGHT))
        }
    }
}

/// Whether a Director can calculate it: the protocol of adapters lets more pass.
fn is_deployable(max_in_flight: &MaxInFlight) -> bool {
    match max_in_flight {
        MaxInFlight::Count(_) => true,
        MaxInFlight::Percentage(share) => {
            let percent = share.as_str().trim_end_matches('%').parse::<u32>();
            share.is_plain() && percent.is_ok_and(|percent| percent <= 100)
        }
    }
}

fn lifecycle_errands(section: &Section<'_>) -> Option<LifecycleErrands> {
    let post_deploy = errands(section, "post_deploy");
    let pre_delete = errands(section, "pre_delete");
    section.warn_unknown_keys();
    Some(LifecycleErrands::new(post_deploy?, pre_delete?))
}

fn errands(section: &Section<'_>, key: &str) -> Option<Vec<LifecycleErrand>> {
    let errands = section.each(key, |errand| {
        if errand.flag("disabled") {
            return Some(None);
        }
        let name = errand.required_text("name", "the name of an errand in the manifest");
        let selectors = errand.texts("instances").into_iter();
        let selectors = selectors.map(|found| instance_selector(errand, found));
        let selectors: Vec<Option<String>> = selectors.collect();
        errand.warn_unknown_keys();
        let instances = selectors.into_iter().collect::<Option<Vec<_>>>()?;
        Some(Some(LifecycleErrand::colocated(name?.value, instances)))
    });
    Some(errands?.into_iter().flatten().collect())
}

/// `group` or `group/index-or-id`, no part of it empty.
fn instance_selector(section: &Section<'_>, found: Found<String>) -> Option<String> {
    let parts: Vec<&str> = found.value.split('/').collect();
    if parts.len() > 2 || parts.iter().any(|part| part.is_empty()) {
        let right = "give `group` or `group/index-or-id`";
        return section.refuse_value(&found, (found.quoted(), right));
    }
    Some(found.value)
}

fn metadata(section: &Section<'_>) -> Map<String, Value> {
    let mut metadata = Map::new();
    if let Some(name) = section.plain_text("display_name") {
        metadata.insert("displayName".to_owned(), name.into());
    }
    let bullets = section.plain_texts("bullets");
    if !bullets.is_empty() {
        metadata.insert("bullets".to_owned(), bullets.into());
    }
    let costs = section.sections("costs");
    let costs = costs.iter().map(|cost| {
        let unit = cost.plain_text("unit").unwrap_or_default();
        let amount = cost.amounts("amount");
        cost.warn_unknown_keys();
        serde_json::json!({ "amount": amount, "unit": unit })
    });
    let costs: Vec<Value> = costs.collect();
    if !costs.is_empty() {
        metadata.insert("costs".to_owned(), costs.into());
    }
    metadata.extend(section.remaining());
    metadata
}

fn dns_bindings(plan: &Section<'_>) -> Option<Vec<DnsBinding>> {
    let bindings = plan.each("binding_with_dns", dns_binding);
    let sections = plan.sections("binding_with_dns");
    let names = distinct(&sections, "name", "adapters know each address by its name");
    names.and(bindings)
}

fn dns_binding(section: &Section<'_>) -> Option<DnsBinding> {
    let name = section.required_text("name", "what the adapter shall know the address by");
    let link_provider =
        section.required_text("link_provider", "the name of a shared link of the manifest");
    let right = "the instance group that provides the link";
    let instance_group = section.required_text("instance_group", right);
    let filter = address_filter(&section.section("properties"));
    section.warn_unknown_keys();
    Some(DnsBinding {
        name: name?.value,
        link_provider: link_provider?.value,
        instance_group: instance_group?.value,
        filter: filter?,
    })
}

fn address_filter(section: &Section<'_>) -> Option<AddressFilter> {
    let azs = section.plain_texts("azs");
    let status = section.text("status");
    section.warn_unknown_keys();
    let mut health = None;
    if let Some(found) = status {
        let mut all = InstanceHealth::ALL.into_iter();
        health = all.find(|health| health.as_str() == found.value);
        if health.is_none() {
            let known = InstanceHealth::ALL.map(|health| format!("`{}`", health.as_str()));
            let right = format!("give one of {}", known.join(", "));
            return section.refuse_value(&found, (found.quoted(), right));
        }
    }
    Some(AddressFilter { azs, health })
}

/// Arguments cannot contain DNS addresses (`spec/contracts/adapter-protocol.md` §1.2).
pub(super) fn refuse_dns_in_arguments(catalog: &Section<'_>, form: AdapterForm) {
    let plans = catalog.sections("plans");
    for plan in plans.iter().filter(|_| form == AdapterForm::Arguments) {
        if !plan.sections("binding_with_dns").is_empty() {
            let wrong = "needs `broker.use_stdin`, which is false: adapters get no DNS addresses in arguments";
            plan.refuse::<()>("binding_with_dns", (wrong, "set it to `true`"));
        }
    }
}
