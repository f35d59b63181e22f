use jsonschema::Draft;
use serde_json::{Value, json};

use super::{
    commands::TopicCommands,
    inputs::{create, generate, kafka, plan},
};
use crate::executable::Run;

#[test]
fn a_catalog_shows_what_can_be_chosen() {
    let schemas = schemas(&plan()).answer();
    let expected = json!({
        "auto_create_topics": ("boolean", "Auto create topics"),
        "default_replication_factor": ("integer", "Replication factor"),
    });
    for schema in [
        &schemas["service_instance"]["create"]["parameters"],
        &schemas["service_instance"]["update"]["parameters"],
    ] {
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-04/schema#");
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties.len(), 2);
        for (name, property) in properties {
            assert!(admits(&property["type"], &expected[name][0]), "{schema}");
            assert_eq!(property["description"], expected[name][1]);
        }
    }
    let binding = &schemas["service_binding"]["create"]["parameters"];
    assert_eq!(
        binding["$schema"],
        "http://json-schema.org/draft-04/schema#"
    );
    assert_eq!(binding["additionalProperties"], false);
    assert_eq!(binding["properties"].as_object().unwrap().len(), 1);
    assert!(
        admits(&binding["properties"]["topic"]["type"], &json!("string")),
        "{binding}"
    );
}

#[test]
fn what_the_schemas_admit_the_adapter_takes_and_nothing_else() {
    let schemas = schemas(&plan()).answer();
    let order = validator(&schemas["service_instance"]["create"]["parameters"]);
    for parameters in [
        json!({}),
        json!({"auto_create_topics": true}),
        json!({"auto_create_topics": "true"}),
        json!({"auto_create_topics": null}),
        json!({"default_replication_factor": 1}),
        json!({"default_replication_factor": 0}),
        json!({"default_replication_factor": 1.5}),
        json!({"default_replication_factor": 5_000_000_000_u64}),
        json!({"auto_create_topics": false, "partitions": 1}),
    ] {
        let run = generate(&create(&plan(), &parameters));
        assert_eq!(
            run.code == Some(0),
            order.is_valid(&parameters),
            "{parameters}: {run:?}"
        );
    }

    let binding = validator(&schemas["service_binding"]["create"]["parameters"]);
    let commands = TopicCommands::that("exit 0");
    let longest = "x".repeat(249);
    let too_long = "x".repeat(250);
    for topic in [
        json!("orders"),
        json!(longest),
        json!(too_long),
        json!(""),
        json!("."),
        json!(".."),
        json!("..."),
        json!("-a"),
        json!("a b"),
        json!("ä"),
        json!("a\n"),
        json!("test-topic"),
        json!(1),
        json!(null),
    ] {
        let parameters = json!({ "topic": topic });
        let input = json!({
            "binding_id": "b-1", "manifest": "name: a\n",
            "bosh_vms": r#"{"kafka_server":["10.0.0.1"],"zookeeper_server":["10.0.0.8"]}"#,
            "request_parameters": json!({ "parameters": parameters }).to_string(),
        });
        let run = commands.adapter().ask("create-binding", &input);
        assert_eq!(
            run.code == Some(0),
            binding.is_valid(&parameters),
            "{parameters}: {run:?}"
        );
    }
}

#[test]
fn a_plan_can_name_the_schema_for_tests_of_a_platform() {
    let mut plan = plan();
    let schema = json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"});
    plan["properties"]["schema_to_return"] = schema.to_string().into();
    let parameters = json!({ "parameters": schema });
    let expected = json!({
        "service_instance": {"create": parameters, "update": parameters},
        "service_binding": {"create": parameters},
    });
    assert_eq!(schemas(&plan).answer(), expected);

    plan["properties"]["schema_to_return"] = "{".into();
    let run = schemas(&plan);
    assert_eq!(run.rejection(), "");
    run.expect_said("`schema_to_return` is not JSON");
}

#[test]
fn a_plan_can_make_the_schemas_fail_for_tests_of_a_platform() {
    let mut plan = plan();
    plan["properties"]["service_adapter_fails"] = true.into();
    let run = schemas(&plan);
    let text = "no schemas: plan property `service_adapter_fails` is set.";
    assert_eq!(run.rejection(), text);
    run.expect_said("service_adapter_fails");
}

#[test]
fn a_dashboard_has_the_id_of_its_instance() {
    let input = json!({"instance_id": "i-1", "plan": plan().to_string(), "manifest": "name: a\n"});
    let answer = kafka().ask("dashboard-url", &input).answer();
    assert_eq!(
        answer,
        json!({"dashboard_url": "http://example_dashboard.com/i-1"})
    );
}

fn schemas(plan: &Value) -> Run {
    kafka().ask(
        "generate-plan-schemas",
        &json!({ "plan": plan.to_string() }),
    )
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::options()
        .with_draft(Draft::Draft4)
        .build(schema)
        .unwrap()
}

/// Whether a type is that one, perhaps among others.
fn admits(types: &Value, one: &Value) -> bool {
    types == one || types.as_array().is_some_and(|types| types.contains(one))
}
