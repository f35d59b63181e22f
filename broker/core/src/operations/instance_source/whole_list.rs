//! The complete list of a source, for callers that act on *missing* instances: an incomplete list is an error.

use std::collections::BTreeSet;

use odb_api_types::ids::InstanceId;
use odb_clients::http::Call;

use super::{InstanceSource, SourceError, instances_api};

/// Whether a source knows an offering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferingKnowledge {
    /// It does.
    Known,
    /// The source has no plan of the offering, or no instance if it reports only instances. The broker may be
    /// unregistered, or configured for the wrong foundation.
    Unknown,
}

impl InstanceSource {
    /// Removes those of the instances that the source lists. Its list is read anew and not kept: of thousands of
    /// instances only those are held that it does not have. After an error the instances are of no use.
    pub async fn remove_listed(
        &self,
        call: &Call,
        instances: &mut BTreeSet<InstanceId>,
    ) -> Result<OfferingKnowledge, SourceError> {
        match self {
            Self::CloudController(source) => source.remove_listed(call, instances).await,
            Self::ServiceInstancesApi(api) => {
                let entries = instances_api::all(api, call).await?;
                for entry in &entries {
                    instances.remove(&entry.instance);
                }
                Ok(if entries.is_empty() {
                    OfferingKnowledge::Unknown
                } else {
                    OfferingKnowledge::Known
                })
            }
        }
    }

    /// Removes the instances that the source has at this moment: they may belong to another offering, or have moved
    /// between pages of a list while it was read. After an error the instances are not valid.
    pub async fn remove_known(
        &self,
        call: &Call,
        instances: &mut BTreeSet<InstanceId>,
    ) -> Result<(), SourceError> {
        match self {
            Self::CloudController(source) => {
                for known in source.known_by_id(call, instances).await? {
                    instances.remove(&known);
                }
            }
            // The API has only its list.
            Self::ServiceInstancesApi(_) => {
                self.remove_listed(call, instances).await?;
            }
        }
        Ok(())
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
                let mut unknown = BTreeSet::from([instance.clone()]);
                let offering = self.remove_listed(call, &mut unknown).await?;
                Ok((unknown.is_empty(), offering))
            }
        }
    }
}
