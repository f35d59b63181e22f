//! Sets the access to each plan.

use std::collections::{BTreeMap, BTreeSet};

use odb_api_types::ids::OfferingId;
use odb_clients::{
    ServiceError,
    cloud_controller::{
        CfBroker, CloudController, OfferedPlan, OrganizationGuid, PlanVisibility, WantedVisibility,
    },
};
use odb_config::{errands::PlanAccess, errands::RegisteredPlan};

use super::{RegisterError, request_call};
use crate::Console;

/// Up to this many organizations are read one by one for their names.
const MOST_LOOKED_UP: usize = 20;

/// The desired access to a plan.
pub(super) struct Wanted {
    plan: String,
    visibility: WantedAccess,
}

enum WantedAccess {
    /// The access stays as it is.
    AsItIs,
    To {
        visibility: WantedVisibility,
        /// The names of the organizations, as the file has them.
        names: BTreeMap<OrganizationGuid, String>,
    },
}

/// How many plans were given another access, and how many had theirs already.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) changed: usize,
    pub(super) left: usize,
}

/// Reads the organizations of the file.
pub(super) async fn look_up(
    cloud_controller: &CloudController,
    plans: &[RegisteredPlan],
) -> Result<Vec<Wanted>, RegisterError> {
    let mut known = BTreeMap::new();
    let mut wanted = Vec::new();
    for plan in plans {
        let (visibility, names) = match &plan.access {
            PlanAccess::Manual => {
                wanted.push(Wanted {
                    plan: plan.name.clone(),
                    visibility: WantedAccess::AsItIs,
                });
                continue;
            }
            PlanAccess::Enable => (WantedVisibility::Public, BTreeMap::new()),
            PlanAccess::Disable => (WantedVisibility::Admin, BTreeMap::new()),
            PlanAccess::OrgRestricted(organizations) => {
                let mut names = BTreeMap::new();
                for name in organizations {
                    if !known.contains_key(name) {
                        let guid = organization(cloud_controller, name, &plan.name).await?;
                        known.insert(name.clone(), guid);
                    }
                    names.insert(known[name].clone(), name.clone());
                }
                let guids: BTreeSet<_> = names.keys().cloned().collect();
                (WantedVisibility::Organizations(guids), names)
            }
        };
        wanted.push(Wanted {
            plan: plan.name.clone(),
            visibility: WantedAccess::To { visibility, names },
        });
    }
    Ok(wanted)
}

/// The plans of the offering, of this broker and of no other.
pub(super) async fn plans(
    cloud_controller: &CloudController,
    broker: &CfBroker,
    offering: &OfferingId,
) -> Result<Vec<OfferedPlan>, RegisterError> {
    let plans = cloud_controller
        .plans_of_broker(&request_call(), &broker.guid)
        .await;
    let mut plans = plans.map_err(|source| RegisterError::Plans {
        name: broker.name.clone(),
        source,
    })?;
    plans.retain(|plan| plan.offering == offering.as_str());
    Ok(plans)
}

/// Sets the access of each plan, in the order of the file, and reports the changes. All plans are found before the
/// first change.
pub(super) async fn settle(
    cloud_controller: &CloudController,
    wanted: &[Wanted],
    offered: &[OfferedPlan],
    console: &Console,
) -> Result<Settled, RegisterError> {
    let mut found = Vec::new();
    for wanted in wanted {
        let plan = find(&wanted.plan, offered).ok_or_else(|| not_found(&wanted.plan, offered))?;
        found.push((wanted, plan));
    }
    let mut settled = Settled::default();
    for (wanted, plan) in found {
        let name = &plan.name;
        let WantedAccess::To { visibility, names } = &wanted.visibility else {
            console.say(left_alone(name));
            settled.left += 1;
            continue;
        };
        let mut before = visibility_of(cloud_controller, plan).await?;
        if visibility.is(&before) {
            console.say(format_args!(
                "plan `{name}`: access is {}, as before",
                wanted_access(visibility, names)
            ));
            settled.left += 1;
            continue;
        }
        name_organizations(cloud_controller, &mut before).await;
        cloud_controller
            .set_plan_visibility(&request_call(), &plan.guid, visibility)
            .await
            .map_err(|source| failed(plan, source))?;
        console.say(format_args!(
            "plan `{name}`: access was {}, is now {}",
            there(&before),
            wanted_access(visibility, names)
        ));
        settled.changed += 1;
    }
    Ok(settled)
}

/// Reports what [`settle`] would change.
pub(super) async fn rehearse(
    cloud_controller: &CloudController,
    wanted: &[Wanted],
    offered: &[OfferedPlan],
    console: &Console,
) -> Result<(), RegisterError> {
    for wanted in wanted {
        let name = &wanted.plan;
        let WantedAccess::To { visibility, names } = &wanted.visibility else {
            console.say(left_alone(name));
            continue;
        };
        let then = wanted_access(visibility, names);
        let Some(plan) = find(name, offered) else {
            console.say(format_args!(
                "plan `{name}`: the platform does not have it yet; access would be {then}"
            ));
            continue;
        };
        let mut now = visibility_of(cloud_controller, plan).await?;
        if visibility.is(&now) {
            console.say(format_args!("plan `{name}`: access is already {then}"));
        } else {
            name_organizations(cloud_controller, &mut now).await;
            console.say(format_args!(
                "plan `{name}`: access is {}, would be {then}",
                there(&now)
            ));
        }
    }
    Ok(())
}

async fn organization(
    cloud_controller: &CloudController,
    name: &str,
    plan: &str,
) -> Result<OrganizationGuid, RegisterError> {
    let found = cloud_controller
        .organization_named(&request_call(), name)
        .await
        .map_err(|source| RegisterError::Organizations {
            name: name.to_owned(),
            source,
        })?;
    found.ok_or_else(|| RegisterError::NoOrganization {
        name: name.to_owned(),
        plan: plan.to_owned(),
    })
}

async fn visibility_of(
    cloud_controller: &CloudController,
    plan: &OfferedPlan,
) -> Result<PlanVisibility, RegisterError> {
    let visibility = cloud_controller
        .plan_visibility(&request_call(), &plan.guid)
        .await;
    visibility.map_err(|source| failed(plan, source))
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

fn not_found(name: &str, offered: &[OfferedPlan]) -> RegisterError {
    let there: Vec<_> = offered
        .iter()
        .map(|plan| format!("`{}`", plan.name))
        .collect();
    RegisterError::NoPlan {
        name: name.to_owned(),
        there: if there.is_empty() {
            "this broker's catalog has no plans of the offering `service_offering_id`".to_owned()
        } else {
            format!("the offering has {}", there.join(", "))
        },
    }
}

fn failed(plan: &OfferedPlan, source: ServiceError) -> RegisterError {
    RegisterError::Access {
        name: plan.name.clone(),
        guid: plan.guid.clone(),
        source,
    }
}

fn left_alone(plan: &str) -> String {
    format!("plan `{plan}`: access is unchanged: it is managed by hand (`manual`)")
}

fn wanted_access(
    visibility: &WantedVisibility,
    names: &BTreeMap<OrganizationGuid, String>,
) -> String {
    match visibility {
        WantedVisibility::Public => "public".to_owned(),
        WantedVisibility::Admin => "none".to_owned(),
        WantedVisibility::Organizations(_) => {
            restricted(names.values().map(String::as_str).collect())
        }
    }
}

fn there(visibility: &PlanVisibility) -> String {
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
