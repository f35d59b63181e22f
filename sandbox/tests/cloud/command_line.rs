//! The requests of cf commands beyond orders, one by one (cf CLI v8, `actor/v7action`).

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    broker::{FakeBroker, Route, catalog},
    platform::{Api, Platform, Response},
};

/// A list, of which this is the number of resources.
async fn listed(api: &Api, path: &str) -> Vec<Value> {
    let list = api.get(path).await;
    assert_eq!(list.status, 200, "{path}: {}", list.body);
    assert!(list.body["pagination"]["total_results"].is_u64(), "{path}");
    list.body["resources"].as_array().unwrap().clone()
}

/// Asks the UAA as `cf create-user` does.
async fn uaa(platform: &Platform, admin: &str, method: Method, path: &str, body: &Value) -> Value {
    let request = platform
        .http
        .request(method, format!("{}{path}", platform.uaa_url))
        .bearer_auth(admin)
        .header("Content-Type", "application/json")
        .body(body.to_string());
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

async fn admin_token(platform: &Platform) -> String {
    let form = [
        ("grant_type", "password"),
        ("username", "admin"),
        ("password", "password"),
    ];
    let answer = platform.token(Some(("cf", "")), &form).await;
    answer.body["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn create_user_and_delete_user_leave_nothing_half_done() {
    let platform = Platform::start().await;
    let admin = &platform.admin;
    let token = admin_token(&platform).await;
    let new = json!({
        "userName": "bob", "password": "password", "origin": "",
        "name": {"familyName": "bob", "givenName": "bob"},
        "emails": [{"value": "bob", "primary": true}],
    });
    let filter = "/Users?filter=userName+eq+%22bob%22+and+origin+eq+%22uaa%22";
    let found = uaa(&platform, &token, Method::GET, filter, &Value::Null).await;
    assert_eq!(found["totalResults"], 0);
    let user = uaa(&platform, &token, Method::POST, "/Users", &new).await;
    let guid = user["id"].as_str().unwrap();

    let by_developer = platform
        .developer
        .post("/v3/users", &json!({"guid": guid}))
        .await;
    let made = admin.post("/v3/users", &json!({"guid": guid})).await;
    let again = admin.post("/v3/users", &json!({"guid": guid})).await;

    assert_eq!(by_developer.status, 403);
    assert_eq!(made.status, 201, "{}", made.body);
    let shown = |answer: &Response| {
        ["guid", "username", "presentation_name", "origin"].map(|key| answer.body[key].clone())
    };
    assert_eq!(shown(&made), [guid, "bob", "bob", "uaa"].map(Value::from));
    assert_eq!(
        again.rejection(),
        (
            422,
            10008,
            "CF-UnprocessableEntity",
            format!("User with guid '{guid}' already exists.").as_str()
        )
    );
    // `cf set-org-role` names the user, who has never been here.
    let role = json!({"type": "organization_user", "relationships": {
        "user": {"data": {"username": "bob", "origin": "uaa"}},
        "organization": {"data": {"guid": platform.organization}},
    }});
    let role = admin.post("/v3/roles", &role).await;
    assert_eq!(role.status, 201, "{}", role.body);
    let bob = platform.log_in("bob").await;
    assert_eq!(listed(&bob, "/v3/organizations").await.len(), 1);

    let deleted = admin.delete(&format!("/v3/users/{guid}")).await;
    let job = admin.completed(&deleted).await;
    let user = format!("/Users/{guid}");
    uaa(&platform, &token, Method::DELETE, &user, &Value::Null).await;

    assert_eq!(job["operation"], "user.delete");
    let users = listed(admin, "/v3/users?usernames=bob").await;
    assert_eq!(users, Vec::<Value>::new());
    let roles = format!("/v3/roles?organization_guids={}", platform.organization);
    let roles = listed(admin, &roles).await;
    assert!(
        !roles
            .iter()
            .any(|row| row["relationships"]["user"]["data"]["guid"] == guid)
    );
}

#[tokio::test]
async fn a_user_whom_the_uaa_does_not_know_has_no_name() {
    let platform = Platform::start().await;
    let admin = &platform.admin;
    let guid = uuid::Uuid::new_v4().to_string();

    let made = admin.post("/v3/users", &json!({"guid": guid})).await;
    let nameless = admin.post("/v3/users", &json!({})).await;

    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.body["username"], Value::Null);
    assert_eq!(made.body["presentation_name"], guid.as_str());
    assert_eq!(nameless.status, 422, "{}", nameless.body);
}

#[tokio::test]
async fn org_shows_domains_quota_spaces_and_isolation_segments() {
    let platform = Platform::adapted(&odb_sandbox::store::Store::in_memory(), |settings| {
        settings.organizations[1].quota.service_instances = Some(3);
    })
    .await;
    let developer = &platform.developer;

    let organizations = listed(developer, "/v3/organizations?names=acme&page=1&per_page=1").await;
    let guid = organizations[0]["guid"].as_str().unwrap();
    let path = format!("/v3/organizations/{guid}");
    let domains = listed(developer, &format!("{path}/domains")).await;
    let quota = &organizations[0]["relationships"]["quota"]["data"]["guid"];
    let quota = format!("/v3/organization_quotas/{}", quota.as_str().unwrap());
    let quota = developer.get(&quota).await;
    let spaces = format!("/v3/spaces?order_by=name&organization_guids={guid}");
    let spaces = listed(developer, &spaces).await;
    let default = format!("{path}/relationships/default_isolation_segment");
    let default = developer.get(&default).await;
    let segments = format!("/v3/isolation_segments?organization_guids={guid}");
    let segments = listed(developer, &segments).await;

    assert_eq!((domains.len(), spaces.len(), segments.len()), (1, 1, 0));
    assert_eq!(quota.body["name"], "default");
    assert_eq!(
        quota.body["services"]["total_service_instances"],
        Value::Null
    );
    assert_eq!(default.body["data"], Value::Null);
    // An organization with limits has a quota of its own.
    let limited = listed(&platform.admin, "/v3/organization_quotas?names=other").await;
    assert_eq!(limited[0]["services"]["total_service_instances"], 3);
    let hidden = limited[0]["guid"].as_str().unwrap();
    let hidden = developer
        .get(&format!("/v3/organization_quotas/{hidden}"))
        .await;
    assert_eq!(hidden.rejection().3, "Organization quota not found");
}

#[tokio::test]
async fn space_shows_apps_instances_and_no_security_groups() {
    let (platform, _broker) = Platform::with_broker().await;
    platform.app("shop").await;
    platform.instance("small", "db").await;
    let developer = &platform.developer;

    let organization = format!("/v3/organizations/{}", platform.organization);
    assert_eq!(developer.get(&organization).await.status, 200);
    let space = &platform.space;
    for (path, resources) in [
        (
            format!(
                "/v3/spaces?names=development&organization_guids={}",
                platform.organization
            ),
            1,
        ),
        (format!("/v3/apps?space_guids={space}"), 1),
        (format!("/v3/service_instances?space_guids={space}"), 1),
        (format!("/v3/spaces/{space}/running_security_groups"), 0),
        (format!("/v3/spaces/{space}/staging_security_groups"), 0),
    ] {
        assert_eq!(listed(developer, &path).await.len(), resources, "{path}");
    }
    let segment = format!("/v3/spaces/{space}/relationships/isolation_segment");
    assert_eq!(developer.get(&segment).await.body["data"], Value::Null);
    let unauthenticated_client = platform.log_in("outsider").await;
    let groups = format!("/v3/spaces/{space}/running_security_groups");
    assert_eq!(unauthenticated_client.get(&groups).await.status, 404);
}

#[tokio::test]
async fn apps_and_app_show_an_app_that_is_stopped() {
    let platform = Platform::start().await;
    let app = platform.app("shop").await;
    let developer = &platform.developer;

    // `cf apps`
    let apps = format!(
        "/v3/apps?order_by=name&per_page=5000&space_guids={}",
        platform.space
    );
    assert_eq!(listed(developer, &apps).await[0]["state"], "STOPPED");
    let processes = format!("/v3/processes?app_guids={app}&embed=process_instances&per_page=5000");
    let processes = listed(developer, &processes).await;
    let process = processes[0]["guid"].as_str().unwrap();
    assert_eq!(processes[0]["type"], "web");
    assert_eq!(
        processes[0]["relationships"]["app"]["data"]["guid"],
        app.as_str()
    );
    assert_eq!(processes[0]["process_instances"][0]["state"], "DOWN");
    let stats = developer
        .get(&format!("/v3/processes/{process}/stats"))
        .await;
    assert_eq!(stats.body["resources"][0]["state"], "DOWN");
    let routes = format!("/v3/routes?app_guids={app}&per_page=5000");
    assert_eq!(listed(developer, &routes).await.len(), 0);

    // `cf app`
    let named = format!("/v3/apps?names=shop&space_guids={}", platform.space);
    assert_eq!(listed(developer, &named).await.len(), 1);
    let of_app = listed(developer, &format!("/v3/apps/{app}/processes")).await;
    assert_eq!(of_app[0]["guid"], process);
    assert!(of_app[0].get("process_instances").is_none());
    for nothing in [
        format!("/v3/processes/{process}/sidecars"),
        format!("/v3/apps/{app}/routes"),
        format!(
            "/v3/deployments?app_guids={app}&order_by=-created_at&page=1&per_page=1&status_values=ACTIVE"
        ),
    ] {
        assert_eq!(listed(developer, &nothing).await.len(), 0, "{nothing}");
    }
    // The command line continues only after this text.
    let droplet = format!("/v3/apps/{app}/droplets/current");
    assert_eq!(
        developer.get(&droplet).await.rejection(),
        (404, 10010, "CF-ResourceNotFound", "Droplet not found")
    );

    let unauthenticated_client = platform.log_in("outsider").await;
    for hidden in [
        format!("/v3/processes/{process}/stats"),
        format!("/v3/apps/{app}/env"),
        format!("/v3/apps/{app}/routes"),
    ] {
        assert_eq!(
            unauthenticated_client.get(&hidden).await.status,
            404,
            "{hidden}"
        );
    }
    assert_eq!(
        listed(&unauthenticated_client, "/v3/processes").await.len(),
        0
    );
}

/// Binds the app of this guid to an instance.
async fn bind(platform: &Platform, app: &str, instance: &str, name: Option<&str>) -> Response {
    let mut binding = json!({"type": "app", "relationships": {
        "app": {"data": {"guid": app}}, "service_instance": {"data": {"guid": instance}},
    }});
    if let Some(name) = name {
        binding["name"] = json!(name);
    }
    let path = "/v3/service_credential_bindings";
    platform.developer.post(path, &binding).await
}

#[tokio::test]
async fn env_shows_an_app_what_it_is_bound_to() {
    let (platform, broker) = (
        Platform::start().await,
        FakeBroker::with_catalog(mounting()),
    );
    let user = &platform.developer;
    platform.register(&broker).await;
    let app = platform.app("shop").await;
    let env = format!("/v3/apps/{app}/env");
    let bare = user.get(&env).await;
    assert_eq!(bare.body["system_env_json"], json!({"VCAP_SERVICES": {}}));
    let mut order = platform.order("small", "db").await;
    order["tags"] = json!(["cache", "fast"]);
    let accepted = user.post("/v3/service_instances", &order).await;
    user.completed(&accepted).await;
    let instance = platform.guid("db").await;
    let given = json!({
        "credentials": {"credhub-ref": "/c/redis-id/i/b/credentials"},
        "volume_mounts": [
            {
                "container_dir": "/data", "mode": "rw", "device_type": "shared", "driver": "nfs",
                "device": {"volume_id": "v"},
            },
        ],
    });
    broker.answers(Route::Bind, 201, given);
    let accepted = bind(&platform, &app, &instance, Some("main")).await;
    user.completed(&accepted).await;
    let legacy = json!({
        "type": "user-provided", "name": "legacy", "credentials": {"uri": "db://x"},
        "syslog_drain_url": "syslog://logs",
        "relationships": {"space": {"data": {"guid": platform.space}}},
    });
    let legacy = user.post("/v3/service_instances", &legacy).await;
    let legacy = legacy.body["guid"].as_str().unwrap();
    assert_eq!(bind(&platform, &app, legacy, None).await.status, 201);

    let seen = user.get(&env).await;

    assert_eq!(seen.status, 200, "{}", seen.body);
    let mut services = seen.body["system_env_json"]["VCAP_SERVICES"].clone();
    for kind in ["redis", "user-provided"] {
        let guid = services[kind][0]["binding_guid"].take();
        let path = format!("/v3/service_credential_bindings/{}", guid.as_str().unwrap());
        assert_eq!(user.get(&path).await.status, 200, "{kind}");
    }
    assert_eq!(
        services,
        json!({
            "redis": [{
                "label": "redis", "provider": null, "plan": "small", "name": "main", "tags": ["cache", "fast"],
                "instance_guid": instance, "instance_name": "db", "binding_guid": null, "binding_name": "main",
                // The app itself reads what this refers to.
                "credentials": {"credhub-ref": "/c/redis-id/i/b/credentials"},
                "syslog_drain_url": null,
                "volume_mounts": [{"container_dir": "/data", "device_type": "shared", "mode": "rw"}],
            }],
            "user-provided": [{
                "label": "user-provided", "name": "legacy", "tags": [],
                "instance_guid": legacy, "instance_name": "legacy", "binding_guid": null, "binding_name": null,
                "credentials": {"uri": "db://x"}, "syslog_drain_url": "syslog://logs", "volume_mounts": [],
            }],
        })
    );
    let application = &seen.body["application_env_json"]["VCAP_APPLICATION"];
    assert_eq!(application["application_id"], app.as_str());
    assert_eq!(application["space_name"], "development");
    assert_eq!(application["organization_name"], "acme");
    for group in [
        "environment_variables",
        "staging_env_json",
        "running_env_json",
    ] {
        assert_eq!(seen.body[group], json!({}), "{group}");
    }
}

/// The catalog of a broker that hands out volumes.
fn mounting() -> Value {
    let mut catalog = catalog();
    catalog["services"][0]["requires"] = json!(["volume_mount"]);
    catalog
}

#[tokio::test]
async fn env_is_for_those_who_see_credentials() {
    let platform = Platform::start().await;
    let admin = &platform.admin;
    let app = platform.app("shop").await;
    let env = format!("/v3/apps/{app}/env");
    for (role, status) in [("space_auditor", 403), ("space_supporter", 200)] {
        let name = format!("{role}-user");
        let user = platform.log_in(&name).await;
        // With the first call the user becomes known.
        user.get("/v3/spaces").await;
        let user_data = json!({"data": {"username": name, "origin": "uaa"}});
        let organization = json!({"data": {"guid": platform.organization}});
        let space = json!({"data": {"guid": platform.space}});
        for relationships in [
            json!({"user": user_data, "organization": organization}),
            json!({"user": user_data, "space": space}),
        ] {
            let kind = match relationships.get("space") {
                Some(_) => role,
                None => "organization_user",
            };
            let given = json!({"type": kind, "relationships": relationships});
            let given = admin.post("/v3/roles", &given).await;
            assert_eq!(given.status, 201, "{}", given.body);
        }
        let seen = user.get(&env).await;
        assert_eq!(seen.status, status, "{role}: {}", seen.body);
        if status == 200 {
            let hidden = json!({"redacted_message": "[PRIVATE DATA HIDDEN]"});
            assert_eq!(seen.body["system_env_json"], hidden);
        }
    }
    let flag = "/v3/feature_flags/env_var_visibility";
    admin.patch(flag, &json!({"enabled": false})).await;
    let off = platform.developer.get(&env).await;
    assert_eq!(off.rejection().3, "Feature Disabled: env_var_visibility");
}
