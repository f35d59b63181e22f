//! What an update request means (`spec/contracts/broker-behaviour.md` §3.5, `spec/contracts/osb-api.md` §6).

use odb_api_types::ids::PlanId;
use odb_config::Offering;

use super::{MaintenanceConflict, PlanVersion, catalog::CatalogError, check_maintenance_version};

/// The input for the meaning of an update request.
#[derive(Clone, Copy, Debug)]
pub struct ProposedUpdate<'a> {
    /// The plan that the request names; absent: the plan stays.
    pub plan: Option<&'a PlanId>,
    /// The previous plan of the instance, from the platform or from the operation record.
    pub previous_plan: Option<&'a PlanId>,
    /// Whether the request has parameters.
    pub parameters: RequestedParameters,
    /// The version that the request names.
    pub version: Option<&'a str>,
    /// The instance's version according to the platform.
    pub previous_version: Option<&'a str>,
}

/// Whether a request has parameters. An empty object has none: Cloud Foundry always sends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedParameters {
    /// There are some.
    Given,
    /// Those of the instance stay.
    None,
}

/// What an update request means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateMeaning {
    /// The instance gets the requested changes, if nothing else would change.
    Update {
        /// The plan it shall be on.
        plan: PlanId,
        /// Whether that is another one.
        movement: PlanMovement,
    },
    /// The instance gets the current offering; the user changes nothing.
    Upgrade {
        /// The plan it is on.
        plan: PlanId,
    },
    /// The instance already has the requested state.
    Nothing,
}

/// Whether an instance changes its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanMovement {
    /// It stays on its plan.
    Stays,
    /// It moves to another plan, or its previous plan is unknown.
    Moves,
}

/// Why a request changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateRefused {
    /// A plan is not offered.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The platform has another version of the plan.
    #[error(transparent)]
    Maintenance(#[from] MaintenanceConflict),
    /// The plan is unknown.
    #[error(
        "neither `plan_id` nor `previous_values.plan_id` is given, and the plan of the instance is not recorded"
    )]
    PlanUnknown,
    /// The offering does not allow plan changes.
    #[error("the plan of a service instance of this offering cannot be changed")]
    PlanNotUpdatable,
    /// The instance is older than its plan; another change would hide the pending ones.
    #[error(
        "the instance is at version `{recorded}` and its plan at `{published}`; it needs to be upgraded before updating"
    )]
    UpgradeFirst {
        /// The version according to the platform.
        recorded: String,
        /// The version in the catalog.
        published: PlanVersion,
    },
}

/// Sorts an update request.
pub fn meaning_of_update(
    offering: &Offering,
    proposed: &ProposedUpdate<'_>,
) -> Result<UpdateMeaning, UpdateRefused> {
    let plan = proposed
        .plan
        .or(proposed.previous_plan)
        .ok_or(UpdateRefused::PlanUnknown)?;
    let offered = offering
        .plan(plan)
        .ok_or_else(|| CatalogError::UnknownPlan { plan: plan.clone() })?;
    let published = PlanVersion::of(&offered.maintenance_info);
    let asked = said(proposed.version);
    check_maintenance_version(published.as_ref(), asked)?;
    let movement = if proposed.previous_plan == Some(plan) {
        PlanMovement::Stays
    } else {
        PlanMovement::Moves
    };
    if movement == PlanMovement::Moves && !offering.plan_updatable {
        return Err(UpdateRefused::PlanNotUpdatable);
    }
    // A platform that names no version of a plan that has one wants no upgrade.
    let names_the_version = asked.is_some() || published.is_none();
    if names_the_version
        && movement == PlanMovement::Stays
        && proposed.parameters == RequestedParameters::None
        && asked != said(proposed.previous_version)
    {
        return Ok(UpdateMeaning::Upgrade { plan: plan.clone() });
    }
    check_is_current(offering, proposed)?;
    if movement == PlanMovement::Stays && proposed.parameters == RequestedParameters::None {
        return Ok(UpdateMeaning::Nothing);
    }
    Ok(UpdateMeaning::Update {
        plan: plan.clone(),
        movement,
    })
}

