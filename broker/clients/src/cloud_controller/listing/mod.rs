//! Service instances as a stream of pages. Memory holds only a few pages, each instance appears once, and a list that
//! changes during the read hides none.
//!
//! The client reads a list newest first and its first page before the others, so that concurrent changes show. It then
//! reads the list again and returns only new entries. `tally` has the entries, and judges whether some may be missing.

mod tally;

use std::{collections::VecDeque, future::ready, sync::Arc};

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};

use super::{
    ApiVersion, CfInstance, CloudController, OrganizationGuid, PlanGuid, SpaceGuid,
    api::{Api, IDS_PER_FILTER, MOST_PAGES, Page, values},
    instances::{Found, INSTANCES, InstanceV2, InstanceV3, of_plan},
    locations::{Included, Locations},
};
use crate::{
    http::Call,
    service_error::{FailureKind, Result, ServiceError},
};
use tally::Tally;

/// Concurrent page requests for one list.
const PAGES_AT_ONCE: usize = 4;
/// How often a list is read that changes while it is.
const MOST_PASSES: u32 = 5;

/// The query that includes the names of spaces and organizations, in version 3.
pub(super) const NAMES: [(&str, &str); 2] = [
    ("fields[space]", "guid,name,relationships.organization"),
    ("fields[space.organization]", "guid,name"),
];

/// Service instances, one by one.
pub type InstanceStream = BoxStream<'static, Result<CfInstance>>;

/// Which service instances to list. An empty list of spaces or organizations matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceQuery {
    /// Of any of these plans; of none if there is none.
    pub plans: Vec<PlanGuid>,
    /// In any of these spaces. Being shared into one is not enough.
    pub spaces: Vec<SpaceGuid>,
    pub organizations: Vec<OrganizationGuid>,
    pub names: LocationNames,
}

/// Whether the names of spaces and organizations, and the organizations' ids, come along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocationNames {
    #[default]
    Left,
    /// In version 2 of the API that is a request for each space and organization.
    Reported,
}

/// One page of a list of instances.
pub(super) struct InstancePage {
    /// The number of entries of the complete list.
    pub(super) total: u64,
    pub(super) pages: usize,
    pub(super) instances: Vec<CfInstance>,
}

/// A list that the Cloud Controller has pages of.
struct InstanceList {
    segments: Vec<String>,
    filters: Vec<Filter>,
}

