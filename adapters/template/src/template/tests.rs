//! Every value arrives unchanged at every location.

use std::collections::BTreeSet;

use odb_adapter_sdk::yaml;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn engine(text: &str) -> Engine {
    Engine::load(vec![Template {
        name: "t".to_owned(),
        text: text.to_owned(),
        known: KnownNames {
            values: Shape::of_names(["v", "s", "omit"]),
            functions: BTreeSet::new(),
        },
        kind: TemplateKind::Text,
    }])
    .unwrap_or_else(|error| panic!("{error}"))
}

fn values(v: &Value, s: &str) -> Map<String, Value> {
    Map::from_iter([("v".to_owned(), v.clone()), ("s".to_owned(), s.into())])
}

/// The same, with the value that `omit` has in this engine.
fn with_omit(engine: &Engine, v: &Value, s: &str) -> Map<String, Value> {
    let mut values = values(v, s);
    values.insert("omit".to_owned(), engine.session.omit().into());
    values
}

/// Texts with a special meaning in some format, and random ones.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~\n\t]{0,12}",
        "[:#&*!|>'\"%@`{}\\[\\],?~\u{e000}-\u{e004}0-9.]{0,8}",
        prop::sample::select(vec![
            "yes",
            "NO",
            "on",
            "~",
            "null",
            "010",
            "1_000",
            "12:30",
            "0x1f",
            "1e3",
            ".inf",
            "=",
            "<<",
            "2001-01-01",
            "a: b",
            "- a",
            "# a",
            "---",
            "...",
            "((a))",
            "{{ v }}",
            "{% raw %}",
            "",
            " ",
            "\n",
            "\r\n",
        ])
        .prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

const YAML: &str = r#"plain: {{ v }}
flow: {a: {{ v }}, b: [{{ v }}, x]}
"quoted {{ s }} key": 1
keys: { {{ s }}: 2 }
double: "{{ s }}"
single: '{{ s }}'
word: pre-{{ s }}-post
block: |
  first {{ s }}
  last
folded: >-
  {{ s }}
# {{ v }}
joined: {% set x = s ~ "!" %}{{ x }}
last: end
"#;

const JSON: &str = r#"{
  "plain": {{ v }}, "list": [{{ v }}, "x"], "quoted {{ s }} key": 1, "keys": { {{ s }}: 2 },
  "text": "{{ s }}", "more": "a \" {{ s }} \\", "last": "end"
}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_value_arrives_in_yaml_unchanged_and_adds_no_key(v in value(), s in text()) {
        let read = engine(YAML).yaml("t", &values(&v, &s)).unwrap().unwrap();
        let expected = json!({
            "plain": v, "flow": {"a": v, "b": [v, "x"]}, (format!("quoted {s} key")): 1, "keys": { s.clone(): 2 },
            "double": s, "single": s, "word": format!("pre-{s}-post"), "block": format!("first {s}\nlast\n"),
            "folded": s, "joined": format!("{s}!"), "last": "end",
        });
        prop_assert_eq!(&read, &expected);
        // The answer is parsed by others as YAML 1.1.
        let written = yaml::to_string(&read).unwrap();
        prop_assert_eq!(yaml::from_str::<Value>(&written).unwrap(), expected);
    }

    #[test]
    fn any_value_arrives_in_json_unchanged_and_adds_no_key(v in value(), s in text()) {
        let read = engine(JSON).json("t", &values(&v, &s)).unwrap().unwrap();
        prop_assert_eq!(read, json!({
            "plain": v, "list": [v, "x"], (format!("quoted {s} key")): 1, "keys": { s.clone(): 2 },
            "text": s, "more": format!("a \" {s} \\"), "last": "end",
        }));
    }

    #[test]
    fn an_address_has_nothing_of_a_value_but_plain_characters(s in text()) {
        let address = engine("https://a/{{ s }}").address("t", &values(&Value::Null, &s)).unwrap();
        let rest = address.strip_prefix("https://a/").unwrap();
        prop_assert!(rest.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:%".contains(c)), "{}", address);
    }
}

#[test]
fn merges_and_omissions_are_as_written() {
    let engine = engine(
        "a: {<<: {{ v }}, x: 1}\nb:\n  <<: {{ v }}\n  y: {{ omit }}\nc: [{{ omit }}, 1]\nd: {{ omit }}\ne: &e {z: 3}\nf: {<<: *e}\n",
    );
    let read = engine
        .yaml("t", &with_omit(&engine, &json!({"x": 0, "y": 2}), ""))
        .unwrap();
    assert_eq!(
        read,
        Some(json!({"a": {"x": 1, "y": 2}, "b": {"x": 0}, "c": [1], "e": {"z": 3}, "f": {"z": 3}}))
    );
}

#[test]
fn only_what_is_called_safe_is_read_as_syntax() {
    let engine = engine("a: {{ s | safe }}\n");
    let read = engine
        .yaml("t", &values(&Value::Null, "[yes, no]"))
        .unwrap();
    assert_eq!(read, Some(json!({"a": [true, false]})));
}

#[test]
fn a_map_inside_a_text_is_an_error_without_its_value() {
    let engine = engine("a: \"{{ v }}\"\n");
    let error = engine
        .yaml("t", &values(&json!({"hunter2": "hunter2"}), ""))
        .unwrap_err();
    let error = odb_adapter_sdk::AdapterError::for_operator(error);
    let text = format!("{error:?}");
    assert!(
        text.contains("a map cannot be part of a text") && !text.contains("hunter2"),
        "{text}"
    );
}

#[test]
fn omit_removes_its_key_everywhere_and_no_value_can_spell_it() {
    let lone = engine("{{ omit }}");
    let read = lone.value("t", &with_omit(&lone, &Value::Null, ""));
    assert_eq!(read.unwrap(), None);

    let within = engine("a: {{ {\"b\": omit, \"c\": [omit, 1]} }}\n");
    let read = within.yaml("t", &with_omit(&within, &Value::Null, ""));
    assert_eq!(read.unwrap(), Some(json!({"a": {"c": [1]}})));

    let joined = engine("a: {{ \"x\" ~ omit }}\nb: <{{ omit }}>\n");
    assert!(
        joined
            .yaml("t", &with_omit(&joined, &Value::Null, ""))
            .is_err()
    );

    let foreign = engine("").session.omit();
    let plain = engine("a: {{ s }}\n");
    for text in [foreign.as_str(), "\u{e002}omit\u{e002}"] {
        let read = plain.yaml("t", &values(&Value::Null, text)).unwrap();
        assert_eq!(read, Some(json!({ "a": text })));
    }
}

#[test]
fn equal_keys_of_one_map_are_an_error() {
    for text in ["a: 1\nb: {a: 2}\na: 3\n", "x: [{a: 1, \"a\": 2}]\n"] {
        let error = engine(text)
            .yaml("t", &values(&Value::Null, ""))
            .unwrap_err();
        let error = format!("{:?}", odb_adapter_sdk::AdapterError::for_operator(error));
        assert!(error.contains("a map has the key `a` twice"), "{error}");
    }
    let json = engine("{\"a\": {{ v }}, \"b\": {\"a\": 1}, \"a\": {{ v }}}");
    assert!(json.json("t", &values(&Value::Null, "")).is_err());
}
