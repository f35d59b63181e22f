//! Secrets of service instances: stored in the Director's CredHub, referred to by manifests, passed to adapters.

use std::{fs, path::PathBuf};

use odb_stories::{
    Broker, BrokerConfiguration, Control, CredHub, Ended, Fault, Foundation, Order, TaskFault,
    eventually, new_id,
};
use serde_json::{Value, json};

use crate::{TIMEOUT, start_up_checks::failing_start};

const OFFERING: &str = "0a58b5c6-6d3c-4a4b-9d0e-3d3f5a3f7a10";

/// The real adapter, which returns a secret with each manifest; a parameter makes it refer to it anew. Its requests are
/// kept in files named after the call.
const NOTING: &str = r#"read_input
printf '%s' "$input" >"$folder/$call.json"
as_redis"#;

/// Returns the secrets that `secrets.json` in the test's folder has, `{"name": value}`, and refers to each in a
/// comment.
const RETURNING: &str = r##"read_input
printf '%s' "$input" >"$folder/$call.json"
if [[ $call == generate-manifest ]]; then
  as_redis | jq -c --slurpfile secrets "$folder/secrets.json" '
    .secrets = $secrets[0] |
    .manifest = ([.secrets | keys[] | "# ((odb_secret:\(.)))\n"] | join(""))
      + (.manifest | gsub("[(][(]odb_secret:odb_managed_secret[)][)]"; "none"))'
else
  as_redis
fi"##;

fn folder_of(instance: &str) -> String {
    format!("/odb/{OFFERING}/service-instance_{instance}")
}

fn managed(instance: &str) -> String {
    format!("{}/odb_managed_secret", folder_of(instance))
}

/// The values of all secrets of an instance, by the order of their names.
async fn values_of(credhub: &CredHub, instance: &str) -> Vec<Value> {
    let mut values = Vec::new();
    for name in credhub.names_like(&folder_of(instance)).await {
        values.extend(credhub.value(&name).await);
    }
    values
}

fn with_secret(value: &str) -> Order {
    Order::small().with_parameters(json!({ "odb_managed_secret": value }))
}

fn secure<'f>(foundation: &'f Foundation, adapter: &str) -> BrokerConfiguration<'f> {
    let adapter = foundation.adapters().script(adapter);
    foundation
        .broker()
        .with_secure_manifests()
        .with_adapter(&adapter)
}

/// A change that leaves all secrets as they are, unless the adapter changes them.
fn with_clients(number: u32) -> Order {
    Order::small().with_parameters(json!({ "maxclients": number }))
}

async fn update(broker: &Broker, instance: &str, order: &Order) -> Ended {
    let token = broker.platform().update(instance, order).await.accepted();
    broker.platform().end_of_operation(instance, &token).await
}

async fn change(broker: &Broker, instance: &str, order: &Order) {
    let ended = update(broker, instance, order).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
}

async fn delete(broker: &Broker, instance: &str) {
    let platform = broker.platform();
    platform.delete_to_the_end(instance).await;
}

/// The adapter's last request of a call.
fn asked(foundation: &Foundation, call: &str) -> Value {
    let text = fs::read_to_string(foundation.folder().join(format!("{call}.json")));
    serde_json::from_str(&text.expect("the adapter was called")).expect("the protocol is JSON")
}

/// A part of a request is JSON in a text.
fn part(question: &Value, pointer: &str) -> Value {
    let text = question.pointer(pointer).and_then(Value::as_str);
    serde_json::from_str(text.expect("the question has this part")).expect("it is JSON")
}

fn returned(foundation: &Foundation) -> PathBuf {
    foundation.folder().join("secrets.json")
}

fn returns(foundation: &Foundation, secrets: &Value) {
    fs::write(returned(foundation), secrets.to_string()).expect("the test made the folder");
}

/// The latest values of an instance's secrets, by their names in its folder.
async fn kept(credhub: &CredHub, instance: &str) -> Value {
    let folder = folder_of(instance);
    let mut kept = json!({});
    for path in credhub.names_like(&folder).await {
        // The broker may delete a credential between the two requests.
        if let Some(name) = path.strip_prefix(&format!("{folder}/"))
            && let Some(value) = credhub.value(&path).await
        {
            kept[name] = value;
        }
    }
    kept
}

