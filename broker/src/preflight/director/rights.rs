//! What the broker's client may do at the Director.

use odb_api_types::code::Code;
use odb_clients::{director::Info, uaa::Token};
use odb_config::{Bosh, BoshConfigs};
use odb_core::finding::Finding;

use super::CLIENT_KEY;
use crate::preflight::{
    chart::{Chart, Probe},
    context::Context,
    uaa::{
        Applicant,
        rights::{DirectorRights, Grants, Side},
    },
};

/// Whether the client may deploy. The Director itself reports it only with an order.
pub(crate) fn look(
    token: &Token,
    info: &Info,
    context: &Context<'_>,
    bosh: &Bosh,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) -> bool {
    let scopes = token.scopes();
    let finding = |found, remedy| {
        let tried = format!("the scopes of the token of {applicant}");
        Finding::tried(Code::DirectorRights, Some(CLIENT_KEY), tried, found, remedy)
    };
    let may = match DirectorRights::of(scopes, &info.uuid) {
        DirectorRights::Everything(scope) => {
            let text = format!(
                "`{scope}` may do everything; `bosh.teams.TEAM.admin` is enough for all but cancelling tasks"
            );
            chart.fine(Probe::Rights, None, text);
            return true;
        }
        DirectorRights::Teams(teams) => {
            let found = format!(
                "{applicant} is admin of the teams `{}`: may deploy, change and delete service instances, run errands and keep configs, but \
                 not cancel tasks",
                teams.join("`, `")
            );
            let remedy = "nothing, if that is enough: what is cancelled ends after the step at work, and a deletion waits for the \
                          creation that it cuts short. With `bosh.admin` tasks are cancelled at once, but it may do everything to \
                          every deployment";
            let finding = finding(found, remedy.to_owned()).warning();
            chart.found(Probe::Rights, None, finding);
            return true;
        }
        DirectorRights::Reading => "may only read",
        DirectorRights::Nothing => "may do nothing",
    };
    let keeps_configs = context.bosh_configs() == BoshConfigs::Enabled;
    let has_errands = context.has_plan(|plan| {
        let errands = &plan.lifecycle_errands;
        !errands.post_deploy.is_empty() || !errands.pre_delete.is_empty()
    });
    let uses = [
        (true, "to deploy and to delete service instances"),
        (
            keeps_configs,
            "to keep BOSH configs (operation records, configs of adapters)",
        ),
        (
            context.has_dns_bindings(),
            "to make links (`binding_with_dns`)",
        ),
        (has_errands, "to run errands (`lifecycle_errands`)"),
    ];
    let needed = uses.into_iter().filter(|(is_needed, _)| *is_needed);
    let needed: Vec<&str> = needed.map(|(_, what)| what).collect();
    let found = format!(
        "{applicant} {may} at the Director at `{}`, having `{}`, so that every order will fail: `bosh.teams.TEAM.admin` is needed {}",
        bosh.url,
        scopes.join("`, `"),
        needed.join(", ")
    );
    let grants = Grants {
        context,
        side: Side::Director,
    };
    let update = grants.update(applicant.name(), token);
    let remedy = format!("give it the authority `bosh.teams.TEAM.admin` (`{update}`)");
    chart.found(Probe::Rights, None, finding(found, remedy));
    false
}
