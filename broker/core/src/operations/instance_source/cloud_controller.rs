//! The Cloud Controller as the source of instances.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::ready,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use odb_api_types::ids::{InstanceId, PlanId};
use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{
        CfInstance, CfOperation, CfOperationKind, CfOperationState, CloudController, InstanceQuery,
        LocationNames, OrganizationGuid, PlanGuid, Visibility,
    },
    http::{Call, StatusCode},
};
use odb_config::{Offering, Timings};
use tokio::time::Instant;

use super::{
    EntryStream, FilterError, InstanceEntry, InstanceSource, OfferingKnowledge, PlatformState,
    SourceError,
};
use crate::offering::Total;

/// The parameters that the instances are chosen by: names of an organization and of a space in it.
const LOCATION: [&str; 2] = ["cf_org", "cf_space"];

const LOOKS_AT_ONCE: usize = 8;

/// The Cloud Controller, with a cache of the offering's plans there. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CloudControllerSource {
    client: CloudController,
    offering: Arc<Offering>,
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

#[async_trait]
impl InstanceSource for CloudControllerSource {
    fn entries(&self, call: &Call) -> EntryStream {
        self.listed(call, BTreeSet::new(), InstanceQuery::default())
    }

    /// By `cf_org` and `cf_space`, which need each other.
    async fn chosen(
        &self,
        call: &Call,
        parameters: Vec<(String, String)>,
    ) -> Result<EntryStream, SourceError> {
        let Some((organization, space)) = named_location(&parameters)? else {
            return Ok(self.entries(call));
        };
        let mut found = None;
        if let Some(organization) = self.client.organization_named(call, organization).await? {
            found = self.client.space_named(call, &organization, space).await?;
        }
        Ok(match found {
            Some(space) => {
                let query = InstanceQuery {
                    spaces: vec![space],
                    ..InstanceQuery::default()
                };
                self.listed(call, BTreeSet::new(), query)
            }
            None => stream::empty().boxed(),
        })
    }

    fn entries_with_names(
        &self,
        call: &Call,
        plans: &BTreeSet<PlanId>,
        organizations: Vec<OrganizationGuid>,
    ) -> EntryStream {
        let query = InstanceQuery {
            organizations,
            names: LocationNames::Reported,
            ..InstanceQuery::default()
        };
        self.listed(call, plans.clone(), query)
    }

    async fn all(&self, call: &Call) -> Result<Vec<InstanceEntry>, SourceError> {
        let listed = async |known: &KnownPlans| {
            let entries = self.entries_of(call, known, &BTreeSet::new(), InstanceQuery::default());
            entries.try_collect().await
        };
        if let Some(known) = self.known() {
            match listed(&known).await {
                Err(SourceError::CloudController(error)) if is_about_an_unknown_plan(&error) => {}
                reported => return reported,
            }
        }
        listed(&*self.learn(call).await?).await
    }

    async fn plans(&self, call: &Call) -> Result<BTreeSet<PlanId>, SourceError> {
        let known = self.learn(call).await?;
        Ok(known.plans.iter().map(|(_, plan)| plan.clone()).collect())
    }

    fn has_organizations(&self) -> bool {
        true
    }

