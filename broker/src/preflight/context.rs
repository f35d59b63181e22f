//! The valid parts of the configuration, why the probes run, and the limits of time.

use std::{future::Future, time::Duration};

use odb_clients::http::{Call, Deadline, Limits};
use odb_config::{
    Adapter, Bosh, BoshConfigs, Broker, CloudFoundry, Config, CredHubAccess, Offering, Plan,
    Reported, RuntimeCredHub, Sections, ServiceInstancesApi,
};
use tokio::time::{Instant, timeout_at};

use crate::preflight::chart::{Chart, Probe, Subject};

/// After this many steps that time out, the rest is skipped.
const STEPS: u32 = 5;

pub(crate) const FILE_HAS_ERRORS: &str = "not checked, because of the errors in the file";
pub(crate) const BECAUSE_OF_ERRORS: &str = "because of the errors in the file";

/// Why the probes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// For a start, or a check as at a start: only the questions that may prevent it.
    Start,
    /// For `doctor`: all questions.
    Doctor,
}

/// How long each step may take, and all of them together.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    purpose: Purpose,
    step: Duration,
    end: Deadline,
}

pub(crate) struct TooSlow {
    pub(crate) limit: Duration,
}

pub(crate) struct Context<'a> {
    pub(crate) broker: Option<&'a Broker>,
    pub(crate) bosh: Reported<&'a Bosh>,
    pub(crate) bosh_credhub: Reported<&'a CredHubAccess>,
    pub(crate) cloud_foundry: Reported<&'a CloudFoundry>,
    pub(crate) service_instances_api: Reported<&'a ServiceInstancesApi>,
    pub(crate) runtime_credhub: Reported<&'a RuntimeCredHub>,
    pub(crate) adapter: Option<&'a Adapter>,
    pub(crate) offering: Option<&'a Offering>,
    pub(crate) timeouts: Timeouts,
}

impl Timeouts {
    /// Of `doctor`: each step, such as a call, may take so long, and everything five times as long.
    pub fn of(step: Duration) -> Self {
        Self {
            purpose: Purpose::Doctor,
            step,
            end: Deadline::after(step * STEPS),
        }
    }

    /// Of a start: everything together may take so long.
    pub(crate) fn of_start(limit: Duration) -> Self {
        Self {
            purpose: Purpose::Start,
            step: limit,
            end: Deadline::after(limit),
        }
    }

    /// The context of the next call.
    pub(crate) fn call(self) -> Call {
        Call::until(self.end)
    }

    /// The context of something that takes several calls.
    pub(crate) fn work(self) -> Call {
        Call::within(self.end.remaining().min(self.step * 2))
    }

    /// A start retries as a broker does. `doctor` makes each call once, so that intermittent errors are visible.
    pub(crate) fn limits(self) -> Limits {
        match self.purpose {
            Purpose::Start => Limits::default(),
            Purpose::Doctor => Limits {
                connect: self.step,
                attempt: self.step,
                attempts: 1,
                ..Limits::default()
            },
        }
    }

    /// Waits for a step without its own limit, and measures it.
    pub(crate) async fn wait<T>(
        self,
        step: impl Future<Output = T>,
    ) -> Result<(T, Duration), TooSlow> {
        let limit = self.step.min(self.end.remaining());
        let (end, step) = (Instant::now() + limit, timed(step));
        timeout_at(end, step).await.map_err(|_| TooSlow { limit })
    }
}

pub(crate) async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let began = Instant::now();
    (work.await, began.elapsed())
}

impl<'a> Context<'a> {
    /// Of a file that may have errors, for `doctor`.
    pub(crate) fn of_sections(sections: &'a Sections, timeouts: Timeouts) -> Self {
        Self {
            broker: sections.broker.right(),
            bosh: sections.bosh.as_ref(),
            bosh_credhub: sections.bosh_credhub.as_ref(),
            cloud_foundry: sections.cloud_foundry.as_ref(),
            service_instances_api: sections.service_instances_api.as_ref(),
            runtime_credhub: sections.runtime_credhub.as_ref(),
            adapter: sections.adapter.right(),
            offering: sections.offering.right().map(AsRef::as_ref),
            timeouts,
        }
    }

    /// Of a valid file, for a start.
    pub(crate) fn of_config(config: &'a Config) -> Self {
        fn part<T>(section: Option<&T>) -> Reported<&T> {
            section.map_or(Reported::Nothing, Reported::Right)
        }
        Self {
            broker: Some(&config.broker),
            bosh: Reported::Right(&config.bosh),
            bosh_credhub: part(config.bosh_credhub.as_ref()),
            cloud_foundry: part(config.cloud_foundry.as_ref()),
            service_instances_api: part(config.service_instances_api.as_ref()),
            runtime_credhub: part(config.runtime_credhub.as_ref()),
            adapter: Some(&config.adapter),
            offering: Some(&config.offering),
            timeouts: Timeouts::of_start(config.broker.timings.start_up),
        }
    }

    pub(crate) fn is_start(&self) -> bool {
        self.timeouts.purpose == Purpose::Start
    }

    pub(crate) fn chart(&self, subject: Subject) -> Chart {
        Chart::of(subject, self.timeouts)
    }

    pub(crate) fn left_out(&self, subject: Subject, why: &str) -> Chart {
        let mut chart = self.chart(subject);
        chart.not_asked(Probe::Answer, why);
        chart
    }

    /// The value of a section. Without one its servers are left out: the first subject, or the second in its place.
    pub(crate) fn section<T>(
        &self,
        section: &Reported<&'a T>,
        subjects: &[Subject],
        not_configured: &str,
    ) -> Result<&'a T, Vec<Chart>> {
        let (subjects, why) = match section {
            Reported::Right(section) => return Ok(section),
            Reported::Nothing => (subjects.get(..1).unwrap_or_default(), not_configured),
            Reported::Wrong => (subjects, FILE_HAS_ERRORS),
        };
        let charts = subjects.iter().map(|subject| self.left_out(*subject, why));
        Err(charts.collect())
    }

    /// Whether secrets of instances are kept in the Director's CredHub.
    pub(crate) fn keeps_secrets(&self) -> bool {
        self.bosh_credhub.right().is_some()
    }

    pub(crate) fn has_plan(&self, is_wanted: fn(&Plan) -> bool) -> bool {
        let plans = self.offering.map(|offering| &offering.plans);
        plans.into_iter().flatten().any(is_wanted)
    }

    pub(crate) fn has_dns_bindings(&self) -> bool {
        self.has_plan(|plan| !plan.dns_bindings.is_empty())
    }

    pub(crate) fn bosh_configs(&self) -> BoshConfigs {
        let broker = self.broker;
        broker.map_or(BoshConfigs::Enabled, |broker| broker.bosh_configs)
    }
}
