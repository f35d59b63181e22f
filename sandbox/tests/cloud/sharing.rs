//! Instances in several spaces.

use serde_json::{Value, json};

use crate::{
    broker::{FakeBroker, Route, catalog},
    client::Response,
    platform::{Platform, eventually},
};

fn shareable() -> Value {
    let mut catalog = catalog();
    catalog["services"][0]["metadata"]["shareable"] = json!(true);
    catalog
}

async fn elsewhere(platform: &Platform) -> String {
    let spaces = platform.admin.get("/v3/spaces?names=elsewhere").await;
    spaces.body["resources"][0]["guid"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_shared_instance_is_seen_where_it_is_shared_into_and_changed_where_it_is() {
    let platform = Platform::start().await;
    let admin = &platform.admin;
    let user = &platform.developer;
    let broker = FakeBroker::with_catalog(shareable());
    platform.register(&broker).await;
    let guid = platform.instance("small", "db").await;
    let space = elsewhere(&platform).await;
    let shares = format!("/v3/service_instances/{guid}/relationships/shared_spaces");
    let body = json!({"data": [{"guid": space}]});
    let unauthenticated_client = platform.log_in("outsider").await;

    let off = admin.post(&shares, &body).await;
    assert_eq!(
        off.rejection(),
        (
            403,
            330_002,
            "CF-FeatureDisabled",
            "Feature Disabled: service_instance_sharing"
        )
    );
    let flag = "/v3/feature_flags/service_instance_sharing";
    admin.patch(flag, &json!({"enabled": true})).await;
    let by_developer = user.post(&shares, &body).await;
    assert_eq!(by_developer.status, 422, "the other space is not theirs");
    let into_other = admin.post(&shares, &body).await;
    assert_eq!(into_other.body["data"], json!([{"guid": space}]));

    let path = format!("/v3/service_instances/{guid}");
    assert_eq!(unauthenticated_client.get(&path).await.status, 200);
    assert_eq!(unauthenticated_client.delete(&path).await.status, 403);
    let there = unauthenticated_client
        .get(&format!("/v3/service_instances?space_guids={space}"))
        .await;
    assert_eq!(there.body["resources"][0]["name"], "db");
    let renamed = user.patch(&path, &json!({"name": "x"})).await;
    assert_eq!(
        renamed.rejection().3,
        "Service instances that have been shared cannot be renamed"
    );
    let usage = user.get(&format!("{shares}/usage_summary")).await;
    assert_eq!(
        usage.body["usage_summary"],
        json!([{"space": {"guid": space}, "bound_app_count": 0}])
    );

    let gone = user.delete(&format!("{shares}/{space}")).await;
    assert_eq!((gone.status.as_u16(), gone.body), (204, json!("")));
    assert_eq!(unauthenticated_client.get(&path).await.status, 404);
}

/// An instance `db` that is shared into `elsewhere` and bound to apps here and there.
struct Shared {
    platform: Platform,
    broker: FakeBroker,
    instance: String,
    /// Where the share is rolled back.
    share: String,
    bound_here: String,
    bound_there: String,
}

impl Shared {
    async fn start() -> Self {
        let platform = Platform::start().await;
        let broker = FakeBroker::with_catalog(shareable());
        platform.register(&broker).await;
        let guid = platform.instance("small", "db").await;
        let space = elsewhere(&platform).await;
        let flag = "/v3/feature_flags/service_instance_sharing";
        platform.admin.patch(flag, &json!({"enabled": true})).await;
        let instance = format!("/v3/service_instances/{guid}");
        let shares = format!("{instance}/relationships/shared_spaces");
        let there = json!({"data": [{"guid": space}]});
        assert_eq!(platform.admin.post(&shares, &there).await.status, 200);
        Self {
            bound_here: bound(&platform, &guid, &platform.space).await,
            bound_there: bound(&platform, &guid, &space).await,
            platform,
            broker,
            instance,
            share: format!("{shares}/{space}"),
        }
    }

    async fn unshared(&self) -> Response {
        self.platform.developer.delete(&self.share).await
    }

    /// The status for a user of another organization.
    async fn seen_there(&self, path: &str) -> u16 {
        let unauthenticated_client = self.platform.log_in("outsider").await;
        unauthenticated_client.get(path).await.status.as_u16()
    }
}

/// Binds an app of a space's own. Returns the binding's address.
async fn bound(platform: &Platform, instance: &str, space: &str) -> String {
    let admin = &platform.admin;
    let app = json!({"name": "app", "relationships": {"space": {"data": {"guid": space}}}});
    let app = admin.post("/v3/apps", &app).await;
    let binding = json!({"type": "app", "relationships": {
        "app": {"data": {"guid": app.body["guid"]}}, "service_instance": {"data": {"guid": instance}},
    }});
    let accepted = admin
        .post("/v3/service_credential_bindings", &binding)
        .await;
    let job = admin.completed(&accepted).await;
    let link = &job["links"]["service_credential_binding"]["href"];
    link.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_instance_that_is_no_longer_shared_is_unbound_from_the_apps_there() {
    let shared = Shared::start().await;

    let gone = shared.unshared().await;

    assert_eq!((gone.status.as_u16(), gone.body), (204, json!("")));
    let unbinds = shared.broker.noted(Route::Unbind);
    let [unbind] = &unbinds[..] else {
        panic!("only the app elsewhere is unbound: {unbinds:#?}");
    };
    assert!(
        unbind.query.contains("accepts_incomplete=true"),
        "{unbind:?}"
    );
    let admin = &shared.platform.admin;
    assert_eq!(admin.get(&shared.bound_there).await.status, 404);
    assert_eq!(admin.get(&shared.bound_here).await.status, 200);
    assert_eq!(shared.seen_there(&shared.instance).await, 404);
    let again = shared.unshared().await;
    assert_eq!(again.status, 204, "what is not shared need not be unshared");
}

#[tokio::test]
async fn an_instance_stays_shared_when_its_broker_refuses_to_unbind() {
    let shared = Shared::start().await;
    let reported = json!({"description": "out of order"});
    shared.broker.answers(Route::Unbind, 500, reported);

    let failed = shared.unshared().await;

    let (status, code, title, detail) = failed.rejection();
    assert_eq!(
        (status, code, title),
        (502, 390_001, "CF-ServiceInstanceUnshareFailed")
    );
    let start = "Unshare of service instance failed: \n\nUnshare of service instance failed because one or more \
                 bindings could not be deleted.\n\n \tService broker failed to delete service binding for instance db: ";
    assert!(
        detail.starts_with(start) && detail.contains("out of order"),
        "{detail}"
    );
    assert_eq!(shared.seen_there(&shared.instance).await, 200);
    let binding = shared.platform.admin.get(&shared.bound_there).await.body;
    assert_eq!(binding["last_operation"]["type"], "delete");
    assert_eq!(binding["last_operation"]["state"], "failed");
}

#[tokio::test]
async fn an_instance_is_unshared_once_a_broker_that_takes_its_time_has_unbound() {
    let shared = Shared::start().await;
    let begun = json!({"operation": "unbind"});
    shared.broker.answers(Route::Unbind, 202, begun);

    let refused = shared.unshared().await;
    let blocked = shared.unshared().await;

    assert_eq!(
        refused.rejection().3.rsplit('\t').next(),
        Some(
            "The binding between an application and service instance db in space elsewhere is being deleted \
             asynchronously."
        )
    );
    assert_eq!(
        blocked.rejection().3.rsplit('\t').next(),
        Some(
            "The delete request was rejected due to an operation being in progress for the service binding."
        )
    );
    assert_eq!(shared.seen_there(&shared.instance).await, 200);
    shared.broker.ends("succeeded", "");
    eventually("the app is unbound", async || {
        let binding = shared.platform.admin.get(&shared.bound_there).await;
        (binding.status == 404).then_some(())
    })
    .await;
    assert_eq!(shared.unshared().await.status, 204);
    assert_eq!(shared.seen_there(&shared.instance).await, 404);
}

#[tokio::test]
async fn a_shared_instance_is_deleted_with_its_shares_and_the_bindings_there() {
    let shared = Shared::start().await;

    let deleted = shared.platform.developer.delete(&shared.instance).await;
    shared.platform.developer.completed(&deleted).await;

    assert_eq!(shared.broker.noted(Route::Unbind).len(), 2);
    assert_eq!(shared.broker.noted(Route::Deprovision).len(), 1);
    assert_eq!(shared.seen_there(&shared.instance).await, 404);
}