async fn refuse_submissions(control: &Control) {
    control
        .set(
            Fault::of("director", "POST /deployments")
                .says(400, r#"{"code":100,"description":"no"}"#),
        )
        .await;
}

fn log_of(broker: &Broker) -> String {
    let log = broker.log();
    let lines = log.iter().map(odb_stories::LogLine::text);
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_secret_of_an_instance_lives_as_long_as_the_instance() {
    let foundation = Foundation::start().await;
    let broker = secure(&foundation, NOTING).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let (director, credhub) = (foundation.director(), foundation.bosh_credhub());

    platform
        .provision_to_the_end(&instance, &with_secret("first-value"))
        .await;

    let deployment = format!("service-instance_{instance}");
    let manifest = director.manifest(&deployment).await;
    let reference = format!("(({}))", managed(&instance));
    assert!(manifest.contains(&reference), "{manifest}");
    assert!(!manifest.contains("odb_secret:"), "{manifest}");
    assert!(!manifest.contains("first-value"), "{manifest}");
    assert_eq!(
        credhub.value(&managed(&instance)).await,
        Some("first-value".into())
    );
    let dashboard = asked(&foundation, "dashboard-url").to_string();
    assert!(dashboard.contains(&reference), "{dashboard}");

    change(&broker, &instance, &with_secret("second-value")).await;
    let values = values_of(&credhub, &instance).await;
    assert!(values.contains(&"second-value".into()), "{values:?}");

    delete(&broker, &instance).await;
    assert_eq!(
        credhub.names_like(&folder_of(&instance)).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn an_adapter_gets_only_the_secrets_that_the_manifest_refers_to() {
    let foundation = Foundation::bare().start().await;
    let broker = secure(&foundation, NOTING).start().await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());
    let credhub = foundation.bosh_credhub();
    let foreign = "/sandbox-director/another/owner";
    credhub
        .set(foreign, &json!({ "user": "u", "deep": { "key": "found" } }))
        .await;
    let parameters = json!({
        "odb_managed_secret": "of-the-adapter",
        "credhub_secret_path": format!("{foreign}.deep.key"),
    });
    platform
        .provision_to_the_end(&instance, &Order::small().with_parameters(parameters))
        .await;

    platform.bind(&instance, &binding).await.expect_status(201);
    let reported = part(
        &asked(&foundation, "create-binding"),
        "/create_binding/secrets",
    );
    let deployment = format!("service-instance_{instance}");
    let director = foundation.director().info().await["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let generated = credhub
        .value(&format!("/{director}/{deployment}/secret_pass"))
        .await;
    assert_eq!(reported.get("((secret_pass))"), generated.as_ref());
    assert_eq!(
        reported[format!("(({}))", managed(&instance))],
        "of-the-adapter"
    );
    assert_eq!(reported[format!("(({foreign}.deep.key))")], "found");
    let certificate = reported["((instance_certificate.certificate))"]
        .as_str()
        .unwrap_or_default();
    assert!(certificate.contains("BEGIN CERTIFICATE"), "{reported}");
    assert_eq!(reported.as_object().unwrap().len(), 6, "{reported}");

    change(&broker, &instance, &with_clients(200)).await;
    let question = asked(&foundation, "generate-manifest");
    assert_eq!(
        part(&question, "/generate_manifest/previous_secrets"),
        reported
    );

    platform
        .unbind(&instance, &binding)
        .await
        .expect_status(200);
    let question = asked(&foundation, "delete-binding");
    assert_eq!(part(&question, "/delete_binding/secrets"), reported);
}

#[tokio::test]
async fn an_upgrade_is_made_without_the_secrets_as_the_protocol_has_it() {
    let foundation = Foundation::bare().start().await;
    let broker = secure(&foundation, NOTING).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    platform
        .provision_to_the_end(&instance, &with_secret("kept"))
        .await;

    let body = json!({ "plan_id": Order::small().member("plan_id"), "context": {} });
    let token = platform
        .operate(&instance, "upgrade", &body)
        .await
        .operation_data()
        .to_string();
    platform.succeeds(&instance, &token).await;
    let question = asked(&foundation, "generate-manifest");
    assert_eq!(
        part(&question, "/generate_manifest/previous_secrets"),
        Value::Null
    );
    let credhub = foundation.bosh_credhub();
    assert_eq!(
        credhub.value(&managed(&instance)).await,
        Some("kept".into())
    );
}

#[tokio::test]
async fn a_reference_that_means_nothing_is_left_out_and_named_in_the_log() {
    let foundation = Foundation::bare().start().await;
    let adapter = r##"read_input
printf '%s' "$input" >"$folder/$call.json"
if [[ $call == generate-manifest ]]; then
  as_redis | jq -c '.manifest = "# ((nobody_knows.it))\n" + .manifest'
else
  as_redis
fi"##;
    let broker = secure(&foundation, adapter).start().await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());
    platform.create(&instance).await;

    let bound = platform.bind(&instance, &binding).await;

    bound.expect_status(201);
    let reported = part(
        &asked(&foundation, "create-binding"),
        "/create_binding/secrets",
    );
    assert!(reported.get("((nobody_knows.it))").is_none(), "{reported}");
    assert!(reported.get("((secret_pass))").is_some(), "{reported}");
    let lines = broker.log_of_request(&bound.request_id());
    let message = lines
        .iter()
        .map(odb_stories::LogLine::text)
        .find(|text| text.contains("ODB-4010"));
    assert!(message.is_some_and(|text| text.contains("((nobody_knows.it))")));
}

#[tokio::test]
async fn what_was_written_for_an_order_that_the_director_refuses_is_deleted() {
    let foundation = Foundation::bare().start().await;
    let broker = secure(&foundation, NOTING).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, credhub) = (foundation.control(), foundation.bosh_credhub());
    refuse_submissions(&control).await;

    let refused = platform
        .provision(&instance, &with_secret("unwanted"))
        .await;

    refused.expect_status(500);
    control.clear_faults().await;
    assert_eq!(kept(&credhub, &instance).await, json!({}));
    platform
        .provision_to_the_end(&instance, &with_secret("wanted"))
        .await;
    assert_eq!(
        credhub.value(&managed(&instance)).await,
        Some("wanted".into())
    );
}

#[tokio::test]
async fn a_secret_that_arrives_after_its_order_was_refused_is_deleted() {
    let foundation = Foundation::bare().start().await;
    let broker = secure(&foundation, NOTING)
        .with_timing("lost_answer_in_seconds", 4)
        .start()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, credhub) = (foundation.control(), foundation.bosh_credhub());
    control
        .set(Fault::of("credhub", "PUT /api/v1/data").drops("before"))
        .await;

    let refused = platform.provision(&instance, &with_secret("late")).await;

    refused.expect_status(500);
    control.clear_faults().await;
    // The held requests are executed now.
    credhub
        .set(&managed(&instance), &json!({ "late": true }))
        .await;
    eventually("the secret is deleted", TIMEOUT, async || {
        let kept = kept(&credhub, &instance).await;
        let is_empty = kept == json!({});
        is_empty.then_some(()).ok_or_else(|| kept.to_string())
    })
    .await;
    platform
        .provision_to_the_end(&instance, &with_secret("wanted"))
        .await;
}

#[tokio::test]
async fn an_update_that_the_director_refuses_leaves_every_secret_as_it_was() {
    let foundation = Foundation::bare().start().await;
    let broker = secure(&foundation, RETURNING).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, credhub) = (foundation.control(), foundation.bosh_credhub());
    let before = json!({ "changed": "former", "object": { "a": 1 }, "same": "same" });
    returns(&foundation, &before);
    platform.create(&instance).await;
    refuse_submissions(&control).await;
    returns(
        &foundation,
        &json!({ "changed": "new", "object": { "a": 2 }, "same": "same", "added": "new" }),
    );

    let refused = platform.update(&instance, &with_clients(300)).await;

    refused.expect_status(500);
    control.clear_faults().await;
    assert_eq!(kept(&credhub, &instance).await, before);
    change(&broker, &instance, &with_clients(400)).await;
    assert_eq!(kept(&credhub, &instance).await["changed"], "new");
}

