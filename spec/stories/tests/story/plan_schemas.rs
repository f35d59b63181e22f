//! The adapter describes the parameters of its plans, and requests are held against it.

use std::{fs, path::PathBuf};

use odb_stories::{
    Broker, BrokerConfiguration, Foundation, LogLine, Order, Process, Response, new_id,
};
use serde_json::{Value, json};

use crate::{TIMEOUT, start_up_checks::failing_start};

/// Answers with the schemas in the test's folder, and notes that it was asked.
const DESCRIBING: &str = r#"read_input
if [[ $call == generate-plan-schemas ]]; then
  echo asked >>"$folder/asked"
  cat "$folder/schemas"
else
  as_redis
fi"#;

fn schema(properties: &Value) -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

fn answer(create: &Value, update: &Value, bind: &Value) -> Value {
    json!({
        "service_instance": { "create": { "parameters": create }, "update": { "parameters": update } },
        "service_binding": { "create": { "parameters": bind } },
    })
}

fn redis() -> Value {
    let clients = json!({ "type": "integer", "minimum": 1, "maximum": 500 });
    answer(
        &schema(&json!({ "maxclients": clients })),
        &schema(
            &json!({ "maxclients": clients, "odb_managed_secret": { "type": "string", "pattern": "^[a-z]+$" } }),
        ),
        &schema(&json!({ "role": { "enum": ["reader", "writer"] } })),
    )
}

fn describing<'f>(foundation: &'f Foundation, schemas: &Value) -> BrokerConfiguration<'f> {
    let file = foundation.folder().join("schemas");
    fs::write(file, schemas.to_string()).expect("the test made the folder");
    foundation
        .broker()
        .with("/broker/enable_plan_schemas", true.into())
        .with_adapter(&foundation.adapters().script(DESCRIBING))
}

fn with(parameters: Value) -> Order {
    Order::small().with_parameters(parameters)
}

/// The value is shown neither to the user, who knows it, nor in the log.
fn expect_refused(answer: &Response, property: &str) {
    let reported = answer.expect_status(400).description();
    let about = format!("The parameters do not fit the plan: `{property}` ");
    assert!(reported.starts_with(&about), "{reported}");
}

fn expect_without(broker: &Broker, answers: &[Response], value: &str) {
    let log: String = broker.log().iter().map(LogLine::text).collect();
    for text in answers.iter().map(|answer| &answer.text).chain([&log]) {
        assert!(!text.contains(value), "{text}");
    }
}

#[tokio::test]
async fn the_catalog_has_the_schemas_and_the_adapter_is_asked_once_for_each_plan() {
    let foundation = Foundation::start().await;
    let broker = describing(&foundation, &redis()).start().await;

    for _ in 0..3 {
        let catalog = broker.platform().catalog().await.expect_status(200).json();
        for plan in catalog["services"][0]["plans"].as_array().unwrap() {
            assert_eq!(plan["schemas"], redis(), "{plan}");
        }
    }
    let refused = with(json!({ "maxclients": 0 }));
    broker.platform().provision(&new_id(), &refused).await;

    let asked = fs::read_to_string(foundation.folder().join("asked")).unwrap();
    assert_eq!(asked.lines().count(), 2);
}

#[tokio::test]
async fn parameters_are_held_against_the_schema_of_their_request() {
    let foundation = Foundation::start().await;
    let configuration = describing(&foundation, &redis()).with_plan_limit(1);
    let broker = configuration.start().await;
    let (platform, instance, secret) = (broker.platform(), new_id(), new_id());
    let mut refused = Vec::new();

    for (parameters, property) in [
        (json!({ "maxclients": &secret }), "maxclients"),
        (json!({ "maxclients": 501 }), "maxclients"),
        (json!({ "maxclient": &secret }), "maxclient"),
        (
            json!({ "odb_managed_secret": &secret }),
            "odb_managed_secret",
        ),
    ] {
        let answer = platform.provision(&instance, &with(parameters)).await;
        expect_refused(&answer, property);
        refused.push(answer);
    }
    foundation.director().expect_untouched().await;
    // The refused orders have given their slots back.
    platform
        .provision_to_the_end(&instance, &with(json!({ "maxclients": 500 })))
        .await;
    // Neither a quota nor an unknown instance is hidden by invalid parameters.
    let wrong = json!({ "maxclients": 0, "role": "nobody" });
    let full = platform.provision(&new_id(), &with(wrong.clone())).await;
    assert!(full.expect_status(403).description().contains("no room"));
    let absent = platform
        .bind_with_parameters(&new_id(), &new_id(), &wrong)
        .await;
    absent.expect_status(404);

    for (parameters, property) in [
        (json!({ "maxclients": [&secret] }), "maxclients"),
        (
            json!({ "odb_managed_secret": &secret }),
            "odb_managed_secret",
        ),
        (json!({ "role": &secret }), "role"),
    ] {
        let answer = platform.update(&instance, &with(parameters)).await;
        expect_refused(&answer, property);
        refused.push(answer);
    }
    let fitting = with(json!({ "odb_managed_secret": "abc" }));
    platform.update_to_the_end(&instance, &fitting).await;

    for (parameters, property) in [
        (json!({ "role": &secret }), "role"),
        (json!({ "maxclients": &secret }), "maxclients"),
    ] {
        let binding = new_id();
        let answer = platform
            .bind_with_parameters(&instance, &binding, &parameters)
            .await;
        expect_refused(&answer, property);
        refused.push(answer);
    }
    for parameters in [json!({ "role": "reader" }), json!({}), Value::Null] {
        let bound = platform
            .bind_with_parameters(&instance, &new_id(), &parameters)
            .await;
        bound.expect_status(201);
    }
    expect_without(&broker, &refused, &secret);
}

