//! Service instances as a stream of pages. Memory holds only a few pages, each instance appears once, and a list that
//! changes during the read hides none.
//!
//! The client reads a list newest first and its first page before the others and after them, so that concurrent changes
//! show. It then reads the list again and returns only new entries. `tally` has the entries, and judges whether some may be missing.

mod tally;

use std::{
    collections::{HashMap, VecDeque},
    future::ready,
    sync::Arc,
};

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};

use super::{
    ApiVersion, CfInstance, CloudController, OrganizationGuid, PlanGuid, SpaceGuid,
    api::{Api, MOST_PAGES},
};
use crate::{
    http::Call,
    service_error::{FailureKind, Result, ServiceError},
};
use serde::Deserialize;
use tally::Tally;
use url::Url;

/// Concurrent page requests for one list.
const PAGES_AT_ONCE: usize = 4;
/// How often a list is read that changes while it is.
const MOST_PASSES: u32 = 5;

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

pub(super) struct InstancePage {
    /// Of the complete list.
    pub(super) total: u64,
    pub(super) pages: usize,
    pub(super) instances: Vec<CfInstance>,
}

/// A list that the Cloud Controller has pages of.
pub(super) struct InstanceList {
    pub(super) segments: Vec<String>,
    pub(super) filters: Vec<Filter>,
}

pub(super) type Filter = (&'static str, String);

impl InstanceList {
    /// Of a page of it.
    pub(super) fn address(&self, api: &dyn Api, order: [(&str, &str); 2], page: usize) -> Url {
        let page = page.to_string();
        let segments: Vec<&str> = self.segments.iter().map(String::as_str).collect();
        let filters = self.filters.iter();
        let filters = filters.map(|(name, value)| (*name, value.as_str()));
        let query: Vec<_> = filters.chain(order).chain([("page", &*page)]).collect();
        api.address(&segments, &query)
    }
}

/// The known spaces and organizations; `None` for those that no longer exist.
#[derive(Default)]
pub(super) struct Locations {
    pub(super) spaces: HashMap<SpaceGuid, Option<Space>>,
    /// Their names.
    pub(super) organizations: HashMap<OrganizationGuid, Option<String>>,
}

#[derive(Deserialize)]
pub(super) struct Space {
    pub(super) name: String,
    pub(super) organization_guid: OrganizationGuid,
}

impl Locations {
    /// Writes into an instance where it is, as far as that is known.
    pub(super) fn write_into(&self, instance: &mut CfInstance) {
        let Some(Some(space)) = self.spaces.get(&instance.space) else {
            return;
        };
        instance.space_name = Some(space.name.clone());
        instance.organization = Some(space.organization_guid.clone());
        let name = self.organizations.get(&space.organization_guid);
        instance.organization_name = name.cloned().flatten();
    }
}

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

/// All combinations of a filter of each group, without the absent ones.
pub(super) fn product(
    [first, second, third]: [&[Option<Filter>]; 3],
) -> impl Iterator<Item = Vec<Filter>> {
    first.iter().flat_map(move |one| {
        second.iter().flat_map(move |two| {
            let combined = third.iter().map(move |three| [one, two, three]);
            combined.map(|filters| filters.into_iter().flatten().cloned().collect())
        })
    })
}

struct Listing {
    reader: Reader,
    /// Version 3 also returns instances that are shared into a space.
    spaces: Vec<SpaceGuid>,
    lists: VecDeque<InstanceList>,
    pass: Option<Pass>,
    tally: Tally,
    /// Set if the query requests names.
    locations: Option<Locations>,
}

struct Pass {
    list: Arc<InstanceList>,
    /// From 1, of this list.
    number: u32,
    pages: BoxStream<'static, Result<Read>>,
}

enum Read {
    Page(InstancePage),
    /// The first page, after all others.
    FirstAgain(InstancePage),
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
            let page = match pass.pages.try_next().await? {
                Some(Read::Page(page)) => page,
                Some(Read::FirstAgain(page)) => {
                    self.tally.close(&page);
                    self.pass = Some(pass);
                    continue;
                }
                None => {
                    self.end(pass)?;
                    continue;
                }
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

#[derive(Clone)]
struct Reader {
    cloud_controller: CloudController,
    version: ApiVersion,
    call: Call,
}

impl Reader {
    fn api(&self) -> &dyn Api {
        self.cloud_controller.api_of(self.version)
    }

    fn path(&self, list: &InstanceList) -> String {
        format!("/{}/{}", self.version, list.segments.join("/"))
    }

    fn failure(&self, list: &InstanceList, kind: FailureKind) -> ServiceError {
        self.api().connection().failure(self.path(list), kind)
    }

    fn pages(&self, list: Arc<InstanceList>) -> BoxStream<'static, Result<Read>> {
        let reader = self.clone();
        let pages = async move {
            let first = reader.page(&list, 1).await?;
            if first.pages > MOST_PAGES {
                return Err(reader.failure(&list, FailureKind::EndlessList));
            }
            let (last_reader, last_list, is_long) = (reader.clone(), list.clone(), first.pages > 1);
            let others = stream::iter(2..=first.pages)
                .map(move |number| {
                    let (reader, list) = (reader.clone(), list.clone());
                    async move { reader.page(&list, number).await.map(Read::Page) }
                })
                .buffered(PAGES_AT_ONCE);
            let again = stream::iter(is_long.then_some(1)).then(move |number| {
                let (reader, list) = (last_reader.clone(), last_list.clone());
                async move { reader.page(&list, number).await.map(Read::FirstAgain) }
            });
            let first = stream::once(ready(Ok(Read::Page(first))));
            Ok(first.chain(others).chain(again))
        };
        stream::once(pages).try_flatten().boxed()
    }

    async fn page(&self, list: &InstanceList, number: usize) -> Result<InstancePage> {
        self.api().instance_page(&self.call, list, number).await
    }
}