#[tokio::test]
async fn secrets_are_put_back_as_soon_as_credhub_answers_again() {
    let foundation = Foundation::bare().start().await;
    let mut broker = secure(&foundation, NOTING).start().await;
    let (platform, instance) = (broker.platform().clone(), new_id());
    let (control, credhub) = (foundation.control(), foundation.bosh_credhub());
    platform
        .provision_to_the_end(&instance, &with_secret("former"))
        .await;
    // The new value is written under a name of its own, which cannot be taken away again.
    refuse_submissions(&control).await;
    control
        .set(Fault::of("credhub", "DELETE /api/v1/data").says(503, "down"))
        .await;

    let refused = platform.update(&instance, &with_secret("new")).await;

    refused.expect_status(500);
    broker.kill();
    control.clear_faults().await;
    let values = values_of(&credhub, &instance).await;
    assert!(values.contains(&"new".into()), "{values:?}");
    broker.start_again().await;
    eventually("the secret is taken away", TIMEOUT, async || {
        let values = values_of(&credhub, &instance).await;
        let is_so = values == ["former"];
        is_so.then_some(()).ok_or(format!("{values:?}"))
    })
    .await;
}

#[tokio::test]
async fn a_secret_that_an_update_does_not_use_any_more_goes_when_it_has_succeeded_and_not_before() {
    let foundation = Foundation::bare().start().await;
    let broker = secure(&foundation, RETURNING).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, credhub) = (foundation.control(), foundation.bosh_credhub());
    let before = json!({ "one": "1", "two": "2" });
    returns(&foundation, &before);
    platform.create(&instance).await;
    returns(&foundation, &json!({ "one": "1" }));

    control
        .set_task(TaskFault::at_start().of(&instance).fails(100, "no"))
        .await;
    let failed = update(&broker, &instance, &with_clients(500)).await;
    assert_eq!(failed.state, "failed", "{failed:?}");
    assert_eq!(kept(&credhub, &instance).await, before);

    control.clear_task_faults().await;
    change(&broker, &instance, &with_clients(400)).await;
    assert_eq!(kept(&credhub, &instance).await, json!({ "one": "1" }));
}

