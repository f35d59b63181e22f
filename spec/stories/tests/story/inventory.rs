//! The operator asks what service instances there are, and what is known of each.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use odb_stories::{
    Broker, BrokerCall, Fault, Foundation, FoundationSetup, InstancesApi, LogLine, Order,
    TaskFault, eventually, new_id,
};
use serde_json::{Value, json};

use crate::TIMEOUT;

const FLEET: usize = 300;
const SMALL: &str = "small";
const LARGE: &str = "large";

/// The time limit for searching operations of an earlier process: longer than these stories take.
const LOOKED_FOR: u64 = 60;

/// A registered broker with an ordered instance of each plan, and a fleet.
async fn broker_of_a_fleet(foundation: &Foundation) -> Broker {
    let mut broker = foundation
        .broker()
        .without_quotas()
        .with_timing("lost_answer_in_seconds", LOOKED_FOR)
        .start()
        .await;
    foundation.cf().register(&broker).await;
    for plan in [SMALL, LARGE] {
        let arguments = ["create-service", "redis", plan, plan, "--wait"];
        foundation.cf().run(&arguments).await.succeeded();
    }
    foundation.control().seed_fleet(FLEET, 7).await;
    broker.kill();
    broker.start_again().await;
    broker
}

fn entries(answer: &Value) -> &[Value] {
    assert_eq!(answer["complete"], true, "{answer}");
    answer["service_instances"].as_array().unwrap()
}

async fn chosen(broker: &Broker, query: &str) -> Vec<Value> {
    let answer = broker.platform().inventory(query).await;
    entries(&answer.expect_status(200).json()).to_vec()
}

async fn one(broker: &Broker, instance: &str) -> Value {
    let answer = broker.platform().inventory_of(instance).await;
    answer.expect_status(200).json()
}

async fn upgrade(broker: &Broker, instance: &str) {
    operate(broker, instance, "upgrade").await;
}

async fn operate(broker: &Broker, instance: &str, operation: &str) {
    let body = json!({ "plan_id": Order::small().member("plan_id") });
    let platform = broker.platform();
    let data = platform.operate(instance, operation, &body).await;
    let data = data.operation_data().to_string();
    platform.succeeds(instance, &data).await;
}

/// The entry of an instance as soon as nothing is in progress on it.
async fn ended(broker: &Broker, instance: &str) -> Value {
    eventually("the operation ends", TIMEOUT, async || {
        let known = one(broker, instance).await;
        match known["operation"]["state"].as_str() {
            Some("in progress") => Err(known.to_string()),
            _ => Ok(known),
        }
    })
    .await
}

async fn expect_the_fleet(setup: FoundationSetup) {
    let foundation = setup.without_processes().start().await;
    let broker = broker_of_a_fleet(&foundation).await;
    let unauthenticated_client = new_id();
    let platform = broker.platform();
    platform.create(&unauthenticated_client).await;

    let all = chosen(&broker, "").await;

    let ids: BTreeSet<_> = all
        .iter()
        .map(|entry| entry["service_instance_id"].to_string())
        .collect();
    assert_eq!((all.len(), ids.len()), (FLEET + 2, FLEET + 2));
    assert!(
        !ids.contains(&format!("\"{unauthenticated_client}\"")),
        "no platform knows it"
    );
    let mut counted = BTreeMap::<String, usize>::new();
    for entry in &all {
        expect_agreement(entry);
        let state = &entry["operation"]["state"];
        *counted
            .entry(format!("{} {state}", entry["operation"]["kind"]))
            .or_default() += 1;
    }
    assert_eq!(counted.len(), 5, "of all kinds there are some: {counted:?}");

    let busy = all
        .iter()
        .find(|entry| entry["operation"]["state"] == "in progress")
        .unwrap();
    let instance = busy["service_instance_id"].as_str().unwrap();
    let token = busy["operation"]["token"].to_string();
    assert_eq!(busy["operation"]["token"]["OperationType"], "update");
    let poll = platform.last_operation(instance, &token).await;
    assert_eq!(poll.expect_status(200).json()["state"], "in progress");
    let has_reconciler =
        |line: &LogLine| line.mentions("following the operation") && line.mentions(instance);
    assert!(broker.log().iter().any(has_reconciler));

    for entry in all.iter().step_by(60).chain([busy]) {
        let instance = entry["service_instance_id"].as_str().unwrap();
        assert_eq!(one(&broker, instance).await, *entry);
    }
}

