use odb_config::{GlobalQuotas, MaintenanceInfo, Plan, PlanQuotas, ResourceQuota};
use proptest::prelude::*;

use super::*;

const SMALL: &str = "small";
const LARGE: &str = "large";
const RETIRED: &str = "retired";

fn id(plan: &str) -> PlanId {
    PlanId::from(plan.to_owned())
}

/// An instance limit and resources, each with its limit and cost.
type Quotas<'a> = (Option<u64>, &'a [(&'a str, u64, u64)]);

fn plan(name: &str, (service_instances, resources): Quotas<'_>) -> Plan {
    let resources = resources
        .iter()
        .map(|(name, limit, cost)| {
            let quota = ResourceQuota {
                limit: *limit,
                cost: *cost,
            };
            ((*name).to_owned(), quota)
        })
        .collect();
    Plan {
        quotas: PlanQuotas {
            service_instances,
            resources,
        },
        id: id(name),
        name: name.to_owned(),
        description: "A plan".to_owned(),
        free: None,
        bindable: None,
        metadata: serde_json::Map::new(),
        properties: serde_json::Map::new(),
        instance_groups: Vec::new(),
        update: None,
        lifecycle_errands: odb_adapter_sdk::protocol::LifecycleErrands::default(),
        dns_bindings: Vec::new(),
        maintenance_info: MaintenanceInfo::default(),
    }
}

fn offering(
    small: Quotas<'_>,
    large: Quotas<'_>,
    global: (Option<u64>, &[(&str, u64)]),
) -> Offering {
    let (service_instances, resources) = global;
    Offering {
        global_quotas: GlobalQuotas {
            service_instances,
            resources: resources
                .iter()
                .map(|(name, limit)| ((*name).to_owned(), *limit))
                .collect(),
        },
        id: "service".to_owned().into(),
        name: "service".to_owned(),
        description: "A service".to_owned(),
        bindable: true,
        bindings_retrievable: false,
        plan_updatable: true,
        tags: Vec::new(),
        requires: Vec::new(),
        metadata: serde_json::Map::new(),
        dashboard_client: None,
        global_properties: serde_json::Map::new(),
        plans: vec![plan(SMALL, small), plan(LARGE, large)],
    }
}

fn usage(plans: &[(&str, u64)]) -> Usage {
    let mut usage = Usage::default();
    for (plan, count) in plans {
        usage.add([id(plan)].into(), *count);
    }
    usage
}

fn rejection(offering: &Offering, plan: &str, usage: &Usage) -> String {
    match check_quotas(offering, &id(plan), usage) {
        Ok(()) => String::new(),
        Err(exceeded) => exceeded.to_string(),
    }
}

#[test]
fn an_instance_fits_as_long_as_no_limit_is_reached() {
    let none: Quotas<'_> = (None, &[]);
    for (name, small, large, global, used, refused) in [
        (
            "no limits",
            none,
            none,
            (None, &[][..]),
            &[(SMALL, 99)][..],
            "",
        ),
        (
            "the last place of a plan",
            (Some(3), &[][..]),
            none,
            (None, &[]),
            &[(SMALL, 2), (LARGE, 9)],
            "",
        ),
        (
            "a full plan",
            (Some(3), &[]),
            none,
            (None, &[]),
            &[(SMALL, 3)],
            "plan instance limit exceeded: all 3 are taken",
        ),
        (
            "a plan that may have none",
            (Some(0), &[]),
            none,
            (None, &[]),
            &[],
            "plan instance limit exceeded: all 0 are taken",
        ),
        (
            "the last place of all",
            none,
            none,
            (Some(5), &[]),
            &[(SMALL, 2), (LARGE, 2)],
            "",
        ),
        (
            "instances of retired plans",
            none,
            none,
            (Some(5), &[]),
            &[(SMALL, 2), (RETIRED, 3)],
            "global instance limit exceeded: all 5 are taken",
        ),
        // Each plan's own number at its own cost: 4 of 2 and 1 of 5 leave room for one of 2, and no more.
        (
            "the last of a resource",
            (None, &[("ips", 0, 2)]),
            (None, &[("ips", 0, 5)]),
            (None, &[("ips", 15)]),
            &[(SMALL, 4), (LARGE, 1)],
            "",
        ),
        (
            "a resource that is used up",
            (None, &[("ips", 0, 2)]),
            (None, &[("ips", 0, 5)]),
            (None, &[("ips", 14)]),
            &[(SMALL, 4), (LARGE, 1)],
            "global quotas [ips: (limit 14, used 13, requires 2)]",
        ),
        (
            "what costs nothing fits a resource that is used up",
            none,
            (None, &[("ips", 0, 5)]),
            (None, &[("ips", 5)]),
            &[(LARGE, 1)],
            "",
        ),
        (
            "a plan's own resource",
            (None, &[("ips", 6, 2)]),
            none,
            (None, &[]),
            &[(SMALL, 3)],
            "plan quotas [ips: (limit 6, used 6, requires 2)]",
        ),
        (
            "a plan's resource without a limit",
            (None, &[("ips", 0, 2)]),
            none,
            (None, &[]),
            &[(SMALL, 99)],
            "",
        ),
    ] {
        let offering = offering(small, large, global);
        assert_eq!(rejection(&offering, SMALL, &usage(used)), refused, "{name}");
    }
}

#[test]
fn everything_that_is_broken_is_reported_in_the_order_of_the_reference() {
    let offering = offering(
        (Some(1), &[("ips", 1, 1), ("memory", 4, 4)]),
        (None, &[]),
        (Some(1), &[("ips", 1), ("memory", 4)]),
    );
    assert_eq!(
        rejection(&offering, SMALL, &usage(&[(SMALL, 1)])),
        "plan instance limit exceeded: all 1 are taken, global instance limit exceeded: all 1 are taken, \
         global quotas [ips: (limit 1, used 1, requires 1)], global quotas [memory: (limit 4, used 4, requires 4)], \
         plan quotas [ips: (limit 1, used 1, requires 1)], plan quotas [memory: (limit 4, used 4, requires 4)]"
    );
}

#[test]
fn an_instance_that_is_being_moved_takes_a_location_on_both_plans_and_one_of_all() {
    let mut usage = Usage::default();
    usage.add([id(SMALL), id(LARGE)].into(), 1);
    assert_eq!((usage.of(&id(SMALL)), usage.of(&id(LARGE))), (1, 1));
    assert_eq!(usage.total(), 1);
    let dear = offering(
        (None, &[("ips", 0, 2)]),
        (None, &[("ips", 0, 5)]),
        (None, &[("ips", 6)]),
    );
    assert_eq!(
        rejection(&dear, SMALL, &usage),
        "global quotas [ips: (limit 6, used 5, requires 2)]"
    );
}

#[test]
fn only_the_numbers_that_a_limit_is_held_against_are_needed() {
    let of = |plan: &str| Total::OfPlan(id(plan));
    let none: Quotas<'_> = (None, &[]);
    for (small, large, global, needed) in [
        (none, none, (None, &[][..]), vec![]),
        (
            (Some(3), &[][..]),
            (Some(4), &[][..]),
            (None, &[]),
            vec![of(SMALL)],
        ),
        (none, none, (Some(3), &[]), vec![Total::OfAll]),
        ((None, &[("ips", 9, 1)]), none, (None, &[]), vec![of(SMALL)]),
        // Nothing that costs nothing can be too much.
        ((None, &[("ips", 9, 0)]), none, (None, &[]), vec![]),
        ((None, &[("ips", 0, 1)]), none, (None, &[]), vec![]),
        (
            (None, &[("ips", 0, 1)]),
            (None, &[("ips", 0, 5)]),
            (None, &[("ips", 9)]),
            vec![of(LARGE), of(SMALL)],
        ),
        (
            none,
            (None, &[("ips", 0, 5)]),
            (None, &[("ips", 9)]),
            vec![],
        ),
    ] {
        let offering = offering(small, large, global);
        let needed: BTreeSet<Total> = needed.into_iter().collect();
        assert_eq!(totals_needed(&offering, &id(SMALL)), needed);
    }
}

fn limits() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(0_u64..6)
}

fn offerings() -> impl Strategy<Value = Offering> {
    let quotas = || (limits(), 0_u64..8, 0_u64..4);
    (quotas(), quotas(), limits(), prop::option::of(0_u64..20)).prop_map(
        |(small, large, all, ips)| {
            let resources = |limit, cost| [("ips", limit, cost)];
            let (small_ips, large_ips) = (resources(small.1, small.2), resources(large.1, large.2));
            let global: Vec<_> = ips.into_iter().map(|limit| ("ips", limit)).collect();
            offering((small.0, &small_ips), (large.0, &large_ips), (all, &global))
        },
    )
}

proptest! {
    #[test]
    fn orders_one_after_the_other_break_no_limit(
        offering in offerings(),
        orders in prop::collection::vec(any::<bool>(), 0..24),
    ) {
        let mut usage = Usage::default();
        for is_large in orders {
            let plan = id(if is_large { LARGE } else { SMALL });
            if check_quotas(&offering, &plan, &usage).is_ok() {
                usage.add([plan].into(), 1);
            }
        }
        for plan in &offering.plans {
            let count = usage.of(&plan.id);
            prop_assert!(plan.quotas.service_instances.is_none_or(|limit| count <= limit));
            for quota in plan.quotas.resources.values().filter(|quota| quota.limit > 0) {
                prop_assert!(count * quota.cost <= quota.limit);
            }
        }
        prop_assert!(offering.global_quotas.service_instances.is_none_or(|limit| usage.total() <= limit));
        for (name, limit) in &offering.global_quotas.resources {
            let used: u64 = offering.plans.iter().map(|plan| usage.of(&plan.id) * plan.quotas.cost(name)).sum();
            prop_assert!(used <= *limit);
        }
    }

    #[test]
    fn fewer_instances_never_leave_less_room(
        offering in offerings(), small in 0_u64..8, large in 0_u64..8, fewer in 0_u64..8,
    ) {
        let full = usage(&[(SMALL, small), (LARGE, large)]);
        let emptier = usage(&[(SMALL, small.saturating_sub(fewer)), (LARGE, large)]);
        for plan in [SMALL, LARGE] {
            if check_quotas(&offering, &id(plan), &full).is_ok() {
                prop_assert!(check_quotas(&offering, &id(plan), &emptier).is_ok());
            }
        }
    }

    #[test]
    fn what_is_not_needed_does_not_matter(
        offering in offerings(), small in 0_u64..8, large in 0_u64..8,
    ) {
        let whole = usage(&[(SMALL, small), (LARGE, large)]);
        for plan in [SMALL, LARGE] {
            let needed = totals_needed(&offering, &id(plan));
            let mut partial = Usage::default();
            let mut counted = 0;
            for total in &needed {
                if let Total::OfPlan(plan) = total {
                    partial.add([plan.clone()].into(), whole.of(plan));
                    counted += whole.of(plan);
                }
            }
            if needed.contains(&Total::OfAll) {
                partial.add(BTreeSet::new(), whole.total() - counted);
            }
            prop_assert_eq!(
                check_quotas(&offering, &id(plan), &whole),
                check_quotas(&offering, &id(plan), &partial)
            );
        }
    }
}
