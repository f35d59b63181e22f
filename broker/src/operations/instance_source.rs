//! Who knows the service instances of the offering: the Cloud Controller, or the service instances API where there is none.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use odb_platform::{
    cloud_controller::{
        CfInstance, CfOperation, CfOperationKind, CfOperationState, CloudController,
        CloudControllerError, PlanGuid,
    },
    http::{Call, StatusCode},
    service_instances_api::{ServiceInstancesApi, ServiceInstancesApiError},
};
use tokio::time::Instant;

use crate::{
    code::Code,
    config::Offering,
    ids::{InstanceId, PlanId},
    offering::Total,
};

/// Who knows the service instances of the offering. Cheap to clone.
#[derive(Clone, Debug)]
pub enum InstanceSource {
    /// The Cloud Controller.
    CloudController(CloudControllerSource),
    /// The service instances API.
    ServiceInstancesApi(ServiceInstancesApi),
}

/// The Cloud Controller, with what has been learned of the offering's plans there.
#[derive(Clone, Debug)]
pub struct CloudControllerSource {
    client: CloudController,
    offering: Arc<Offering>,
    /// How long plans that were learned are believed.
    believed: Duration,
    known: Arc<Mutex<Option<Arc<KnownPlans>>>>,
}

/// The offering's plans at the Cloud Controller. Where several brokers offer it, a plan is there several times.
#[derive(Debug)]
struct KnownPlans {
    learned: Instant,
    plans: Vec<(PlanGuid, PlanId)>,
}

/// A service instance as its source knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRecord {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan that it is on; during an update the one from before.
    pub plan: PlanId,
    /// What the source says of it.
    pub standing: RecordStanding,
}

/// What a source says of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordStanding {
    /// It is there.
    Settled,
    /// It is there, and being updated.
    Updating,
    /// The broker is asked for it, and has perhaps said yes. Older Cloud Controllers say this before they ask.
    Creating,
    /// The broker has not said yes, or could not make it.
    Unmade,
    /// It is in the list, which does not tell more.
    Listed,
}

/// A source did not tell.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The Cloud Controller.
    #[error("could not ask the Cloud Controller for the service instances")]
    CloudController(#[from] CloudControllerError),
    /// The service instances API.
    #[error("could not ask the service instances API for the service instances")]
    ServiceInstancesApi(#[source] ServiceInstancesApiError),
    /// The service instances API's certificate is signed by somebody unknown.
    #[error(
        "could not ask the service instances API for the service instances; is the authority that signed its certificate in \
         `service_instances_api.root_ca_cert`?"
    )]
    UnknownAuthority(#[source] ServiceInstancesApiError),
}

impl SourceError {
    /// The code under which it stands in the log.
    pub fn code(&self) -> Code {
        match self {
            Self::CloudController(_) => Code::CloudController,
            Self::ServiceInstancesApi(_) | Self::UnknownAuthority(_) => Code::ServiceInstancesApi,
        }
    }

    /// The time of the request was used up.
    pub fn is_out_of_time(&self) -> bool {
        match self {
            Self::CloudController(error) => matches!(error, CloudControllerError::OutOfTime { .. }),
            Self::ServiceInstancesApi(error) | Self::UnknownAuthority(error) => {
                matches!(error, ServiceInstancesApiError::OutOfTime { .. })
            }
        }
    }
}

impl From<ServiceInstancesApiError> for SourceError {
    fn from(error: ServiceInstancesApiError) -> Self {
        match error {
            ServiceInstancesApiError::UnknownAuthority { .. } => Self::UnknownAuthority(error),
            error => Self::ServiceInstancesApi(error),
        }
    }
}

impl InstanceSource {
    /// The instances of the offering's plans, those of retired plans included. Safe to repeat.
    pub async fn records(&self, call: &Call) -> Result<Vec<InstanceRecord>, SourceError> {
        match self {
            Self::CloudController(source) => source.records(call).await,
            Self::ServiceInstancesApi(api) => Ok(listed(api, call).await?),
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
                let records = listed(api, call).await?;
                let count = |total: &Total| {
                    let counted = records.iter().filter(|record| match total {
                        Total::OfPlan(plan) => record.plan == *plan,
                        Total::OfAll => true,
                    });
                    (total.clone(), counted.count() as u64)
                };
                Ok(totals.iter().map(count).collect())
            }
        }
    }
}

impl CloudControllerSource {
    /// The instances of `offering` at a Cloud Controller, whose plans are asked for again when they are older than
    /// `believed`.
    pub fn new(client: CloudController, offering: Arc<Offering>, believed: Duration) -> Self {
        Self {
            client,
            offering,
            believed,
            known: Arc::default(),
        }
    }

