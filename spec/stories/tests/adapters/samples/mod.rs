//! The worked samples of `spec/contracts/adapter-protocol.md`, verbatim, and the broker's next requests.

use std::path::Path;

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::{
    executable::{Executable, Run},
    kafka::commands::TopicCommands,
    redis::adapter::Implementation,
};

const REDIS_CREATE: &str = include_str!("redis-create.json");
const REDIS_MANIFEST: &str = include_str!("redis-create.yml");
const REDIS_BIND: &str = include_str!("redis-bind.json");
const REDIS_BIND_ANSWER: &str = include_str!("redis-bind-answer.json");
const KAFKA_CREATE: &str = include_str!("kafka-create.json");
const KAFKA_MANIFEST: &str = include_str!("kafka-create.yml");

of_each_implementation! {
    redis_answers_its_sample,
    redis_answers_its_sample_in_arguments,
}

#[test]
fn the_samples_are_those_of_the_protocol() {
    let contracts = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../contracts"));
    let protocol = std::fs::read_to_string(contracts.join("adapter-protocol.md")).unwrap();
    for sample in [
        REDIS_CREATE,
        REDIS_MANIFEST,
        REDIS_BIND.trim_end(),
        REDIS_BIND_ANSWER.trim_end(),
        KAFKA_CREATE,
        KAFKA_MANIFEST,
    ] {
        assert!(protocol.contains(sample), "{sample}");
    }
}

fn redis_answers_its_sample(implementation: Implementation) {
    let (redis, _settings) = redis(implementation);
    redis_sample(&redis);
}

fn redis_answers_its_sample_in_arguments(implementation: Implementation) {
    let (redis, _settings) = redis(implementation);
    let run = in_arguments(&redis, REDIS_CREATE);
    let (manifest, _) = as_redis_sample(&expect_yaml(&run));
    assert_eq!(expect_yaml(&run), manifest);
}

#[test]
fn kafka_answers_its_sample() {
    let kafka = Executable::named("kafka-service-adapter");
    let expected: Value = yaml::from_str(KAFKA_MANIFEST).unwrap();

    let answer = kafka.run(&["generate-manifest"], KAFKA_CREATE).answer();
    let deployed = answer["manifest"].as_str().unwrap();
    assert_eq!(yaml::from_str::<Value>(deployed).unwrap(), expected);
    assert_eq!(answer["secrets"], json!({}));
    assert_eq!(answer["configs"], Value::Null);

    let run = in_arguments(&kafka, KAFKA_CREATE);
    assert_eq!(expect_yaml(&run), expected);

    let checked = kafka.ask(
        "generate-manifest",
        &looked_at_again(KAFKA_CREATE, deployed),
    );
    assert_eq!(checked.answer()["manifest"], deployed);
}

#[test]
fn kafka_binds_as_its_sample() {
    let commands = TopicCommands::that("exit 0");
    let input = json!({
        "binding_id": "b-2",
        "bosh_vms": json!({"kafka_server": ["10.0.9.4"], "zookeeper_server": ["10.0.9.7"]}).to_string(),
        "manifest": KAFKA_MANIFEST,
        "request_parameters": json!({"parameters": {"topic": "orders"}}).to_string(),
        "secrets": "null",
        "dns_addresses": "{}",
    });
    let answer = commands.adapter().ask("create-binding", &input).answer();
    assert_eq!(
        answer,
        json!({"credentials": {"bootstrap_servers": ["10.0.9.4:9092"]}})
    );
    assert_eq!(
        commands.called(),
        ["create 10.0.9.7 b-2", "create 10.0.9.7 orders"]
    );
}

/// The complete sample of Redis: create, check for pending changes, bind.
pub(crate) fn redis_sample(redis: &Executable) {
    let answer = redis.run(&["generate-manifest"], REDIS_CREATE).answer();
    let text = answer["manifest"].as_str().unwrap();
    let manifest: Value = yaml::from_str(text).unwrap();
    let (expected, plan_secret) = as_redis_sample(&manifest);
    assert_eq!(manifest, expected);
    let secrets =
        json!({"odb_managed_secret": "HardcodedAdapterValue", (plan_secret.as_str()): "s3cr3t"});
    assert_eq!(answer["secrets"], secrets);
    assert_eq!(answer["configs"], json!({}));

    let path = format!("/odb/svc-redis/{}/", manifest["name"].as_str().unwrap());
    let deployed = text.replace("odb_secret:", &path);
    let mut input = looked_at_again(REDIS_CREATE, &deployed);
    input["previous_secrets"] = json!({
        "((secret_pass))": "generated", "((instance_certificate.ca))": "ca",
        "((instance_certificate.certificate))": "certificate", "((instance_certificate.private_key))": "key",
        format!("(({path}odb_managed_secret))"): "HardcodedAdapterValue",
        format!("(({path}{plan_secret}))"): "s3cr3t",
    })
    .to_string()
    .into();
    let checked = redis.ask("generate-manifest", &input).answer();
    let regenerated = checked["manifest"].as_str().unwrap();
    assert_eq!(
        yaml::from_str::<Value>(regenerated).unwrap(),
        yaml::from_str::<Value>(&deployed).unwrap()
    );

    let mut input: Value = serde_json::from_str(REDIS_BIND).unwrap();
    input["create_binding"]["manifest"] = deployed.into();
    let bound = redis.run(&["create-binding"], &input.to_string()).answer();
    let mut expected: Value = serde_json::from_str(REDIS_BIND_ANSWER).unwrap();
    expected["credentials"]["password"] = redis_property(&manifest, "password").clone();
    assert_eq!(bound, expected);
}

