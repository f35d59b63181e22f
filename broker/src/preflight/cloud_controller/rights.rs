//! What the broker's client, or user, may do at the Cloud Controller, and to the clients at its UAA.

use odb_api_types::code::Code;
use odb_clients::{
    cloud_controller::SEES_ALL,
    uaa::{ClientRights, Token},
};
use odb_config::{CloudFoundry, Offering};
use odb_core::finding::Finding;

use crate::preflight::{
    chart::{Chart, Probe},
    context::Context,
    uaa::{
        Applicant,
        rights::{CloudControllerRights, Grants, Side, missing},
    },
};

fn of_scopes(code: Code, applicant: Applicant<'_>, found: String, remedy: String) -> Finding {
    let tried = format!("the scopes of the token of {applicant}");
    Finding::tried(code, Some(applicant.key()), tried, found, remedy)
}

fn update(context: &Context<'_>, applicant: Applicant<'_>, token: &Token) -> String {
    let grants = Grants {
        context,
        side: Side::Platform,
    };
    grants.update(applicant.name(), token)
}

/// What the token may read. A start leaves a token without any right to the request for plans.
pub(crate) fn look(
    token: &Token,
    context: &Context<'_>,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) -> CloudControllerRights {
    let rights = match CloudControllerRights::of(token.scopes()) {
        CloudControllerRights::Nothing if context.is_start() => CloudControllerRights::LooksAtParts,
        rights => rights,
    };
    let give = match applicant {
        Applicant::Client(..) => format!(
            "give it the authority `cloud_controller.admin` (`{}`); `{}` is enough for the broker, not for the errands that \
             register or delete",
            update(context, applicant, token),
            SEES_ALL[1]
        ),
        Applicant::User(name, _) => format!(
            "put it into the group `cloud_controller.admin` (`uaac member add cloud_controller.admin {name}`)"
        ),
    };
    let lacking = SEES_ALL.join("`, `");
    match rights {
        CloudControllerRights::Everything => {
            let text = "`cloud_controller.admin`: may do what the broker and all errands do";
            chart.fine(Probe::Rights, None, text);
        }
        CloudControllerRights::LooksAtAll => {
            let text = "sees all spaces, which is enough for the broker; errands that register, upgrade or delete through the \
                        platform need `cloud_controller.admin`";
            chart.fine(Probe::Rights, None, text);
        }
        CloudControllerRights::LooksAtParts => {
            let (code, quotas) = if context.offering.is_some_and(Offering::has_quotas) {
                (Code::CountingRights, "quotas count too little, ")
            } else {
                (Code::InstancesUnknown, "")
            };
            let found = format!(
                "{applicant} sees only spaces in which it has a role, lacking `{lacking}`: {quotas}plans in use may be missed, lists of \
                 instances for upgrades are too short, and no deployment is reported as an orphan"
            );
            let finding = of_scopes(code, applicant, found, give).warning();
            chart.found(Probe::Rights, None, finding);
        }
        CloudControllerRights::Nothing => {
            let found = format!(
                "{applicant} may not look at anything at the Cloud Controller, lacking `{lacking}`, which the check of plans in use, quotas and lists of \
                 instances need"
            );
            let finding = of_scopes(Code::CloudControllerCredentials, applicant, found, give);
            chart.found(Probe::Rights, None, finding);
        }
    }
    rights
}

/// The broker's rights on clients, if instances have clients.
pub(crate) fn look_at_clients(
    token: &Token,
    context: &Context<'_>,
    cf: &CloudFoundry,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) {
    let Some(definition) = &cf.client_definition else {
        return;
    };
    let finding = |found| {
        let remedy = format!(
            "give it the authority `clients.admin` (`{}`), or remove `cf.uaa.client_definition`",
            update(context, applicant, token)
        );
        of_scopes(Code::ClientRights, applicant, found, remedy)
    };
    match ClientRights::of(token) {
        ClientRights::All => chart.fine(Probe::Rights, None, "may administer clients"),
        ClientRights::Unknown => chart.not_asked(Probe::Rights, "UAA does not list scopes"),
        ClientRights::Limited if definition.needs_an_administrator() => {
            let found = format!(
                "{applicant} lacks `clients.admin`: with `clients.write` the UAA refuses authorities, the grant `password` and scopes \
                 that it has not itself in `cf.uaa.client_definition`"
            );
            let finding = finding(found).warning();
            chart.found(Probe::Rights, None, finding);
        }
        ClientRights::Limited => {
            let text = "may write clients as far as `cf.uaa.client_definition` wants it";
            chart.fine(Probe::Rights, None, text);
        }
        ClientRights::Lacking => {
            let lacking = missing(&["clients.read", "clients.write"], token.scopes());
            let found = format!(
                "{applicant} lacks `{}` or `clients.admin`, which `cf.uaa.client_definition` needs",
                lacking.join("`, `")
            );
            chart.found(Probe::Rights, None, finding(found));
        }
    }
}
