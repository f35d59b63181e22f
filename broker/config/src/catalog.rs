//! The section `service_catalog`: the offering in the marketplace.
//!
//! Platforms have limits (`spec/contracts/osb-api.md` §12.3), and one error rejects the complete catalog, so they are
//! checked here.

use std::collections::BTreeMap;

use odb_api_types::ids::{OfferingId, PlanId};
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::{
    plan::{self, Plan},
    plan_version::MaintenanceInfo,
    section::{Found, Section, distinct},
};

const DESCRIPTION_CHARACTERS: usize = 10_000;
const TAGS_CHARACTERS: usize = 2048;
const REQUIREMENTS: [&str; 3] = ["syslog_drain", "route_forwarding", "volume_mount"];

/// The one service offering of this broker.
#[derive(Debug)]
pub struct Offering {
    /// The catalog id.
    pub id: OfferingId,
    /// The name in the marketplace.
    pub name: String,
    /// The description in the marketplace.
    pub description: String,
    /// Whether instances can be bound, unless a plan says otherwise.
    pub bindable: bool,
    /// Whether platforms may retrieve bindings (a key of our own; needs the runtime CredHub).
    pub bindings_retrievable: bool,
    /// Whether an instance may change its plan.
    pub plan_updatable: bool,
    /// Free words.
    pub tags: Vec<String>,
    /// What the service requires of the platform, such as `route_forwarding`.
    pub requires: Vec<String>,
    /// Metadata for the marketplace, with the platform's keys.
    pub metadata: Map<String, Value>,
    /// Single sign-on for dashboards.
    pub dashboard_client: Option<DashboardClient>,
    /// Properties of every plan, overlaid by the plan's own.
    pub global_properties: Map<String, Value>,
    /// Limits over all plans.
    pub global_quotas: GlobalQuotas,
    /// The plans, in the file's order.
    pub plans: Vec<Plan>,
}

/// Single sign-on for dashboards, passed to the platform with the catalog.
#[derive(Debug)]
pub struct DashboardClient {
    /// The client's id.
    pub id: String,
    /// The client's secret.
    pub secret: SecretString,
    /// Where a sign-on may return to.
    pub redirect_uri: String,
}

/// Limits over all plans.
#[derive(Debug, Default)]
pub struct GlobalQuotas {
    /// How many instances there may be.
    pub service_instances: Option<u64>,
    /// How much of each resource there is.
    pub resources: BTreeMap<String, u64>,
}

impl Offering {
    /// The plan of that id.
    pub fn plan(&self, id: &PlanId) -> Option<&Plan> {
        self.plans.iter().find(|plan| plan.id == *id)
    }

    /// Some limit is configured.
    pub fn has_quotas(&self) -> bool {
        self.global_quotas.service_instances.is_some()
            || !self.global_quotas.resources.is_empty()
            || self.plans.iter().any(|plan| plan.quotas.limits_something())
    }

    /// The properties that an adapter sees: the global ones overlaid by the plan's, top-level keys only.
    pub fn properties(&self, plan: &Plan) -> Map<String, Value> {
        let mut properties = self.global_properties.clone();
        properties.extend(plan.properties.clone());
        properties
    }
}

pub(super) fn read(section: &Section<'_>) -> Option<Offering> {
    let id = name(section, "id", "an id that never changes, best a UUID");
    let name = name(section, "service_name", "the name in the marketplace");
    let description = description(section, "service_description");
    let tags = tags(section);
    let requires = requirements(section);
    let global = MaintenanceInfo::read(&section.section("maintenance_info"));
    let metadata = metadata(&section.section("metadata"));
    let dashboard_client = section.section("dashboard_client");
    let dashboard_client = dashboard_client.optional(self::dashboard_client);
    let global_quotas = global_quotas(&section.section("global_quotas"));
    let plans = plans(section, &global);
    let bindable = section.flag("bindable");
    let bindings_retrievable = section.flag("bindings_retrievable");
    let plan_updatable = section.flag("plan_updatable");
    for key in ["bindable", "plan_updatable"] {
        if !section.is_there(key) {
            let wrong = "is missing and counts as `false`";
            section.warning(key, (wrong, "say `true` or `false`"));
        }
    }
    let global_properties = section.free_map("global_properties");
    section.warn_unknown_keys();
    // Everything has been read, so that no error hides another.
    Some(Offering {
        id: id?.into(),
        name: name?,
        description: description?,
        bindable,
        bindings_retrievable,
        plan_updatable,
        tags: tags?,
        requires: requires?,
        metadata,
        dashboard_client: dashboard_client.ok()?,
        global_properties,
        global_quotas: global_quotas?,
        plans: plans?,
    })
}

/// A required name or id: not only blanks.
pub(super) fn name(section: &Section<'_>, key: &str, right: &str) -> Option<String> {
    let found = section.required_text(key, right)?;
    if found.value.trim().is_empty() {
        return section.refuse_value(&found, ("is blank", "platforms refuse that"));
    }
    Some(found.value)
}

