//! Generates a fleet, random and reproducible by its seed.

use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use uuid::{Builder, Uuid};

/// The oldest instance of a fleet is that old.
const AGE: Duration = Duration::from_hours(400 * 24);
/// Purposes of instances, for their names.
const PURPOSES: [&str; 8] = [
    "billing",
    "catalog",
    "inventory",
    "orders",
    "reports",
    "search",
    "sessions",
    "tracking",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Generated {
    pub(super) guid: Uuid,
    pub(super) name: String,
    pub(super) plan: usize,
    pub(super) space: usize,
    pub(super) condition: Condition,
    /// How long ago it was ordered.
    pub(super) age: Duration,
    /// The context id of its last operation.
    pub(super) context: Uuid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Condition {
    Well,
    /// Its deployment has no manifest, for none ever succeeded.
    CreateFailed,
    /// It has the manifest of before.
    UpdateFailed,
    DeleteFailed,
    Updating,
}

impl Condition {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Well => "created",
            Self::CreateFailed => "create failed",
            Self::UpdateFailed => "update failed",
            Self::DeleteFailed => "delete failed",
            Self::Updating => "update in progress",
        }
    }
}

/// Conditions, each with how many of a thousand are in it.
const SHARES: [(Condition, u32); 5] = [
    (Condition::Well, 940),
    (Condition::CreateFailed, 20),
    (Condition::UpdateFailed, 20),
    (Condition::DeleteFailed, 10),
    (Condition::Updating, 10),
];

/// Draws a fleet. There must be plans and spaces.
pub(super) fn generate(
    random_seed: u64,
    instances: usize,
    plans: usize,
    spaces: usize,
) -> Vec<Generated> {
    let mut random = StdRng::seed_from_u64(random_seed);
    let mut draw_one = |number| Generated {
        guid: uuid(&mut random),
        name: format!(
            "{}-{number:05}",
            PURPOSES[random.random_range(0..PURPOSES.len())]
        ),
        // The smaller of two, for the first plans are ordered most.
        plan: random
            .random_range(0..plans)
            .min(random.random_range(0..plans)),
        space: random.random_range(0..spaces),
        condition: condition(random.random_range(0..1000)),
        age: AGE.mul_f64(random.random()),
        context: uuid(&mut random),
    };
    (1..=instances).map(&mut draw_one).collect()
}

fn uuid(random: &mut impl Rng) -> Uuid {
    Builder::from_random_bytes(random.random()).into_uuid()
}

fn condition(mut of_a_thousand: u32) -> Condition {
    for (condition, share) in SHARES {
        match of_a_thousand.checked_sub(share) {
            Some(rest) => of_a_thousand = rest,
            None => return condition,
        }
    }
    Condition::Well
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_fleet_and_another_one_another() {
        assert_eq!(generate(7, 200, 2, 3), generate(7, 200, 2, 3));
        assert_ne!(generate(7, 200, 2, 3), generate(8, 200, 2, 3));
    }

    #[test]
    fn a_fleet_has_all_conditions_plans_and_spaces_and_is_mostly_well() {
        let fleet = generate(1, 5000, 3, 4);

        let conditions: BTreeSet<_> = fleet.iter().map(|generated| generated.condition).collect();
        assert_eq!(conditions.len(), SHARES.len());
        let plans: BTreeSet<_> = fleet.iter().map(|generated| generated.plan).collect();
        assert_eq!(plans, BTreeSet::from([0, 1, 2]));
        let spaces: BTreeSet<_> = fleet.iter().map(|generated| generated.space).collect();
        assert_eq!(spaces, BTreeSet::from([0, 1, 2, 3]));
        let well = fleet
            .iter()
            .filter(|generated| generated.condition == Condition::Well);
        assert!(well.count() > 4500);
        let names: BTreeSet<_> = fleet.iter().map(|generated| &generated.name).collect();
        assert_eq!(names.len(), 5000);
    }

    #[test]
    fn the_shares_are_those_of_a_thousand() {
        assert_eq!(SHARES.iter().map(|(_, share)| share).sum::<u32>(), 1000);
    }
}
