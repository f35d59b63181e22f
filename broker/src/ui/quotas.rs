//! `GET /ui/quotas`: what the instances use of each quota.

use actix_web::HttpResponse;
use odb_core::offering::QuotaUse;
use serde::Serialize;

use super::{
    answer::{ErrorView, PageError, page},
    words::Tone,
};
use crate::api::{ApiError, RequestKind, Run};

#[derive(Serialize)]
struct Content {
    error: Option<ErrorView>,
    quotas: Vec<Quota>,
}

#[derive(Serialize)]
struct Quota {
    plan: String,
    resource: String,
    used: i64,
    limit: Option<u64>,
    /// The bar, in percent.
    percent: u64,
    tone: Tone,
}

pub(super) async fn show(run: Run) -> Result<HttpResponse, PageError> {
    let (quotas, error) = match quotas(&run).await {
        Ok(quotas) => (quotas, None),
        Err(error) => (Vec::new(), Some(ErrorView::of(&error))),
    };
    page(&run, "quotas", "quotas.html", &Content { error, quotas })
}

async fn quotas(run: &Run) -> Result<Vec<Quota>, ApiError> {
    let uses = run.operator(RequestKind::Inventory, |operations, context| async move {
        let uses = operations.quota_uses(context).await?;
        Ok(uses.iter().map(Quota::of).collect())
    });
    uses.await
}

impl Quota {
    fn of(quota: &QuotaUse<'_>) -> Self {
        let used = i64::try_from(quota.used).unwrap_or(i64::MAX);
        let limit = quota.limit;
        let percent = limit.map_or(0, |limit| percent(used, limit));
        Self {
            plan: quota.plan.unwrap_or("All plans").to_owned(),
            resource: quota.resource.unwrap_or("service instances").to_owned(),
            used,
            limit,
            percent,
            tone: match percent {
                0..80 => Tone::Good,
                80..100 => Tone::Busy,
                _ => Tone::Bad,
            },
        }
    }
}

/// At most 100. Of a limit of 0 everything is used.
fn percent(used: i64, limit: u64) -> u64 {
    let used = u128::from(used.unsigned_abs());
    let percent = (used * 100).checked_div(u128::from(limit)).unwrap_or(100);
    u64::try_from(percent).unwrap_or(100).min(100)
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_bar_ends_at_its_limit() {
        for (used, limit, expected) in [(0, 10, 0), (9, 10, 90), (12, 10, 100), (0, 0, 100)] {
            assert_eq!(percent(used, limit), expected, "{used} of {limit}");
        }
    }
}
