//! Parameters of users, and the errors.

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::parameters::{NoParameters, ParametersError};
use odb_adapter_sdk::protocol::RequestParameters;
use odb_adapter_sdk::schemars::{self, JsonSchema};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::service::Parameters;

fn request(parameters: &Value) -> RequestParameters {
    RequestParameters::from_json(&json!({ "parameters": parameters }).to_string()).unwrap()
}

/// The error for a user with these parameters and a valid name.
fn reported(parameters: Value) -> String {
    let mut named = json!({"name": "orders"});
    let Value::Object(parameters) = parameters else {
        panic!("parameters are objects");
    };
    named.as_object_mut().unwrap().extend(parameters);
    let read = request(&named).parameters::<Parameters>();
    read.err()
        .unwrap_or_else(|| panic!("{named} is refused"))
        .to_string()
}

#[test]
fn parameters_arrive_in_the_authors_type() {
    let read = request(&json!({
        "name": "orders", "maxclients": 7, "eviction": "random", "retention": {"hours": 3},
        "storage": {"kind": "disk", "gigabytes": 2}, "size": 4, "limits": {"memory": 64},
        "topics": [{"name": "a", "extra": true}], "address": "::1", "window": [1, 2],
    }))
    .parameters::<Parameters>()
    .unwrap();
    assert_eq!(read.maxclients, Some(7));
    assert_eq!(read.limits.unwrap().memory, 64);
    assert_eq!(read.topics[0].name, "a");
    assert!(!read.persistence);
}

#[test]
fn no_parameters_at_all_are_an_empty_object() {
    #[derive(Deserialize, JsonSchema)]
    struct Optional {
        maxclients: Option<u64>,
    }
    for body in [
        "null",
        "{}",
        r#"{"parameters": null}"#,
        r#"{"parameters": {}}"#,
    ] {
        let request = RequestParameters::from_json(body).unwrap();
        assert_eq!(request.parameters::<Optional>().unwrap().maxclients, None);
    }
    let list = request(&json!(["hunter2"]));
    assert_eq!(
        list.parameters::<Optional>().err().unwrap().to_string(),
        "the parameters must be a JSON object"
    );
}

#[test]
fn a_wrong_value_is_reported_by_its_name_and_what_would_be_right() {
    for (parameters, text) in [
        (
            json!({"maxclients": "hunter2"}),
            "parameter `maxclients` must be a whole number of at least 1",
        ),
        (
            json!({"maxclients": 0}),
            "parameter `maxclients` must be a whole number of at least 1",
        ),
        (
            json!({"maxclients": 4711.5}),
            "parameter `maxclients` must be a whole number of at least 1",
        ),
        (
            json!({"port": 0}),
            "parameter `port` must be a whole number from 1 to 65535",
        ),
        (
            json!({"offset": 3_000_000_000_u32}),
            "parameter `offset` must be a whole number from -2147483648 to 2147483647",
        ),
        (
            json!({"persistence": null}),
            "parameter `persistence` must be true or false",
        ),
        (
            json!({"share": 0}),
            "parameter `share` must be a number greater than 0 and of at most 1",
        ),
        (
            json!({"name": "HUNTER2"}),
            "parameter `name` must be a string of 2 to 8 characters that matches `^[a-z]+$`",
        ),
        (
            json!({"eviction": "hunter2"}),
            "parameter `eviction` must be one of `oldest`, `random`",
        ),
        (
            json!({"limits": true}),
            "parameter `limits` must be an object with `memory`",
        ),
        (
            json!({"limits": {"memory": 8}}),
            "parameter `limits.memory` must be a whole number from 16 to 1024",
        ),
        (
            json!({"limits": {}}),
            "parameter `limits.memory` must be set to a whole number from 16 to 1024",
        ),
        (
            json!({"topics": [{"name": "a"}, {"name": "b"}, {"name": 4711}]}),
            "parameter `topics[2].name` must be a string of at least 1 character",
        ),
        (
            json!({"topics": "hunter2"}),
            "parameter `topics` must be a list of at most 3 items, each of them an object with `name`",
        ),
        (
            json!({"labels": {"a": 4711}}),
            "parameter `labels.a` must be a string",
        ),
        (
            json!({"address": "hunter2"}),
            "parameter `address` must be an IPv4 address or an IPv6 address",
        ),
        (
            json!({"window": [1]}),
            "parameter `window` must be a list of 2 items",
        ),
        (
            json!({"nested": {"children": [{"children": [{"children": 4711}]}]}}),
            "parameter `nested.children[0].children[0].children` must be a list, each of them an object with `children`",
        ),
    ] {
        let reported = reported(parameters);
        assert_eq!(reported, text);
        assert!(
            !reported.contains("unter2") && !reported.contains("4711"),
            "{reported}"
        );
    }
}

