//! `odb plan` and `odb quota`: the plans of the offering, and how much of them is used.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use odb_api_types::management::ServiceMetric;
use odb_clients::http::StatusCode;
use odb_errand::{BrokerApi, Console, Dependencies, ExitStatus, Offering};
use serde::Serialize;

use crate::{
    brokers::{Broker, all, gather},
    contexts::Selection,
    output::{Output, Table, Tone},
};

/// The length of a bar.
const BAR: u64 = 20;

/// List the plans of the offering
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  odb plan list\n  odb plan list --all-contexts")]
pub(crate) enum PlanCommand {
    /// List plans with id, price, limit and number of instances
    #[command(after_help = "Examples:\n  odb plan list\n  odb plan list -o json")]
    List,
}

/// Show how much of each quota is used
///
/// Instances and resources of each plan, and of all plans together, against their limits.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  odb quota\n  odb quota --all-contexts --no-headers")]
pub(crate) struct Quota {}

/// A plan with its numbers.
#[derive(Debug, Serialize)]
struct PlanRow {
    broker: String,
    name: String,
    id: String,
    free: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    instances: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<i64>,
}

/// The use of instances or of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct QuotaRow {
    broker: String,
    /// None for all plans together.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    resource: String,
    used: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<i64>,
}

/// A broker's offering, and its metrics if it can count.
struct Numbers {
    offering: Offering,
    metrics: Option<Vec<ServiceMetric>>,
}

impl PlanCommand {
    pub(crate) async fn run(
        self,
        selection: &Selection,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let Self::List = self;
        let brokers = all(selection, &dependencies.console)?;
        let work = list(&brokers, output, &dependencies.console);
        dependencies.unless_stopped(work).await?
    }
}

impl Quota {
    pub(crate) async fn run(
        self,
        selection: &Selection,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let brokers = all(selection, &dependencies.console)?;
        let work = quota(&brokers, output, &dependencies.console);
        dependencies.unless_stopped(work).await?
    }
}

async fn numbers(broker: &BrokerApi) -> anyhow::Result<Numbers> {
    let offering = broker.offering().await?;
    let metrics = match broker.metrics().await {
        Ok(text) => Some(serde_json::from_str(&text).context("cannot read the metrics")?),
        // There is nothing to count.
        Err(error) if error.status() == Some(StatusCode::SERVICE_UNAVAILABLE) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Numbers { offering, metrics })
}

async fn list(
    brokers: &[Broker],
    output: &Output,
    console: &Console,
) -> anyhow::Result<ExitStatus> {
    let (answers, has_failed) =
        gather(brokers, console, async |broker| numbers(&broker.api).await).await?;
    let mut rows = Vec::new();
    for (broker, numbers) in &answers {
        for plan in &numbers.offering.plans {
            let quota = numbers.quota_of(broker, Some(&plan.name));
            rows.push(PlanRow {
                broker: broker.clone(),
                name: plan.name.clone(),
                id: plan.id.to_string(),
                free: plan.free,
                instances: quota.as_ref().map(|quota| quota.used),
                limit: quota.and_then(|quota| quota.limit),
            });
        }
    }
    let headings = headings(brokers, &["NAME", "ID", "PRICE", "INSTANCES", "LIMIT"]);
    let mut table = Table::new(&headings);
    let number = |number: Option<i64>, none: &str| {
        number.map_or_else(|| none.to_owned(), |number| number.to_string())
    };
    for row in &rows {
        let price = if row.free { "free" } else { "paid" };
        let mut cells = vec![
            row.name.clone(),
            row.id.clone(),
            price.to_owned(),
            number(row.instances, "unknown"),
            number(row.limit, "none"),
        ];
        if brokers.len() > 1 {
            cells.insert(0, row.broker.clone());
        }
        table.add(cells);
    }
    output.print(&rows, &table)?;
    Ok(status(has_failed))
}

async fn quota(
    brokers: &[Broker],
    output: &Output,
    console: &Console,
) -> anyhow::Result<ExitStatus> {
    let (answers, has_failed) =
        gather(brokers, console, async |broker| numbers(&broker.api).await).await?;
    let mut rows = Vec::new();
    for (broker, numbers) in &answers {
        if numbers.metrics.is_none() {
            bail!("{broker}: nothing to count: the broker is not registered with the platform");
        }
        let plans = numbers.offering.plans.iter();
        for plan in plans.map(|plan| Some(plan.name.as_str())).chain([None]) {
            rows.extend(numbers.quota_of(broker, plan));
            rows.extend(numbers.resources_of(broker, plan));
        }
    }
    let headings = headings(brokers, &["PLAN", "RESOURCE", "USED", "LIMIT", "USE"]);
    let mut table = Table::new(&headings);
    for row in &rows {
        let of = row.plan.clone().unwrap_or_else(|| "all plans".to_owned());
        let plain = |text: String| (text, Tone::Plain);
        let limit = row.limit.map(|limit| limit.to_string());
        let mut cells = vec![
            plain(of),
            plain(row.resource.clone()),
            plain(row.used.to_string()),
            plain(limit.unwrap_or_else(|| "none".to_owned())),
            row.limit
                .map_or_else(|| plain(String::new()), |limit| bar(row.used, limit)),
        ];
        if brokers.len() > 1 {
            cells.insert(0, plain(row.broker.clone()));
        }
        table.add_toned(cells);
    }
    output.print(&rows, &table)?;
    Ok(status(has_failed))
}