    async fn records(&self, call: &Call) -> Result<Vec<InstanceRecord>, SourceError> {
        if let Some(known) = self.known() {
            match self.records_of(call, &known).await {
                Err(error) if is_about_an_unknown_plan(&error) => {}
                told => return Ok(told?),
            }
        }
        let known = self.learn(call).await?;
        Ok(self.records_of(call, &known).await?)
    }

    async fn totals(
        &self,
        call: &Call,
        totals: &BTreeSet<Total>,
    ) -> Result<BTreeMap<Total, u64>, SourceError> {
        if let Some(known) = self.known() {
            match self.totals_of(call, &known, totals).await {
                Err(error) if is_about_an_unknown_plan(&error) => {}
                told => return Ok(told?),
            }
        }
        let known = self.learn(call).await?;
        Ok(self.totals_of(call, &known, totals).await?)
    }

    async fn records_of(
        &self,
        call: &Call,
        known: &KnownPlans,
    ) -> Result<Vec<InstanceRecord>, CloudControllerError> {
        let guids: Vec<_> = known.plans.iter().map(|(guid, _)| guid.clone()).collect();
        if guids.is_empty() {
            return Ok(Vec::new());
        }
        let names: HashMap<_, _> = known.plans.iter().cloned().collect();
        let found = self.client.instances(call, &guids).await?;
        let records = found.into_iter().filter_map(|found| {
            Some(InstanceRecord {
                standing: standing(&found),
                plan: names.get(&found.plan)?.clone(),
                instance: InstanceId::try_from(found.guid.to_string()).ok()?,
            })
        });
        Ok(records.collect())
    }

    /// A call for each total.
    async fn totals_of(
        &self,
        call: &Call,
        known: &KnownPlans,
        totals: &BTreeSet<Total>,
    ) -> Result<BTreeMap<Total, u64>, CloudControllerError> {
        let mut counted = BTreeMap::new();
        for total in totals {
            let guids: Vec<_> = known
                .plans
                .iter()
                .filter(|(_, plan)| match total {
                    Total::OfPlan(counted) => plan == counted,
                    Total::OfAll => true,
                })
                .map(|(guid, _)| guid.clone())
                .collect();
            let count = self.client.count_all_instances(call, &guids).await?;
            counted.insert(total.clone(), count);
        }
        Ok(counted)
    }

    /// What was learned, if it has all plans of the catalog and is not too old: a filter by a plan that is no more finds
    /// nothing and says nothing.
    fn known(&self) -> Option<Arc<KnownPlans>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.as_ref()?;
        let is_complete = self
            .offering
            .plans
            .iter()
            .all(|plan| known.plans.iter().any(|(_, known)| *known == plan.id));
        (is_complete && known.learned.elapsed() < self.believed).then(|| known.clone())
    }

    async fn learn(&self, call: &Call) -> Result<Arc<KnownPlans>, CloudControllerError> {
        let learned = Instant::now();
        let offering = self.offering.id.as_str();
        let plans = self.client.plans_of_offering(call, offering).await?;
        let known = Arc::new(KnownPlans {
            learned,
            plans: plans
                .into_iter()
                .map(|plan| (plan.guid, PlanId::from(plan.unique_id)))
                .collect(),
        });
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known.clone());
        Ok(known)
    }
}

/// A plan that was learned is no more, so that its list is gone (in version 2 of the API).
fn is_about_an_unknown_plan(error: &CloudControllerError) -> bool {
    matches!(
        error,
        CloudControllerError::Refused {
            status: StatusCode::NOT_FOUND,
            ..
        }
    )
}

async fn listed(
    api: &ServiceInstancesApi,
    call: &Call,
) -> Result<Vec<InstanceRecord>, ServiceInstancesApiError> {
    let listed = api.instances(call).await?;
    let records = listed.into_iter().filter_map(|listed| {
        Some(InstanceRecord {
            instance: InstanceId::try_from(listed.id).ok()?,
            plan: PlanId::from(listed.plan),
            standing: RecordStanding::Listed,
        })
    });
    Ok(records.collect())
}

fn standing(found: &CfInstance) -> RecordStanding {
    let Some(CfOperation { kind, state }) = &found.last_operation else {
        return RecordStanding::Settled;
    };
    match (kind, state) {
        (CfOperationKind::Create, CfOperationState::Succeeded) => RecordStanding::Settled,
        (CfOperationKind::Create, CfOperationState::InProgress) => RecordStanding::Creating,
        (CfOperationKind::Create, _) => RecordStanding::Unmade,
        (CfOperationKind::Update, CfOperationState::InProgress) => RecordStanding::Updating,
        (CfOperationKind::Update | CfOperationKind::Delete | CfOperationKind::Unknown(_), _) => {
            RecordStanding::Settled
        }
    }
}
