//! The sources of the offering's service instances: the Cloud Controller, or the service instances API.
//!
//! | file | contents |
//! | --- | --- |
//! | `cloud_controller`, `instances_api` | the two sources |
//! | `selection` | the selection of instances |
//! | `entry` | one instance |
//! | `whole_list` | the complete list, for callers that act on missing instances |
//! | `error` | errors |

mod cloud_controller;
mod entry;
mod error;
mod instances_api;
mod selection;
mod whole_list;

use std::{
    collections::{BTreeMap, BTreeSet},
    future::ready,
};

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use odb_api_types::ids::{InstanceId, PlanId};
use odb_clients::{
    cloud_controller::{LocationNames, OrganizationGuid},
    http::Call,
    service_instances_api::ServiceInstancesApi,
};

use crate::offering::Total;

pub use cloud_controller::CloudControllerSource;
pub use entry::{CountedInstance, InstanceEntry, PlatformState};
pub use error::SourceError;
pub use selection::{FilterError, Selection};
pub use whole_list::OfferingKnowledge;

/// How many instances are looked up at the same time.
const LOOKS_AT_ONCE: usize = 8;

/// A source of the offering's service instances. Cheap to clone.
#[derive(Clone, Debug)]
pub enum InstanceSource {
    /// The Cloud Controller.
    CloudController(CloudControllerSource),
    /// The service instances API.
    ServiceInstancesApi(ServiceInstancesApi),
}

/// The sources for different requests (`spec/contracts/errands.md` §4.8).
#[derive(Clone, Debug, Default)]
pub struct InstanceSources {
    /// The source for counts: the Cloud Controller, or without one the service instances API.
    pub counts: Option<InstanceSource>,
    /// The source for lists: the service instances API, or without one the Cloud Controller.
    pub lists: Option<InstanceSource>,
}

/// Service instances, one by one. After an error the list is incomplete.
pub type EntryStream = BoxStream<'static, Result<InstanceEntry, SourceError>>;

impl InstanceSource {
    /// Applies the parameters of an operator's request: at the Cloud Controller `cf_org` and `cf_space`, which need
    /// each other (nothing matches if one is missing); the service instances API gets all of them. Each name occurs
    /// once.
    pub async fn select(
        &self,
        call: &Call,
        parameters: Vec<(String, String)>,
    ) -> Result<Option<Selection>, SourceError> {
        match self {
            Self::CloudController(source) => source.select(call, &parameters).await,
            Self::ServiceInstancesApi(_) => Ok(Some(Selection {
                parameters,
                ..Selection::all()
            })),
        }
    }

    /// The instances of the offering's plans, including retired plans, each once. Only some pages of the source's list
    /// are in memory at a time. The first request is sent when the stream is polled.
    ///
    /// After an error the list is incomplete.
    pub fn entries(&self, call: &Call, selection: Selection) -> EntryStream {
        match self {
            Self::CloudController(source) => source.entries(call, selection),
            Self::ServiceInstancesApi(api) => instances_api::entries(api, call, selection),
        }
    }

    /// The ids of the offering's plans that the source knows, those of retired plans included; the service instances
    /// API knows those that instances are on. Safe to repeat.
    pub async fn plans(&self, call: &Call) -> Result<BTreeSet<PlanId>, SourceError> {
        match self {
            Self::CloudController(source) => source.plans(call).await,
            Self::ServiceInstancesApi(api) => {
                let by_plan = instances_api::by_plan(api, call).await?;
                Ok(by_plan.into_keys().collect())
            }
        }
    }

    /// The organizations with these names or guids; unknown ones may be included. The service instances API has none.
    /// Safe to repeat.
    pub async fn organizations(
        &self,
        call: &Call,
        meant: &BTreeSet<String>,
    ) -> Result<Vec<OrganizationGuid>, SourceError> {
        match self {
            Self::CloudController(source) => source.organizations(call, meant).await,
            Self::ServiceInstancesApi(_) => Ok(Vec::new()),
        }
    }

    /// Those of a few instances that belong to the offering and exist in the source, in the order of their ids, with
    /// the names of their spaces and organizations.
    pub fn few(&self, call: &Call, instances: Vec<InstanceId>) -> EntryStream {
        match self {
            Self::CloudController(source) => {
                let (source, call) = (source.clone(), call.clone());
                let found = stream::iter(instances).map(move |instance| {
                    let (source, call) = (source.clone(), call.clone());
                    async move { source.find(&call, &instance, LocationNames::Reported).await }
                });
                let found = found.buffered(LOOKS_AT_ONCE);
                found.try_filter_map(|found| ready(Ok(found))).boxed()
            }
            // The API has only its list.
            Self::ServiceInstancesApi(api) => instances_api::entries(api, call, Selection::all())
                .try_filter(move |entry| ready(instances.contains(&entry.instance)))
                .boxed(),
        }
    }

    /// An instance of the offering, if the source knows it. Safe to repeat.
    pub async fn find(
        &self,
        call: &Call,
        instance: &InstanceId,
        names: LocationNames,
    ) -> Result<Option<InstanceEntry>, SourceError> {
        match self {
            Self::CloudController(source) => source.find(call, instance, names).await,
            Self::ServiceInstancesApi(api) => Ok(instances_api::find(api, call, instance).await?),
        }
    }

    /// The instances of the offering's plans, those of retired plans included, as quotas see them. Safe to repeat.
    pub async fn records(&self, call: &Call) -> Result<Vec<CountedInstance>, SourceError> {
        match self {
            Self::CloudController(source) => source.all(call).await,
            Self::ServiceInstancesApi(api) => {
                let entries = instances_api::all(api, call).await?;
                Ok(entries.into_iter().map(CountedInstance::from).collect())
            }
        }
    }

    /// How many instances there are. Safe to repeat.
    pub async fn totals(
        &self,
        call: &Call,
        totals: &BTreeSet<Total>,
    ) -> Result<BTreeMap<Total, u64>, SourceError> {
        match self {
            Self::CloudController(source) => source.totals(call, totals).await,
            Self::ServiceInstancesApi(api) => {
                let by_plan = instances_api::by_plan(api, call).await?;
                let count = |total: &Total| match total {
                    Total::OfPlan(plan) => by_plan.get(plan).copied().unwrap_or(0),
                    Total::OfAll => by_plan.values().sum(),
                };
                let counted = totals.iter().map(|total| (total.clone(), count(total)));
                Ok(counted.collect())
            }
        }
    }

    /// How many instances each plan has, retired plans included. Nothing if the Cloud Controller knows no plan of the
    /// offering, as before the broker is registered. Safe to repeat.
    pub async fn by_plan(&self, call: &Call) -> Result<Option<BTreeMap<PlanId, u64>>, SourceError> {
        match self {
            Self::CloudController(source) => source.by_plan(call).await,
            Self::ServiceInstancesApi(api) => Ok(Some(instances_api::by_plan(api, call).await?)),
        }
    }
}
