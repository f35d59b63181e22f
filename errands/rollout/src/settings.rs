//! The limits that a pass keeps.

use std::{num::NonZeroU32, time::Duration};

use crate::FailureBudget;

/// The limits of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many instances are worked on at once.
    pub max_in_flight: usize,
    /// How often an instance that is busy is tried, in each phase.
    pub attempts: u32,
    /// The pause between two attempts.
    pub attempt_pause: Duration,
    /// The pause between two polls of one operation.
    pub poll_pause: Duration,
    /// How long calls that get no answer are repeated before their instance counts as failed.
    pub timeout: Duration,
    /// How many instances may fail before no further one is begun; as many as will if there is none.
    pub budget: Option<FailureBudget>,
    /// Whether the health of instances decides if the next ones are begun.
    pub gate: Option<HealthGate>,
}

/// Instances are begun in waves, the next one when all of the last are healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthGate {
    /// How many instances a wave has; all that are left if there is no number.
    pub wave: Option<NonZeroU32>,
    /// How long a wave may take to become healthy.
    pub timeout: Duration,
}
