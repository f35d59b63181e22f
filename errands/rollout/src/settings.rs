//! The limits that a pass keeps, and the selection of canaries (`spec/contracts/errands.md` §4.2).

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    num::NonZeroU32,
    str::FromStr,
    time::Duration,
};

use odb_api_types::ids::InstanceId;

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

/// How many instances may fail before no further one starts.
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

/// The operator's criteria for canaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CanarySelection {
    /// How many; with criteria zero means all that match.
    pub count: usize,
    /// Which; in order of their keys.
    pub criteria: BTreeMap<String, String>,
}

/// The indices of the instances that may be canaries, and how many are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canaries {
    pub(crate) candidates: Vec<usize>,
    pub(crate) limit: usize,
    pub(crate) criteria: String,
}

/// There are no canaries, though there should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanaryError {
    /// Nothing matches these criteria, though there are instances.
    #[error(
        "Failed to find a match to the canary selection criteria: {0}. Please ensure these selection criteria will \
         match one or more service instances, or remove `canary_selection_params` to disregard them"
    )]
    NoMatch(String),
    /// A canary is no instance.
    #[error("error with canary instance listing: Canary '{0}' not in instance list")]
    Unlisted(InstanceId),
}

impl CanarySelection {
    /// The canaries among the instances of a pass. `matching` are those that the broker finds by the criteria.
    pub fn among(
        &self,
        instances: &[InstanceId],
        matching: &[InstanceId],
    ) -> Result<Option<Canaries>, CanaryError> {
        let criteria = self.criteria.iter();
        let criteria: Vec<_> = criteria
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        let criteria = criteria.join(", ");
        let candidates: Vec<usize> = if !criteria.is_empty() {
            if matching.is_empty() && !instances.is_empty() {
                return Err(CanaryError::NoMatch(criteria));
            }
            let locations = instances.iter().enumerate();
            let locations: HashMap<_, _> = locations.map(|(location, id)| (id, location)).collect();
            let location = |id: &InstanceId| {
                let location = locations.get(id).copied();
                location.ok_or_else(|| CanaryError::Unlisted(id.clone()))
            };
            matching.iter().map(location).collect::<Result<_, _>>()?
        } else if self.count == 0 {
            Vec::new()
        } else {
            (0..instances.len()).collect()
        };
        let limit = match self.count {
            0 => candidates.len(),
            // More than there are would make empty attempts.
            count => count.min(candidates.len()),
        };
        Ok((limit > 0).then_some(Canaries {
            candidates,
            limit,
            criteria,
        }))
    }
}
