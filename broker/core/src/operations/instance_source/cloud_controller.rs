//! The Cloud Controller as the source of instances.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::ready,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use odb_api_types::ids::{InstanceId, PlanId};
use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{
        CloudController, InstanceQuery, LocationNames, OrganizationGuid, PlanGuid, Visibility,
    },
    http::{Call, StatusCode},
};
use odb_config::{Offering, Timings};
use tokio::time::Instant;

use super::{
    CountedInstance, EntryStream, InstanceEntry, OfferingKnowledge, Selection, SourceError,
    selection::named_location,
};
use crate::offering::Total;

/// The Cloud Controller, with a cache of the offering's plans there. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CloudControllerSource {
    client: CloudController,
    offering: Arc<Offering>,
    /// The time to live of the learned plans.
    cached: Duration,
    /// The same as long as a plan of the catalog is not among them.
    incomplete_cached: Duration,
    known: Arc<Mutex<Option<Arc<KnownPlans>>>>,
}

/// The offering's plans at the Cloud Controller. Where several brokers offer it, a plan is there several times.
#[derive(Debug)]
struct KnownPlans {
    learned: Instant,
    plans: Vec<(PlanGuid, PlanId)>,
}

impl CloudControllerSource {
    /// The instances of `offering` at a Cloud Controller. Plans are read before each listing; counts use cached plans
    /// up to the age in `timings`.
    pub fn new(client: CloudController, offering: Arc<Offering>, timings: &Timings) -> Self {
        Self {
            client,
            offering,
            cached: timings.plans_cached,
            incomplete_cached: timings.incomplete_plans_cached,
            known: Arc::default(),
        }
    }

    /// The client of the Cloud Controller.
    pub fn client(&self) -> &CloudController {
        &self.client
    }

    pub(super) async fn select(
        &self,
        call: &Call,
        parameters: &[(String, String)],
    ) -> Result<Option<Selection>, SourceError> {
        let Some((organization, space)) = named_location(parameters)? else {
            return Ok(Some(Selection::all()));
        };
        let Some(organization) = self.client.organization_named(call, organization).await? else {
            return Ok(None);
        };
        let space = self.client.space_named(call, &organization, space).await?;
        Ok(space.map(|space| Selection {
            spaces: vec![space],
            ..Selection::all()
        }))
    }

    /// The ids of the plans that the platform knows of the offering, learned anew.
    pub(super) async fn plans(&self, call: &Call) -> Result<BTreeSet<PlanId>, SourceError> {
        let known = self.learn(call).await?;
        Ok(known.plans.iter().map(|(_, plan)| plan.clone()).collect())
    }

    /// The organizations with these names or guids. A guid is not looked up.
    pub(super) async fn organizations(
        &self,
        call: &Call,
        meant: &BTreeSet<String>,
    ) -> Result<Vec<OrganizationGuid>, SourceError> {
        let mut organizations = Vec::new();
        for text in meant {
            organizations.extend(self.client.organization_named(call, text).await?);
            let may_be_a_guid = text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            if may_be_a_guid {
                organizations.extend(text.parse::<OrganizationGuid>());
            }
        }
        Ok(organizations)
    }

    /// Plans are always learned anew: one that is missing would hide its instances.
    pub(super) fn entries(&self, call: &Call, selection: Selection) -> EntryStream {
        let (source, call) = (self.clone(), call.clone());
        let entries = async move {
            let known = source.learn(&call).await?;
            Ok::<_, SourceError>(source.entries_of(&call, &known, &selection))
        };
        stream::once(entries).try_flatten().boxed()
    }

    pub(super) async fn find(
        &self,
        call: &Call,
        instance: &InstanceId,
        names: LocationNames,
    ) -> Result<Option<InstanceEntry>, SourceError> {
        let Ok(guid) = instance.as_str().parse() else {
            return Ok(None);
        };
        let Some(found) = self.client.instance(call, &guid, names).await? else {
            return Ok(None);
        };
        let plan = match self.known().and_then(|known| known.plan(&found.plan)) {
            Some(plan) => Some(plan),
            None => self.learn(call).await?.plan(&found.plan),
        };
        Ok(plan.and_then(|plan| InstanceEntry::of_cloud_controller(found, plan)))
    }

    /// All instances. The cached plans are sufficient for a while.
    pub(super) async fn all(&self, call: &Call) -> Result<Vec<CountedInstance>, SourceError> {
        let listed = async |known: &KnownPlans| {
            let entries = self.entries_of(call, known, &Selection::all());
            entries.map_ok(CountedInstance::from).try_collect().await
        };
        if let Some(known) = self.known() {
            match listed(&known).await {
                Err(SourceError::CloudController(error)) if is_about_an_unknown_plan(&error) => {}
                reported => return reported,
            }
        }
        listed(&*self.learn(call).await?).await
    }

    pub(super) async fn totals(
        &self,
        call: &Call,
        totals: &BTreeSet<Total>,
    ) -> Result<BTreeMap<Total, u64>, SourceError> {
        if let Some(known) = self.known().filter(|known| known.include(totals)) {
            match self.totals_of(call, &known, totals).await {
                Err(error) if is_about_an_unknown_plan(&error) => {}
                reported => return Ok(reported?),
            }
        }
        let known = self.learn(call).await?;
        Ok(self.totals_of(call, &known, totals).await?)
    }

