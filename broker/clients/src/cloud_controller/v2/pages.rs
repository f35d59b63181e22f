//! Lists, page by page (`spec/contracts/platform-apis.md`, section 4.1).

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use url::Url;

use crate::{
    cloud_controller::connection::MOST_PAGES,
    connection::Connection,
    http::Call,
    service_error::{FailureKind, ServiceError},
};

/// The most that the Cloud Controller gives at once.
const PER_PAGE: &str = "100";

/// All entries of a list.
pub(super) async fn list<T: DeserializeOwned>(
    connection: &Connection,
    call: &Call,
    segments: &[&str],
) -> Result<Vec<T>, ServiceError> {
    let first = connection.address(segments, &[("results-per-page", PER_PAGE)]);
    all(connection, call, first).await
}

/// The entries of a list for which a condition holds, such as `name:a-user`.
pub(super) async fn filtered<T: DeserializeOwned>(
    connection: &Connection,
    call: &Call,
    segments: &[&str],
    condition: &str,
) -> Result<Vec<T>, ServiceError> {
    let query = [("q", condition), ("results-per-page", PER_PAGE)];
    all(connection, call, connection.address(segments, &query)).await
}

async fn all<T: DeserializeOwned>(
    connection: &Connection,
    call: &Call,
    first: Url,
) -> Result<Vec<T>, ServiceError> {
    let path = first.path().to_owned();
    let mut next = Some(first);
    let mut entries = Vec::new();
    for _ in 0..MOST_PAGES {
        let Some(url) = next else { return Ok(entries) };
        let page: Page<T> = connection.read_at(call, url).await?;
        entries.extend(page.resources);
        next = page.next_url.and_then(|link| connection.page(&link));
    }
    Err(connection.failure(path, FailureKind::EndlessList))
}

/// How many entries a list has.
pub(super) async fn count(
    connection: &Connection,
    call: &Call,
    segments: &[&str],
) -> Result<u64, ServiceError> {
    let url = connection.address(segments, &[("results-per-page", "1")]);
    let page: Page<IgnoredAny> = connection.read_at(call, url).await?;
    Ok(page.total_results)
}

#[derive(Deserialize)]
pub(super) struct Page<T> {
    pub(super) total_results: u64,
    /// 1 at least.
    pub(super) total_pages: usize,
    /// Relative.
    next_url: Option<String>,
    pub(super) resources: Vec<T>,
}