#[tokio::test]
async fn a_delete_waits_for_credhub_and_leaves_nothing_behind() {
    let foundation = Foundation::bare().start().await;
    let broker = secure(&foundation, NOTING).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, credhub) = (foundation.control(), foundation.bosh_credhub());
    platform
        .provision_to_the_end(&instance, &with_secret("to be deleted"))
        .await;
    let upstreams = [
        format!("/odb/{OFFERING}/service-instance_{instance}-other/secret"),
        format!("/odb/{OFFERING}/other-{instance}/secret"),
        format!("/c/service/{instance}/binding/credentials"),
    ];
    for upstream in &upstreams {
        credhub.set(upstream, &json!({})).await;
    }
    control
        .set(Fault::of("credhub", "DELETE").says(503, "down"))
        .await;

    let token = platform.deprovision(&instance).await.accepted();
    eventually("the delete is tried", TIMEOUT, async || {
        let calls = control.broker_calls(0).await;
        let tried = |call: &odb_stories::BrokerCall| {
            call.server == "credhub" && call.method == "DELETE" && call.status == Some(503)
        };
        calls
            .iter()
            .any(tried)
            .then_some(())
            .ok_or(format!("{calls:?}"))
    })
    .await;
    let poll = platform.last_operation(&instance, &token).await;
    assert_eq!(poll.json()["state"], "in progress", "{poll:?}");
    control.clear_faults().await;
    platform.succeeds(&instance, &token).await;
    assert_eq!(kept(&credhub, &instance).await, json!({}));
    for upstream in &upstreams {
        assert!(credhub.value(upstream).await.is_some(), "{upstream}");
    }
}