/// The adapter with the settings of the sample, which are needed as long as it is.
fn redis(implementation: Implementation) -> (Executable, NamedTempFile) {
    let settings = NamedTempFile::new().unwrap();
    std::fs::write(&settings, "secure_manifests_enabled: true\n").unwrap();
    (implementation.executable(Some(settings.path())), settings)
}

/// The sample's manifest with what was generated for this one, and the name of the plan's secret.
fn as_redis_sample(manifest: &Value) -> (Value, String) {
    let password = redis_property(manifest, "password").as_str().unwrap();
    assert_eq!(password.len(), 28, "{manifest}");
    let reference = redis_property(manifest, "plan_secret").as_str().unwrap();
    let digits = reference
        .strip_prefix("((odb_secret:plan_secret_key")
        .and_then(|rest| rest.strip_suffix("))"))
        .unwrap();
    let are_hexadecimal = digits.len() == 6 && digits.chars().all(|c| c.is_ascii_hexdigit());
    assert!(are_hexadecimal, "{reference}");
    let sample = REDIS_MANIFEST
        .replace("<28 characters of base64>", password)
        .replace("<6 hex>", digits);
    let plan_secret = format!("plan_secret_key{digits}");
    (yaml::from_str(&sample).unwrap(), plan_secret)
}

fn redis_property<'m>(manifest: &'m Value, name: &str) -> &'m Value {
    &manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"][name]
}

/// The broker's request before an update of what the sample deployed.
fn looked_at_again(create: &str, deployed: &str) -> Value {
    let mut document: Value = serde_json::from_str(create).unwrap();
    let input = &mut document["generate_manifest"];
    input["previous_plan"] = input["plan"].clone();
    input["previous_manifest"] = deployed.into();
    input["request_parameters"] = "{}".into();
    input["previous_configs"] = "{}".into();
    input.take()
}

/// The sample in the form of old brokers.
fn in_arguments(adapter: &Executable, create: &str) -> Run {
    let document: Value = serde_json::from_str(create).unwrap();
    let words = [
        "service_deployment",
        "plan",
        "request_parameters",
        "previous_manifest",
        "previous_plan",
    ]
    .map(|name| document["generate_manifest"][name].as_str().unwrap());
    adapter.run(&[&["generate-manifest"], &words[..]].concat(), "")
}

fn expect_yaml(run: &Run) -> Value {
    assert_eq!(run.code, Some(0), "{run:?}");
    yaml::from_str(&run.stdout).unwrap()
}

const ADAPTERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../adapters");

/// The sample of an adapter for those who look what it does: what it is asked, and the manifest that it answers.
fn sample_of(adapter: &str, name: &str) -> (String, String) {
    let sample = Path::new(ADAPTERS).join(adapter).join("samples").join(name);
    let read = |extension: &str| std::fs::read_to_string(sample.with_extension(extension)).unwrap();
    (read("json"), read("yml"))
}

fn expect_sample(adapter: &Executable, (question, manifest): &(String, String)) {
    let answer = adapter.run(&["generate-manifest"], question).answer();
    assert_eq!(answer["manifest"].as_str().unwrap(), manifest);
}

#[test]
fn the_samples_of_kafka_are_what_it_answers() {
    let kafka = Executable::named("kafka-service-adapter");
    for name in ["single", "cluster"] {
        expect_sample(&kafka, &sample_of("kafka", name));
    }
}

#[test]
fn the_samples_of_redis_are_what_it_answers() {
    let redis = Executable::named("redis-service-adapter");
    expect_sample(&redis, &sample_of("redis", "change-of-plan"));

    // Each instance has a password of its own.
    let (question, expected) = sample_of("redis", "create");
    let answer = redis.run(&["generate-manifest"], &question).answer();
    let mut manifest: Value = yaml::from_str(answer["manifest"].as_str().unwrap()).unwrap();
    let expected: Value = yaml::from_str(&expected).unwrap();
    let password =
        &mut manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"]["password"];
    assert_eq!(password.as_str().map(str::len), Some(32));
    *password = redis_property(&expected, "password").clone();
    assert_eq!(manifest, expected);
}