fn headings(brokers: &[Broker], of_one: &[&'static str]) -> Vec<&'static str> {
    let mut headings = of_one.to_vec();
    if brokers.len() > 1 {
        headings.insert(0, "BROKER");
    }
    headings
}

fn status(has_failed: bool) -> ExitStatus {
    if has_failed {
        ExitStatus::Failure
    } else {
        ExitStatus::Success
    }
}

impl Numbers {
    /// The metrics of a plan, or of all together, by the rest of their keys.
    fn of<'n>(&'n self, plan: Option<&str>) -> impl Iterator<Item = (&'n str, i64)> + 'n {
        let service = &self.offering.name;
        let prefix = match plan {
            Some(plan) => format!("/on-demand-broker/{service}/{plan}/"),
            None => format!("/on-demand-broker/{service}/"),
        };
        let metrics = self.metrics.iter().flatten();
        metrics.filter_map(move |metric| Some((metric.key.strip_prefix(&prefix)?, metric.value)))
    }

    fn quota_of(&self, broker: &str, plan: Option<&str>) -> Option<QuotaRow> {
        let find = |wanted: &str| {
            let found = self.of(plan).find(|(key, _)| *key == wanted);
            found.map(|(_, value)| value)
        };
        let used = find("total_instances")?;
        Some(QuotaRow {
            broker: broker.to_owned(),
            plan: plan.map(str::to_owned),
            resource: "instances".to_owned(),
            used,
            limit: find("quota_remaining").map(|remaining| used + remaining),
        })
    }

    fn resources_of(&self, broker: &str, plan: Option<&str>) -> Vec<QuotaRow> {
        let used = self.of(plan).filter_map(|(key, used)| {
            let resource = key.strip_suffix("/used")?;
            (!resource.contains('/')).then_some((resource, used))
        });
        let rows = used.map(|(resource, used)| {
            let key = format!("{resource}/remaining");
            let remaining = self.of(plan).find(|(found, _)| *found == key);
            QuotaRow {
                broker: broker.to_owned(),
                plan: plan.map(str::to_owned),
                resource: resource.to_owned(),
                used,
                limit: remaining.map(|(_, remaining)| used + remaining),
            }
        });
        rows.collect()
    }
}

/// `█████░░░░░ 50%`.
fn bar(used: i64, limit: i64) -> (String, Tone) {
    let (used, limit) = (
        u64::try_from(used).unwrap_or(0),
        u64::try_from(limit).unwrap_or(0),
    );
    let percent = (used * 100).checked_div(limit).unwrap_or(100);
    let full = (used * BAR).checked_div(limit).unwrap_or(BAR).min(BAR);
    let count = |parts: u64| usize::try_from(parts).unwrap_or_default();
    let text = "█".repeat(count(full)) + &"░".repeat(count(BAR - full));
    let tone = match percent {
        0..80 => Tone::Good,
        80..100 => Tone::Busy,
        _ => Tone::Bad,
    };
    (format!("{text} {percent}%"), tone)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn numbers() -> Numbers {
        let metric = |key: &str, value: i64| json!({ "key": format!("/on-demand-broker/redis/{key}"), "value": value, "unit": "count" });
        let metrics = json!([
            metric("small/total_instances", 3),
            metric("small/quota_remaining", 1),
            metric("small/ips/used", 6),
            metric("small/ips/remaining", 4),
            metric("large/total_instances", 1),
            metric("total_instances", 4),
            metric("ips/used", 6),
        ]);
        let offering = json!({ "id": "o", "name": "redis", "plans": [
            { "id": "s", "name": "small" }, { "id": "l", "name": "large", "free": false },
        ] });
        Numbers {
            offering: serde_json::from_value(offering).unwrap(),
            metrics: serde_json::from_value(metrics).unwrap(),
        }
    }

    fn row(plan: Option<&str>, resource: &str, used: i64, limit: Option<i64>) -> QuotaRow {
        QuotaRow {
            broker: "b".to_owned(),
            plan: plan.map(str::to_owned),
            resource: resource.to_owned(),
            used,
            limit,
        }
    }

    #[test]
    fn limits_are_what_is_used_and_what_remains() {
        let numbers = numbers();
        for (plan, expected) in [
            (Some("small"), row(Some("small"), "instances", 3, Some(4))),
            (Some("large"), row(Some("large"), "instances", 1, None)),
            (None, row(None, "instances", 4, None)),
        ] {
            assert_eq!(numbers.quota_of("b", plan), Some(expected));
        }
        let resources = numbers.resources_of("b", Some("small"));
        assert_eq!(resources, [row(Some("small"), "ips", 6, Some(10))]);
        let all = numbers.resources_of("b", None);
        assert_eq!(all, [row(None, "ips", 6, None)]);
    }

    #[test]
    fn a_bar_is_full_at_the_limit_and_above_it() {
        for (used, limit, expected, tone) in [
            (0, 4, "░░░░░░░░░░░░░░░░░░░░ 0%", Tone::Good),
            (2, 4, "██████████░░░░░░░░░░ 50%", Tone::Good),
            (5, 4, "████████████████████ 125%", Tone::Bad),
            (0, 0, "████████████████████ 100%", Tone::Bad),
        ] {
            assert_eq!(bar(used, limit), (expected.to_owned(), tone));
        }
    }
}
