//! Parameter, deployed, plan, default: in that order.

use odb_adapter_sdk::first_of;
use odb_adapter_sdk::manifest::{JobProperty, Manifest};
use serde_json::{Value, json};

const CLIENTS: JobProperty = JobProperty::new("g", "j", "/clients");

fn deployed(clients: &Value) -> Manifest {
    let jobs = json!([{"name": "j", "properties": {"clients": clients}}]);
    let manifest =
        json!({"name": "a", "instance_groups": [{"name": "g", "instances": 1, "jobs": jobs}]});
    serde_json::from_value(manifest).unwrap()
}

fn chosen(parameter: Option<u32>, deployed: Option<&Manifest>, plan: Option<u32>) -> u32 {
    first_of(parameter)
        .then_deployed(deployed, CLIENTS)
        .unwrap()
        .then_plan(plan)
        .or_default(4)
}

#[test]
fn the_first_that_there_is_counts() {
    let two = deployed(&json!(2));
    assert_eq!(chosen(Some(1), Some(&two), Some(3)), 1);
    assert_eq!(chosen(None, Some(&two), Some(3)), 2);
    assert_eq!(chosen(None, Some(&deployed(&Value::Null)), Some(3)), 3);
    assert_eq!(chosen(None, None, Some(3)), 3);
    assert_eq!(chosen(None, None, None), 4);
}

#[test]
fn a_deployed_value_that_cannot_be_read_is_named_unless_the_user_replaces_it() {
    let broken = deployed(&json!("hunter2"));
    let error = first_of(None::<u32>)
        .then_deployed(Some(&broken), CLIENTS)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "property `/clients` of job `j` in instance group `g` of the previous manifest is not what this adapter writes there"
    );
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(!cause.contains("hunter2"), "{cause}");
    assert_eq!(chosen(Some(1), Some(&broken), None), 1);
}
