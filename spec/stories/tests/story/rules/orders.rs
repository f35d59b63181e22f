//! P: provision.

use odb_stories::{Foundation, Order, new_id};
use serde_json::Value;

/// P-01: the Go broker never asked for organization and space, so they may be missing unless the operator says
/// otherwise.
#[tokio::test]
async fn organization_and_space_may_be_missing_unless_the_operator_wants_them() {
    let foundation = Foundation::start().await;
    let mut lenient = foundation.broker().start().await;
    let order = Order::small()
        .with("organization_guid", Value::Null)
        .with("space_guid", Value::Null);
    let answer = lenient.platform().provision(&new_id(), &order).await;
    answer.accepted();
    lenient.stop().await;

    let strict = foundation
        .broker()
        .with("/broker/require_organization_and_space", true.into())
        .start()
        .await;
    for missing in ["organization_guid", "space_guid"] {
        for value in [Value::Null, "".into()] {
            let order = Order::small().with(missing, value);
            let answer = strict.platform().provision(&new_id(), &order).await;
            let text = answer.expect_status(400).description();
            assert!(text.contains(missing), "{text}");
        }
    }
    let answer = strict
        .platform()
        .provision(&new_id(), &Order::small())
        .await;
    answer.accepted();
}
