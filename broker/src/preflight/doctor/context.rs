//! The valid parts of the configuration, and the timeouts of upstreams.

use std::{future::Future, time::Duration};

use odb_clients::http::{Call, Deadline, Limits};
use odb_config::{BoshConfigs, Offering, Plan, Reported, Sections};
use tokio::time::{Instant, timeout_at};

use crate::preflight::doctor::chart::{Chart, Probe, Subject};

/// After this many steps that time out, the rest is skipped.
const STEPS: u32 = 5;

pub(crate) const FILE_HAS_ERRORS: &str = "not checked, because of the errors in the file";
pub(crate) const BECAUSE_OF_ERRORS: &str = "because of the errors in the file";

/// How long each step may take, and all of them together.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    step: Duration,
    end: Deadline,
}

pub(crate) struct TooSlow {
    pub(crate) limit: Duration,
}

pub(crate) struct Context<'a> {
    pub(crate) sections: &'a Sections,
    pub(crate) timeouts: Timeouts,
}

impl Timeouts {
    /// Each step, such as a call, may take so long, and everything five times as long.
    pub fn of(step: Duration) -> Self {
        Self {
            step,
            end: Deadline::after(step * STEPS),
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

    /// Each call is made once, so that intermittent errors are visible.
    pub(crate) fn limits(self) -> Limits {
        Limits {
            connect: self.step,
            attempt: self.step,
            attempts: 1,
            ..Limits::default()
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

impl Context<'_> {
    pub(crate) fn chart(&self, subject: Subject) -> Chart {
        Chart::of(subject, self.timeouts)
    }

    pub(crate) fn left_out(&self, subject: Subject, why: &str) -> Chart {
        let mut chart = self.chart(subject);
        chart.not_asked(Probe::Answer, why);
        chart
    }

    /// The value of a section. Without one its servers are left out: the first subject, or the second in its place.
    pub(crate) fn section<'s, T>(
        &self,
        section: &'s Reported<T>,
        subjects: &[Subject],
        not_configured: &str,
    ) -> Result<&'s T, Vec<Chart>> {
        let (subjects, why) = match section {
            Reported::Right(section) => return Ok(section),
            Reported::Nothing => (subjects.get(..1).unwrap_or_default(), not_configured),
            Reported::Wrong => (subjects, FILE_HAS_ERRORS),
        };
        let charts = subjects.iter().map(|subject| self.left_out(*subject, why));
        Err(charts.collect())
    }

    pub(crate) fn offering(&self) -> Option<&Offering> {
        self.sections.offering.right().map(AsRef::as_ref)
    }

    /// Whether secrets of instances are kept in the Director's CredHub.
    pub(crate) fn keeps_secrets(&self) -> bool {
        self.sections.bosh_credhub.right().is_some()
    }

    pub(crate) fn has_plan(&self, is_wanted: fn(&Plan) -> bool) -> bool {
        let plans = self.offering().map(|offering| &offering.plans);
        plans.into_iter().flatten().any(is_wanted)
    }

    pub(crate) fn has_dns_bindings(&self) -> bool {
        self.has_plan(|plan| !plan.dns_bindings.is_empty())
    }

    pub(crate) fn bosh_configs(&self) -> BoshConfigs {
        let broker = self.sections.broker.right();
        broker.map_or(BoshConfigs::Enabled, |broker| broker.bosh_configs)
    }
}
