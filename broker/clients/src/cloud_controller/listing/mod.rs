//! Service instances as a stream of pages. Memory holds only a few pages, each instance appears once, and a list that
//! changes during the read hides none.
//!
//! The client reads a list newest first and its first page before the others, so that concurrent changes show. It then
//! reads the list again and returns only new entries.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `tally` | what has been read, and whether something may be missing |

mod tally;

use std::{collections::VecDeque, future::ready, sync::Arc};

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};

use super::{
    ApiVersion, CfInstance, CloudController, OrganizationGuid, PlanGuid, SpaceGuid, api::Api,
    connection::MOST_PAGES, locations::Locations,
};
use crate::{
    connection::Connection,
    http::Call,
    service_error::{FailureKind, ServiceError},
};
use tally::Tally;
use url::Url;

/// Concurrent page requests for one list.
const PAGES_AT_ONCE: usize = 4;
/// How often a list is read that changes while it is.
const MOST_PASSES: u32 = 5;

/// Service instances, one by one.
pub type InstanceStream = BoxStream<'static, Result<CfInstance, ServiceError>>;

/// Which service instances to list. An empty list of spaces or organizations matches all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceQuery {
    /// Of any of these plans; of none if there is none.
    pub plans: Vec<PlanGuid>,
    /// In any of these spaces. Being shared into one is not enough.
    pub spaces: Vec<SpaceGuid>,
    /// In any of these organizations.
    pub organizations: Vec<OrganizationGuid>,
    /// Whether to include names.
    pub names: LocationNames,
}

/// Whether the names of spaces and organizations, and the organizations' ids, come along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationNames {
    /// They do not.
    Left,
    /// They do. In version 2 of the API that is a request for each space and organization.
    Reported,
}

/// One page of a list of instances.
pub(super) struct InstancePage {
    /// The number of entries of the complete list.
    pub(super) total: u64,
    /// How many pages it has.
    pub(super) pages: usize,
    pub(super) instances: Vec<CfInstance>,
}

/// A list that the Cloud Controller has pages of.
pub(super) struct InstanceList {
    pub(super) segments: Vec<String>,
    pub(super) filters: Vec<(&'static str, String)>,
}

impl InstanceList {
    /// Of a page of it.
    pub(super) fn address(&self, connection: &Connection, paging: [(&str, &str); 3]) -> Url {
        let segments: Vec<&str> = self.segments.iter().map(String::as_str).collect();
        let filters = self
            .filters
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        let query: Vec<_> = filters.chain(paging).collect();
        connection.address(&segments, &query)
    }

    fn path(&self) -> String {
        format!("/{}", self.segments.join("/"))
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

pub(super) fn stream(
    cloud_controller: CloudController,
    call: Call,
    query: InstanceQuery,
) -> InstanceStream {
    if query.plans.is_empty() {
        return stream::empty().boxed();
    }
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
    pages: BoxStream<'static, Result<InstancePage, ServiceError>>,
}

impl Listing {
    /// The next instances that have not been given yet.
    async fn next(mut self) -> Result<Option<(Vec<CfInstance>, Self)>, ServiceError> {
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
                let Reader { call, .. } = &self.reader;
                let api = self.reader.api();
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
    fn end(&mut self, pass: Pass) -> Result<(), ServiceError> {
        if self.tally.is_whole() {
            return Ok(());
        }
        if pass.number == MOST_PASSES {
            let connection = self.reader.cloud_controller.connection();
            let kind = FailureKind::ListChanging {
                passes: MOST_PASSES,
            };
            return Err(connection.failure(pass.list.path(), kind));
        }
        tracing::debug!(
            path = pass.list.path(),
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
    fn api(&self) -> &dyn Api {
        self.cloud_controller.api_of(self.version)
    }

    fn pages(
        &self,
        list: Arc<InstanceList>,
    ) -> BoxStream<'static, Result<InstancePage, ServiceError>> {
        let reader = self.clone();
        let pages = async move {
            let first = reader.page(&list, 1).await?;
            if first.pages > MOST_PAGES {
                let connection = reader.cloud_controller.connection();
                return Err(connection.failure(list.path(), FailureKind::EndlessList));
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

    async fn page(&self, list: &InstanceList, number: usize) -> Result<InstancePage, ServiceError> {
        self.api().instance_page(&self.call, list, number).await
    }
}
