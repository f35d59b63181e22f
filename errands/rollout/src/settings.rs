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
    /// The number of failures after which no further instance starts; without it there is no limit.
    pub budget: Option<FailureBudget>,
    /// Whether the next instances start only if the finished ones are healthy.
    pub gate: Option<HealthGate>,
}

/// Instances start in waves, each when all of the last wave are healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthGate {
    /// How many instances a wave has; all that are left if there is no number.
    pub wave: Option<NonZeroU32>,
    /// How long a wave may take to become healthy.
    pub timeout: Duration,
}
