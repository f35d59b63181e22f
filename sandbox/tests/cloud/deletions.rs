//! Deleting spaces and organizations with what is in them.

use serde_json::{Value, json};

use crate::{
    broker::{FakeBroker, Route},
    platform::{Platform, eventually},
};

/// Makes another space in the first organization.
async fn another_space(platform: &Platform, name: &str) -> String {
    let organization = json!({"data": {"guid": platform.organization}});
    let space = json!({"name": name, "relationships": {"organization": organization}});
    let made = platform.admin.post("/v3/spaces", &space).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made.body["guid"].as_str().unwrap().to_owned()
}

/// Orders an instance in a space as an administrator.
async fn instance_in(platform: &Platform, space: &str, name: &str) -> String {
    let admin = &platform.admin;
    let mut order = platform.order("small", name).await;
    order["relationships"]["space"]["data"]["guid"] = json!(space);
    let accepted = admin.post("/v3/service_instances", &order).await;
    let job = admin.completed(&accepted).await;
    let link = &job["links"]["service_instances"]["href"];
    link.as_str().unwrap().to_owned()
}

/// Binds an app of the first space.
async fn bound(platform: &Platform, instance: &str) {
    let user = &platform.developer;
    let app = platform.app("shop").await;
    let binding = json!({"type": "app", "relationships": {
        "app": {"data": {"guid": app}}, "service_instance": {"data": {"guid": instance}},
    }});
    let path = "/v3/service_credential_bindings";
    let accepted = user.post(path, &binding).await;
    user.completed(&accepted).await;
}

async fn gone(platform: &Platform, path: &str) {
    eventually("it is gone", async || {
        (platform.admin.get(path).await.status == 404).then_some(())
    })
    .await;
}

fn parts(error: &Value) -> (u64, &str, &str) {
    let text = |key: &str| error[key].as_str().unwrap();
    (
        error["code"].as_u64().unwrap(),
        text("title"),
        text("detail"),
    )
}

