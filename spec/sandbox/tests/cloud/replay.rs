//! What the cf command line v8 asks, command by command, as it asks it (`spec/contracts/platform-apis.md`, "Calls per
//! command, in order"), and what it reads in the answers.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    broker::FakeBroker,
    platform::{Api, Platform, eventually},
};

/// One call of a command. `{name}` in it stands for what an earlier answer gave.
struct Call {
    method: Method,
    path: String,
    body: Option<Value>,
    status: u16,
    reads: Vec<(&'static str, Value)>,
    keeps: Vec<(&'static str, &'static str)>,
    follows: bool,
}

fn call(method: Method, path: &str, body: Option<Value>, status: u16) -> Call {
    Call {
        method,
        path: path.to_owned(),
        body,
        status,
        reads: Vec::new(),
        keeps: Vec::new(),
        follows: false,
    }
}

fn get(path: &str) -> Call {
    call(Method::GET, path, None, 200)
}

/// A change that a job carries out: 202, and the job is followed to its end.
fn job(method: Method, path: &str, body: Option<Value>) -> Call {
    Call {
        follows: true,
        ..call(method, path, body, 202)
    }
}

impl Call {
    /// The answer has this here.
    fn reads(mut self, pointer: &'static str, value: impl Into<Value>) -> Self {
        self.reads.push((pointer, value.into()));
        self
    }

    /// What the answer has here is wanted later under this name.
    fn keeps(mut self, name: &'static str, pointer: &'static str) -> Self {
        self.keeps.push((name, pointer));
        self
    }
}

/// A terminal at which commands are typed.
struct Terminal {
    api: Api,
    url: String,
    kept: BTreeMap<&'static str, String>,
}

impl Terminal {
    fn of(platform: &Platform, api: &Api) -> Self {
        Self {
            api: api.clone(),
            url: platform.url.clone(),
            kept: BTreeMap::from([
                ("space", platform.space.clone()),
                ("org", platform.organization.clone()),
            ]),
        }
    }

    async fn plays(&mut self, command: &str, calls: impl IntoIterator<Item = Call>) {
        for call in calls {
            let path = self.filled(&call.path);
            let body = call.body.map(|body| self.filled(&body.to_string()));
            let what = format!("`{command}`: {} {path}", call.method);
            let answer = self.api.send(call.method, &encoded(&path), body).await;
            assert_eq!(
                answer.status.as_u16(),
                call.status,
                "{what}: {}",
                answer.body
            );
            if call.status == 204 {
                assert_eq!(answer.body, "", "{what} has no body");
            } else if call.status != 202 {
                assert_eq!(
                    answer.header("content-type"),
                    "application/json; charset=utf-8",
                    "{what}"
                );
            }
            if answer.body.get("resources").is_some() {
                self.checks_the_page(&what, &answer.body);
            }
            for (pointer, wanted) in call.reads {
                let wanted: Value =
                    serde_json::from_str(&self.filled(&wanted.to_string())).unwrap();
                let there = answer.body.pointer(pointer);
                assert_eq!(there, Some(&wanted), "{what} at {pointer}: {}", answer.body);
            }
            for (name, pointer) in call.keeps {
                let there = answer.body.pointer(pointer).and_then(Value::as_str);
                self.kept.insert(name, there.expect(&what).to_owned());
            }
            if call.follows {
                self.follows(&what, &answer.location()).await;
            }
        }
    }

    fn checks_the_page(&self, what: &str, body: &Value) {
        let pagination = &body["pagination"];
        assert!(
            pagination["total_pages"].as_u64().unwrap() >= 1,
            "{what}: {pagination}"
        );
        assert_eq!(pagination.get("next"), Some(&Value::Null), "{what}");
        let first = pagination["first"]["href"].as_str().unwrap();
        assert!(first.starts_with(&self.url), "{what}: {first}");
    }

