//! What an update request means (`spec/contracts/broker-behaviour.md` §3.5, `spec/contracts/osb-api.md` §6).

use odb_api_types::ids::PlanId;
use odb_config::Offering;

use super::{PlanVersion, catalog::CatalogError, check_maintenance_version};

#[derive(Clone, Copy, Debug)]
pub struct ProposedUpdate<'a> {
    /// The plan that the request names; absent: the plan stays.
    pub plan: Option<&'a PlanId>,
    pub previous_plan: Option<&'a PlanId>,
    /// Whether the request has parameters. An empty object has none: Cloud Foundry always sends one.
    pub has_parameters: bool,
    pub version: Option<&'a str>,
    pub previous_version: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateMeaning {
    /// The instance gets the requested changes, if nothing else would change.
    Update {
        plan: PlanId,
        /// To another plan, or its previous plan is unknown.
        moves: bool,
    },
    /// The instance gets the current offering; the user changes nothing.
    Upgrade {
        plan: PlanId,
    },
    Nothing,
}

pub fn meaning_of_update(
    offering: &Offering,
    proposed: &ProposedUpdate<'_>,
) -> Result<UpdateMeaning, CatalogError> {
    let plan = proposed
        .plan
        .or(proposed.previous_plan)
        .ok_or(CatalogError::NoPlan)?;
    let offered = offering
        .plan(plan)
        .ok_or_else(|| CatalogError::UnknownPlan { plan: plan.clone() })?;
    let published = PlanVersion::of(&offered.maintenance_info);
    let asked = said(proposed.version);
    check_maintenance_version(published.as_ref(), asked)?;
    let moves = proposed.previous_plan != Some(plan);
    if moves && !offering.plan_updatable {
        return Err(CatalogError::PlanNotUpdatable);
    }
    // A platform that names no version of a plan that has one wants no upgrade.
    let names_the_version = asked.is_some() || published.is_none();
    if names_the_version
        && !moves
        && !proposed.has_parameters
        && asked != said(proposed.previous_version)
    {
        return Ok(UpdateMeaning::Upgrade { plan: plan.clone() });
    }
    check_is_current(offering, proposed)?;
    if !moves && !proposed.has_parameters {
        return Ok(UpdateMeaning::Nothing);
    }
    Ok(UpdateMeaning::Update {
        plan: plan.clone(),
        moves,
    })
}

/// An instance with another version than its plan must be upgraded first. Without a version at the platform or in the
/// plan there is nothing to upgrade to.
fn check_is_current(
    offering: &Offering,
    proposed: &ProposedUpdate<'_>,
) -> Result<(), CatalogError> {
    let previous = proposed.previous_plan.and_then(|plan| offering.plan(plan));
    let published = previous.and_then(|plan| PlanVersion::of(&plan.maintenance_info));
    match (said(proposed.previous_version), published) {
        (Some(recorded), Some(published)) if !published.is_recorded_as(recorded) => {
            Err(CatalogError::UpgradeFirst {
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

    use super::*;
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
            Ok(UpdateMeaning::Update { moves: false, .. }) => Meant::Update,
            Ok(UpdateMeaning::Update { moves: true, .. }) => Meant::Move,
            Ok(UpdateMeaning::Upgrade { .. }) => Meant::Upgrade,
            Ok(UpdateMeaning::Nothing) => Meant::Nothing,
            Err(CatalogError::Maintenance(_)) => Meant::Conflict,
            Err(CatalogError::UpgradeFirst { .. }) => Meant::UpgradeFirst,
            Err(CatalogError::UnknownService { .. } | CatalogError::UnknownPlan { .. }) => {
                Meant::UnknownPlan
            }
            Err(CatalogError::NoPlan) => Meant::PlanUnknown,
            Err(CatalogError::PlanNotUpdatable) => Meant::NotUpdatable,
        }
    }

    #[test]
    fn requests_are_sorted_as_the_table_says() {
        use Meant::{
            Conflict, Move, Nothing, PlanUnknown, UnknownPlan, Update, Upgrade, UpgradeFirst,
        };
        let offering = offering(true);
        // plan, previous plan, parameters, version, previous version
        for (plan, previous, has_parameters, version, recorded, meaning) in [
            // The request of `cf update-service -c`, for an instance that is up to date, behind, or without a version.
            ("one", "one", true, "1.0.0", "1.0.0", Update),
            ("one", "one", true, "", "1.0.0", Update),
            ("one", "one", true, "", "0.9.0", UpgradeFirst),
            ("one", "one", true, "1.0.0", "0.9.0", UpgradeFirst),
            ("one", "one", true, "1.0.0", "", Update),
            ("none", "none", true, "", "", Update),
            // The request of `cf update-service -p`.
            ("two", "one", false, "2.0.0", "1.0.0", Move),
            ("two", "one", false, "2.0.0", "0.9.0", UpgradeFirst),
            ("two", "one", false, "", "0.9.0", UpgradeFirst),
            ("none", "one", false, "", "1.0.0", Move),
            ("none", "one", false, "", "0.9.0", UpgradeFirst),
            ("two", "gone", false, "2.0.0", "0.1.0", Move),
            // The request of `cf upgrade-service`.
            ("one", "one", false, "1.0.0", "0.9.0", Upgrade),
            ("one", "one", false, "1.0.0", "", Upgrade),
            ("one", "one", false, "1.0.0", "1.0.0", Nothing),
            ("none", "none", false, "", "0.9.0", Upgrade),
            ("none", "none", false, "", "", Nothing),
            // A platform that names no version of a plan that has one wants no upgrade.
            ("one", "one", false, "", "1.0.0", Nothing),
            ("one", "one", false, "", "0.9.0", UpgradeFirst),
            // The platform's catalog is old.
            ("one", "one", false, "0.9.0", "0.9.0", Conflict),
            ("none", "none", false, "1.0.0", "", Conflict),
            // Requests that the specification allows and Cloud Foundry never sends.
            ("", "one", true, "", "1.0.0", Update),
            ("", "one", false, "1.0.0", "0.9.0", Upgrade),
            ("", "", true, "", "", PlanUnknown),
            ("gone", "one", true, "", "", UnknownPlan),
            ("one", "", true, "1.0.0", "", Move),
        ] {
            let (plan, previous) = (id(plan), id(previous));
            let proposed = ProposedUpdate {
                plan: plan.as_ref(),
                previous_plan: previous.as_ref(),
                has_parameters,
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
            has_parameters: true,
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
                has_parameters: given,
                version: version.as_deref(),
                previous_version: recorded.as_deref(),
            };
            match meaning_of_update(&offering(plan_updatable), &proposed) {
                Ok(UpdateMeaning::Upgrade { plan: upgraded }) => {
                    prop_assert!(!given);
                    prop_assert_eq!(Some(&upgraded), proposed.previous_plan);
                }
                Ok(UpdateMeaning::Update { plan: updated, moves }) => {
                    prop_assert_eq!(Some(&updated), proposed.plan.or(proposed.previous_plan));
                    prop_assert_eq!(moves, Some(&updated) != proposed.previous_plan);
                    prop_assert!(!moves || plan_updatable);
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
