//! The occupancy of an instance: what its latest operation means for its quota slot.

use odb_api_types::{ids::PlanId, kind::OperationKind, management::OperationState};
use tokio::time::Instant;

/// An engine's knowledge of an instance's slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// The plan that the latest operation is about; a token of a Go broker does not name it.
    pub plan: Option<PlanId>,
    /// The meaning of the operation.
    pub kind: OccupancyKind,
    /// When this process started the operation; absent for operations of an operation record.
    pub since: Option<Instant>,
}

/// What the latest operation on an instance means for its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OccupancyKind {
    /// It is being made, or brought to the plan.
    Arriving,
    /// It is there, on the plan.
    Arrived,
    /// An update or delete has failed: the instance exists, and the platform has its previous plan.
    Remaining,
    /// It is being deleted.
    Leaving,
    /// It has been deleted, or never came about.
    Absent,
}

impl OccupancyKind {
    /// The meaning of an operation in this state.
    pub fn of(operation: OperationKind, state: OperationState) -> Self {
        match state {
            OperationState::InProgress if operation.deletes() => Self::Leaving,
            OperationState::InProgress => Self::Arriving,
            OperationState::Succeeded if operation.deletes() => Self::Absent,
            OperationState::Succeeded => Self::Arrived,
            OperationState::Failed if operation == OperationKind::Create => Self::Absent,
            OperationState::Failed => Self::Remaining,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_order_takes_no_location_and_a_failed_move_leaves_the_instance_where_it_was() {
        for (operation, kind) in [
            (OperationKind::Create, OccupancyKind::Absent),
            (OperationKind::Update, OccupancyKind::Remaining),
            (OperationKind::Delete, OccupancyKind::Remaining),
        ] {
            assert_eq!(OccupancyKind::of(operation, OperationState::Failed), kind);
        }
    }
}