    async fn organizations(
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

    fn few(&self, call: &Call, instances: Vec<InstanceId>) -> EntryStream {
        let (source, call) = (self.clone(), call.clone());
        let found = stream::iter(instances).map(move |instance| {
            let (source, call) = (source.clone(), call.clone());
            async move { source.find(&call, &instance).await }
        });
        let found = found.buffered(LOOKS_AT_ONCE);
        found.try_filter_map(|found| ready(Ok(found))).boxed()
    }

    async fn find(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<InstanceEntry>, SourceError> {
        let Ok(guid) = instance.as_str().parse() else {
            return Ok(None);
        };
        let Some(found) = self
            .client
            .instance(call, &guid, LocationNames::Reported)
            .await?
        else {
            return Ok(None);
        };
        let plan = match self.known().and_then(|known| known.plan(&found.plan)) {
            Some(plan) => Some(plan),
            None => self.learn(call).await?.plan(&found.plan),
        };
        Ok(plan.and_then(|plan| entry_of(found, plan)))
    }

    async fn totals(
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

    async fn by_plan(&self, call: &Call) -> Result<Option<BTreeMap<PlanId, u64>>, SourceError> {
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
    async fn remove_listed(
        &self,
        call: &Call,
        instances: &mut BTreeSet<InstanceId>,
    ) -> Result<OfferingKnowledge, SourceError> {
        self.require_full_visibility(call).await?;
        let known = self.learn(call).await?;
        let mut entries = self.entries_of(call, &known, &BTreeSet::new(), InstanceQuery::default());
        while let Some(entry) = entries.try_next().await? {
            instances.remove(&entry.instance);
        }
        Ok(known.offering())
    }

    async fn remove_known(
        &self,
        call: &Call,
        instances: &mut BTreeSet<InstanceId>,
    ) -> Result<(), SourceError> {
        for known in self.known_by_id(call, instances).await? {
            instances.remove(&known);
        }
        Ok(())
    }

    async fn knows(
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

    async fn known_by_id(
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

    async fn require_full_visibility(&self, call: &Call) -> Result<(), SourceError> {
        match self.client.visibility(call).await? {
            Visibility::Everything => Ok(()),
            Visibility::Parts => Err(SourceError::PartialVisibility),
        }
    }

    /// Plans are always learned anew: one that is missing would hide its instances.
    fn listed(&self, call: &Call, plans: BTreeSet<PlanId>, query: InstanceQuery) -> EntryStream {
        let (source, call) = (self.clone(), call.clone());
        let entries = async move {
            let known = source.learn(&call).await?;
            Ok::<_, SourceError>(source.entries_of(&call, &known, &plans, query))
        };
        stream::once(entries).try_flatten().boxed()
    }

    /// The instances that the query finds on the plans; on all known ones if `only` is empty.
    fn entries_of(
        &self,
        call: &Call,
        known: &KnownPlans,
        only: &BTreeSet<PlanId>,
        query: InstanceQuery,
    ) -> EntryStream {
        let plans: HashMap<PlanGuid, PlanId> = known
            .plans
            .iter()
            .filter(|(_, plan)| only.is_empty() || only.contains(plan))
            .cloned()
            .collect();
        let mut guids: Vec<_> = plans.keys().cloned().collect();
        guids.sort();
        let query = InstanceQuery {
            plans: guids,
            ..query
        };
        self.client
            .list_instances(call, query)
            .map_err(SourceError::from)
            .try_filter_map(move |found| {
                let plan = plans.get(&found.plan).cloned();
                let entry = plan.and_then(|plan| entry_of(found, plan));
                ready(Ok(entry))
            })
            .boxed()
    }

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
        OfferingKnowledge::known_if(!self.plans.is_empty())
    }

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

fn entry_of(found: CfInstance, plan: PlanId) -> Option<InstanceEntry> {
    Some(InstanceEntry {
        instance: InstanceId::try_from(String::from(found.guid)).ok()?,
        name: found.name,
        plan,
        state: state_of(found.last_operation.as_ref()),
        space: Some(found.space),
        space_name: found.space_name,
        organization: found.organization,
        organization_name: found.organization_name,
        last_operation: found.last_operation,
    })
}

fn state_of(last_operation: Option<&CfOperation>) -> PlatformState {
    let Some(CfOperation { kind, state }) = last_operation else {
        return PlatformState::Settled;
    };
    match (kind, state) {
        (CfOperationKind::Create, CfOperationState::Succeeded) => PlatformState::Settled,
        (CfOperationKind::Create, CfOperationState::InProgress) => PlatformState::Creating,
        (CfOperationKind::Create, _) => PlatformState::Unmade,
        (CfOperationKind::Update, CfOperationState::InProgress) => PlatformState::Updating,
        (CfOperationKind::Update | CfOperationKind::Delete | CfOperationKind::Unknown(_), _) => {
            PlatformState::Settled
        }
    }
}

/// The names of an organization and of a space in it that parameters ask for; nothing without parameters.
fn named_location(parameters: &[(String, String)]) -> Result<Option<(&str, &str)>, FilterError> {
    if parameters.is_empty() {
        return Ok(None);
    }
    let given = |parameter: &'static str| {
        let found = parameters.iter().find(|(name, _)| name == parameter);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
            .ok_or_else(|| {
                FilterError(format!(
                    "no `{parameter}`: give both `cf_org` and `cf_space`, or no filter"
                ))
            })
    };
    let [organization, space] = LOCATION;
    let location = (given(organization)?, given(space)?);
    let unknown = parameters
        .iter()
        .find(|(name, _)| !LOCATION.contains(&name.as_str()));
    match unknown {
        Some((name, _)) => Err(FilterError(format!(
            "`{name}`, which is not known: give `cf_org` and `cf_space` alone"
        ))),
        None => Ok(Some(location)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(given: &[(&str, &str)]) -> Vec<(String, String)> {
        let given = given.iter();
        given
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_location_is_an_organization_and_a_space_and_nothing_else() {
        let (org, space) = (("cf_org", "o"), ("cf_space", "s"));

        assert_eq!(named_location(&[]), Ok(None));
        for given in [[org, space], [space, org]] {
            assert_eq!(named_location(&parameters(&given)), Ok(Some(("o", "s"))));
        }
        for (given, missing) in [
            (&[org][..], "cf_space"),
            (&[space], "cf_org"),
            (&[org, ("cf_space", "")], "cf_space"),
            (&[("a", "1"), ("b", "2")], "cf_org"),
            (&[org, ("b", "2")], "cf_space"),
        ] {
            let error = named_location(&parameters(given)).unwrap_err();
            let expected = format!("the filter has no `{missing}`");
            assert!(error.to_string().starts_with(&expected), "{error}");
            assert_eq!(SourceError::from(error).code().to_string(), "ODB-2003");
        }
        let error = named_location(&parameters(&[org, ("plan", "p"), space])).unwrap_err();
        assert!(error.to_string().contains("`plan`"), "{error}");
    }
}