#[tokio::test]
async fn a_delete_gives_up_on_a_credhub_that_goes_on_failing_and_can_be_repeated() {
    let foundation = Foundation::bare().start().await;
    let broker = secure(&foundation, NOTING)
        .with_timing("clean_up_in_seconds", 1)
        .start()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let (control, credhub) = (foundation.control(), foundation.bosh_credhub());
    platform
        .provision_to_the_end(&instance, &with_secret("to be deleted"))
        .await;
    control
        .set(Fault::of("credhub", "DELETE").says(503, "down"))
        .await;

    let token = platform.deprovision(&instance).await.accepted();
    let ended = platform.fails(&instance, &token).await;
    let reported = ended.last_description();
    assert!(reported.contains("Delete it again"), "{reported}");
    assert!(foundation.director().deployments().await.is_empty());
    platform.deprovision(&instance).await.expect_status(500);
    control.clear_faults().await;
    platform.deprovision(&instance).await.expect_status(410);
    assert_eq!(kept(&credhub, &instance).await, json!({}));
    assert_eq!(foundation.director().record(&instance).await, None);
}

#[tokio::test]
async fn what_is_left_of_an_instance_that_is_gone_goes_with_its_delete() {
    let foundation = Foundation::bare().start().await;
    let broker = secure(&foundation, NOTING).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let credhub = foundation.bosh_credhub();
    credhub
        .set(&managed(&instance), &json!({ "left": "behind" }))
        .await;

    platform.deprovision(&instance).await.expect_status(410);

    assert_eq!(kept(&credhub, &instance).await, json!({}));
}

#[tokio::test]
async fn a_credhub_that_is_down_refuses_a_change_and_keeps_no_binding_from_the_adapter() {
    let foundation = Foundation::bare().start().await;
    let adapter = r#"read_input
printf '%s' "$input" >"$folder/$call.json"
if [[ $call == create-binding ]]; then echo '{"credentials":{}}'; else as_redis; fi"#;
    let broker = secure(&foundation, adapter).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let control = foundation.control();
    platform
        .provision_to_the_end(&instance, &with_secret("former"))
        .await;
    control
        .set_fault(&json!({
            "server": "credhub",
            "effect": { "kind": "answer", "status": 503, "body": "down" },
        }))
        .await;

    // An adapter that misses secrets would make new ones.
    let refused = platform.update(&instance, &with_clients(300)).await;
    let bound = platform.bind(&instance, &new_id()).await;

    refused.expect_status(500);
    let lines = broker.log_of_request(&refused.request_id());
    assert!(lines.iter().any(|line| line.text().contains("ODB-4006")));
    bound.expect_status(201);
    let reported = part(
        &asked(&foundation, "create-binding"),
        "/create_binding/secrets",
    );
    assert_eq!(reported, json!({}));
}

#[tokio::test]
async fn without_secure_manifests_nothing_is_kept_or_reported() {
    let foundation = Foundation::bare().start().await;
    let adapter = r#"read_input
printf '%s' "$input" >"$folder/$call.json"
as_redis"#;
    let adapter = foundation.adapters().script(adapter);
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let (platform, instance) = (broker.platform(), new_id());

    // The Director does not know the placeholder, as it never did.
    let token = platform
        .provision(&instance, &with_secret("ignored"))
        .await
        .accepted();
    platform.end_of_operation(&instance, &token).await;

    let question = asked(&foundation, "dashboard-url").to_string();
    assert!(
        question.contains("((odb_secret:odb_managed_secret))"),
        "{question}"
    );
    let left = foundation.bosh_credhub().names_like("/odb/").await;
    assert_eq!(left, Vec::<String>::new());
    let calls = foundation.control().broker_calls(0).await;
    assert!(calls.iter().all(|call| call.server != "credhub"));
}

#[tokio::test]
async fn a_director_without_a_credhub_is_warned_about_at_the_start() {
    let foundation = Foundation::bare().start().await;
    let mut info = foundation.director().info().await;
    info["features"]["config_server"]["status"] = false.into();
    let headers = json!({ "Content-Type": "application/json" });
    let effect =
        json!({ "kind": "answer", "status": 200, "headers": headers, "body": info.to_string() });
    let requests = json!({ "path": "/info" });
    let control = foundation.control();
    control
        .set_fault(&json!({ "server": "director", "requests": requests, "effect": effect }))
        .await;

    let broker = foundation.broker().with_secure_manifests().start().await;

    let log = log_of(&broker);
    assert!(log.contains("ODB-1125"), "{log}");
    assert!(log.contains("`broker.enable_secure_manifests`"), "{log}");
}

