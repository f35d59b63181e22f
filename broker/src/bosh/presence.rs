//! What the latest operation on an instance means for the place that it takes among all instances.

use odb_api_types::ids::PlanId;
use tokio::time::Instant;

use super::{Marker, OperationKind, Outcome, operation::SnapshotState};

/// What is known here of an instance's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// The plan that the latest operation is about; a token of a Go broker does not tell.
    pub plan: Option<PlanId>,
    /// What the operation means.
    pub kind: PresenceKind,
    /// When this process began with the operation; absent for what a marker tells.
    pub since: Option<Instant>,
}

/// What the latest operation on an instance means for its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PresenceKind {
    /// It is being made, or brought to the plan.
    Arriving,
    /// It is there, on the plan.
    Arrived,
    /// A change or a deletion has failed: it is there, and the platform goes by the plan from before.
    Remaining,
    /// It is being deleted.
    Leaving,
    /// It has been deleted, or never came about.
    Absent,
}

impl Presence {
    /// What a marker tells.
    pub(super) fn remembered(marker: &Marker) -> Self {
        let kind = match &marker.outcome {
            None => going_on(marker.operation),
            Some(outcome) => ended(marker.operation, outcome),
        };
        Self {
            plan: Some(marker.plan.clone()).filter(PlanId::is_known),
            kind,
            since: None,
        }
    }
}

impl Presence {
    /// What a marker tells of an operation that was never handed over.
    pub(super) fn never_began(marker: &Marker) -> Self {
        Self {
            plan: marker.settled_plan().cloned(),
            kind: PresenceKind::of(marker.operation, &SnapshotState::NeverSubmitted),
            since: None,
        }
    }
}

impl PresenceKind {
    /// What an operation of this kind means that has got so far.
    pub(super) fn of(operation: OperationKind, state: &SnapshotState) -> Self {
        match state {
            SnapshotState::InProgress(_) => going_on(operation),
            SnapshotState::Ended { outcome, .. } => ended(operation, outcome),
            SnapshotState::NeverSubmitted if operation == OperationKind::Create => Self::Absent,
            SnapshotState::NeverSubmitted => Self::Remaining,
        }
    }
}

fn going_on(operation: OperationKind) -> PresenceKind {
    if operation.deletes() {
        PresenceKind::Leaving
    } else {
        PresenceKind::Arriving
    }
}

fn ended(operation: OperationKind, outcome: &Outcome) -> PresenceKind {
    match outcome {
        Outcome::Succeeded { .. } if operation.deletes() => PresenceKind::Absent,
        Outcome::Succeeded { .. } => PresenceKind::Arrived,
        Outcome::Failed { .. } if operation == OperationKind::Create => PresenceKind::Absent,
        Outcome::Failed { .. } => PresenceKind::Remaining,
    }
}

#[cfg(test)]
mod tests {
    use odb_platform::director::ContextId;
    use serde_json::{Map, Value};

    use super::*;
    use crate::bosh::{RequestDigest, RequestIdentity, marker::NewMarker};
    use odb_api_types::ids::RequestId;

    fn marker(operation: OperationKind, previous: Option<&str>) -> Marker {
        let mut marker = Marker::new(NewMarker {
            offering: "redis".to_owned().into(),
            plan: "large".to_owned().into(),
            operation,
            context: ContextId::random(),
            request: RequestId::random(),
            target: None,
            errands: Vec::new(),
            digest: RequestDigest::new(RequestIdentity(&Value::Null)),
            dashboard_url: None,
            labels: Map::new(),
        });
        marker.previous_plan = previous.map(|plan| plan.to_owned().into());
        marker
    }

    #[test]
    fn an_order_that_was_given_up_takes_no_place_and_a_move_leaves_the_instance_where_it_was() {
        for (operation, previous, plan, kind) in [
            (OperationKind::Create, None, "large", PresenceKind::Absent),
            (
                OperationKind::Update,
                Some("small"),
                "small",
                PresenceKind::Remaining,
            ),
            (
                OperationKind::Delete,
                None,
                "large",
                PresenceKind::Remaining,
            ),
        ] {
            let presence = Presence::never_began(&marker(operation, previous));
            assert_eq!(presence.plan, Some(plan.to_owned().into()));
            assert_eq!(presence.kind, kind, "{operation}");
        }
    }
}
