//! Requests to one version of the API: addresses, single resources, lists page by page
//! (`spec/contracts/platform-apis.md`, sections 3.3 and 4.1).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use url::Url;

use super::ApiVersion;
use crate::{
    connection::{Answered, Connection},
    http::{Call, Method, Repeat, Request},
    service_error::{FailureKind, Result},
};

/// More pages than any list has that does not go round in circles.
pub(super) const MOST_PAGES: usize = 1000;
/// How many ids one filter holds, so that the URL stays below the limits of proxies.
pub(super) const IDS_PER_FILTER: usize = 50;

const UNRESERVED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The Cloud Controller by one version of its API.
#[derive(Clone, Copy)]
pub(super) struct Api<'c> {
    pub(super) connection: &'c Connection,
    pub(super) version: ApiVersion,
}

impl Api<'_> {
    /// The address of something below `/v3` or `/v2`.
    pub(super) fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        let segments = [&[self.version.as_str()], segments].concat();
        self.connection.address(&segments, query)
    }

    /// Reads a thing whose id is known, without the metadata of version 2.
    pub(super) async fn read<T>(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T>
    where
        T: DeserializeOwned,
    {
        #[derive(Deserialize)]
        struct Single<T> {
            entity: T,
        }
        let url = self.address(segments, query);
        match self.version {
            ApiVersion::V3 => self.connection.read_at(call, url).await,
            ApiVersion::V2 => {
                let found: Single<T> = self.connection.read_at(call, url).await?;
                Ok(found.entity)
            }
        }
    }

    /// The method that changes some attributes of a thing.
    pub(super) fn update(&self) -> Method {
        match self.version {
            ApiVersion::V3 => Method::PATCH,
            ApiVersion::V2 => Method::PUT,
        }
    }

    pub(super) fn request(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, &str)],
        repeat: Repeat,
    ) -> Request {
        Request::new(method, self.address(segments, query), repeat)
    }

    pub(super) async fn send(&self, call: &Call, request: Request) -> Result<Answered> {
        self.connection.send(call, request).await
    }

    /// All entries of a list that pass the filters.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        filters: &[(&str, &str)],
    ) -> Result<Vec<T>> {
        let largest_page = match self.version {
            ApiVersion::V3 => ("per_page", "5000"),
            ApiVersion::V2 => ("results-per-page", "100"),
        };
        let first = self.address(segments, &[filters, &[largest_page]].concat());
        let path = first.path().to_owned();
        let mut next = Some(first);
        let mut entries = Vec::new();
        for _ in 0..MOST_PAGES {
            let Some(url) = next else { return Ok(entries) };
            let page: Page<T> = self.page(call, url).await?;
            entries.extend(page.resources);
            next = page.next.and_then(|link| self.connection.page(&link));
        }
        Err(self.connection.failure(path, FailureKind::EndlessList))
    }

    /// How many entries a list has.
    pub(super) async fn count(
        &self,
        call: &Call,
        segments: &[&str],
        filters: &[(&str, &str)],
    ) -> Result<u64> {
        let smallest_page = match self.version {
            ApiVersion::V3 => ("per_page", "1"),
            ApiVersion::V2 => ("results-per-page", "1"),
        };
        let url = self.address(segments, &[filters, &[smallest_page]].concat());
        let page: Page<IgnoredAny> = self.page(call, url).await?;
        Ok(page.total)
    }

    pub(super) async fn page<T, Included>(&self, call: &Call, url: Url) -> Result<Page<T, Included>>
    where
        T: DeserializeOwned,
        Included: DeserializeOwned + Default,
    {
        Ok(match self.version {
            ApiVersion::V3 => {
                let page: PageV3<T, Included> = self.connection.read_at(call, url).await?;
                Page {
                    total: page.pagination.total_results,
                    pages: page.pagination.total_pages,
                    next: page.pagination.next.map(|link| link.href),
                    resources: page.resources,
                    included: page.included,
                }
            }
            ApiVersion::V2 => {
                let page: PageV2<T> = self.connection.read_at(call, url).await?;
                Page {
                    total: page.total_results,
                    pages: page.total_pages,
                    next: page.next_url,
                    resources: page.resources,
                    included: Included::default(),
                }
            }
        })
    }
}

/// A filter's value in version 3. The Cloud Controller takes the commas apart and decodes each value once more.
pub(super) fn values<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let encoded: Vec<_> = values
        .into_iter()
        .map(|value| utf8_percent_encode(value, &UNRESERVED).to_string())
        .collect();
    encoded.join(",")
}

/// A page of a list, in version 3 with its included objects.
pub(super) struct Page<T, Included = IgnoredAny> {
    /// The number of entries of the complete list.
    pub(super) total: u64,
    /// 1 at least.
    pub(super) pages: usize,
    next: Option<String>,
    pub(super) resources: Vec<T>,
    pub(super) included: Included,
}

#[derive(Deserialize)]
#[serde(bound = "T: Deserialize<'de>, Included: Deserialize<'de> + Default")]
struct PageV3<T, Included> {
    pagination: Pagination,
    resources: Vec<T>,
    #[serde(default)]
    included: Included,
}

#[derive(Deserialize)]
struct Pagination {
    total_results: u64,
    total_pages: usize,
    next: Option<Link>,
}

#[derive(Deserialize)]
struct Link {
    href: String,
}

#[derive(Deserialize)]
struct PageV2<T> {
    total_results: u64,
    total_pages: usize,
    /// Relative.
    next_url: Option<String>,
    resources: Vec<T>,
}

/// A thing of a list of version 2, with its id.
#[derive(Deserialize)]
pub(super) struct Resource<Guid, Entity> {
    pub(super) metadata: WithGuid<Guid>,
    pub(super) entity: Entity,
}

/// Something of which only the id is needed.
#[derive(Deserialize)]
pub(super) struct WithGuid<Guid> {
    pub(super) guid: Guid,
}

/// A relationship to one other thing in version 3.
#[derive(Deserialize)]
pub(super) struct ToOne<Guid> {
    pub(super) data: WithGuid<Guid>,
}
