//! The reader accepts exactly what the schema accepts.

use std::cell::Cell;

use jsonschema::{Draft, Validator};
use odb_adapter_sdk::protocol::{PlanSchemas, RequestParameters};
use odb_adapter_sdk::schemars::JsonSchema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::service::{Parameters, WithShared};

fn validator<P: JsonSchema>() -> Validator {
    let schemas = PlanSchemas::of_parameters::<P>();
    let schema = schemas.service_instance.create.parameters;
    jsonschema::options()
        .with_draft(Draft::Draft4)
        .build(&schema)
        .unwrap()
}

/// Values that are right somewhere, and others.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![
            Just(0),
            Just(1),
            Just(16),
            Just(255),
            Just(256),
            Just(65_536),
            any::<i64>()
        ]
        .prop_map(Value::from),
        Just(json!(u64::MAX)),
        Just(json!(1e30)),
        Just(json!(2.0)),
        Just(json!(0.5)),
        "[a-z]{0,9}".prop_map(Value::from),
        prop::sample::select(vec![
            "oldest", "forever", "memory", "disk", "10.0.0.1", "::1", "10.0.0"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let name = prop::sample::select(vec![
            "memory",
            "cpu",
            "name",
            "kind",
            "gigabytes",
            "hours",
            "children",
            "other",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(name, inner, 0..3).prop_map(|members| {
                Value::Object(
                    members
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

/// Right values for each name, so that documents with everything right are not rare.
fn right(name: &str) -> Value {
    match name {
        "name" => json!("orders"),
        "maxclients" | "port" | "offset" | "size" => json!(7),
        "persistence" => json!(true),
        "share" => json!(0.25),
        "eviction" => json!("random"),
        "retention" => json!({"hours": 3}),
        "storage" => json!({"kind": "disk", "gigabytes": 1}),
        "limits" => json!({"memory": 16, "cpu": null}),
        "topics" => json!([{"name": "a", "more": 1}]),
        "labels" => json!({"a": "b"}),
        "address" => json!("10.0.0.1"),
        "window" => json!([1, 2]),
        "nested" => json!({"children": [{"children": []}]}),
        other => panic!("{other} has no right value"),
    }
}

const NAMES: [&str; 15] = [
    "maxclients",
    "port",
    "offset",
    "persistence",
    "share",
    "eviction",
    "retention",
    "storage",
    "size",
    "limits",
    "topics",
    "labels",
    "address",
    "window",
    "nested",
];

fn document() -> impl Strategy<Value = Value> {
    let names = || prop::sample::subsequence(&NAMES[..], 0..=NAMES.len());
    let wrong = prop::collection::hash_map(
        prop::sample::select([&NAMES[..], &["name", "other"]].concat()),
        value(),
        0..2,
    );
    (names(), wrong).prop_map(|(names, wrong)| {
        let mut document = Map::from_iter([("name".to_owned(), right("name"))]);
        document.extend(names.into_iter().map(|name| (name.to_owned(), right(name))));
        document.extend(
            wrong
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        Value::Object(document)
    })
}

#[test]
fn schema_and_reader_agree_on_every_document() {
    let validator = validator::<Parameters>();
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let config = ProptestConfig {
        failure_persistence: None,
        cases: 2_000,
        ..ProptestConfig::default()
    };
    proptest!(config, |(document in document())| {
        let request = RequestParameters::from_fields(Map::from_iter([("parameters".to_owned(), document.clone())]));
        let read = request.parameters::<Parameters>();
        prop_assert_eq!(validator.is_valid(&document), read.is_ok(), "{} {:?}", document, read.err());
        let count = if read.is_ok() { &accepted } else { &refused };
        count.set(count.get() + 1);
    });
    let (accepted, refused) = (accepted.get(), refused.get());
    assert!(
        accepted > 200 && refused > 200,
        "{accepted} accepted, {refused} refused"
    );
}

#[test]
fn what_the_type_writes_it_reads_again() {
    let all: Map<String, Value> = NAMES
        .iter()
        .chain(&["name"])
        .map(|name| ((*name).to_owned(), right(name)))
        .collect();
    let request = RequestParameters::from_fields(Map::from_iter([(
        "parameters".to_owned(),
        Value::Object(all),
    )]));
    let read: Parameters = request.parameters().unwrap();
    let written = serde_json::to_value(&read).unwrap();
    assert!(validator::<Parameters>().is_valid(&written), "{written}");
}

#[test]
fn they_agree_on_types_made_of_others() {
    for (document, is_right) in [
        (json!({"memory": 16, "eviction": "oldest"}), true),
        (
            json!({"memory": 16, "eviction": "oldest", "other": 1}),
            true,
        ),
        (json!({"memory": 8, "eviction": "oldest"}), false),
        (json!({"eviction": "oldest"}), false),
        (json!({"memory": 16}), false),
    ] {
        let request = RequestParameters::from_fields(Map::from_iter([(
            "parameters".to_owned(),
            document.clone(),
        )]));
        assert_eq!(
            request.parameters::<WithShared>().is_ok(),
            is_right,
            "{document}"
        );
        assert_eq!(
            validator::<WithShared>().is_valid(&document),
            is_right,
            "{document}"
        );
    }
}
