use odb_adapter_sdk::protocol::ExitCode;

use super::answers::Outcome;
use super::orders::Ordered;
use super::question::Question;
use super::report::Area;
use super::requests::INSTANCE_ID;
use super::rules::{bindings, streams};
use super::session::Session;

impl Session<'_> {
    /// Asks for the dashboard.
    pub(super) fn check_dashboard(&mut self, ordered: &Ordered) {
        self.begin(Area::Dashboard);
        let deployed = &ordered.deployed;
        let question = Question::dashboard_url(INSTANCE_ID, &ordered.plan.document, &deployed.text);
        match self.ask("dashboard", &question) {
            Outcome::Answered((id, answer)) => {
                match answer["dashboard_url"].as_str() {
                    Some(url) if is_address(url) => {}
                    Some(url) => {
                        let detail = format!("it is \"{url}\"");
                        self.find(&bindings::WRONG_DASHBOARD, "", detail, Some(id));
                    }
                    None => {
                        let detail = "`dashboard_url` is missing or not a text";
                        self.find(&streams::WRONG_SHAPE, "dashboard-url", detail, Some(id));
                    }
                }
                self.check_forms_of(&question);
            }
            Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => {
                self.not_implemented("dashboard-url");
            }
            Outcome::Refused(refused) => {
                let detail = self.refusal(&refused);
                self.find_failure(&bindings::DASHBOARD_FAILS, "", detail, refused.id);
            }
            Outcome::Broken => {}
        }
    }
}

fn is_address(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !url.contains(char::is_whitespace)
}
