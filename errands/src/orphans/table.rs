//! The table of orphans.

use odb_api_types::management::{
    OperationState, OrphanDeployment, OrphanOperation, OrphanReason, Owner,
};

use crate::{Dependencies, console::harmless, report::table_lines};

const HEAD: [&str; 5] = [
    "deployment",
    "owner",
    "last change",
    "why",
    "last operation",
];

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

pub(super) fn show(dependencies: &Dependencies, orphans: &[OrphanDeployment]) {
    if orphans.is_empty() {
        return;
    }
    dependencies.console.log(match orphans {
        [_] => "1 orphan:".to_owned(),
        _ => format!("{} orphans:", orphans.len()),
    });
    for line in lines(orphans) {
        dependencies.console.screen().line(&line);
    }
}

fn lines(orphans: &[OrphanDeployment]) -> Vec<String> {
    table_lines(HEAD.to_vec(), rows(orphans))
}

/// The cells of orphans: deployment, owner, age, reason and last operation.
pub fn rows(orphans: &[OrphanDeployment]) -> Vec<Vec<String>> {
    orphans.iter().map(row).collect()
}

fn row(orphan: &OrphanDeployment) -> Vec<String> {
    let owner = match orphan.owner {
        Owner::ThisBroker => "this broker",
        Owner::AnotherBroker => "another broker",
        Owner::Unknown => "unknown",
    };
    vec![
        orphan.deployment_name.clone(),
        owner.to_owned(),
        orphan.age_seconds.map_or_else(|| "?".to_owned(), age),
        why(orphan.reason).to_owned(),
        orphan
            .last_operation
            .as_ref()
            .map_or_else(String::new, operation),
    ]
}

fn why(reason: OrphanReason) -> &'static str {
    match reason {
        OrphanReason::PurgedInPlatform => "the platform does not have it",
        OrphanReason::CreateFailed => "its creation failed",
        OrphanReason::DeleteFailed => "its deletion failed",
        OrphanReason::BeingDeleted => "it is being deleted",
        OrphanReason::OfferingUnknownToPlatform => "the platform has no plan of the offering",
        OrphanReason::Unknown => "unknown",
    }
}

fn operation(operation: &OrphanOperation) -> String {
    let state = match operation.state {
        OperationState::InProgress => "in progress",
        OperationState::Succeeded => "succeeded",
        OperationState::Failed => "failed",
    };
    match (operation.kind, &operation.description) {
        (Some(kind), _) => format!("{kind} {state}"),
        // The Director's own words.
        (None, Some(description)) => harmless(&format!("{description}: {state}")),
        (None, None) => state.to_owned(),
    }
}

/// In the largest unit that fits.
fn age(seconds: u64) -> String {
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => format!("{} h", seconds / HOUR),
        DAY.. => format!("{} d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use odb_api_types::kind::OperationKind;

    use super::*;

    fn orphan(name: &str, owner: Owner, reason: OrphanReason) -> OrphanDeployment {
        OrphanDeployment {
            deployment_name: format!("service-instance_{name}"),
            service_instance_id: name.to_owned().try_into().unwrap(),
            owner,
            reason,
            since: None,
            age_seconds: None,
            last_operation: None,
            plan_id: None,
        }
    }

    #[test]
    fn a_table_says_whose_they_are_how_old_and_why() {
        let purged = OrphanDeployment {
            age_seconds: Some(3 * 86_400 + 5),
            last_operation: Some(OrphanOperation {
                kind: Some(OperationKind::Create),
                state: OperationState::Succeeded,
                description: None,
            }),
            ..orphan("one", Owner::ThisBroker, OrphanReason::PurgedInPlatform)
        };
        let unmarked = orphan("another", Owner::Unknown, OrphanReason::Unknown);
        assert_eq!(
            lines(&[purged, unmarked]),
            [
                "deployment                owner        last change  why                            last operation",
                "service-instance_one      this broker  3 d          the platform does not have it  create succeeded",
                "service-instance_another  unknown      ?            unknown",
            ]
        );
    }

    #[test]
    fn ages_are_reported_in_the_largest_unit_that_fits() {
        for (seconds, reported) in [
            (59, "59 s"),
            (60, "1 min"),
            (3_600, "1 h"),
            (86_399, "23 h"),
            (864_000, "10 d"),
        ] {
            assert_eq!(age(seconds), reported);
        }
    }
}