#[tokio::test]
async fn a_space_is_deleted_with_its_instances_bindings_and_apps() {
    let (platform, broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    let user = &platform.developer;
    let instance = platform.instance("small", "db").await;
    let key = platform.asks_for_key(&instance).await;
    user.completed(&key).await;
    bound(&platform, &instance).await;
    let described = json!({"type": "user-provided", "name": "legacy", "relationships": {
        "space": {"data": {"guid": platform.space}},
    }});
    let described = user.post("/v3/service_instances", &described).await;
    assert_eq!(described.status, 201, "{}", described.body);
    let path = format!("/v3/spaces/{}", platform.space);

    let refused = user.delete(&path).await;
    let accepted = admin.delete(&path).await;
    let job = admin.completed(&accepted).await;

    assert_eq!(refused.status, 403);
    assert_eq!(job["operation"], "space.delete");
    assert_eq!(broker.noted(Route::Unbind).len(), 2);
    let [asked] = &broker.noted(Route::Deprovision)[..] else {
        panic!("the broker is asked once");
    };
    assert_eq!(asked.path, format!("/v2/service_instances/{instance}"));
    assert!(asked.query.contains("accepts_incomplete=true"), "{asked:?}");
    assert_eq!(admin.get(&path).await.status, 404);
    for list in ["service_instances", "service_credential_bindings", "apps"] {
        let list = admin.get(&format!("/v3/{list}")).await;
        assert_eq!(list.body["pagination"]["total_results"], 0, "{}", list.body);
    }
}

#[tokio::test]
async fn a_space_stays_while_a_broker_takes_its_time_with_an_instance() {
    let (platform, broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    let instance = platform.instance("small", "db").await;
    let instance = format!("/v3/service_instances/{instance}");
    broker.takes_its_time();
    let path = format!("/v3/spaces/{}", platform.space);
    let detail = "Deletion of space development failed because one or more resources within could not be deleted.\n\n\
                \tAn operation for service instance db is in progress.";

    let accepted = admin.delete(&path).await;
    let error = admin.failed(&accepted).await;

    assert_eq!(parts(&error), (290_008, "CF-SpaceDeletionFailed", detail));
    assert_eq!(admin.get(&path).await.status, 200);
    let last = admin.get(&instance).await.body["last_operation"].clone();
    assert_eq!(
        (&last["type"], &last["state"]),
        (&json!("delete"), &json!("in progress"))
    );
    // The broker is at it and not asked again.
    let accepted = admin.delete(&path).await;
    let error = admin.failed(&accepted).await;
    assert_eq!(parts(&error).2, detail);
    assert_eq!(broker.noted(Route::Deprovision).len(), 1);

    broker.ends("succeeded", "");
    gone(&platform, &instance).await;
    let accepted = admin.delete(&path).await;
    admin.completed(&accepted).await;
    assert_eq!(admin.get(&path).await.status, 404);
}

#[tokio::test]
async fn every_instance_of_a_space_is_tried_and_every_rejection_reported() {
    let (platform, broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    for name in ["first", "second"] {
        platform.instance("small", name).await;
    }
    let out_of_order = json!({"description": "out of order"});
    broker.answers(Route::Deprovision, 400, out_of_order);

    let path = format!("/v3/spaces/{}", platform.space);
    let accepted = admin.delete(&path).await;
    let error = admin.failed(&accepted).await;

    assert_eq!(
        parts(&error).2.split("\n\n").collect::<Vec<_>>(),
        [
            "Deletion of space development failed because one or more resources within could not be deleted.",
            "\tService instance first: Service broker error: out of order",
            "\tService instance second: Service broker error: out of order",
        ]
    );
    assert_eq!(broker.noted(Route::Deprovision).len(), 2);
    assert_eq!(admin.get(&path).await.status, 200);
}

#[tokio::test]
async fn a_binding_that_cannot_be_deleted_keeps_its_instance_and_the_space() {
    let (platform, broker) = Platform::with_broker().await;
    let admin = &platform.admin;
    let instance = platform.instance("small", "db").await;
    bound(&platform, &instance).await;
    broker.answers(Route::Unbind, 202, json!({"operation": "unbind"}));

    let path = format!("/v3/spaces/{}", platform.space);
    let accepted = admin.delete(&path).await;
    let error = admin.failed(&accepted).await;

    let detail = parts(&error).2;
    assert!(
        detail.ends_with(
            "An operation for the service binding between app shop and service instance db is in progress."
        ),
        "{detail}"
    );
    assert!(broker.noted(Route::Deprovision).is_empty());
    assert_eq!(admin.get(&path).await.status, 200);
}

#[tokio::test]
async fn an_organization_is_deleted_when_nothing_is_left_in_any_of_its_spaces() {
    let platform = Platform::start().await;
    let admin = &platform.admin;
    let broker = FakeBroker::start();
    platform.register(&broker).await;
    let empty = another_space(&platform, "empty").await;
    let other = another_space(&platform, "other").await;
    let instances = [
        instance_in(&platform, &platform.space, "one").await,
        instance_in(&platform, &other, "two").await,
    ];
    broker.takes_its_time();
    let path = format!("/v3/organizations/{}", platform.organization);

    let accepted = admin.delete(&path).await;
    let error = admin.failed(&accepted).await;

    let of_space = |space: &str, instance: &str| {
        format!(
            "Deletion of space {space} failed because one or more resources within could not be deleted.\n\n\
             \tAn operation for service instance {instance} is in progress."
        )
    };
    let detail = [
        "Deletion of organization acme failed because one or more resources within could not be deleted.",
        &of_space("development", "one"),
        &of_space("other", "two"),
    ];
    assert_eq!(
        parts(&error),
        (
            290_010,
            "CF-OrganizationDeletionFailed",
            detail.join("\n\n").as_str()
        )
    );
    let space = |guid: &str| format!("/v3/spaces/{guid}");
    assert_eq!(admin.get(&space(&empty)).await.status, 404);
    assert_eq!(admin.get(&space(&other)).await.status, 200);

    broker.ends("succeeded", "");
    for instance in &instances {
        gone(&platform, instance).await;
    }
    let accepted = admin.delete(&path).await;
    let job = admin.completed(&accepted).await;
    assert_eq!(job["operation"], "organization.delete");
    assert_eq!(admin.get(&path).await.status, 404);
    assert_eq!(admin.get(&space(&other)).await.status, 404);
    assert_eq!(broker.noted(Route::Deprovision).len(), 2);
}
