//! Lists, page by page (`spec/contracts/platform-apis.md`, section 3.3).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use crate::{
    cloud_controller::connection::MOST_PAGES,
    connection::Connection,
    http::Call,
    service_error::{FailureKind, ServiceError},
};

/// The most that the Cloud Controller gives at once.
const PER_PAGE: &str = "5000";
/// How many ids one filter holds, so that the URL stays below the limits of proxies.
pub(super) const IDS_PER_FILTER: usize = 50;

const UNRESERVED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// All entries of a list.
pub(super) async fn list<T: DeserializeOwned>(
    connection: &Connection,
    call: &Call,
    segments: &[&str],
    filters: &[(&str, &str)],
) -> Result<Vec<T>, ServiceError> {
    let query = [filters, &[("per_page", PER_PAGE)]].concat();
    let first = connection.address(segments, &query);
    let path = first.path().to_owned();
    let mut next = Some(first);
    let mut entries = Vec::new();
    for _ in 0..MOST_PAGES {
        let Some(url) = next else { return Ok(entries) };
        let page: Page<T> = connection.read_at(call, url).await?;
        entries.extend(page.resources);
        next = page
            .pagination
            .next
            .and_then(|link| connection.page(&link.href));
    }
    Err(connection.failure(path, FailureKind::EndlessList))
}

/// How many entries a list has.
pub(super) async fn count(
    connection: &Connection,
    call: &Call,
    segments: &[&str],
    filter: (&str, &str),
) -> Result<u64, ServiceError> {
    let url = connection.address(segments, &[filter, ("per_page", "1")]);
    let page: Page<IgnoredAny> = connection.read_at(call, url).await?;
    Ok(page.pagination.total_results)
}

/// A filter's value. The Cloud Controller takes the commas apart and decodes each value once more.
pub(super) fn values<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let encoded: Vec<_> = values
        .into_iter()
        .map(|value| utf8_percent_encode(value, &UNRESERVED).to_string())
        .collect();
    encoded.join(",")
}

type Page<T> = Paged<T, IgnoredAny>;

/// A page with its included objects.
#[derive(Deserialize)]
#[serde(bound = "T: Deserialize<'de>, Included: Deserialize<'de> + Default")]
pub(super) struct Paged<T, Included> {
    pub(super) pagination: Pagination,
    pub(super) resources: Vec<T>,
    #[serde(default)]
    pub(super) included: Included,
}

#[derive(Deserialize)]
pub(super) struct Pagination {
    pub(super) total_results: u64,
    /// 1 at least.
    pub(super) total_pages: usize,
    next: Option<Link>,
}

#[derive(Deserialize)]
struct Link {
    href: String,
}

/// A relationship to one other thing.
#[derive(Deserialize)]
pub(super) struct ToOne<Id> {
    pub(super) data: Related<Id>,
}

#[derive(Deserialize)]
pub(super) struct Related<Id> {
    pub(super) guid: Id,
}
