//! The sources of the offering's service instances: the Cloud Controller, or the service instances API.

mod cloud_controller;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
    future::ready,
    sync::Arc,
};

use async_trait::async_trait;
use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use odb_api_types::{
    code::Code,
    ids::{InstanceId, PlanId},
};
use odb_clients::{
    FailureKind, Service, ServiceError,
    cloud_controller::{CfOperation, OrganizationGuid, SEES_ALL, SpaceGuid},
    http::Call,
    service_instances_api::ServiceInstancesApi,
};

use crate::offering::Total;

pub use cloud_controller::CloudControllerSource;

/// A source of the offering's service instances. What it cannot look up otherwise, it finds in its list. Everything is
/// safe to repeat.
#[async_trait]
pub trait InstanceSource: fmt::Debug + Send + Sync {
    /// The instances of the offering's plans, including retired plans, each once. Only some pages of the source's list
    /// are in memory at a time. The first request is sent when the stream is polled.
    fn entries(&self, call: &Call) -> EntryStream;

    /// Those that the parameters of an operator's request choose, each name of which occurs once.
    async fn chosen(
        &self,
        call: &Call,
        parameters: Vec<(String, String)>,
    ) -> Result<EntryStream, SourceError>;

    /// Those on one of the plans and in one of the organizations, or more, with the names of spaces and organizations if
    /// the source has them. An empty list chooses all.
    fn entries_with_names(
        &self,
        call: &Call,
        _: &BTreeSet<PlanId>,
        _: Vec<OrganizationGuid>,
    ) -> EntryStream {
        self.entries(call)
    }

    /// All instances, as quotas need them.
    async fn all(&self, call: &Call) -> Result<Vec<InstanceEntry>, SourceError> {
        self.entries(call).try_collect().await
    }

    /// The ids of the offering's plans that the source knows, those of retired plans included; without a list of
    /// plans, those that instances are on.
    async fn plans(&self, call: &Call) -> Result<BTreeSet<PlanId>, SourceError> {
        let entries = self.all(call).await?.into_iter();
        Ok(entries.map(|entry| entry.plan).collect())
    }

    fn has_organizations(&self) -> bool {
        false
    }

    async fn organizations(
        &self,
        _: &Call,
        _: &BTreeSet<String>,
    ) -> Result<Vec<OrganizationGuid>, SourceError> {
        Ok(Vec::new())
    }

    /// Those of a few instances that belong to the offering and exist in the source, in the order of their ids, with
    /// the names of their spaces and organizations.
    fn few(&self, call: &Call, instances: Vec<InstanceId>) -> EntryStream {
        self.entries(call)
            .try_filter(move |entry| ready(instances.contains(&entry.instance)))
            .boxed()
    }