#[tokio::test]
async fn an_absent_credhub_or_an_unknown_client_prevents_the_start_with_all_other_errors() {
    const SECRET: &str = "/bosh_credhub/authentication/uaa/client_credentials/client_secret";
    let foundation = Foundation::bare().start().await;
    let secure = || foundation.broker().with_secure_manifests();

    let wrong_secret = "hunter2-wrong";
    let unauthenticated_client = secure().with(SECRET, wrong_secret.into());
    let unauthenticated_client = unauthenticated_client.with(
        "/bosh/authentication/uaa/client_credentials/client_secret",
        wrong_secret.into(),
    );
    let said = failing_start(&foundation, unauthenticated_client).await;
    for code in ["ODB-1102", "ODB-1118"] {
        assert!(said.contains(code), "{code}: {said}");
    }
    assert!(!said.contains(wrong_secret), "{said}");

    let nowhere = secure().with("/bosh_credhub/url", "https://127.0.0.1:1".into());
    let said = failing_start(&foundation, nowhere).await;
    assert!(
        said.contains("ODB-1117") && said.contains("bosh_credhub.url"),
        "{said}"
    );
}

/// CredHub ignores case, and the Director generates variables under the names of deployments.
#[tokio::test]
async fn instances_whose_ids_differ_in_case_keep_their_secrets() {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = secure(&foundation, NOTING).start().await;
    let (platform, credhub) = (broker.platform(), foundation.bosh_credhub());
    let (small, large) = ("case-x", "CASE-X");
    platform
        .provision_to_the_end(small, &with_secret("small"))
        .await;
    let before = credhub.names_like(small).await;

    platform
        .provision_to_the_end(large, &with_secret("large"))
        .await;

    let of_large = format!("/odb/{OFFERING}/service-instance-f4_CASE-X/odb_managed_secret");
    assert_eq!(credhub.value(&of_large).await, Some("large".into()));
    assert_eq!(credhub.value(&managed(small)).await, Some("small".into()));
    let manifest = foundation
        .director()
        .manifest("service-instance_CASE-X")
        .await;
    assert!(manifest.contains(&format!("(({of_large}))")), "{manifest}");

    delete(&broker, large).await;
    assert_eq!(credhub.value(&of_large).await, None);
    assert_eq!(credhub.names_like(small).await, before);
    change(&broker, small, &with_clients(100)).await;

    delete(&broker, small).await;
    // The broker of these tests may not delete what the Director has generated.
    let mut left = credhub.names_like(small).await;
    left.retain(|name| name.starts_with("/odb/"));
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn secrets_that_cannot_be_kept_are_refused_before_anything_changes() {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = secure(&foundation, RETURNING).start().await;
    let platform = broker.platform();
    for (secrets, reported) in [
        (json!({ "number": 1 }), "`number` is a number"),
        (json!({ "empty": "" }), "`empty` is empty"),
        (
            json!({ "dotted.name": "hunter2-secret" }),
            "no manifest can refer",
        ),
    ] {
        returns(&foundation, &secrets);

        let refused = platform.provision(&new_id(), &Order::small()).await;

        refused.expect_status(500);
        assert!(!refused.text.contains("hunter2"), "{refused:?}");
        let lines = broker.log_of_request(&refused.request_id());
        let named = |line: &odb_stories::LogLine| {
            line.text().contains("ODB-3006") && line.text().contains(reported)
        };
        assert!(lines.iter().any(named), "{reported}");
    }
    assert!(!log_of(&broker).contains("hunter2-secret"));
    foundation.director().expect_untouched().await;
    let left = foundation.bosh_credhub().names_like("/odb/").await;
    assert_eq!(left, Vec::<String>::new());
}