/// Platform, Director and broker agree on a seeded instance, and on an ordered one.
fn expect_agreement(entry: &Value) {
    let reported = |operation: &Value| (operation["kind"].clone(), operation["state"].clone());
    assert_eq!(
        reported(&entry["platform_operation"]),
        reported(&entry["operation"]),
        "{entry}"
    );
    assert_eq!(entry["deployment"], "present", "{entry}");
    assert_eq!(entry["owner"], "this_broker", "{entry}");
    let plan = entry["plan_name"].as_str().unwrap();
    assert!([SMALL, LARGE].contains(&plan), "{entry}");
    for member in [
        "plan_id",
        "space_guid",
        "space_name",
        "organization_guid",
        "organization_name",
    ] {
        assert!(entry[member].is_string(), "{member}: {entry}");
    }
    assert!(entry["operation"]["began"].is_string(), "{entry}");
    assert!(entry["operation"]["request"].is_string(), "{entry}");
    let was_never_deployed = reported(&entry["operation"]) == ("create".into(), "failed".into());
    if was_never_deployed {
        assert_eq!(entry.get("deployed"), None, "{entry}");
        assert_eq!(entry.get("up_to_date"), None, "{entry}");
    } else {
        assert!(entry["deployed"]["at"].is_string(), "{entry}");
        assert_eq!(entry["up_to_date"], true, "{entry}");
    }
    let is_in_progress = entry["operation"]["state"] == "in progress";
    assert_eq!(
        entry["operation"].get("token").is_some(),
        is_in_progress,
        "{entry}"
    );
}

#[tokio::test]
async fn a_fleet_is_reported_with_owners_and_operations_by_version_3() {
    expect_the_fleet(Foundation::setup()).await;
}

#[tokio::test]
async fn a_fleet_is_reported_with_owners_and_operations_by_version_2() {
    expect_the_fleet(Foundation::setup().with_old_cloud_controller()).await;
}

#[tokio::test]
async fn without_a_cloud_controller_the_service_instances_api_reports_which_instances_there_are() {
    let foundation = Foundation::bare().start().await;
    let api = InstancesApi::start().await;
    let broker = foundation
        .broker()
        .with_instances_api(api.url())
        .start()
        .await;
    let (there, gone) = (new_id(), new_id());
    broker.platform().create(&there).await;
    api.add(&there, &Order::small());
    api.add(&gone, &Order::large());

    let all = chosen(&broker, "").await;
    let by_id = |id: &str| {
        all.iter()
            .find(|entry| entry["service_instance_id"] == *id)
            .unwrap()
    };
    assert_eq!(all.len(), 2);
    assert_eq!(by_id(&there)["deployment"], "present");
    assert_eq!(by_id(&there)["operation"]["state"], "succeeded");
    assert_eq!(by_id(&there)["space_guid"], "here");
    assert_eq!(
        *by_id(&gone),
        json!({
            "service_instance_id": gone, "plan_id": Order::large().member("plan_id"), "plan_name": LARGE,
            "space_guid": "here", "deployment": "absent", "owner": "unknown",
        })
    );
    assert_eq!(one(&broker, &there).await, *by_id(&there));
    assert_eq!(chosen(&broker, "plan=small").await.len(), 1);
    let refused = broker.platform().inventory("organization=acme").await;
    let text = refused.expect_status(400).description();
    assert!(text.contains("organizations"), "{text}");
}

#[tokio::test]
async fn where_instances_are_unknown_that_is_reported_and_single_ones_are_still_shown() {
    let foundation = Foundation::bare().start().await;
    let broker = foundation
        .broker()
        .without_quotas()
        .without_cloud_controller()
        .start()
        .await;
    let instance = broker.platform().created().await;

    let refused = broker.platform().inventory("").await;
    let text = refused.expect_status(501).description();
    assert!(text.contains("service_instances_api"), "{text}");
    let known = one(&broker, &instance).await;
    assert_eq!(known["owner"], "this_broker");
    assert_eq!(known["plan_name"], SMALL);
    assert_eq!(known.get("platform_operation"), None);
}