type Filter = (&'static str, String);

impl InstanceQuery {
    /// All instances of these plans, without names.
    pub fn of_plans(plans: Vec<PlanGuid>) -> Self {
        Self {
            plans,
            spaces: Vec::new(),
            organizations: Vec::new(),
            names: LocationNames::Left,
        }
    }
}

impl CloudController {
    /// The instances that match a query, each once, page by page: only some pages are in memory at a time. The first
    /// request is sent when the stream is polled.
    ///
    /// The stream has every instance that exists from the first request to the end; a list that changes with every
    /// request ends in [`FailureKind::ListChanging`]. The order of instances has no meaning.
    pub fn list_instances(&self, call: &Call, query: InstanceQuery) -> InstanceStream {
        if query.plans.is_empty() {
            return stream::empty().boxed();
        }
        let (cloud_controller, call) = (self.clone(), call.clone());
        let listing = async move {
            let version = cloud_controller.version(&call).await?;
            let lists = cloud_controller.api_of(version).instance_lists(&query);
            let listing = Listing {
                reader: Reader {
                    cloud_controller,
                    version,
                    call,
                },
                spaces: query.spaces,
                lists: lists.into(),
                pass: None,
                tally: Tally::default(),
                locations: (query.names == LocationNames::Reported).then(Locations::default),
            };
            Ok(stream::try_unfold(listing, Listing::next)
                .map_ok(|batch| stream::iter(batch).map(Ok))
                .try_flatten())
        };
        stream::once(listing).try_flatten().boxed()
    }
}

impl Api<'_> {
    /// The lists that a query needs: several if it names more ids than fit into one URL, and one for each plan in
    /// version 2.
    fn instance_lists(&self, query: &InstanceQuery) -> Vec<InstanceList> {
        let lists: Vec<(Vec<&str>, Option<Filter>)> = match self.version {
            ApiVersion::V3 => {
                let plans = query.plans.iter().map(PlanGuid::as_str);
                let filters = self
                    .filters(("service_plan_guids", "service_plan_guid"), plans)
                    .into_iter();
                filters.map(|filter| (vec![INSTANCES], filter)).collect()
            }
            ApiVersion::V2 => {
                let plans = query.plans.iter();
                plans.map(|plan| (of_plan(plan).to_vec(), None)).collect()
            }
        };
        let spaces = query.spaces.iter().map(SpaceGuid::as_str);
        let spaces = self.filters(("space_guids", "space_guid"), spaces);
        let organizations = query.organizations.iter().map(OrganizationGuid::as_str);
        let organizations =
            self.filters(("organization_guids", "organization_guid"), organizations);
        let has_names = query.names == LocationNames::Reported && self.version == ApiVersion::V3;
        let names = if has_names { &NAMES[..] } else { &[] };
        let mut complete = Vec::new();
        for (segments, plans) in &lists {
            for spaces in &spaces {
                for organizations in &organizations {
                    let filters = [plans, spaces, organizations].into_iter().flatten();
                    let names = names
                        .iter()
                        .map(|(name, fields)| (*name, (*fields).to_owned()));
                    complete.push(InstanceList {
                        segments: segments.iter().map(|&segment| segment.to_owned()).collect(),
                        filters: filters.cloned().chain(names).collect(),
                    });
                }
            }
        }
        complete
    }

    /// The filter by some ids, under its name in version 3 or 2, in as many parts as it takes; a single absent one where there are no ids.
    fn filters<'a>(
        &self,
        (in_v3, in_v2): (&'static str, &'static str),
        ids: impl Iterator<Item = &'a str>,
    ) -> Vec<Option<Filter>> {
        let ids: Vec<&str> = ids.collect();
        if ids.is_empty() {
            return vec![None];
        }
        let filter = |ids: &[&str]| match (self.version, ids) {
            (ApiVersion::V3, _) => (in_v3, values(ids.iter().copied())),
            (ApiVersion::V2, [id]) => ("q", format!("{in_v2}:{id}")),
            (ApiVersion::V2, _) => ("q", format!("{in_v2} IN {}", ids.join(","))),
        };
        let parts = ids.chunks(IDS_PER_FILTER);
        parts.map(|ids| Some(filter(ids))).collect()
    }

    /// A page of a list, from 1. The newest instances are on the first.
    async fn instance_page(
        &self,
        call: &Call,
        list: &InstanceList,
        number: usize,
    ) -> Result<InstancePage> {
        let number = number.to_string();
        let [order, size] = match self.version {
            // Of the 5,000 instances that version 3 would give: some hundred kilobytes.
            ApiVersion::V3 => [("order_by", "-created_at"), ("per_page", "500")],
            ApiVersion::V2 => [("order-direction", "desc"), ("results-per-page", "100")],
        };
        let filters = list
            .filters
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        let query: Vec<_> = filters.chain([order, size, ("page", &number)]).collect();
        let segments: Vec<&str> = list.segments.iter().map(String::as_str).collect();
        let url = self.address(&segments, &query);
        let (total, pages, found): (_, _, Vec<Found>) = match self.version {
            ApiVersion::V3 => {
                let page: Page<InstanceV3, Included> = self.page(call, url).await?;
                let locations = Locations::from(page.included);
                // Those of users, which have no plan, do not pass a filter by plans.
                let found = page.resources.into_iter();
                let found = found.filter_map(|instance| instance.managed(&locations));
                (page.total, page.pages, found.collect())
            }
            ApiVersion::V2 => {
                let page: Page<InstanceV2> = self.page(call, url).await?;
                let found = page.resources.into_iter().map(Found::from);
                (page.total, page.pages, found.collect())
            }
        };
        Ok(InstancePage {
            total,
            pages,
            instances: found.into_iter().map(|found| found.instance).collect(),
        })
    }
}

