//! U: update.

use odb_stories::{Foundation, Order, Platform, Response, new_id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::history_of_an_order;

const LARGE: &str = "c4d1a0de-7b1e-4f0e-9d57-2f5d0f1f6b32";

/// Sends exactly this body.
async fn change(platform: &Platform, instance: &str, body: &Value) -> Response {
    let path = format!("/v2/service_instances/{instance}?accepts_incomplete=true");
    let request = platform.request(Method::PATCH, &path);
    platform.send(request.body(body.to_string())).await
}

fn service() -> Value {
    Order::small().member("service_id").clone()
}

/// U-01, U-03 and U-04.
#[tokio::test]
async fn an_update_that_cannot_be_understood_is_refused_and_changes_nothing() {
    let (foundation, broker, instance) = Foundation::setup().start_with_instance().await;
    let platform = broker.platform();

    for (body, reason) in [
        (json!({ "plan_id": LARGE }), "service_id missing"),
        (json!({ "service_id": "" }), "service_id missing"),
        (
            json!({ "service_id": new_id() }),
            "service-id not in the catalog",
        ),
        (
            json!({ "service_id": service(), "plan_id": new_id() }),
            "plan-id not in the catalog",
        ),
        (
            json!({ "service_id": service(), "parameters": [] }),
            "`parameters` is not a JSON object",
        ),
        (
            json!({ "service_id": service(), "context": "here" }),
            "`context` is not a JSON object",
        ),
        (
            json!({ "service_id": service(), "previous_values": 5 }),
            "wrong type",
        ),
    ] {
        let answer = change(platform, &instance, &body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert!(answer.description().contains(reason), "{body}: {answer:?}");
    }
    let unknown = json!({ "service_id": service(), "plan_id": LARGE });
    let answer = change(platform, &new_id(), &unknown).await;
    answer.expect_status(404);
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

/// U-02 and U-05, defects 17 and 18 of the Go broker: what is not sent stays as it is.
#[tokio::test]
async fn an_update_may_leave_out_all_that_stays() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let (platform, instance) = (broker.platform(), new_id());
    let director = foundation.director();
    let deployment = format!("service-instance_{instance}");
    let order = Order::small().with_parameters(json!({ "maxclients": 123 }));
    platform.provision_to_the_end(&instance, &order).await;

    let parameters =
        json!({ "service_id": service(), "parameters": { "maxclients": 200 }, "context": null });
    let token = change(platform, &instance, &parameters).await.accepted();
    platform.end_of_operation(&instance, &token).await;
    let manifest = director.manifest(&deployment).await;
    assert!(manifest.contains("vm_type: small"), "{manifest}");
    assert!(manifest.contains("maxclients: 200"), "{manifest}");

    for (plan, empty) in [(LARGE, Value::Null), (LARGE, json!({}))] {
        let moved = json!({ "service_id": service(), "plan_id": plan, "parameters": empty });
        let answer = change(platform, &instance, &moved).await;
        if answer.status == 202 {
            platform
                .end_of_operation(&instance, &answer.accepted())
                .await;
        } else {
            answer.expect_status(200);
        }
    }
    let manifest = director.manifest(&deployment).await;
    assert!(manifest.contains("vm_type: large"), "{manifest}");
    assert!(manifest.contains("maxclients: 200"), "{manifest}");
}
/// U-06.
#[tokio::test]
async fn an_instance_stays_on_its_plan_where_plans_are_for_ever() {
    let foundation = Foundation::start().await;
    let broker = foundation
        .broker()
        .with("/service_catalog/plan_updatable", false.into())
        .start()
        .await;
    let platform = broker.platform();
    let instance = platform.created().await;

    let moved = json!({ "service_id": service(), "plan_id": LARGE });
    let refused = change(platform, &instance, &moved).await;
    refused.expect_status(422);
    assert!(refused.json().get("error").is_none(), "{refused:?}");
    let stays = json!({ "service_id": service(), "parameters": { "maxclients": 100 } });
    change(platform, &instance, &stays).await.accepted();
}