    /// Nothing if the Cloud Controller knows no plan of the offering.
    pub(super) async fn by_plan(
        &self,
        call: &Call,
    ) -> Result<Option<BTreeMap<PlanId, u64>>, SourceError> {
        let known = self.learn(call).await?;
        if known.plans.is_empty() {
            return Ok(None);
        }
        let guids: Vec<_> = known.plans.iter().map(|(guid, _)| guid.clone()).collect();
        let counts = self.client.count_instances(call, &guids).await?;
        let mut by_plan = BTreeMap::new();
        for (guid, plan) in &known.plans {
            *by_plan.entry(plan.clone()).or_default() += counts.get(guid).copied().unwrap_or(0);
        }
        Ok(Some(by_plan))
    }

    /// Removes those of the instances that are listed, where we may see all. Plans are learned anew: of an offering
    /// that has been registered again old ones find nothing.
    pub(super) async fn remove_listed(
        &self,
        call: &Call,
        instances: &mut BTreeSet<InstanceId>,
    ) -> Result<OfferingKnowledge, SourceError> {
        self.require_full_visibility(call).await?;
        let known = self.learn(call).await?;
        let mut entries = self.entries_of(call, &known, &Selection::all());
        while let Some(entry) = entries.try_next().await? {
            instances.remove(&entry.instance);
        }
        Ok(known.offering())
    }

    /// Those of the instances that exist, of any offering.
    pub(super) async fn known_by_id(
        &self,
        call: &Call,
        instances: &BTreeSet<InstanceId>,
    ) -> Result<BTreeSet<InstanceId>, SourceError> {
        let ids: Vec<_> = instances
            .iter()
            .filter_map(|instance| instance.as_str().parse().ok())
            .collect();
        let known = self.client.known_instances(call, &ids).await?;
        Ok(known
            .into_iter()
            .filter_map(|id| InstanceId::try_from(String::from(id)).ok())
            .collect())
    }

    /// Whether an instance is known, of any offering, and whether one of this offering is.
    pub(super) async fn knows(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(bool, OfferingKnowledge), SourceError> {
        self.require_full_visibility(call).await?;
        let known = match self.known() {
            Some(known) => known,
            None => self.learn(call).await?,
        };
        let instances = BTreeSet::from([instance.clone()]);
        let found = self.known_by_id(call, &instances).await?;
        Ok((found.contains(instance), known.offering()))
    }

    async fn require_full_visibility(&self, call: &Call) -> Result<(), SourceError> {
        match self.client.visibility(call).await? {
            Visibility::Everything => Ok(()),
            Visibility::Parts => Err(SourceError::PartialVisibility),
        }
    }

    fn entries_of(&self, call: &Call, known: &KnownPlans, selection: &Selection) -> EntryStream {
        let plans: HashMap<PlanGuid, PlanId> = known
            .plans
            .iter()
            .filter(|(_, plan)| selection.plans.is_empty() || selection.plans.contains(plan))
            .cloned()
            .collect();
        let mut guids: Vec<_> = plans.keys().cloned().collect();
        guids.sort();
        let query = InstanceQuery {
            plans: guids,
            spaces: selection.spaces.clone(),
            organizations: selection.organizations.clone(),
            names: selection.names,
        };
        self.client
            .list_instances(call, query)
            .map_err(SourceError::from)
            .try_filter_map(move |found| {
                let plan = plans.get(&found.plan).cloned();
                let entry = plan.and_then(|plan| InstanceEntry::of_cloud_controller(found, plan));
                ready(Ok(entry))
            })
            .boxed()
    }

    /// A call for each total.
    async fn totals_of(
        &self,
        call: &Call,
        known: &KnownPlans,
        totals: &BTreeSet<Total>,
    ) -> Result<BTreeMap<Total, u64>, ServiceError> {
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

    /// The cached plans, unless they are too old: a filter by a removed plan silently finds nothing. If the cache lacks
    /// a plan of the catalog, as until the broker is registered again with it, it expires sooner.
    fn known(&self) -> Option<Arc<KnownPlans>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.as_ref()?;
        let is_complete = self
            .offering
            .plans
            .iter()
            .all(|plan| known.plans.iter().any(|(_, known)| *known == plan.id));
        let cached = match (is_complete, known.plans.is_empty()) {
            (true, _) => self.cached,
            (false, false) => self.incomplete_cached,
            (false, true) => Duration::ZERO,
        };
        (known.learned.elapsed() < cached).then(|| known.clone())
    }

    async fn learn(&self, call: &Call) -> Result<Arc<KnownPlans>, ServiceError> {
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

impl KnownPlans {
    fn offering(&self) -> OfferingKnowledge {
        if self.plans.is_empty() {
            OfferingKnowledge::Unknown
        } else {
            OfferingKnowledge::Known
        }
    }

    /// An instance of a plan has been ordered: it exists by now.
    fn include(&self, totals: &BTreeSet<Total>) -> bool {
        totals.iter().all(|total| match total {
            Total::OfPlan(plan) => self.plans.iter().any(|(_, known)| known == plan),
            Total::OfAll => true,
        })
    }

    fn plan(&self, guid: &PlanGuid) -> Option<PlanId> {
        let found = self.plans.iter().find(|(known, _)| known == guid);
        found.map(|(_, plan)| plan.clone())
    }
}

/// A cached plan was deleted, so its list does not exist (in version 2 of the API).
fn is_about_an_unknown_plan(error: &ServiceError) -> bool {
    matches!(
        error.kind,
        FailureKind::Refused {
            status: StatusCode::NOT_FOUND,
            ..
        }
    )
}
