//! The page for operators at `/ui`.

mod actions;
mod fleet;
mod hostile;
mod live;
mod reading;
mod switched;

use odb_stories::{Broker, BrokerConfiguration, Foundation, Platform, Response};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

pub(crate) const OPERATOR: &str = "operator";
pub(crate) const PASSWORD: &str = "of the page";

/// The page with credentials of its own and all actions.
pub(crate) fn everything() -> Value {
    json!({
        "enabled": true, "username": OPERATOR, "password": PASSWORD,
        "actions": ["upgrade", "cancel", "delete"],
    })
}

pub(crate) trait WithPage {
    fn with_page(self, ui: Value) -> Self;
}

impl WithPage for BrokerConfiguration<'_> {
    fn with_page(self, ui: Value) -> Self {
        self.with("/ui", ui)
    }
}

/// A person with the credentials of the page.
pub(crate) fn operator(foundation: &Foundation, broker: &Broker) -> Platform {
    foundation.platform(broker.url(), OPERATOR, PASSWORD)
}

async fn with_everything(foundation: &Foundation) -> (Broker, Platform) {
    let broker = foundation.broker().with_page(everything()).start().await;
    let operator = operator(foundation, &broker);
    (broker, operator)
}

async fn view(operator: &Platform, path: &str) -> String {
    let answer = operator.manage(path).await;
    answer.expect_status(200);
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    answer.text
}

/// The token of the form that asks for a confirmation.
async fn token(operator: &Platform, instance: &str, action: &str) -> String {
    let form = view(operator, &format!("/ui/instances/{instance}/{action}")).await;
    let (_, rest) = form
        .split_once("name=\"token\" value=\"")
        .expect("a form has a token");
    let (token, _) = rest.split_once('"').expect("its value ends");
    token.to_owned()
}

fn form(operator: &Platform, instance: &str, action: &str, body: &str) -> RequestBuilder {
    let path = format!("/ui/instances/{instance}/{action}");
    operator
        .management_request(Method::POST, &path)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(body.to_owned())
}

/// The view that follows an action.
async fn follow(operator: &Platform, done: &Response) -> String {
    let location = done.expect_status(303).header("location");
    view(operator, location).await
}

async fn confirmed(operator: &Platform, instance: &str, action: &str, more: &str) -> Response {
    let token = token(operator, instance, action).await;
    let body = format!("token={token}{more}");
    let request = form(operator, instance, action, &body);
    operator.send(request).await
}