    /// Follows a job as the command line does: at once, its `Location` as it stands.
    async fn follows(&self, what: &str, location: &str) {
        assert!(
            location.starts_with(&format!("{}/v3/jobs/", self.url)),
            "{what}: `{location}` is not absolute"
        );
        let job = eventually("the job ends", async || {
            let job = self.api.get(location).await.body;
            ["COMPLETE", "FAILED"]
                .contains(&job["state"].as_str().unwrap())
                .then_some(job)
        })
        .await;
        assert_eq!(job["state"], "COMPLETE", "{what}: {job}");
        assert_eq!(job["links"]["self"]["href"], location, "{what}");
        assert!(job["warnings"].is_array() && job["errors"].is_array());
    }

    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.kept {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }
}

/// The query as the command line sends it: brackets and commas percent-encoded.
fn encoded(path: &str) -> String {
    const SEPARATORS: &AsciiSet = &CONTROLS.add(b'[').add(b']').add(b',').add(b' ');
    let Some((path, query)) = path.split_once('?') else {
        return path.to_owned();
    };
    let pairs: Vec<_> = query
        .split('&')
        .map(|pair| utf8_percent_encode(pair, SEPARATORS).to_string())
        .collect();
    assert!(
        pairs.is_sorted_by_key(|pair| pair.split_once('=').map(|(key, _)| key.to_owned())),
        "{query} is not in the order of the command line"
    );
    format!("{path}?{}", pairs.join("&"))
}

fn instance(name: &str) -> Call {
    get(&format!(
        "/v3/service_instances?names={name}&page=1&per_page=1&space_guids={{space}}"
    ))
    .reads("/resources/0/name", name)
    .keeps("instance", "/resources/0/guid")
}

fn one_offering(more: &str) -> Call {
    get(&format!(
        "/v3/service_offerings?fields[service_broker]=name,guid&names=redis&page=1&per_page=2{more}"
    ))
    .reads("/pagination/total_results", 1)
    .reads("/included/service_brokers/0/name", "redis-broker")
    .keeps("offering", "/resources/0/guid")
}

fn registration(broker: &FakeBroker) -> Value {
    broker.registration("redis-broker")
}

/// A broker that is registered with all plans open, at the terminals of an admin and a developer.
async fn marketplace() -> (Platform, FakeBroker, Terminal, Terminal) {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    platform.register(&broker).await;
    let admin = Terminal::of(&platform, &platform.admin);
    let developer = Terminal::of(&platform, &platform.developer);
    (platform, broker, admin, developer)
}

#[tokio::test]
async fn targets_are_found_by_name_and_listed() {
    let platform = Platform::start().await;
    let mut user = Terminal::of(&platform, &platform.developer);

    user.plays(
        "cf login -o -s",
        [
            get("/v3/organizations?names=acme&page=1&per_page=1")
                .reads("/resources/0/guid", "{org}"),
            get("/v3/spaces?names=development&organization_guids={org}&page=1&per_page=1")
                .reads("/resources/0/guid", "{space}"),
        ],
    )
    .await;
    user.plays(
        "cf login",
        [
            get("/v3/organizations?order_by=name").reads("/pagination/total_results", 1),
            get("/v3/spaces?order_by=name&organization_guids={org}")
                .reads("/pagination/total_results", 1),
        ],
    )
    .await;
    user.plays(
        "cf org, cf space",
        [
            get("/v3/organizations/{org}/domains").reads("/pagination/total_results", 1),
            get("/v3/apps?space_guids={space}").reads("/resources", json!([])),
            get("/v3/service_instances?space_guids={space}").reads("/resources", json!([])),
            get("/v3/spaces/{space}/relationships/isolation_segment").reads("/data", Value::Null),
        ],
    )
    .await;
}

#[tokio::test]
async fn organizations_and_spaces_are_made_with_roles_for_their_maker() {
    let platform = Platform::start().await;
    let mut admin = Terminal::of(&platform, &platform.admin);
    let me = json!({"data": {"username": "admin", "origin": "uaa"}});
    let in_space = json!({"user": me, "space": {"data": {"guid": "{new_space}"}}});
    let in_org = json!({"user": me, "organization": {"data": {"guid": "{new_org}"}}});
    let role = |kind: &str, relationships: &Value, status| {
        let body = json!({"type": kind, "relationships": relationships});
        call(Method::POST, "/v3/roles", Some(body), status)
    };

    let org = json!({"name": "new", "suspended": false});
    admin
        .plays(
            "cf create-org",
            [call(Method::POST, "/v3/organizations", Some(org), 201)
                .reads("/suspended", false)
                .keeps("new_org", "/guid")],
        )
        .await;
    let space =
        json!({"name": "s", "relationships": {"organization": {"data": {"guid": "{new_org}"}}}});
    admin
        .plays(
            "cf create-space",
            [
                call(Method::POST, "/v3/spaces", Some(space), 201).keeps("new_space", "/guid"),
                role("organization_user", &in_org, 201).reads("/type", "organization_user"),
                role("space_manager", &in_space, 201)
                    .reads("/relationships/space/data/guid", "{new_space}"),
                role("organization_user", &in_org, 422).reads(
                    "/errors/0/detail",
                    "User 'admin' already has 'organization_user' role in organization 'new'.",
                ),
                role("space_developer", &in_space, 201),
            ],
        )
        .await;
}

#[tokio::test]
async fn brokers_are_registered_corrected_listed_and_removed() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    let mut admin = Terminal::of(&platform, &platform.admin);
    let whole = registration(&broker);
    let correction = json!({"authentication": whole["authentication"], "url": whole["url"]});
    let look_up = || {
        get("/v3/service_brokers?names=redis-broker&page=1&per_page=1")
            .keeps("broker", "/resources/0/guid")
    };