#[tokio::test]
async fn instances_are_chosen_by_plan_location_and_id_and_by_nothing_else() {
    let foundation = Foundation::bare().start().await;
    let broker = broker_of_a_fleet(&foundation).await;
    let all = chosen(&broker, "").await;
    let count = |fits: &dyn Fn(&Value) -> bool| all.iter().filter(|entry| fits(entry)).count();

    let seeded = &all
        .iter()
        .find(|entry| entry["organization_name"] == "fleet-1")
        .unwrap();
    let text = |member: &str| seeded[member].as_str().unwrap().to_owned();
    for (by_name, by_id, member) in [
        ("plan_name", "plan_id", "plan"),
        ("organization_name", "organization_guid", "organization"),
    ] {
        let expected = count(&|entry| entry[by_id] == seeded[by_id]);
        assert!(expected > 0 && expected < all.len());
        for value in [text(by_name), text(by_id)] {
            let found = chosen(&broker, &format!("{member}={value}")).await;
            assert_eq!(found.len(), expected, "{member}={value}");
        }
    }
    let space = text("space_guid");
    let expected = count(&|entry| entry["space_guid"] == space);
    assert_eq!(
        chosen(&broker, &format!("space={space}")).await.len(),
        expected
    );
    let query = format!(
        "space={}&organization=fleet-1&plan=small",
        text("space_name")
    );
    let expected = count(&|entry| entry["space_guid"] == space && entry["plan_name"] == SMALL);
    assert_eq!(chosen(&broker, &query).await.len(), expected);
    let expected = count(&|entry| {
        ["fleet-1", "fleet-2"].contains(&entry["organization_name"].as_str().unwrap())
    });
    let query = "organization=fleet-1&organization=fleet-2";
    assert_eq!(chosen(&broker, query).await.len(), expected);
    let query = format!(
        "instance={}&instance={}",
        text("service_instance_id"),
        new_id()
    );
    assert_eq!(chosen(&broker, &query).await, [(*seeded).clone()]);
    assert_eq!(chosen(&broker, "space=nowhere").await, [] as [Value; 0]);
    assert_eq!(
        chosen(&broker, "organization=no%20where").await,
        [] as [Value; 0]
    );
    assert_eq!(chosen(&broker, "instance=..").await, [] as [Value; 0]);

    for query in [
        "org=fleet-1",
        "plan=",
        "plan=gone",
        "plan=small&plan=gone",
        "cf_org=a&cf_space=b",
    ] {
        broker.platform().inventory(query).await.expect_status(400);
    }
}

/// The calls to the platform and the Director while instances are listed.
async fn calls_for(foundation: &Foundation, broker: &Broker, query: &str) -> Vec<BrokerCall> {
    let control = foundation.control();
    let earlier = control.latest_call().await;
    chosen(broker, query).await;
    control.broker_calls(earlier).await
}

#[tokio::test]
async fn a_selection_of_a_few_instances_or_an_organization_does_not_read_all() {
    for setup in [
        Foundation::setup(),
        Foundation::setup().with_old_cloud_controller(),
    ] {
        let foundation = setup.without_processes().start().await;
        let broker = broker_of_a_fleet(&foundation).await;
        let all = chosen(&broker, "").await;
        let is_list = |call: &BrokerCall| {
            call.path.ends_with("/service_instances") || call.path == "/deployments"
        };
        let whole = calls_for(&foundation, &broker, "").await;
        assert!(whole.iter().any(is_list), "{whole:#?}");

        let few: Vec<_> = all.iter().step_by(100).collect();
        let ids = few
            .iter()
            .map(|entry| entry["service_instance_id"].as_str().unwrap());
        let query: Vec<_> = ids.map(|id| format!("instance={id}")).collect();
        let query = query.join("&");
        let found = chosen(&broker, &query).await;
        assert_eq!(found.len(), few.len());
        assert!(few.iter().all(|entry| found.contains(entry)), "{found:#?}");
        let calls = calls_for(&foundation, &broker, &query).await;
        assert!(!calls.iter().any(is_list), "{calls:#?}");
        let narrowed = format!("{query}&plan=large");
        let large = found.iter().filter(|entry| entry["plan_name"] == LARGE);
        assert_eq!(chosen(&broker, &narrowed).await.len(), large.count());

        let expected = all
            .iter()
            .filter(|entry| entry["organization_name"] == "fleet-1");
        let query = "organization=fleet-1";
        assert_eq!(chosen(&broker, query).await.len(), expected.count());
        let calls = calls_for(&foundation, &broker, query).await;
        let mut pages = calls
            .iter()
            .filter(|call| call.path.ends_with("/service_instances"));
        assert!(
            pages.all(|call| call.query.contains("organization_guid")),
            "{calls:#?}"
        );
    }
}

