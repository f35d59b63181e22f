//! The instances that a pass is about, listed by the broker.

use std::collections::HashSet;

use anyhow::{Context, bail};
use odb_api_types::ids::InstanceId;

use super::{members::Member, pass::say_listed, resumption::RunUnderWay, run::FleetRun};
use crate::{
    broker_api::{ListError, ListedInstance},
    report::{Outcome, Report, Row},
};

/// Whether a run has listed its instances before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    /// The first list: a named instance that is missing is a typo.
    First,
    /// It has: an instance that is not there any more was deleted meanwhile.
    Later,
}

impl FleetRun<'_> {
    /// Logs the start of a pass, and lists its instances.
    pub(super) async fn begin_pass(
        &self,
        under_way: &RunUnderWay,
        listing: Listing,
        report: &mut Report,
    ) -> anyhow::Result<Vec<Member>> {
        self.console.say(format_args!(
            "STARTING OPERATION with {} concurrent workers",
            self.file.max_in_flight
        ));
        let members = match self.inventory(listing, report).await {
            // A Go broker lists only ids, which is enough for a new run over the complete fleet.
            Err(error)
                if is_unknown_route(&error)
                    && !under_way.is_continued
                    && !self.choice.is_narrow() =>
            {
                let listed = self.list(&[]).await?;
                listed.into_iter().map(Member::from).collect()
            }
            members => members?,
        };
        say_listed(&self.console, &members);
        Ok(members)
    }

    pub(super) async fn list(
        &self,
        filter: &[(String, String)],
    ) -> anyhow::Result<Vec<ListedInstance>> {
        let listed = self.dependencies.unless_stopped(self.broker.list(filter));
        listed.await?.context("error listing service instances")
    }

    /// The instances that are chosen, with all that is known of them.
    pub(super) async fn inventory(
        &self,
        listing: Listing,
        report: &mut Report,
    ) -> anyhow::Result<Vec<Member>> {
        let query = self.choice.query();
        let asked = self.broker.inventory(&query);
        let found = self.dependencies.unless_stopped(asked).await?;
        let found = found.context("error listing service instances")?;
        if !found.complete {
            bail!("error listing service instances: the list is incomplete");
        }
        let all: Vec<Member> = found
            .service_instances
            .into_iter()
            .map(Member::from)
            .collect();
        if listing == Listing::First {
            let unknown = self.choice.excluded_in_vain(&all);
            if !unknown.is_empty() {
                bail!(
                    "cannot exclude instances that are not in the selection: {}",
                    unknown.join(", ")
                );
            }
        }
        let mut members = all;
        members.retain(|member| !self.choice.excludes(member));
        let listed: HashSet<&str> = members.iter().map(|member| member.id.as_str()).collect();
        let wanted = self.choice.instances.iter();
        let missing: Vec<&str> = wanted
            .map(String::as_str)
            .filter(|id| !listed.contains(id) && !self.choice.excluded.contains(*id))
            .collect();
        if listing == Listing::Later {
            self.report_gone(&missing, report);
            return Ok(members);
        }
        if !missing.is_empty() {
            bail!(
                "these service instances are not in the selection: {}",
                missing.join(", ")
            );
        }
        if members.is_empty() && self.choice.is_narrow() {
            bail!("the selection has no service instance after exclusions");
        }
        Ok(members)
    }

    /// The results that an earlier pass recorded for them are out of date.
    fn report_gone(&self, missing: &[&str], report: &mut Report) {
        for id in missing {
            self.console.say(format_args!(
                "[{id}] deleted in the meantime, or never created"
            ));
            if let Ok(id) = InstanceId::try_from((*id).to_owned()) {
                report.add(Row::of(id, Outcome::Gone));
            }
        }
    }
}

fn is_unknown_route(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<ListError>();
    error.is_some_and(ListError::is_unknown_route)
}