    admin
        .plays(
            "cf create-service-broker",
            [job(Method::POST, "/v3/service_brokers", Some(whole))],
        )
        .await;
    admin
        .plays(
            "cf update-service-broker",
            [
                look_up(),
                job(
                    Method::PATCH,
                    "/v3/service_brokers/{broker}",
                    Some(correction),
                ),
            ],
        )
        .await;
    admin
        .plays(
            "cf service-brokers",
            [get("/v3/service_brokers").reads("/resources/0/name", "redis-broker")],
        )
        .await;
    admin
        .plays(
            "cf delete-service-broker -f",
            [
                look_up(),
                job(Method::DELETE, "/v3/service_brokers/{broker}", None),
            ],
        )
        .await;
}

#[tokio::test]
async fn access_is_given_shown_and_taken() {
    let (platform, broker) = (Platform::start().await, FakeBroker::start());
    let registered = platform
        .admin
        .post("/v3/service_brokers", &registration(&broker))
        .await;
    platform.admin.completed(&registered).await;
    let mut admin = Terminal::of(&platform, &platform.admin);
    let small = || {
        get("/v3/service_plans?names=small&service_offering_guids={offering}")
            .reads("/pagination/total_results", 1)
            .keeps("plan", "/resources/0/guid")
    };
    let visibility = "/v3/service_plans/{plan}/visibility";
    let org = json!({"type": "organization", "organizations": [{"guid": "{org}"}]});

    admin
        .plays(
            "cf enable-service-access redis -p small -o acme",
            [
                one_offering(""),
                small(),
                get("/v3/organizations?names=acme&page=1&per_page=1"),
                call(Method::POST, visibility, Some(org), 200)
                    .reads("", json!({"type": "organization"})),
            ],
        )
        .await;
    admin
        .plays(
            "cf service-access",
            [
                get("/v3/service_offerings?fields[service_broker]=name,guid"),
                get("/v3/service_plans?include=space.organization&names=small")
                    .reads("/resources/0/visibility_type", "organization")
                    .reads("/included", json!({"spaces": [], "organizations": []})),
                get(visibility).reads(
                    "",
                    json!({"type": "organization", "organizations": [{"guid": "{org}", "name": "acme"}]}),
                ),
            ],
        )
        .await;
    admin
        .plays(
            "cf disable-service-access redis -p small -o acme",
            [
                one_offering(""),
                small(),
                call(Method::DELETE, &format!("{visibility}/{{org}}"), None, 204),
                get(visibility).reads("", json!({"type": "admin"})),
            ],
        )
        .await;
    admin
        .plays(
            "cf enable-service-access redis -b redis-broker; cf disable-service-access redis",
            [
                one_offering("&service_broker_names=redis-broker"),
                small(),
                call(
                    Method::POST,
                    visibility,
                    Some(json!({"type": "public"})),
                    200,
                )
                .reads("", json!({"type": "public"})),
                call(
                    Method::POST,
                    visibility,
                    Some(json!({"type": "admin"})),
                    200,
                )
                .reads("", json!({"type": "admin"})),
            ],
        )
        .await;
}

