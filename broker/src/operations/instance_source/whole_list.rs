//! What a source knows as a whole, for whoever acts upon what it does *not* know: nothing is told where a part may be missing.

use std::collections::{BTreeSet, HashSet};

use odb_platform::http::Call;

use super::{InstanceSource, SourceError, instances_api};
use crate::ids::InstanceId;

/// All instances that a source knows.
#[derive(Debug)]
pub struct WholeList {
    /// The instances.
    pub instances: HashSet<InstanceId>,
    /// Whether the source knows the offering at all.
    pub offering: OfferingKnowledge,
}

/// Whether a source knows an offering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferingKnowledge {
    /// It does.
    Known,
    /// There is no plan of it, or no instance where the source tells of nothing else. The broker may not be registered, or
    /// ask on the wrong foundation.
    Unknown,
}

impl InstanceSource {
    /// All that the source knows, read anew. Safe to repeat.
    pub async fn whole_list(&self, call: &Call) -> Result<WholeList, SourceError> {
        match self {
            Self::CloudController(source) => source.whole_list(call).await,
            Self::ServiceInstancesApi(api) => {
                let entries = instances_api::all(api, call).await?;
                let offering = if entries.is_empty() {
                    OfferingKnowledge::Unknown
                } else {
                    OfferingKnowledge::Known
                };
                let instances = entries.into_iter().map(|entry| entry.instance);
                Ok(WholeList {
                    instances: instances.collect(),
                    offering,
                })
            }
        }
    }

    /// Those of the instances that the source knows all the same when asked for by their ids: they may belong to another
    /// offering, or have slipped from one page of a list to another while it was read. Safe to repeat.
    pub async fn known_by_id(
        &self,
        call: &Call,
        instances: &BTreeSet<InstanceId>,
    ) -> Result<BTreeSet<InstanceId>, SourceError> {
        match self {
            Self::CloudController(source) => source.known_by_id(call, instances).await,
            // There is nothing but its list.
            Self::ServiceInstancesApi(_) => Ok(BTreeSet::new()),
        }
    }

    /// Whether the source knows an instance, and its offering, at this moment. Safe to repeat.
    pub async fn knows(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(bool, OfferingKnowledge), SourceError> {
        match self {
            Self::CloudController(source) => source.knows(call, instance).await,
            Self::ServiceInstancesApi(_) => {
                let whole_list = self.whole_list(call).await?;
                Ok((whole_list.instances.contains(instance), whole_list.offering))
            }
        }
    }
}