/// The state of a stream.
struct Listing {
    reader: Reader,
    /// Version 3 also returns instances that are shared into a space.
    spaces: Vec<SpaceGuid>,
    /// Those not begun yet.
    lists: VecDeque<InstanceList>,
    pass: Option<Pass>,
    tally: Tally,
    /// Set if the query requests names.
    locations: Option<Locations>,
}

/// One reading of one list.
struct Pass {
    list: Arc<InstanceList>,
    /// From 1, of this list.
    number: u32,
    pages: BoxStream<'static, Result<InstancePage>>,
}

impl Listing {
    /// The next instances that have not been given yet.
    async fn next(mut self) -> Result<Option<(Vec<CfInstance>, Self)>> {
        loop {
            let Some(mut pass) = self.pass.take() else {
                let Some(list) = self.lists.pop_front() else {
                    return Ok(None);
                };
                self.begin(Arc::new(list), 1);
                continue;
            };
            let Some(page) = pass.pages.try_next().await? else {
                self.end(pass)?;
                continue;
            };
            let mut fresh = self.tally.take(page);
            if !self.spaces.is_empty() {
                fresh.retain(|instance| self.spaces.contains(&instance.space));
            }
            if let Some(locations) = &mut self.locations {
                let (api, call) = (self.reader.api(), &self.reader.call);
                api.name_locations(call, locations, &mut fresh).await?;
            }
            self.pass = Some(pass);
            if !fresh.is_empty() {
                return Ok(Some((fresh, self)));
            }
        }
    }

    fn begin(&mut self, list: Arc<InstanceList>, number: u32) {
        self.tally.begin_pass();
        self.pass = Some(Pass {
            pages: self.reader.pages(list.clone()),
            list,
            number,
        });
    }

    /// Reads the list once more if something may be missing.
    fn end(&mut self, pass: Pass) -> Result<()> {
        if self.tally.is_whole() {
            return Ok(());
        }
        if pass.number == MOST_PASSES {
            let passes = MOST_PASSES;
            let kind = FailureKind::ListChanging { passes };
            return Err(self.reader.failure(&pass.list, kind));
        }
        tracing::debug!(
            path = self.reader.path(&pass.list),
            "a list has changed while it was read, it is read again"
        );
        self.begin(pass.list, pass.number + 1);
        Ok(())
    }
}

/// Asks for pages.
#[derive(Clone)]
struct Reader {
    cloud_controller: CloudController,
    version: ApiVersion,
    call: Call,
}

impl Reader {
    fn api(&self) -> Api<'_> {
        self.cloud_controller.api_of(self.version)
    }

    fn path(&self, list: &InstanceList) -> String {
        format!("/{}/{}", self.version, list.segments.join("/"))
    }

    fn failure(&self, list: &InstanceList, kind: FailureKind) -> ServiceError {
        self.api().connection.failure(self.path(list), kind)
    }

    fn pages(&self, list: Arc<InstanceList>) -> BoxStream<'static, Result<InstancePage>> {
        let reader = self.clone();
        let pages = async move {
            let first = reader.page(&list, 1).await?;
            if first.pages > MOST_PAGES {
                return Err(reader.failure(&list, FailureKind::EndlessList));
            }
            let others = stream::iter(2..=first.pages)
                .map(move |number| {
                    let (reader, list) = (reader.clone(), list.clone());
                    async move { reader.page(&list, number).await }
                })
                .buffered(PAGES_AT_ONCE);
            Ok(stream::once(ready(Ok(first))).chain(others))
        };
        stream::once(pages).try_flatten().boxed()
    }

    async fn page(&self, list: &InstanceList, number: usize) -> Result<InstancePage> {
        self.api().instance_page(&self.call, list, number).await
    }
}