/// A required description.
pub(super) fn description(section: &Section<'_>, key: &str) -> Option<String> {
    let found = section.required_text(key, "a sentence for the marketplace")?;
    let length = found.value.chars().count();
    if length > DESCRIPTION_CHARACTERS {
        let right = format!("platforms take {DESCRIPTION_CHARACTERS}");
        return section.refuse_value(&found, (format!("has {length} characters"), right));
    }
    Some(found.value)
}

fn tags(section: &Section<'_>) -> Option<Vec<String>> {
    let tags = section.plain_texts("tags");
    let length: usize = tags.iter().map(|tag| tag.chars().count()).sum();
    if length > TAGS_CHARACTERS {
        let wrong = format!("have {length} characters together");
        let right = format!("platforms take {TAGS_CHARACTERS}");
        return section.refuse("tags", (wrong, right));
    }
    Some(tags)
}

/// The requirements of an offering on the platform.
fn requirements(section: &Section<'_>) -> Option<Vec<String>> {
    let found = section.texts("requires");
    let mut known = Some(());
    for wanted in &found {
        if !REQUIREMENTS.contains(&wanted.value.as_str()) {
            let right = format!("platforms know `{}`", REQUIREMENTS.join("`, `"));
            known = section.refuse_value(wanted, (wanted.quoted(), right));
        }
    }
    known.map(|()| found.into_iter().map(|wanted| wanted.value).collect())
}

fn plans(section: &Section<'_>, global: &MaintenanceInfo) -> Option<Vec<Plan>> {
    let sections = section.sections("plans");
    if sections.is_empty() {
        return section.refuse("plans", ("is empty", "give at least one plan"));
    }
    let plans = section.each("plans", |section| plan::read(section, global));
    let ids = distinct(&sections, "plan_id", "each plan has its own");
    let names = distinct(&sections, "name", "each plan has its own");
    let own_ids = differ_from_the_offering(section, &sections);
    ids.and(names).and(own_ids).and(plans)
}

/// The specification has every id of a catalog be unique, offerings and plans together.
fn differ_from_the_offering(offering: &Section<'_>, plans: &[Section<'_>]) -> Option<()> {
    let id = offering.plain_text("id");
    let mut all = Some(());
    for plan in plans {
        if let Some(found) = plan.text("plan_id")
            && Some(&found.value) == id.as_ref()
        {
            let wrong = "is also `service_catalog.id`, the id of the service offering";
            all = plan.refuse_value(&found, (wrong, "give the plan an id of its own"));
        }
    }
    all
}

/// The first limit in the file, even if the catalog has other errors.
pub(super) fn first_limit(section: &Section<'_>) -> Option<Found<()>> {
    let global = section.section("global_quotas");
    let resources = global.named_sections("resources");
    let instances =
        |quotas: &Section<'_>| quotas.number("service_instance_limit").map(Found::location);
    let of_plan = |plan: &Section<'_>| {
        let quotas = plan.section("quotas");
        let limits = quotas.named_sections("resources");
        let mut limits = limits
            .iter()
            .filter_map(|(_, resource)| resource.number("limit"));
        instances(&quotas).or_else(|| limits.find(|limit| limit.value > 0).map(Found::location))
    };
    instances(&global)
        .or_else(|| resources.first().map(|(_, resource)| resource.here()))
        .or_else(|| section.sections("plans").iter().find_map(of_plan))
}

/// The marketplace's spelling of the keys (`spec/contracts/broker-behaviour.md` §3.2). Additional keys are passed on
/// and take precedence.
fn metadata(section: &Section<'_>) -> Map<String, Value> {
    let mut metadata = Map::new();
    for (key, wire) in [
        ("display_name", "displayName"),
        ("image_url", "imageUrl"),
        ("long_description", "longDescription"),
        ("provider_display_name", "providerDisplayName"),
        ("documentation_url", "documentationUrl"),
        ("support_url", "supportUrl"),
    ] {
        if let Some(text) = section.plain_text(key) {
            metadata.insert(wire.to_owned(), text.into());
        }
    }
    let shareable = section.flag("shareable");
    metadata.insert("shareable".to_owned(), shareable.into());
    metadata.extend(section.remaining());
    metadata
}

fn dashboard_client(section: &Section<'_>) -> Option<DashboardClient> {
    let id = section.required_text("id", "the id of a UAA client");
    let secret = section.required_text("secret", "that client's secret");
    let right = "where a sign-on may return to, such as `https://dashboard.example.com`";
    let redirect_uri = section.required_text("redirect_uri", right);
    section.warn_unknown_keys();
    Some(DashboardClient {
        id: id?.value,
        secret: secret?.value.into(),
        redirect_uri: redirect_uri?.value,
    })
}

fn global_quotas(section: &Section<'_>) -> Option<GlobalQuotas> {
    // A missing limit blocks every plan with a cost, as with the Go broker.
    let limit = |resource: &Section<'_>| Some(plan::limit(resource, "limit").ok()?.unwrap_or(0));
    let (service_instances, resources) = plan::quotas(section, limit)?;
    Some(GlobalQuotas {
        service_instances,
        resources,
    })
}
