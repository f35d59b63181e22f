//! Reports the number of instances to collectors of telemetry (`broker.enable_telemetry`): after the start, and after
//! each operation. Requests do not wait for it.

use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

use futures_util::TryStreamExt;
use jiff::{Timestamp, Unit};
use odb_api_types::kind::OperationKind;
use odb_clients::http::Call;
use odb_config::Offering;
use odb_redaction::Chain;
use serde_json::{Value, json};
use tokio::sync::broadcast::{
    Receiver,
    error::{RecvError, TryRecvError},
};

use super::{InstanceSource, SourceError};

const PREFIX: &str = "[on-demand-service-broker]";

/// Reports now, and whenever an operation ends. Operations that end while the instances are being listed share the
/// listing after that one. A listing may take `limit`.
pub async fn report_usage(
    source: Arc<dyn InstanceSource>,
    offering: Arc<Offering>,
    limit: Duration,
    mut ends: Receiver<OperationKind>,
) {
    let mut events = vec![UsageEvent::StartUp];
    loop {
        match count(&*source, &offering, limit).await {
            Ok(usage) => print(&usage, &offering.name, &events),
            Err(error) => tracing::warn!(
                code = %error.code(),
                error = %Chain(&error),
                "Failed to query list of instances for telemetry"
            ),
        }
        let first = loop {
            match ends.recv().await {
                Ok(kind) => break kind,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        };
        events = vec![UsageEvent::Ended(first)];
        loop {
            match ends.try_recv() {
                Ok(kind) => events.push(UsageEvent::Ended(kind)),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
    }
}

async fn count(
    source: &dyn InstanceSource,
    offering: &Offering,
    limit: Duration,
) -> Result<Usage, SourceError> {
    let mut entries = source.entries(&Call::within(limit));
    let plans = offering.plans.iter();
    let mut usage = Usage {
        total: 0,
        plans: plans.map(|plan| (plan.id.as_str().to_owned(), 0)).collect(),
    };
    while let Some(entry) = entries.try_next().await? {
        usage.total += 1;
        let mut plans = usage.plans.iter_mut();
        if let Some((_, count)) = plans.find(|(plan, _)| plan == entry.plan.as_str()) {
            *count += 1;
        }
    }
    Ok(usage)
}

fn print(usage: &Usage, offering: &str, events: &[UsageEvent]) {
    for event in events {
        let lines = usage.lines(offering, *event, Timestamp::now());
        let mut stdout = io::stdout().lock();
        let printed = stdout
            .write_all(lines.as_bytes())
            .and_then(|()| stdout.flush());
        if let Err(error) = printed {
            tracing::warn!(%error, "could not print a line of telemetry");
        }
    }
}

#[derive(Clone, Copy)]
enum UsageEvent {
    StartUp,
    Ended(OperationKind),
}

struct Usage {
    /// Of all plans, those of retired ones included.
    total: usize,
    /// Of each plan of the catalog, in its order, by the plan's id.
    plans: Vec<(String, usize)>,
}

impl Usage {
    /// A line for all plans and one for each, in the Go broker's form (`spec/contracts/broker-behaviour.md` §3.17):
    /// collectors look for exactly that.
    fn lines(&self, offering: &str, event: UsageEvent, now: Timestamp) -> String {
        let (item, operation) = match event {
            UsageEvent::StartUp => ("broker", "startup".to_owned()),
            UsageEvent::Ended(kind) => ("instance", kind.to_string()),
        };
        let stamp = now.strftime("%Y/%m/%d %H:%M:%S%.6f").to_string();
        let time = now.round(Unit::Second).unwrap_or(now).to_string();
        let total = ("service-instances", json!({ "total": self.total }));
        let plans = self.plans.iter().map(|(plan, total)| {
            let count = json!({ "plan-id": plan, "total": total });
            ("service-instances-per-plan", count)
        });
        let line = |(counted, count): (&str, Value)| {
            let json = json!({
                "telemetry-time": time,
                "telemetry-source": "on-demand-broker",
                "service-offering": { "name": offering },
                "event": { "item": item, "operation": operation },
                (counted): count,
            });
            format!("{PREFIX} {stamp} {json}\n")
        };
        std::iter::once(total).chain(plans).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_the_go_brokers() {
        let usage = Usage {
            total: 3,
            plans: vec![("plan-1".to_owned(), 2), ("plan-2".to_owned(), 0)],
        };
        let now = "2026-11-21T09:05:07.0123Z".parse().unwrap();

        let at_start = usage.lines("redis", UsageEvent::StartUp, now);
        let ended = UsageEvent::Ended(OperationKind::ForceDelete);
        let at_an_end = usage.lines("redis", ended, now);

        let begin = "[on-demand-service-broker] 2026/11/21 09:05:07.012300 {\"telemetry-time\":\"2026-11-21T09:05:07Z\",\
                     \"telemetry-source\":\"on-demand-broker\",\"service-offering\":{\"name\":\"redis\"},";
        let lines: Vec<&str> = at_start.lines().collect();
        assert_eq!(
            lines,
            [
                format!(
                    "{begin}\"event\":{{\"item\":\"broker\",\"operation\":\"startup\"}},\"service-instances\":{{\"total\":3}}}}"
                ),
                format!(
                    "{begin}\"event\":{{\"item\":\"broker\",\"operation\":\"startup\"}},\
                     \"service-instances-per-plan\":{{\"plan-id\":\"plan-1\",\"total\":2}}}}"
                ),
                format!(
                    "{begin}\"event\":{{\"item\":\"broker\",\"operation\":\"startup\"}},\
                     \"service-instances-per-plan\":{{\"plan-id\":\"plan-2\",\"total\":0}}}}"
                ),
            ]
        );
        assert_eq!(
            at_an_end.lines().next().unwrap(),
            format!(
                "{begin}\"event\":{{\"item\":\"instance\",\"operation\":\"force-delete\"}},\"service-instances\":{{\"total\":3}}}}"
            )
        );
    }
}