#[test]
fn in_a_choice_the_error_names_the_intended_branch() {
    for (parameters, text) in [
        (
            json!({"retention": "never"}),
            "parameter `retention` must be `forever` or an object with `hours`",
        ),
        (
            json!({"retention": {"hours": 1000}}),
            "parameter `retention.hours` must be a whole number from 0 to 255",
        ),
        (
            json!({"retention": {"hour": 1}}),
            "parameter `retention` must be `forever` or an object with `hours`",
        ),
        (
            json!({"storage": {"kind": "disk"}}),
            "parameter `storage.gigabytes` must be set to a whole number from 0 to 65535",
        ),
        (
            json!({"storage": {"kind": "tape"}}),
            "parameter `storage` must be an object with `kind` or an object with `kind` and `gigabytes`",
        ),
        (
            json!({"size": "hunter2"}),
            "parameter `size` must be a whole number from 0 to 4294967295 or one of `oldest`, `random`",
        ),
    ] {
        assert_eq!(reported(parameters), text);
    }
}

#[test]
fn names_that_there_are_none_of_are_reported_at_once_with_those_there_are() {
    assert_eq!(
        reported(json!({"zeta": "hunter2", "maxclient": 2, "limits": {"memory": 16, "memroy": 1}})),
        "unsupported parameter(s) for this service plan: limits.memroy (did you mean `memory`?), \
         maxclient (did you mean `maxclients`?), zeta; \
         supported: address, eviction, labels, limits, maxclients, name, nested, offset, persistence, \
         port, retention, share, size, storage, topics, window; \
         supported in `limits`: cpu, memory"
    );
    let error = request(&json!({"b": 1, "a": 2}))
        .parameters::<NoParameters>()
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "unsupported parameter(s) for this service plan: a, b; supported: none"
    );
    assert_eq!(error.unsupported().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn several_errors_are_reported_together() {
    let error = request(&json!({"maxclients": 0, "persistence": 1, "maxmemory": 1}));
    let reported = error.parameters::<Parameters>().err().unwrap().to_string();
    assert!(
        reported
            .starts_with("unsupported parameter(s) for this service plan: maxmemory; supported: "),
        "{reported}"
    );
    assert!(
        reported.ends_with(
            "; parameter `maxclients` must be a whole number of at least 1\
             ; parameter `name` must be set to a string of 2 to 8 characters that matches `^[a-z]+$`\
             ; parameter `persistence` must be true or false"
        ),
        "{reported}"
    );
}

#[test]
fn reported_text_stays_short_and_on_one_line() {
    let long = "x\n".repeat(1_000);
    let unknown = (0..1000)
        .map(|nth| (format!("{nth}{long}"), json!(1)))
        .collect();
    let unknown = reported(Value::Object(unknown));
    assert!(unknown.contains("and 990 more"), "{unknown}");
    assert!(
        unknown.len() < 5_000 && !unknown.contains('\n'),
        "{}",
        unknown.len()
    );
    let labels: Value = (0..1000).map(|nth| (nth.to_string(), json!(1))).collect();
    let labels = reported(json!({ "labels": labels }));
    assert!(labels.ends_with("; and 990 more"), "{labels}");
}

#[test]
fn the_error_is_for_the_user() {
    fn order(request: &RequestParameters) -> Result<Parameters, AdapterError> {
        Ok(request.parameters()?)
    }
    let error = order(&request(&json!({"name": "orders", "maxclients": 0}))).unwrap_err();
    assert_eq!(
        error.user_message(),
        Some("parameter `maxclients` must be a whole number of at least 1")
    );
    let error = AdapterError::from(ParametersError::must_be("config", "a cloud config in YAML"));
    assert_eq!(
        error.user_message(),
        Some("parameter `config` must be a cloud config in YAML")
    );
}

#[test]
fn what_only_the_type_refuses_is_reported_without_the_value() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        #[serde(default, deserialize_with = "even")]
        #[expect(dead_code, reason = "read only")]
        even: u8,
        #[expect(dead_code, reason = "read only")]
        list: Option<Vec<Percentage>>,
    }
    fn even<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
        let number = u8::deserialize(deserializer)?;
        if number % 2 == 0 {
            Ok(number)
        } else {
            Err(serde::de::Error::custom("must be even"))
        }
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(try_from = "String")]
    struct Percentage;
    impl TryFrom<String> for Percentage {
        type Error = String;
        fn try_from(text: String) -> Result<Self, String> {
            Err(format!("`{text}` has no per cent sign"))
        }
    }
    let reported = |parameters| {
        let error = request(&parameters).parameters::<Strict>().unwrap_err();
        error.to_string()
    };
    assert_eq!(
        reported(json!({"even": 7})),
        "parameter `even` must be even"
    );
    assert_eq!(
        reported(json!({"list": ["hunter2"]})),
        "parameter `list[0]` is not valid: `…` has no per cent sign"
    );
}

#[test]
fn a_type_whose_schema_is_none_is_the_operators_to_know_of() {
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Broken {
        #[expect(dead_code, reason = "never read")]
        #[schemars(regex(pattern = "("))]
        name: Option<String>,
    }
    let error = request(&json!({"name": "hunter2"}))
        .parameters::<Broken>()
        .unwrap_err();
    assert!(error.to_string().starts_with("the schema of `"), "{error}");
    let error = AdapterError::from(error);
    assert_eq!(error.user_message(), None);
    let reported = format!("{error:?}");
    assert!(
        reported.contains("wrong at `/properties/name/pattern`") && !reported.contains("hunter2"),
        "{reported}"
    );
}