#[tokio::test]
async fn an_instance_known_to_one_side_is_reported_as_that_and_an_unknown_one_is_not_found() {
    let (foundation, broker) = Foundation::bare().start_with_broker().await;
    foundation.cf().register(&broker).await;
    let arguments = ["create-service", "redis", SMALL, "cache", "--wait"];
    foundation.cf().run(&arguments).await.succeeded();
    let ordered = chosen(&broker, "").await.remove(0);
    let instance = ordered["service_instance_id"].as_str().unwrap();
    let orphan = new_id();
    broker
        .platform()
        .provision_to_the_end(&orphan, &Order::large())
        .await;

    let known = one(&broker, &orphan).await;
    assert_eq!(known["deployment"], "present");
    assert_eq!(known["owner"], "this_broker");
    assert_eq!(known["plan_name"], LARGE);
    assert_eq!(known.get("platform_operation"), None);
    let unknown = broker.platform().inventory_of(&new_id()).await;
    let refused = unknown.expect_status(404).json();
    assert_eq!(refused["code"], "ODB-2009", "{refused}");
    broker
        .platform()
        .inventory_of("..%2f")
        .await
        .expect_status(400);

    let director = foundation.director();
    for (content, owner) in [
        (
            json!({ "format": 1, "offering": "another-owner" }),
            "another_broker",
        ),
        (
            json!({ "format": 99, "offering": "0a58b5c6-6d3c-4a4b-9d0e-3d3f5a3f7a10" }),
            "this_broker",
        ),
        (json!({ "notes": "by hand" }), "unknown"),
    ] {
        director
            .write_config_of_team(
                "odb-operation",
                &format!("odb-{instance}"),
                &content.to_string(),
            )
            .await;
        assert_eq!(one(&broker, instance).await["owner"], owner, "{content}");
        assert_eq!(chosen(&broker, "").await[0]["owner"], owner, "{content}");
    }
}

/// A broker on which something is different from `manifests/sandbox`.
async fn changed(foundation: &Foundation, adapter: &Path, change: Option<(&str, Value)>) -> Broker {
    let plain = foundation.broker().with_adapter(adapter);
    let configuration = match change {
        Some((pointer, value)) => plain.with(pointer, value),
        None => plain,
    };
    configuration.start().await
}

#[tokio::test]
async fn an_instance_is_up_to_date_until_something_else_would_be_deployed_and_again_after_its_upgrade()
 {
    let foundation = Foundation::bare().start().await;
    let adapter = foundation.adapters().script("read_input; as_redis");
    let mut broker = changed(&foundation, &adapter, None).await;
    let instance = broker.platform().created().await;
    let created = one(&broker, &instance).await;
    assert_eq!(created["up_to_date"], true, "{created}");
    let mut targets = BTreeSet::from([created["deployed"]["target"].to_string()]);

    let description = "/service_catalog/plans/0/description";
    let changes = [
        (
            "/service_catalog/plans/0/properties",
            json!({ "maxmemory": "64mb" }),
        ),
        (
            "/service_catalog/global_properties",
            json!({ "persistence": false }),
        ),
        (
            "/service_deployment/stemcells",
            json!([{ "os": "ubuntu-jammy", "version": "1.79" }]),
        ),
        (
            "/service_catalog/plans/0/instance_groups/0/vm_type",
            "large".into(),
        ),
    ];
    let last_change = &changes[changes.len() - 1];
    broker.stop().await;
    let change = Some((description, "Anew".into()));
    broker = changed(&foundation, &adapter, change).await;
    assert_eq!(one(&broker, &instance).await["up_to_date"], true);
    for change in &changes {
        broker.stop().await;
        broker = changed(&foundation, &adapter, Some(change.clone())).await;
        assert_eq!(
            one(&broker, &instance).await["up_to_date"],
            false,
            "{change:?}"
        );
    }
    upgrade(&broker, &instance).await;
    let upgraded = one(&broker, &instance).await;
    assert_eq!(upgraded["up_to_date"], true, "{upgraded}");
    assert!(targets.insert(upgraded["deployed"]["target"].to_string()));

    broker.stop().await;
    foundation.adapters().revise();
    broker = changed(&foundation, &adapter, Some(last_change.clone())).await;
    assert_eq!(one(&broker, &instance).await["up_to_date"], false);
    operate(&broker, &instance, "recreate").await;
    let recreated = one(&broker, &instance).await;
    assert_eq!(
        recreated["deployed"], upgraded["deployed"],
        "nothing new was deployed"
    );
    assert_eq!(recreated["recreated"], recreated["operation"]["began"]);
    assert_eq!(recreated["up_to_date"], false, "{recreated}");
    upgrade(&broker, &instance).await;
    let upgraded = one(&broker, &instance).await;
    assert_eq!(upgraded["up_to_date"], true, "{upgraded}");
    assert_eq!(
        upgraded["recreated"], recreated["recreated"],
        "it is recorded"
    );
    assert!(targets.insert(upgraded["deployed"]["target"].to_string()));
}