#[expect(
    clippy::too_many_lines,
    reason = "one session at the command line, told in its order"
)]
#[tokio::test]
async fn a_service_is_found_ordered_shown_changed_and_deleted() {
    let (_platform, _broker, _, mut user) = marketplace().await;
    let shown = "/v3/service_instances?fields[service_plan]=name,guid\
         &fields[service_plan.service_offering]=name,guid,description,tags,documentation_url\
         &fields[service_plan.service_offering.service_broker]=name,guid\
         &fields[space]=name,guid&fields[space.organization]=name,guid\
         &names=db&page=1&per_page=1&space_guids={space}";
    let order = json!({
        "type": "managed", "name": "db", "tags": ["blue"], "parameters": {"maxclients": 10},
        "relationships": {"space": {"data": {"guid": "{space}"}}, "service_plan": {"data": {"guid": "{plan}"}}},
    });

    user.plays(
        "cf marketplace",
        [get(
            "/v3/service_plans?available=true&fields[service_offering.service_broker]=name,guid\
             &include=service_offering&per_page=5000&space_guids={space}",
        )
        .reads("/pagination/total_results", 2)
        .reads("/included/service_offerings/0/name", "redis")
        .reads("/included/service_brokers/0/name", "redis-broker")],
    )
    .await;
    user.plays(
        "cf create-service redis large db -t blue -c …",
        [
            get("/v3/service_plans?names=large&service_offering_names=redis")
                .reads("/pagination/total_results", 1)
                .keeps("plan", "/resources/0/guid"),
            job(Method::POST, "/v3/service_instances", Some(order.clone())),
        ],
    )
    .await;
    user.plays(
        "cf create-service, once more",
        [
            call(Method::POST, "/v3/service_instances", Some(order), 422)
                .reads("/errors/0/detail", "The service instance name is taken: db"),
        ],
    )
    .await;
    user.plays(
        "cf services",
        [
            get("/v3/service_instances?fields[service_plan]=guid,name,relationships.service_offering\
                 &fields[service_plan.service_offering]=guid,name,relationships.service_broker\
                 &fields[service_plan.service_offering.service_broker]=guid,name\
                 &order_by=name&per_page=5000&space_guids={space}")
            .reads("/resources/0/name", "db")
            .reads("/resources/0/tags", json!(["blue"]))
            .keeps("instance", "/resources/0/guid")
            .keeps("offering", "/included/service_offerings/0/guid"),
            get("/v3/service_credential_bindings?include=app&service_instance_guids={instance},other")
                .reads("/included", json!({"apps": []})),
        ],
    )
    .await;
    user.plays(
        "cf service db",
        [
            get(shown)
                .reads("/included/spaces/0/name", "development")
                .reads("/included/organizations/0/name", "acme")
                .reads("/included/service_plans/0/name", "large")
                .reads("/included/service_offerings/0/tags", json!(["cache"]))
                .reads("/included/service_brokers/0/name", "redis-broker")
                .reads("/resources/0/last_operation/type", "create")
                .reads("/resources/0/last_operation/state", "succeeded")
                .reads("/resources/0/maintenance_info", json!({}))
                .reads("/resources/0/upgrade_available", false)
                .keeps("began", "/resources/0/last_operation/created_at")
                .keeps("ended", "/resources/0/last_operation/updated_at"),
            get("/v3/feature_flags/service_instance_sharing").reads("/enabled", false),
            get("/v3/service_offerings/{offering}").reads("/shareable", false),
            get("/v3/service_instances/{instance}/relationships/shared_spaces\
                 ?fields[space]=guid,name,relationships.organization&fields[space.organization]=guid,name")
            .reads("/data", json!([])),
            get("/v3/service_credential_bindings?include=app&service_instance_guids={instance}&type=app")
                .reads("/resources", json!([])),
        ],
    )
    .await;
    user.plays(
        "cf service db --params",
        [
            instance("db"),
            call(
                Method::GET,
                "/v3/service_instances/{instance}/parameters",
                None,
                400,
            )
            .reads("/errors/0/code", 120_004)
            .reads(
                "/errors/0/detail",
                "This service does not support fetching service instance parameters.",
            ),
        ],
    )
    .await;
    user.plays(
        "cf update-service db -c …; cf update-service db -t red; cf rename-service",
        [
            instance("db"),
            job(
                Method::PATCH,
                "/v3/service_instances/{instance}",
                Some(json!({"parameters": {"maxclients": 20}})),
            ),
            call(
                Method::PATCH,
                "/v3/service_instances/{instance}",
                Some(json!({"tags": ["red"]})),
                200,
            )
            .reads("/tags", json!(["red"])),
            call(
                Method::PATCH,
                "/v3/service_instances/{instance}",
                Some(json!({"name": "store"})),
                200,
            )
            .reads("/name", "store"),
        ],
    )
    .await;
    user.plays(
        "cf update-service store -p small",
        [
            get("/v3/service_instances?fields[service_plan.service_offering]=name,guid\
                 &fields[service_plan.service_offering.service_broker]=name&names=store&page=1&per_page=1\
                 &space_guids={space}")
            .reads("/included/service_brokers", json!([{"name": "redis-broker"}]))
            .keeps("offering", "/included/service_offerings/0/guid"),
            get("/v3/service_plans?names=small&service_offering_guids={offering}")
                .keeps("plan", "/resources/0/guid"),
            job(
                Method::PATCH,
                "/v3/service_instances/{instance}",
                Some(json!({"relationships": {"service_plan": {"data": {"guid": "{plan}"}}}})),
            ),
            get("/v3/service_plans?service_instance_guids={instance}").reads("/resources/0/name", "small"),
        ],
    )
    .await;
    user.plays(
        "cf delete-service store -f; cf delete-service store -f",
        [
            instance("store"),
            job(Method::DELETE, "/v3/service_instances/{instance}", None),
            get("/v3/service_instances?names=store&page=1&per_page=1&space_guids={space}")
                .reads("/resources", json!([])),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_upgrade_is_ordered_by_the_version_of_the_plan() {
    let (platform, broker, _, mut user) = marketplace().await;
    platform.instance("small", "db").await;
    let mut catalog = crate::broker::catalog();
    catalog["services"][0]["plans"][0]["maintenance_info"]["version"] = json!("1.3.0");
    broker.answers(crate::broker::Route::Catalog, 200, catalog);
    let found = platform.admin.get("/v3/service_brokers").await;
    let path = format!(
        "/v3/service_brokers/{}",
        found.body["resources"][0]["guid"].as_str().unwrap()
    );
    let whole = registration(&broker);
    let again = json!({"authentication": whole["authentication"], "url": whole["url"]});
    let answer = platform.admin.patch(&path, &again).await;
    platform.admin.completed(&answer).await;

    user.plays(
        "cf upgrade-service db -f",
        [
            instance("db")
                .reads("/resources/0/upgrade_available", true)
                .keeps("plan", "/resources/0/relationships/service_plan/data/guid"),
            get("/v3/service_plans/{plan}").reads("/maintenance_info/version", "1.3.0"),
            job(
                Method::PATCH,
                "/v3/service_instances/{instance}",
                Some(json!({"maintenance_info": {"version": "1.3.0"}})),
            ),
            instance("db").reads("/resources/0/upgrade_available", false),
        ],
    )
    .await;
}

#[tokio::test]
async fn apps_are_bound_and_keys_are_made() {
    let (platform, _broker, _, mut user) = marketplace().await;
    platform.instance("small", "db").await;
    let app =
        json!({"name": "web", "relationships": {"space": {"data": {"guid": platform.space}}}});
    assert_eq!(platform.developer.post("/v3/apps", &app).await.status, 201);
    let bindings = "/v3/service_credential_bindings";
    let binding = json!({
        "type": "app", "parameters": {"role": "reader"},
        "relationships": {"app": {"data": {"guid": "{app}"}}, "service_instance": {"data": {"guid": "{instance}"}}},
    });
    let key = json!({
        "type": "key", "name": "k", "relationships": {"service_instance": {"data": {"guid": "{instance}"}}},
    });
    let web = || {
        get("/v3/apps?names=web&page=1&per_page=1&space_guids={space}")
            .keeps("app", "/resources/0/guid")
    };

    user.plays(
        "cf bind-service web db -c …",
        [
            instance("db"),
            web(),
            job(Method::POST, bindings, Some(binding.clone())),
            call(Method::POST, bindings, Some(binding), 422).reads(
                "/errors/0/detail",
                "The app is already bound to the service instance",
            ),
        ],
    )
    .await;
    user.plays(
        "cf unbind-service web db",
        [
            instance("db"),
            web(),
            get("/v3/service_credential_bindings?app_guids={app}&service_instance_guids={instance}&type=app")
                .reads("/resources/0/relationships/app/data/guid", "{app}")
                .keeps("binding", "/resources/0/guid"),
            job(Method::DELETE, "/v3/service_credential_bindings/{binding}", None),
        ],
    )
    .await;
    user.plays(
        "cf create-service-key db k",
        [
            instance("db"),
            job(Method::POST, bindings, Some(key.clone())),
            call(Method::POST, bindings, Some(key), 422).reads(
                "/errors/0/detail",
                "The binding name is invalid. Key binding names must be unique. The service instance already has a key \
                 binding with name 'k'.",
            ),
        ],
    )
    .await;
    user.plays(
        "cf service-keys db; cf service-key db k",
        [
            get("/v3/service_credential_bindings?per_page=5000&service_instance_guids={instance}&type=key")
                .reads("/resources/0/name", "k"),
            get("/v3/service_credential_bindings?names=k&page=1&per_page=1&service_instance_guids={instance}&type=key")
                .keeps("key", "/resources/0/guid"),
            get("/v3/service_credential_bindings/{key}/details")
                .reads("/credentials/password", "s3cr3t"),
        ],
    )
    .await;
    user.plays(
        "cf delete-service-key db k -f",
        [
            instance("db"),
            get("/v3/service_credential_bindings?names=k&page=1&per_page=1&service_instance_guids={instance}&type=key"),
            job(Method::DELETE, "/v3/service_credential_bindings/{key}", None),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_purge_forgets_without_a_job() {
    let (platform, broker, mut admin, _) = marketplace().await;
    platform.instance("small", "db").await;
    let asked = broker.noted(crate::broker::Route::Deprovision).len();

    admin
        .plays(
            "cf purge-service-instance db -f",
            [
                instance("db"),
                call(
                    Method::DELETE,
                    "/v3/service_instances/{instance}?purge=true",
                    None,
                    204,
                ),
            ],
        )
        .await;
    admin
        .plays(
            "cf purge-service-offering redis -f",
            [
                one_offering(""),
                call(
                    Method::DELETE,
                    "/v3/service_offerings/{offering}?purge=true",
                    None,
                    204,
                ),
                get("/v3/service_plans").reads("/resources", json!([])),
            ],
        )
        .await;
    assert_eq!(broker.noted(crate::broker::Route::Deprovision).len(), asked);
}