/// An instance with another version than its plan must be upgraded first. Without a version at the platform or in the
/// plan there is nothing to upgrade to.
fn check_is_current(
    offering: &Offering,
    proposed: &ProposedUpdate<'_>,
) -> Result<(), UpdateRefused> {
    let previous = proposed.previous_plan.and_then(|plan| offering.plan(plan));
    let published = previous.and_then(|plan| PlanVersion::of(&plan.maintenance_info));
    match (said(proposed.previous_version), published) {
        (Some(recorded), Some(published)) if !published.is_recorded_as(recorded) => {
            Err(UpdateRefused::UpgradeFirst {
                recorded: recorded.to_owned(),
                published,
            })
        }
        (Some(_) | None, _) => Ok(()),
    }
}

/// An empty version says nothing.
fn said(version: Option<&str>) -> Option<&str> {
    version.filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{RequestedParameters::Given, *};
    use odb_config::{GlobalQuotas, MaintenanceInfo, Plan, PlanQuotas};

    fn plan(id: &str, version: Option<&str>) -> Plan {
        Plan {
            id: id.to_owned().into(),
            name: id.to_owned(),
            description: "A plan".to_owned(),
            free: None,
            bindable: None,
            metadata: serde_json::Map::new(),
            quotas: PlanQuotas::default(),
            properties: serde_json::Map::new(),
            instance_groups: Vec::new(),
            update: None,
            lifecycle_errands: odb_adapter_sdk::protocol::LifecycleErrands::default(),
            dns_bindings: Vec::new(),
            maintenance_info: MaintenanceInfo {
                version: version.map(str::to_owned),
                ..MaintenanceInfo::default()
            },
        }
    }

    /// Plans `one` at 1.0.0, `two` at 2.0.0 and `none` without a version.
    fn offering(plan_updatable: bool) -> Offering {
        Offering {
            id: "service".to_owned().into(),
            name: "service".to_owned(),
            description: "A service".to_owned(),
            bindable: true,
            bindings_retrievable: false,
            plan_updatable,
            tags: Vec::new(),
            requires: Vec::new(),
            metadata: serde_json::Map::new(),
            dashboard_client: None,
            global_properties: serde_json::Map::new(),
            global_quotas: GlobalQuotas::default(),
            plans: vec![
                plan("one", Some("1.0.0")),
                plan("two", Some("2.0.0")),
                plan("none", None),
            ],
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Meant {
        Update,
        Move,
        Upgrade,
        Nothing,
        Conflict,
        UpgradeFirst,
        UnknownPlan,
        PlanUnknown,
        NotUpdatable,
    }

    fn meant(offering: &Offering, proposed: &ProposedUpdate<'_>) -> Meant {
        match meaning_of_update(offering, proposed) {
            Ok(UpdateMeaning::Update {
                movement: PlanMovement::Stays,
                ..
            }) => Meant::Update,
            Ok(UpdateMeaning::Update {
                movement: PlanMovement::Moves,
                ..
            }) => Meant::Move,
            Ok(UpdateMeaning::Upgrade { .. }) => Meant::Upgrade,
            Ok(UpdateMeaning::Nothing) => Meant::Nothing,
            Err(UpdateRefused::Maintenance(_)) => Meant::Conflict,
            Err(UpdateRefused::UpgradeFirst { .. }) => Meant::UpgradeFirst,
            Err(UpdateRefused::Catalog(_)) => Meant::UnknownPlan,
            Err(UpdateRefused::PlanUnknown) => Meant::PlanUnknown,
            Err(UpdateRefused::PlanNotUpdatable) => Meant::NotUpdatable,
        }
    }

    #[test]
    fn requests_are_sorted_as_the_table_says() {
        use Meant::{
            Conflict, Move, Nothing, PlanUnknown, UnknownPlan, Update, Upgrade, UpgradeFirst,
        };
        let nothing = RequestedParameters::None;
        let offering = offering(true);
        // plan, previous plan, parameters, version, previous version
        for (plan, previous, parameters, version, recorded, meaning) in [
            // The request of `cf update-service -c`, for an instance that is up to date, behind, or without a version.
            ("one", "one", Given, "1.0.0", "1.0.0", Update),
            ("one", "one", Given, "", "1.0.0", Update),
            ("one", "one", Given, "", "0.9.0", UpgradeFirst),
            ("one", "one", Given, "1.0.0", "0.9.0", UpgradeFirst),
            ("one", "one", Given, "1.0.0", "", Update),
            ("none", "none", Given, "", "", Update),
            // The request of `cf update-service -p`.
            ("two", "one", nothing, "2.0.0", "1.0.0", Move),
            ("two", "one", nothing, "2.0.0", "0.9.0", UpgradeFirst),
            ("two", "one", nothing, "", "0.9.0", UpgradeFirst),
            ("none", "one", nothing, "", "1.0.0", Move),
            ("none", "one", nothing, "", "0.9.0", UpgradeFirst),
            ("two", "gone", nothing, "2.0.0", "0.1.0", Move),
            // The request of `cf upgrade-service`.
            ("one", "one", nothing, "1.0.0", "0.9.0", Upgrade),
            ("one", "one", nothing, "1.0.0", "", Upgrade),
            ("one", "one", nothing, "1.0.0", "1.0.0", Nothing),
            ("none", "none", nothing, "", "0.9.0", Upgrade),
            ("none", "none", nothing, "", "", Nothing),
            // A platform that names no version of a plan that has one wants no upgrade.
            ("one", "one", nothing, "", "1.0.0", Nothing),
            ("one", "one", nothing, "", "0.9.0", UpgradeFirst),
            // The platform's catalog is old.
            ("one", "one", nothing, "0.9.0", "0.9.0", Conflict),
            ("none", "none", nothing, "1.0.0", "", Conflict),
            // Requests that the specification allows and Cloud Foundry never sends.
            ("", "one", Given, "", "1.0.0", Update),
            ("", "one", nothing, "1.0.0", "0.9.0", Upgrade),
            ("", "", Given, "", "", PlanUnknown),
            ("gone", "one", Given, "", "", UnknownPlan),
            ("one", "", Given, "1.0.0", "", Move),
        ] {
            let (plan, previous) = (id(plan), id(previous));
            let proposed = ProposedUpdate {
                plan: plan.as_ref(),
                previous_plan: previous.as_ref(),
                parameters,
                version: Some(version),
                previous_version: Some(recorded),
            };
            assert_eq!(meant(&offering, &proposed), meaning, "{proposed:?}");
        }
    }

    #[test]
    fn an_instance_stays_on_its_plan_where_the_operator_says_so() {
        let (one, two) = (id("one"), id("two"));
        let proposed = ProposedUpdate {
            plan: two.as_ref(),
            previous_plan: one.as_ref(),
            parameters: Given,
            version: None,
            previous_version: None,
        };
        assert_eq!(meant(&offering(false), &proposed), Meant::NotUpdatable);
        let stays = ProposedUpdate {
            plan: one.as_ref(),
            ..proposed
        };
        assert_eq!(meant(&offering(false), &stays), Meant::Update);
    }

    fn id(text: &str) -> Option<PlanId> {
        (!text.is_empty()).then(|| text.to_owned().into())
    }

    proptest! {
        #[test]
        fn an_upgrade_changes_neither_plan_nor_parameters(
            plan in proptest::option::of("one|two|none|gone"),
            previous in proptest::option::of("one|two|none|gone"),
            given in any::<bool>(),
            version in proptest::option::of("|0\\.9\\.0|1\\.0\\.0|2\\.0\\.0"),
            recorded in proptest::option::of("|0\\.9\\.0|1\\.0\\.0|2\\.0\\.0"),
            plan_updatable in any::<bool>(),
        ) {
            let (plan, previous) = (plan.map(PlanId::from), previous.map(PlanId::from));
            let proposed = ProposedUpdate {
                plan: plan.as_ref(),
                previous_plan: previous.as_ref(),
                parameters: if given { Given } else { RequestedParameters::None },
                version: version.as_deref(),
                previous_version: recorded.as_deref(),
            };
            match meaning_of_update(&offering(plan_updatable), &proposed) {
                Ok(UpdateMeaning::Upgrade { plan: upgraded }) => {
                    prop_assert!(!given);
                    prop_assert_eq!(Some(&upgraded), proposed.previous_plan);
                }
                Ok(UpdateMeaning::Update { plan: updated, movement }) => {
                    prop_assert_eq!(Some(&updated), proposed.plan.or(proposed.previous_plan));
                    prop_assert_eq!(movement == PlanMovement::Stays, Some(&updated) == proposed.previous_plan);
                    prop_assert!(movement == PlanMovement::Stays || plan_updatable);
                }
                Ok(UpdateMeaning::Nothing) => {
                    prop_assert!(!given);
                    prop_assert!(proposed.plan.is_none() || proposed.plan == proposed.previous_plan);
                }
                Err(_) => {}
            }
        }
    }
}
