//! How many instances may fail before a rollout begins no further one.

use std::{fmt, str::FromStr};

/// How many instances may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureBudget {
    /// So many.
    Instances(usize),
    /// Percent, rounded down; 100 at most.
    Percent(u8),
}

/// The text is neither a number of instances nor a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a number of instances such as `5`, or a percentage from `0%` to `100%`")]
pub struct InvalidFailureBudget;

impl FailureBudget {
    /// How many of `total` instances may fail.
    pub fn of(self, total: usize) -> usize {
        match self {
            Self::Instances(instances) => instances,
            Self::Percent(percent) => total.saturating_mul(usize::from(percent)) / 100,
        }
    }
}

impl FromStr for FailureBudget {
    type Err = InvalidFailureBudget;

    fn from_str(text: &str) -> Result<Self, InvalidFailureBudget> {
        let text = text.trim();
        let Some(percent) = text.strip_suffix('%') else {
            let instances = text.parse().map(Self::Instances);
            return instances.map_err(|_| InvalidFailureBudget);
        };
        match percent.trim_end().parse() {
            Ok(percent @ 0..=100) => Ok(Self::Percent(percent)),
            _ => Err(InvalidFailureBudget),
        }
    }
}

impl fmt::Display for FailureBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instances(instances) => write!(f, "{instances}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}
