//! As whom the broker counts at the Cloud Controller, and that it can do without one.

use odb_stories::{BrokerConfiguration, Foundation, Order, new_id};
use serde_json::json;

use crate::start_up_checks::failing_start;

/// Everything in it has a meaning in a form or an address.
const PASSWORD: &str = "a&b=c+d %41;é";

fn as_user<'f>(foundation: &'f Foundation, user: &str) -> BrokerConfiguration<'f> {
    let user = json!({ "user_credentials": { "username": user, "password": PASSWORD } });
    foundation.broker().with("/cf/uaa/authentication", user)
}

#[tokio::test]
async fn a_client_that_does_not_see_all_spaces_is_warned_that_quotas_may_be_exceeded() {
    let foundation = Foundation::setup()
        .with_password_of_users(PASSWORD)
        .start()
        .await;

    let broker = as_user(&foundation, "developer")
        .with_plan_limit(1)
        .start()
        .await;

    let log = broker.log();
    let reported: Vec<_> = log
        .iter()
        .filter(|line| line.mentions("ODB-1113"))
        .collect();
    assert_eq!(reported.len(), 1, "{reported:#?}");
    assert!(
        reported[0].mentions("cloud_controller.admin_read_only"),
        "{reported:#?}"
    );
}

#[tokio::test]
async fn a_foundation_without_cloud_controller_sells_what_has_no_quotas() {
    let foundation = Foundation::start().await;
    let broker = foundation
        .broker()
        .without_quotas()
        .without_cloud_controller()
        .start()
        .await;

    let (instance, order) = (new_id(), Order::small());
    broker
        .platform()
        .provision_to_the_end(&instance, &order)
        .await;

    let calls = foundation.control().broker_calls(0).await;
    let cf = ["cloud-controller", "cf-uaa"];
    assert!(
        !calls.iter().any(|call| cf.contains(&call.server.as_str())),
        "{calls:#?}"
    );
    let with_quotas = foundation
        .broker()
        .without_cloud_controller()
        .with_plan_limit(1);
    let said = failing_start(&foundation, with_quotas).await;
    assert!(
        said.contains("ODB-1002") && said.contains("cannot be enforced"),
        "{said}"
    );
}
