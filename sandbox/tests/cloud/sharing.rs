//! Instances in several spaces, and instances that no broker knows of.

use serde_json::{Value, json};

use crate::{
    broker::{FakeBroker, Route, catalog},
    platform::{Platform, Response, eventually},
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
async fn a_space_is_deleted_once_instances_shared_into_it_are_unbound() {
    let shared = Shared::start().await;
    let admin = &shared.platform.admin;
    let space = elsewhere(&shared.platform).await;
    let space = format!("/v3/spaces/{space}");
    let out_of_order = json!({"description": "out of order"});
    shared.broker.answers(Route::Unbind, 500, out_of_order);

    let accepted = admin.delete(&space).await;
    let error = admin.failed(&accepted).await;
    shared.broker.answers(Route::Unbind, 200, json!({}));
    let accepted = admin.delete(&space).await;
    admin.completed(&accepted).await;

    let detail = error["detail"].as_str().unwrap();
    let start = "Deletion of space elsewhere failed because one or more resources within could not be deleted.\n\n\
                 \tUnshare of service instance failed because one or more bindings could not be deleted.\n\n \
                 \tService broker failed to delete service binding for instance db: ";
    assert!(detail.starts_with(start), "{detail}");
    assert_eq!(admin.get(&space).await.status, 404);
    assert_eq!(admin.get(&shared.bound_there).await.status, 404);
    // Where it is at home it stays as it is.
    assert_eq!(admin.get(&shared.bound_here).await.status, 200);
    assert!(shared.broker.noted(Route::Deprovision).is_empty());
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

#[tokio::test]
async fn a_user_provided_instance_is_there_at_once_and_shows_what_was_written_into_it() {
    let platform = Platform::start().await;
    let order = json!({
        "type": "user-provided", "name": "legacy", "credentials": {"uri": "db://x"},
        "syslog_drain_url": "syslog://logs", "relationships": {"space": {"data": {"guid": platform.space}}},
    });
    let user = &platform.developer;

    let made = user.post("/v3/service_instances", &order).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let path = format!(
        "/v3/service_instances/{}",
        made.body["guid"].as_str().unwrap()
    );
    assert_eq!(made.body["type"], "user-provided");
    assert!(made.body["relationships"].get("service_plan").is_none());
    let again = user.post("/v3/service_instances", &order).await;
    assert_eq!(
        again.rejection().3,
        "The service instance name is taken: legacy"
    );
    let secret = user.get(&format!("{path}/credentials")).await;
    assert_eq!(secret.body, json!({"uri": "db://x"}));
    let changed = user.patch(&path, &json!({"tags": ["old"]})).await;
    assert_eq!(changed.body["tags"], json!(["old"]));
    let of_kind = user.get("/v3/service_instances?type=managed").await;
    assert_eq!(of_kind.body["resources"], json!([]));

    let app =
        json!({"name": "web", "relationships": {"space": {"data": {"guid": platform.space}}}});
    let app = user.post("/v3/apps", &app).await.body["guid"].clone();
    let binding = json!({"type": "app", "relationships": {
        "app": {"data": {"guid": app}}, "service_instance": {"data": {"guid": made.body["guid"]}},
    }});
    let bound = user.post("/v3/service_credential_bindings", &binding).await;
    assert_eq!(bound.status, 201, "{}", bound.body);
    let details = format!(
        "/v3/service_credential_bindings/{}/details",
        bound.body["guid"].as_str().unwrap()
    );
    let details = user.get(&details).await.body;
    assert_eq!(
        details,
        json!({"credentials": {"uri": "db://x"}, "syslog_drain_url": "syslog://logs"})
    );
    assert_eq!(user.delete(&path).await.status, 204);
    assert_eq!(user.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_route_is_bound_to_a_user_provided_route_service() {
    let platform = Platform::start().await;
    let user = &platform.developer;
    let domains = user.get("/v3/domains").await;
    let space = json!({"data": {"guid": platform.space}});
    let route = json!({"host": "www", "relationships": {
        "space": space, "domain": {"data": {"guid": domains.body["resources"][0]["guid"]}},
    }});
    let route = user.post("/v3/routes", &route).await;
    assert_eq!(route.status, 201, "{}", route.body);
    let service = json!({
        "type": "user-provided", "name": "proxy", "route_service_url": "https://proxy.example",
        "relationships": {"space": space},
    });
    let service = user.post("/v3/service_instances", &service).await;
    let binding = json!({"relationships": {
        "route": {"data": {"guid": route.body["guid"]}}, "service_instance": {"data": {"guid": service.body["guid"]}},
    }});

    let bound = user.post("/v3/service_route_bindings", &binding).await;
    assert_eq!(bound.status, 201, "{}", bound.body);
    assert_eq!(bound.body["route_service_url"], "https://proxy.example");
    let again = user.post("/v3/service_route_bindings", &binding).await;
    assert_eq!((again.rejection().0, again.rejection().1), (422, 130_008));
    let query = format!(
        "/v3/service_route_bindings?include=route&service_instance_guids={}",
        service.body["guid"].as_str().unwrap()
    );
    let listed = user.get(&query).await;
    assert_eq!(listed.body["included"]["routes"][0]["host"], "www");
    let path = format!(
        "/v3/service_route_bindings/{}",
        bound.body["guid"].as_str().unwrap()
    );
    assert_eq!(user.delete(&path).await.status, 204);
}
