//! The lines with the number of service instances, in the Go broker's form (`spec/contracts/broker-behaviour.md`
//! §3.17): collectors look for exactly that.

use std::io::{self, Write};

use jiff::{Timestamp, Unit};
use odb_api_types::kind::OperationKind;
use serde::Serialize;

/// The Go broker's prefix of each line.
const PREFIX: &str = "[on-demand-service-broker]";

/// Why instances are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsageEvent {
    /// The broker has started.
    StartUp,
    /// An operation came to its end.
    Ended(OperationKind),
}

/// How many service instances there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    /// Of all plans, those of retired ones included.
    pub total: usize,
    /// Of each plan of the catalog, in its order, by the plan's id.
    pub plans: Vec<(String, usize)>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Line<'a> {
    telemetry_time: &'a str,
    telemetry_source: &'static str,
    service_offering: Named<'a>,
    event: Event,
    #[serde(flatten)]
    counted: Counted<'a>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
}

#[derive(Clone, Serialize)]
struct Event {
    item: &'static str,
    operation: String,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Counted<'a> {
    ServiceInstances {
        total: usize,
    },
    ServiceInstancesPerPlan {
        #[serde(rename = "plan-id")]
        plan: &'a str,
        total: usize,
    },
}

impl Usage {
    /// Prints a line for all plans and one for each.
    pub(super) fn print(
        &self,
        offering: &str,
        event: UsageEvent,
        now: Timestamp,
    ) -> io::Result<()> {
        let lines = self.lines(offering, event, now);
        let mut stdout = io::stdout().lock();
        stdout.write_all(lines.as_bytes())?;
        stdout.flush()
    }

    fn lines(&self, offering: &str, event: UsageEvent, now: Timestamp) -> String {
        let total = Counted::ServiceInstances { total: self.total };
        let plans = self.plans.iter().map(|(plan, total)| {
            let total = *total;
            Counted::ServiceInstancesPerPlan { plan, total }
        });
        let event = match event {
            UsageEvent::StartUp => Event {
                item: "broker",
                operation: "startup".to_owned(),
            },
            UsageEvent::Ended(kind) => Event {
                item: "instance",
                operation: kind.to_string(),
            },
        };
        let stamp = now.strftime("%Y/%m/%d %H:%M:%S%.6f").to_string();
        let time = now.round(Unit::Second).unwrap_or(now).to_string();
        let line = |counted| {
            let line = Line {
                telemetry_time: &time,
                telemetry_source: "on-demand-broker",
                service_offering: Named { name: offering },
                event: event.clone(),
                counted,
            };
            let json = serde_json::to_string(&line).expect("its keys are text");
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
