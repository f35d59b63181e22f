//! The selection of canaries (`spec/contracts/errands.md` §4.2).

use std::collections::{BTreeMap, HashMap};

use odb_api_types::ids::InstanceId;

/// The operator's criteria.
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
    pub(super) candidates: Vec<usize>,
    pub(super) limit: usize,
    pub(super) criteria: String,
}

/// There are no canaries, though there should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanaryError {
    /// Nothing matches, though there are instances.
    #[error(
        "Failed to find a match to the canary selection criteria: {criteria}. Please ensure these selection criteria will \
         match one or more service instances, or remove `canary_selection_params` to disregard them"
    )]
    NoMatch {
        /// The criteria in words.
        criteria: String,
    },
    /// A canary is no instance.
    #[error("error with canary instance listing: Canary '{id}' not in instance list")]
    Unlisted {
        /// Which.
        id: InstanceId,
    },
}

impl CanarySelection {
    /// Whether the candidates must be listed.
    pub fn has_criteria(&self) -> bool {
        !self.criteria.is_empty()
    }

    /// The criteria in words: `cf_org: acme, cf_space: dev`.
    pub fn criteria_text(&self) -> String {
        let words: Vec<_> = self
            .criteria
            .iter()
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        words.join(", ")
    }

    /// The canaries among the instances of a pass. `matching` are those that the broker finds by the criteria.
    pub fn among(
        &self,
        instances: &[InstanceId],
        matching: &[InstanceId],
    ) -> Result<Option<Canaries>, CanaryError> {
        let candidates: Vec<usize> = if self.has_criteria() {
            let locations: HashMap<&InstanceId, usize> = instances
                .iter()
                .enumerate()
                .map(|(location, id)| (id, location))
                .collect();
            if matching.is_empty() && !instances.is_empty() {
                return Err(CanaryError::NoMatch {
                    criteria: self.criteria_text(),
                });
            }
            let location = |id: &InstanceId| {
                locations
                    .get(id)
                    .copied()
                    .ok_or_else(|| CanaryError::Unlisted { id: id.clone() })
            };
            matching.iter().map(location).collect::<Result<_, _>>()?
        } else if self.count == 0 {
            Vec::new()
        } else {
            (0..instances.len()).collect()
        };
        if candidates.is_empty() {
            return Ok(None);
        }
        let limit = match self.count {
            0 => candidates.len(),
            // More than there are would make empty attempts.
            count => count.min(candidates.len()),
        };
        Ok(Some(Canaries {
            candidates,
            limit,
            criteria: self.criteria_text(),
        }))
    }
}
