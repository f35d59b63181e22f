//! Sets the access to each plan.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use odb_api_types::ids::OfferingId;
use odb_clients::cloud_controller::{
    CfBroker, CloudController, OfferedPlan, OrganizationGuid, PlanVisibility, WantedVisibility,
};
use odb_config::errands::{PlanAccess, RegisteredPlan};

use super::request_call;
use crate::Console;

/// Up to this many organizations are read one by one for their names.
const MOST_LOOKED_UP: usize = 20;

pub(super) struct Wanted {
    plan: String,
    /// The access, also in words; without it the access stays as it is.
    access: Option<(WantedVisibility, String)>,
}

/// How many plans were given another access, and how many had theirs already.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) changed: usize,
    pub(super) left: usize,
}

pub(super) async fn look_up(
    cloud_controller: &CloudController,
    plans: &[RegisteredPlan],
) -> anyhow::Result<Vec<Wanted>> {
    let mut known: BTreeMap<&str, OrganizationGuid> = BTreeMap::new();
    let mut wanted = Vec::new();
    for plan in plans {
        let access = match &plan.access {
            PlanAccess::Manual => None,
            PlanAccess::Enable => Some((WantedVisibility::Public, "public".to_owned())),
            PlanAccess::Disable => Some((WantedVisibility::Admin, "none".to_owned())),
            PlanAccess::OrgRestricted(organizations) => {
                let mut names = BTreeSet::new();
                let mut guids = BTreeSet::new();
                for name in organizations.iter().map(String::as_str) {
                    if !known.contains_key(name) {
                        known.insert(name, organization(cloud_controller, name, plan).await?);
                    }
                    guids.insert(known[name].clone());
                    names.insert(name);
                }
                let words = restricted(names.into_iter().collect());
                Some((WantedVisibility::Organizations(guids), words))
            }
        };
        wanted.push(Wanted {
            plan: plan.name.clone(),
            access,
        });
    }
    Ok(wanted)
}

async fn organization(
    cloud_controller: &CloudController,
    name: &str,
    plan: &RegisteredPlan,
) -> anyhow::Result<OrganizationGuid> {
    let found = cloud_controller
        .organization_named(&request_call(), name)
        .await
        .with_context(|| format!("failed to look up the org with name \"{name}\""))?;
    found.with_context(|| {
        let plan = &plan.name;
        format!(
            "failed to find org with name \"{name}\" for the plan `{plan}`; nothing was changed"
        )
    })
}

/// The plans of the offering, of this broker and of no other.
pub(super) async fn plans(
    cloud_controller: &CloudController,
    broker: &CfBroker,
    offering: &OfferingId,
) -> anyhow::Result<Vec<OfferedPlan>> {
    let mut plans = cloud_controller
        .plans_of_broker(&request_call(), &broker.guid)
        .await
        .with_context(|| format!("failed to list the plans of service broker {}", broker.name))?;
    plans.retain(|plan| plan.offering == offering.as_str());
    Ok(plans)
}

/// Sets the access of each plan, in the order of the file, and reports the changes. All plans are found before the
/// first change. A dry run reports what would change, where the platform may not have the plans yet.
pub(super) async fn settle(
    cloud_controller: &CloudController,
    wanted: &[Wanted],
    offered: &[OfferedPlan],
    is_dry: bool,
    console: &Console,
) -> anyhow::Result<Settled> {
    let missing = wanted
        .iter()
        .find(|wanted| find(&wanted.plan, offered).is_none());
    if let Some(missing) = missing.filter(|_| !is_dry) {
        bail!(not_found(&missing.plan, offered));
    }
    let mut settled = Settled::default();
    for Wanted { plan: name, access } in wanted {
        let Some((visibility, then)) = access else {
            console.log(format_args!(
                "plan `{name}`: access is unchanged: it is managed by hand (`manual`)"
            ));
            settled.left += 1;
            continue;
        };
        let Some(plan) = find(name, offered) else {
            console.log(format_args!(
                "plan `{name}`: the platform does not have it yet; access would be {then}"
            ));
            continue;
        };
        let failed = || {
            format!(
                "failed to update service access for plan {} (`{name}`)",
                plan.guid
            )
        };
        let call = request_call();
        let before = cloud_controller.plan_visibility(&call, &plan.guid);
        let mut before = before.await.with_context(failed)?;
        if visibility.is(&before) {
            settled.left += 1;
            console.log(if is_dry {
                format!("plan `{name}`: access is already {then}")
            } else {
                format!("plan `{name}`: access is {then}, as before")
            });
            continue;
        }
        name_organizations(cloud_controller, &mut before).await;
        let before = in_words(&before);
        if is_dry {
            console.log(format_args!(
                "plan `{name}`: access is {before}, would be {then}"
            ));
            continue;
        }
        cloud_controller
            .set_plan_visibility(&request_call(), &plan.guid, visibility)
            .await
            .with_context(failed)?;
        settled.changed += 1;
        console.log(format_args!(
            "plan `{name}`: access was {before}, is now {then}"
        ));
    }
    Ok(settled)
}

/// Looks up names where version 2 of the API returns only ids. They are only for messages, so a failure is ignored.
async fn name_organizations(cloud_controller: &CloudController, visibility: &mut PlanVisibility) {
    let PlanVisibility::Organizations(organizations) = visibility else {
        return;
    };
    let unnamed = organizations.iter_mut().filter(|(_, name)| name.is_none());
    for (guid, name) in unnamed.take(MOST_LOOKED_UP) {
        let found = cloud_controller
            .organization_name(&request_call(), guid)
            .await;
        *name = found.unwrap_or_default();
    }
}

/// One that the catalog still has comes before one that stays for its instances alone.
fn find<'o>(name: &str, offered: &'o [OfferedPlan]) -> Option<&'o OfferedPlan> {
    let named = || offered.iter().filter(|plan| plan.name == name);
    named()
        .find(|plan| plan.is_active)
        .or_else(|| named().next())
}

fn not_found(name: &str, offered: &[OfferedPlan]) -> String {
    let names = offered.iter().map(|plan| format!("`{}`", plan.name));
    let names: Vec<_> = names.collect();
    let there = if names.is_empty() {
        "this broker's catalog has no plans of the offering `service_offering_id`".to_owned()
    } else {
        format!("the offering has {}", names.join(", "))
    };
    format!("planID \"{name}\" not found while updating plan access; {there}")
}

fn in_words(visibility: &PlanVisibility) -> String {
    match visibility {
        PlanVisibility::Public => "public".to_owned(),
        PlanVisibility::Admin => "none".to_owned(),
        PlanVisibility::Organizations(organizations) => {
            let names = organizations
                .iter()
                .map(|(guid, name)| name.as_deref().unwrap_or(guid.as_str()));
            restricted(names.collect())
        }
        PlanVisibility::Space => "restricted to one space".to_owned(),
        PlanVisibility::Unknown(kind) => format!("`{kind}`"),
    }
}

fn restricted(mut organizations: Vec<&str>) -> String {
    organizations.sort_unstable();
    let noun = if organizations.len() == 1 {
        "organization"
    } else {
        "organizations"
    };
    format!("restricted to the {noun} `{}`", organizations.join("`, `"))
}