#[tokio::test]
async fn a_failed_upgrade_does_not_count_as_deployed_and_a_repeated_one_does() {
    let (foundation, mut broker, instance) = Foundation::bare().start_with_instance().await;
    let before = one(&broker, &instance).await;
    broker.stop().await;
    let pointer = "/service_catalog/plans/0/instance_groups/0/vm_type";
    broker = foundation
        .broker()
        .with(pointer, "large".into())
        .start()
        .await;
    let fault = TaskFault::at_start()
        .of(&instance)
        .fails(400_001, "no room");
    foundation.control().set_task(fault).await;

    let body = json!({ "plan_id": Order::small().member("plan_id") });
    let platform = broker.platform();
    let data = platform
        .operate(&instance, "upgrade", &body)
        .await
        .operation_data();
    platform.fails(&instance, &data.to_string()).await;

    let after = one(&broker, &instance).await;
    assert_eq!(after["deployed"], before["deployed"]);
    assert_eq!(after["up_to_date"], false);
    assert_eq!(after["operation"]["kind"], "upgrade");
    assert_eq!(after["operation"]["state"], "failed");
    assert!(after["operation"]["description"].is_string());
    upgrade(&broker, &instance).await;
    assert_eq!(one(&broker, &instance).await["up_to_date"], true);
}

#[tokio::test]
async fn a_list_that_cannot_be_read_to_its_end_is_never_taken_for_the_whole() {
    let setup = Foundation::setup()
        .with_old_cloud_controller()
        .without_processes();
    let foundation = setup.start().await;
    let broker = broker_of_a_fleet(&foundation).await;
    let control = foundation.control();
    let second_page = json!({
        "server": "cloud-controller",
        "requests": { "path": "/v2/service_plans/*/service_instances", "query": { "page": "2" } },
        "effect": { "kind": "answer", "status": 500 },
    });
    control.set_fault(&second_page).await;

    let request = broker
        .platform()
        .request(reqwest::Method::GET, "/mgmt/v1/service_instances");
    let answer = request.send().await.unwrap();
    let whole = match answer.status().as_u16() {
        200 => answer.text().await.ok(),
        status => {
            assert_eq!(status, 502);
            None
        }
    };
    assert_eq!(whole, None, "what is cut off cannot be read");
    control.clear_faults().await;
    assert_eq!(chosen(&broker, "").await.len(), FLEET + 2);

    control
        .set(Fault::of("director", "/deployments").answers(500))
        .await;
    let refused = broker.platform().inventory("").await;
    assert!(!refused.expect_status(502).description().is_empty());
}

#[tokio::test]
async fn for_a_list_each_upstream_is_asked_as_often_as_its_pages_want_and_for_one_instance_once() {
    let foundation = Foundation::bare().start().await;
    let broker = broker_of_a_fleet(&foundation).await;
    let control = foundation.control();
    let after = async |number: u64| {
        let mut calls = control.broker_calls(number).await;
        calls.retain(|call| !call.is_for_a_token());
        calls
    };
    let begin = control.latest_call().await;

    let all = chosen(&broker, "").await;
    let mut asked: Vec<String> = after(begin)
        .await
        .into_iter()
        // Reconcilers continue to poll tasks.
        .filter(|call| !call.path.starts_with("/tasks"))
        .map(|call| format!("{} {}?{}", call.method, call.path, call.query))
        .collect();
    let total = asked.len();
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), total, "nothing was asked twice: {asked:#?}");
    assert!(total <= 6, "{asked:#?}");

    let begin = control.latest_call().await;
    let instance = all[0]["service_instance_id"].as_str().unwrap();
    one(&broker, instance).await;
    let mut asked = after(begin).await;
    asked.retain(|call| !call.path.starts_with("/tasks"));
    assert!(asked.len() <= 4, "{asked:#?}");
}