    /// An instance of the offering, with the names of its space and organization, if the source knows it.
    async fn find(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<InstanceEntry>, SourceError> {
        let mut entries = self.all(call).await?.into_iter();
        Ok(entries.find(|entry| entry.instance == *instance))
    }

    async fn totals(
        &self,
        call: &Call,
        totals: &BTreeSet<Total>,
    ) -> Result<BTreeMap<Total, u64>, SourceError> {
        let by_plan = self.by_plan(call).await?.unwrap_or_default();
        let count = |total: &Total| match total {
            Total::OfPlan(plan) => by_plan.get(plan).copied().unwrap_or(0),
            Total::OfAll => by_plan.values().sum(),
        };
        let counted = totals.iter().map(|total| (total.clone(), count(total)));
        Ok(counted.collect())
    }

    /// How many instances each plan has, retired plans included. `None` if the source knows no plan of the offering, as
    /// before the broker is registered.
    async fn by_plan(&self, call: &Call) -> Result<Option<BTreeMap<PlanId, u64>>, SourceError> {
        let mut by_plan = BTreeMap::new();
        for entry in self.all(call).await? {
            *by_plan.entry(entry.plan).or_default() += 1;
        }
        Ok(Some(by_plan))
    }

    /// Removes those of the instances that the source lists, for callers that act on *missing* instances: an incomplete
    /// list is an error, after which the instances are of no use. The list is read anew and not kept: of thousands of
    /// instances only those are held that it does not have.
    async fn remove_listed(
        &self,
        call: &Call,
        instances: &mut BTreeSet<InstanceId>,
    ) -> Result<OfferingKnowledge, SourceError> {
        let entries = self.all(call).await?;
        for entry in &entries {
            instances.remove(&entry.instance);
        }
        Ok(OfferingKnowledge::known_if(!entries.is_empty()))
    }

    /// Removes the instances that the source has at this moment: they may belong to another offering, or have moved
    /// between pages of a list while it was read. After an error the instances are not valid.
    async fn remove_known(
        &self,
        call: &Call,
        instances: &mut BTreeSet<InstanceId>,
    ) -> Result<(), SourceError> {
        self.remove_listed(call, instances).await?;
        Ok(())
    }

    /// Whether the source knows an instance, of any offering, and an instance of this offering, at this moment.
    async fn knows(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(bool, OfferingKnowledge), SourceError> {
        let mut unknown = BTreeSet::from([instance.clone()]);
        let offering = self.remove_listed(call, &mut unknown).await?;
        Ok((unknown.is_empty(), offering))
    }
}

/// The API has one list without pages, and no names. Its own filter gets all parameters.
#[async_trait]
impl InstanceSource for ServiceInstancesApi {
    fn entries(&self, call: &Call) -> EntryStream {
        listed(self, call, Vec::new())
    }

    async fn chosen(
        &self,
        call: &Call,
        parameters: Vec<(String, String)>,
    ) -> Result<EntryStream, SourceError> {
        Ok(listed(self, call, parameters))
    }
}

/// Each instance once, even if the list repeats it.
fn listed(
    api: &ServiceInstancesApi,
    call: &Call,
    parameters: Vec<(String, String)>,
) -> EntryStream {
    let (api, call) = (api.clone(), call.clone());
    let entries = async move {
        let listed = api.instances(&call, &parameters).await?;
        let mut seen = HashSet::new();
        let entries = listed.into_iter().filter_map(move |listed| {
            let instance = InstanceId::try_from(listed.id).ok()?;
            if !seen.insert(instance.clone()) {
                return None;
            }
            let plan = PlanId::from(listed.plan);
            Some(Ok(InstanceEntry {
                space: listed.space.and_then(|space| space.try_into().ok()),
                ..InstanceEntry::new(instance, plan, PlatformState::Listed)
            }))
        });
        Ok::<_, SourceError>(stream::iter(entries))
    };
    stream::once(entries).try_flatten().boxed()
}

/// The sources for different requests (`spec/contracts/errands.md` §4.8).
#[derive(Clone, Debug, Default)]
pub struct InstanceSources {
    /// The source for counts: the Cloud Controller, or without one the service instances API.
    pub counts: Option<Arc<dyn InstanceSource>>,
    /// The source for lists: the service instances API, or without one the Cloud Controller.
    pub lists: Option<Arc<dyn InstanceSource>>,
}

/// Service instances, one by one. After an error the list is incomplete.
pub type EntryStream = BoxStream<'static, Result<InstanceEntry, SourceError>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceEntry {
    pub instance: InstanceId,
    /// The user's name for it, if the source has names.
    pub name: Option<String>,
    /// The plan that it is on; during an update the one from before.
    pub plan: PlanId,
    pub state: PlatformState,
    pub space: Option<SpaceGuid>,
    /// The names and the organization are there if names were requested and the source has them.
    pub space_name: Option<String>,
    pub organization: Option<OrganizationGuid>,
    pub organization_name: Option<String>,
    /// The platform's last operation on it; `None` if the source does not report it.
    pub last_operation: Option<CfOperation>,
}

impl InstanceEntry {
    pub(crate) fn new(instance: InstanceId, plan: PlanId, state: PlatformState) -> Self {
        Self {
            instance,
            name: None,
            plan,
            state,
            space: None,
            space_name: None,
            organization: None,
            organization_name: None,
            last_operation: None,
        }
    }
}

/// The state of an instance according to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlatformState {
    Settled,
    Updating,
    /// The platform has sent the order to the broker, which may have accepted it. Older Cloud Controllers show this
    /// before they send it.
    Creating,
    /// The broker has not accepted it, or could not create it.
    Unmade,
    /// The list has it without a state.
    Listed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferingKnowledge {
    Known,
    /// The source has no plan of the offering, or no instance if it reports only instances. The broker may be
    /// unregistered, or configured for the wrong foundation.
    Unknown,
}

impl OfferingKnowledge {
    fn known_if(is_known: bool) -> Self {
        if is_known { Self::Known } else { Self::Unknown }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the filter has {0}")]
pub struct FilterError(String);

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("could not ask the Cloud Controller for the service instances")]
    CloudController(#[source] ServiceError),
    #[error("could not ask the service instances API for the service instances")]
    ServiceInstancesApi(#[source] ServiceError),
    #[error(
        "could not ask the service instances API for the service instances; is the authority that signed its certificate in \
         `service_instances_api.root_ca_cert`?"
    )]
    UnknownAuthority(#[source] ServiceError),
    #[error("could not choose among the service instances")]
    Filter(#[from] FilterError),
    #[error(
        "the client of `cf.uaa.authentication` may not read all spaces of the Cloud Controller; give it one of the rights `{}`",
        SEES_ALL.join("`, `")
    )]
    PartialVisibility,
}

impl SourceError {
    pub fn code(&self) -> Code {
        match self {
            Self::CloudController(_) => Code::CloudController,
            Self::ServiceInstancesApi(_) | Self::UnknownAuthority(_) => Code::ServiceInstancesApi,
            Self::Filter(_) => Code::MalformedRequest,
            Self::PartialVisibility => Code::InstancesUnknown,
        }
    }

