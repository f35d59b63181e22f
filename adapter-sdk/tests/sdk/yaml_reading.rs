//! Documents of operators and Directors are read as YAML 1.1, and errors in them are reported without repeating them.

use std::collections::BTreeMap;

use odb_adapter_sdk::yaml::{self, Spanned};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[test]
fn words_of_yaml_1_1_are_booleans() {
    let switches: BTreeMap<String, bool> =
        yaml::from_str("a: yes\nb: On\nc: TRUE\nd: no\ne: off\nf: False\n").unwrap();
    assert_eq!(
        switches.values().copied().collect::<Vec<_>>(),
        [true, true, true, false, false, false]
    );
}

#[test]
fn a_number_that_starts_with_zero_is_octal() {
    assert_eq!(
        yaml::from_str::<Value>("mode: 0644").unwrap(),
        json!({"mode": 420})
    );
}

#[test]
fn the_last_of_two_equal_keys_wins() {
    #[derive(Deserialize)]
    struct Settings {
        port: u16,
    }
    assert_eq!(
        yaml::from_str::<Value>("a: 1\nb: 2\na: 3\n").unwrap(),
        json!({"a": 3, "b": 2})
    );
    assert_eq!(
        yaml::from_str::<Settings>("port: 1\nport: 2\n")
            .unwrap()
            .port,
        2
    );
}

#[test]
fn a_text_keeps_the_source_of_any_scalar() {
    let texts: BTreeMap<String, String> =
        yaml::from_str("a: 1.10\nb: yes\nc: 010\nd: 2001-12-14\ne: \"1\"\n").unwrap();
    assert_eq!(
        texts.values().collect::<Vec<_>>(),
        ["1.10", "yes", "010", "2001-12-14", "1"]
    );
}

#[test]
fn locations_of_values_are_known() {
    #[derive(Deserialize)]
    struct Settings {
        broker: Broker,
    }
    #[derive(Deserialize)]
    struct Broker {
        port: Spanned<u16>,
        name: Option<Spanned<String>>,
        plans: Vec<Spanned<BTreeMap<String, Spanned<String>>>>,
    }
    let settings: Settings =
        yaml::from_str("broker:\n  port: 8080\n  plans:\n  - name: small\n  - name: yes\n")
            .unwrap();
    let port = settings.broker.port;
    assert_eq!(
        (port.value, port.referenced.line(), port.referenced.column()),
        (8080, 2, 9)
    );
    assert!(settings.broker.name.is_none());
    let second = &settings.broker.plans[1];
    assert_eq!(second.referenced.line(), 5);
    let name = &second.value["name"];
    assert_eq!(
        (
            name.value.as_str(),
            name.referenced.line(),
            name.referenced.column()
        ),
        ("yes", 5, 11)
    );
}

#[test]
fn an_error_knows_its_location() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "never read, as the document does not fit")]
    struct Settings {
        port: u16,
    }
    let error = yaml::from_str::<Settings>("# ports\nport: eighty\n").unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(2), Some(7)));
    let error = yaml::from_str::<Settings>("host: a\n").unwrap_err();
    assert_eq!(error.message(), "missing field `port`");
}

#[test]
fn no_error_repeats_content_of_the_document() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "never read, as the documents do not fit")]
    struct Settings {
        password: Option<String>,
        port: Option<u16>,
        mode: Option<Mode>,
        name: Option<Name>,
        list: Option<Vec<u8>>,
    }
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Fast,
    }
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "String")]
    struct Name;
    impl TryFrom<String> for Name {
        type Error = String;
        fn try_from(name: String) -> Result<Self, String> {
            Err(format!("`{name}` is no name"))
        }
    }
    for document in [
        "password: [hunter2]",
        "password: {hunter2: hunter2}",
        "port: hunter2",
        "port: \"hunter2\"",
        "port: [hunter2]",
        "mode: hunter2",
        "mode: {hunter2: 1}",
        "name: hunter2",
        "list: hunter2",
        "list: [1, hunter2]",
        "hunter2",
        "- hunter2",
        "password: \"hunter2",
        "password: 'hunter2\nport: 1",
        "password: hunter2: hunter2",
        "password: *hunter2",
        "password: @hunter2",
        "password: hunter2\nbad",
        "port: !!int hunter2",
        "{password: hunter2",
        "password: \"\\hunter2\"",
        "password: a\nmode: hunter2\n---\nhunter2",
    ] {
        let Err(error) = yaml::from_str::<Settings>(document) else {
            panic!("{document} is read");
        };
        assert!(
            !format!("{error} {error:?}").contains("hunter2"),
            "{document}: {error}"
        );
    }
    let error = yaml::from_str::<Value>("password: hunter2\nlimit: .inf\n").unwrap_err();
    assert_eq!(error.line(), Some(2));
}

#[test]
fn a_deserializer_of_the_callers_making_reads_alike() {
    let value: Value = yaml::with_deserializer("mode: 0644\n", |deserializer| {
        Value::deserialize(deserializer)
    })
    .unwrap();
    assert_eq!(value, json!({"mode": 420}));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in any::<String>()) {
        let _ = yaml::from_str::<Value>(&text);
    }
}