#[tokio::test]
async fn a_record_of_an_older_broker_is_read_and_gets_the_rest_with_the_next_upgrade() {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = foundation.broker().start().await;
    let instance = broker.platform().created().await;
    let director = foundation.director();
    let mut record = director.record(&instance).await.unwrap();
    for member in ["began", "target", "deployed"] {
        assert!(
            record.as_object_mut().unwrap().remove(member).is_some(),
            "{member}"
        );
    }
    director
        .write_config_of_team(
            "odb-operation",
            &format!("odb-{instance}"),
            &record.to_string(),
        )
        .await;

    let known = one(&broker, &instance).await;
    assert_eq!(known["owner"], "this_broker");
    assert_eq!(known["operation"]["state"], "succeeded");
    assert_eq!(known.get("deployed"), None);
    assert_eq!(known.get("up_to_date"), None);
    upgrade(&broker, &instance).await;
    assert_eq!(one(&broker, &instance).await["up_to_date"], true);
}

#[tokio::test]
async fn a_change_of_plan_is_held_against_the_plan_that_the_platform_knows() {
    let (foundation, broker) = Foundation::bare().start_with_broker().await;
    foundation.cf().register(&broker).await;
    let create = ["create-service", "redis", SMALL, "cache", "--wait"];
    foundation.cf().run(&create).await.succeeded();
    let before = chosen(&broker, "").await.remove(0);
    let update = ["update-service", "cache", "-p", LARGE, "--wait"];
    foundation.cf().run(&update).await.succeeded();

    let after = chosen(&broker, "").await.remove(0);
    assert_eq!(after["plan_name"], LARGE);
    assert_eq!(after["up_to_date"], true, "{after}");
    assert_ne!(after["deployed"]["target"], before["deployed"]["target"]);
}

#[tokio::test]
async fn an_operation_is_distinguished_from_its_begin_to_its_end() {
    let (_foundation, mut broker) = Foundation::setup()
        .with("/director/durations/step", "100ms")
        .without_processes()
        .start_with_broker()
        .await;
    let instance = new_id();
    let token = broker.platform().order(&instance).await;
    let token: Value = serde_json::from_str(&token).unwrap();

    let during = one(&broker, &instance).await;
    assert_eq!(during["operation"]["state"], "in progress", "{during}");
    assert_eq!(during["operation"]["token"], token);
    assert_eq!(during.get("deployed"), None);
    broker.kill();
    broker.start_again().await;
    let later = one(&broker, &instance).await;
    assert_eq!(later["operation"]["began"], during["operation"]["began"]);
    let request = &later["operation"]["request"];
    assert_eq!(*request, during["operation"]["request"]);

    ended(&broker, &instance).await;
    assert_eq!(one(&broker, &instance).await["up_to_date"], true);
}

#[tokio::test]
async fn what_an_earlier_process_began_counts_as_what_was_deployed_then() {
    let setup = Foundation::setup().with("/director/durations/step", "100ms");
    let foundation = setup.without_processes().start().await;
    let adapter = foundation.adapters().script("read_input; as_redis");
    let mut broker = changed(&foundation, &adapter, None).await;
    let instance = new_id();
    let order = Order::small();
    let ordered = broker.platform().provision(&instance, &order).await;
    ordered.accepted();
    broker.kill();
    let pointer = "/service_catalog/plans/0/instance_groups/0/vm_type";
    broker = changed(&foundation, &adapter, Some((pointer, "large".into()))).await;

    let known = ended(&broker, &instance).await;
    assert_eq!(known["operation"]["state"], "succeeded", "{known}");
    assert_eq!(known["up_to_date"], false, "{known}");
}

#[tokio::test]
async fn plans_are_not_learned_for_every_look_while_the_platform_lacks_one_of_them() {
    const LOOKS: usize = 10;
    let foundation = Foundation::bare().start().await;
    let previous = foundation.broker().without_quotas().without_plan(LARGE);
    let mut previous = previous.start().await;
    foundation.cf().register(&previous).await;
    let order = ["create-service", "redis", SMALL, "one", "--wait"];
    foundation.cf().run(&order).await.succeeded();
    previous.stop().await;
    let broker = foundation.broker().without_quotas().start().await;
    let all = chosen(&broker, "").await;
    let instance = all[0]["service_instance_id"].as_str().unwrap();

    for _ in 0..LOOKS {
        one(&broker, instance).await;
    }

    let asked = foundation.control().broker_calls(0).await;
    let times = |path: &str| {
        let calls = asked.iter().filter(|call| call.path.starts_with(path));
        calls.count()
    };
    let looks = times(&format!("/v3/service_instances/{instance}"));
    assert!(looks >= LOOKS, "the platform is asked for each: {looks}");
    let learned = times("/v3/service_plans");
    assert!((1..LOOKS).contains(&learned), "{learned} times");
}