    pub fn code_of_count(&self) -> Code {
        if self.is_unsteady() {
            Code::UnsteadyCount
        } else {
            self.code()
        }
    }

    /// The list changed during each of its readings.
    pub fn is_unsteady(&self) -> bool {
        matches!(
            self,
            Self::CloudController(ServiceError {
                kind: FailureKind::ListChanging { .. },
                ..
            })
        )
    }

    pub fn is_timeout(&self) -> bool {
        match self {
            Self::CloudController(error)
            | Self::ServiceInstancesApi(error)
            | Self::UnknownAuthority(error) => error.is_timeout(),
            Self::Filter(_) | Self::PartialVisibility => false,
        }
    }
}

impl From<ServiceError> for SourceError {
    fn from(error: ServiceError) -> Self {
        match &error.kind {
            _ if error.service() == Service::CloudController => Self::CloudController(error),
            FailureKind::NoResponse { source } if source.is_unknown_authority() => {
                Self::UnknownAuthority(error)
            }
            _ => Self::ServiceInstancesApi(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use odb_clients::http::Method;

    use super::*;

    #[test]
    fn an_untrusted_api_is_reported_with_the_key_to_change() {
        let kind = FailureKind::OutOfTime { sent: false };
        let call = ServiceError::new(Service::ServiceInstancesApi, Method::GET, "/", kind);

        let error = SourceError::UnknownAuthority(call);

        assert_eq!(error.code().to_string(), "ODB-4005");
        assert_eq!(error.code_of_count().to_string(), "ODB-4005");
        assert_eq!(
            error.to_string(),
            "could not ask the service instances API for the service instances; is the authority that signed its certificate in \
             `service_instances_api.root_ca_cert`?"
        );
    }
}
