use odb_adapter_sdk::protocol::ExitCode;

use crate::check::adapter_request::AdapterRequest;
use crate::check::answers::Outcome;
use crate::check::probes::forms::check_forms_of;
use crate::check::probes::orders::Ordered;
use crate::check::report::Area;
use crate::check::requests::INSTANCE_ID;
use crate::check::rules::{bindings, streams};
use crate::check::session::Session;

/// Asks for the dashboard.
pub(in crate::check) fn check_dashboard(session: &mut Session<'_>, ordered: &Ordered) {
    session.begin(Area::Dashboard);
    let deployed = &ordered.deployed;
    let adapter_request =
        AdapterRequest::dashboard_url(INSTANCE_ID, &ordered.plan.document, &deployed.text);
    match session.ask("dashboard", &adapter_request) {
        Outcome::Answered((id, answer)) => {
            match answer["dashboard_url"].as_str() {
                Some(url) if is_address(url) => {}
                Some(url) => {
                    let detail = format!("it is \"{url}\"");
                    session.find(&bindings::WRONG_DASHBOARD, "", detail, Some(id));
                }
                None => {
                    let detail = "`dashboard_url` is missing or not a text";
                    session.find(&streams::WRONG_SHAPE, "dashboard-url", detail, Some(id));
                }
            }
            check_forms_of(session, &adapter_request);
        }
        Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => {
            session.not_implemented("dashboard-url");
        }
        Outcome::Refused(refused) => {
            let detail = session.rejection(&refused);
            session.find_failure(&bindings::DASHBOARD_FAILS, "", detail, refused.id);
        }
        Outcome::Broken => {}
    }
}

fn is_address(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !url.contains(char::is_whitespace)
}
