//! Properties of operators, and the errors.

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::parameters::PlanPropertiesError;
use odb_adapter_sdk::protocol::Plan;
use odb_adapter_sdk::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize, JsonSchema)]
struct Properties {
    persistence: bool,
    nodes: Option<u8>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Closed {
    #[expect(dead_code, reason = "read only")]
    persistence: bool,
}

fn plan(properties: &Value) -> Plan {
    let mut plan = Plan::new(Vec::new());
    plan.properties = properties.as_object().unwrap().clone();
    plan
}

#[test]
fn properties_arrive_in_the_authors_type() {
    let plan = plan(&json!({"persistence": true, "nodes": 3, "of_another_adapter": "x"}));
    let properties: Properties = plan.properties_as().unwrap();
    assert!(properties.persistence);
    assert_eq!(properties.nodes, Some(3));
}

#[test]
fn every_error_is_asked_to_the_operator() {
    let error = plan(&json!({"nodes": "hunter2"}))
        .properties_as::<Properties>()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "plan property `nodes` must be a whole number from 0 to 255; \
         plan property `persistence` must be set to true or false"
    );
    let error = AdapterError::from(error);
    assert_eq!(error.user_message(), None);
    assert!(
        format!("{error:?}").contains("plan property `nodes` must be"),
        "{error:?}"
    );
}

#[test]
fn a_closed_type_refuses_names_that_it_does_not_know() {
    let plan = plan(&json!({"persistance": true, "persistence": true}));
    let error = plan.properties_as::<Closed>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported plan properties: persistance (did you mean `persistence`?); supported: persistence"
    );
}

#[test]
fn an_authors_own_check_is_reported_like_the_others() {
    let error = PlanPropertiesError::must_be("nodes", "odd");
    assert_eq!(error.to_string(), "plan property `nodes` must be odd");
}