#[tokio::test]
async fn an_upgrade_has_no_parameters_to_be_held_against_anything() {
    let foundation = Foundation::start().await;
    let mut demanding = schema(&json!({ "maxclients": { "type": "integer" } }));
    demanding["required"] = json!(["maxclients"]);
    let schemas = answer(&schema(&json!({})), &demanding, &schema(&json!({})));
    let broker = describing(&foundation, &schemas)
        .with(
            "/service_catalog/plans/0/maintenance_info",
            json!({ "version": "2.0.0" }),
        )
        .start()
        .await;
    let platform = broker.platform();
    let instance = platform.created().await;

    let order = Order::small();
    let previous =
        json!({ "plan_id": order.member("plan_id"), "maintenance_info": { "version": "1.0.0" } });
    let upgrade = order
        .with("previous_values", previous)
        .with("maintenance_info", json!({ "version": "2.0.0" }));
    platform.update_to_the_end(&instance, &upgrade).await;
}

#[tokio::test]
async fn a_cloud_controller_takes_the_catalog_and_its_users_read_what_is_wrong() {
    let foundation = Foundation::start().await;
    let broker = describing(&foundation, &redis()).start().await;
    let cf = foundation.cf();

    cf.register(&broker).await;
    let order = ["create-service", "redis", "small", "cache", "--wait", "-c"];
    let wrong = [&order[..], &[r#"{"maxclients": 501}"#]].concat();
    let said = cf.run(&wrong).await.failed();
    assert!(said.contains("`maxclients` must be at most 500"), "{said}");
    let right = [&order[..], &[r#"{"maxclients": 500}"#]].concat();
    cf.run(&right).await.succeeded();
}

/// The output of a broker that does not start, with this script as its adapter and an unreachable Director.
async fn said_by_one_that_does_not_start(script: &str) -> Vec<String> {
    let foundation = Foundation::start().await;
    let file: PathBuf = foundation
        .broker()
        .with("/broker/enable_plan_schemas", true.into())
        .with("/bosh/url", "https://127.0.0.1:9".into())
        .with_adapter(&foundation.adapters().script(script))
        .write("broker.yml");
    let mut broker: Process =
        foundation.broker_process(&["serve", "--config", &file.display().to_string()]);

    let status = broker.exit(TIMEOUT).await;

    assert_eq!(status.code(), Some(1));
    let said: Vec<String> = broker.output().lines().map(str::to_owned).collect();
    let director = said.iter().filter(|line| line.contains("ODB-1101"));
    assert_eq!(director.count(), 1, "{said:#?}");
    said
}

fn of_schemas(said: &[String]) -> Vec<&String> {
    said.iter()
        .filter(|line| line.contains("ODB-1109"))
        .collect()
}

#[tokio::test]
async fn every_schema_that_is_of_no_use_refuses_the_start_at_once() {
    let usable = schema(&json!({}));
    let other_draft = json!({ "$schema": "http://json-schema.org/draft-07/schema#" });
    let mut no_schema = schema(&json!({}));
    no_schema["properties"] = json!({ "a": { "type": "strange" } });
    let small = answer(&other_draft, &usable, &no_schema);
    let large = answer(&usable, &Value::Null, &usable);
    let script = format!(
        r#"read_input
if [[ $input == *'"vm_type\":\"large\"'* ]]; then echo '{large}'; else echo '{small}'; fi"#
    );

    let said = said_by_one_that_does_not_start(&script).await;

    let faults = of_schemas(&said);
    assert_eq!(faults.len(), 3, "{said:#?}");
    for (plan, which, why) in [
        ("small", "instance create", "draft-07"),
        ("small", "binding create", "/properties/a/type"),
        ("large", "instance update", "is missing"),
    ] {
        let (plan, which) = (format!("plan `{plan}`"), format!("`{which}`"));
        let reported = faults
            .iter()
            .any(|line| line.contains(&plan) && line.contains(&which) && line.contains(why));
        assert!(reported, "{plan} {which} {why}: {faults:#?}");
    }
}

#[tokio::test]
async fn an_adapter_that_fails_to_describe_its_plans_refuses_the_start_in_its_own_words() {
    let script =
        r#"echo "there is no template for this plan"; echo "password: hunter2" >&2; exit 1"#;

    let said = said_by_one_that_does_not_start(script).await;

    let faults = of_schemas(&said);
    assert_eq!(faults.len(), 2, "{said:#?}");
    for plan in ["`small`", "`large`"] {
        assert!(faults.iter().any(|line| line.contains(plan)), "{faults:?}");
    }
    let words = "there is no template for this plan";
    assert!(said.iter().any(|line| line.contains(words)), "{said:#?}");
    assert!(!said.join("").contains("hunter2"), "{said:#?}");

    let foundation = Foundation::start().await;
    let configuration = foundation
        .broker()
        .with("/broker/enable_plan_schemas", true.into())
        .with_adapter(&foundation.adapters().script("read_input; exit 10"));
    let said = failing_start(&foundation, configuration).await;
    let said: Vec<String> = said.lines().map(str::to_owned).collect();
    let faults = of_schemas(&said);
    assert_eq!(faults.len(), 1, "{said:#?}");
    let text = "`broker.enable_plan_schemas` is on but the adapter does not implement `generate-plan-schemas`";
    assert!(faults[0].contains(text), "{faults:?}");
}
