//! Every declaration is true of the reader, and of the schema that is made of it.

use std::{collections::BTreeSet, path::Path};

use jsonschema::Validator;
use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use super::{FILES, Key, KeyStatus, Keys, Kind, UNLIMITED};
use crate::{Inspection, Paths, json_schema};

/// Two configurations which together have every key; one alone could not, for some keys exclude each other.
const FULL: [&str; 2] = [
    include_str!("tests/full.yml"),
    include_str!("tests/full-otherwise.yml"),
];

fn validator() -> Validator {
    jsonschema::validator_for(&json_schema()).unwrap()
}

fn full() -> [Value; 2] {
    FULL.map(|text| yaml::from_str(text).unwrap())
}

/// The keys with errors.
fn errors(document: &Value) -> Vec<String> {
    let text = document.to_string();
    let inspection = Inspection::of(Path::new("broker.yml"), &text, Paths::OfAnother);
    let keys = inspection.errors.iter().map(|error| error.key.clone());
    keys.collect()
}

/// Whether an error is at this key, below it, or at the section around it.
fn is_blamed(key: &str, errors: &[String]) -> bool {
    let is_below = |lower: &str, upper: &str| {
        let rest = lower.strip_prefix(upper);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let mut errors = errors.iter();
    errors.any(|error| is_below(error, key) || is_below(key, error))
}

/// A declared key, by its JSON pointer into a full configuration and its name in problems.
struct Declared {
    pointer: String,
    name: String,
    key: &'static Key,
}

/// All keys of `broker.yml`.
fn all() -> Vec<Declared> {
    declared(&FILES.broker, "", "")
}

fn declared(keys: &'static Keys, pointer: &str, name: &str) -> Vec<Declared> {
    let mut all = Vec::new();
    for key in keys.iter() {
        let pointer = format!("{pointer}/{}", key.name);
        let name = match name {
            "" => key.name.clone(),
            name => format!("{name}.{}", key.name),
        };
        if let Some(keys) = &key.keys {
            let (below, index) = match key.kind {
                Kind::Sections => ("/0", "[0]"),
                Kind::Named => ("/memory", ".memory"),
                _ => ("", ""),
            };
            all.extend(declared(
                keys,
                &format!("{pointer}{below}"),
                &format!("{name}{index}"),
            ));
        }
        all.push(Declared { pointer, name, key });
    }
    all
}

/// A value that no such key can have.
fn wrong(kind: Kind) -> Value {
    match kind {
        Kind::Text | Kind::Certificates | Kind::Choice | Kind::Number | Kind::Flag => {
            json!(["wrong"])
        }
        Kind::VmCount => json!(true),
        _ => json!("wrong"),
    }
}

/// It is in one of the full configurations. The file of a secret excludes the secret, and is never there.
fn is_read(declared: &Declared) -> bool {
    let Key { status, kind, .. } = declared.key;
    let is_read = matches!(status, KeyStatus::Read | KeyStatus::OtherSpelling(_));
    is_read && *kind != Kind::SecretFile
}

#[test]
fn the_full_configurations_have_every_key_are_without_error_and_fit_the_schema() {
    let full = full();
    let there: BTreeSet<String> = all()
        .into_iter()
        .filter(|key| {
            full.iter()
                .any(|document| document.pointer(&key.pointer).is_some())
        })
        .map(|key| key.name)
        .collect();
    let missing: Vec<_> = all()
        .into_iter()
        .filter(|key| is_read(key) && !there.contains(&key.name))
        .map(|key| key.name)
        .collect();
    assert_eq!(missing, Vec::<String>::new());
    for document in &full {
        assert_eq!(errors(document), Vec::<String>::new());
        let unfit: Vec<_> = validator()
            .iter_errors(document)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(unfit, Vec::<String>::new());
    }
}

#[test]
fn every_key_is_read_a_wrong_kind_of_value_is_refused_by_reader_and_schema() {
    let (full, validator) = (full(), validator());
    for key in all().iter().filter(|key| is_read(key)) {
        if key.key.kind == Kind::Anything {
            continue;
        }
        let mut with_it = full
            .iter()
            .filter(|document| document.pointer(&key.pointer).is_some());
        let mut document = with_it
            .next()
            .expect("the full configurations are full")
            .clone();
        *document.pointer_mut(&key.pointer).unwrap() = wrong(key.key.kind);

        let reported = errors(&document);
        assert!(
            is_blamed(&key.name, &reported),
            "{}: {reported:?}",
            key.name
        );
        assert!(!validator.is_valid(&document), "{}", key.name);
    }
}

#[test]
fn every_secret_text_can_be_in_a_file_for_reader_and_schema() {
    let (full, validator) = (full(), validator());
    let secrets = all().into_iter().filter(|key| {
        let is_text = key.key.secret && key.key.kind == Kind::Text;
        is_text && key.key.status == KeyStatus::Read
    });
    let mut count = 0;
    for Declared { pointer, name, .. } in secrets {
        // The Go broker has keys here that a Director rejects.
        if name.starts_with("bosh.authentication.uaa.user_credentials") {
            continue;
        }
        let mut with_it = full
            .iter()
            .filter(|document| document.pointer(&pointer).is_some());
        let document = with_it.next().expect("the full configurations are full");
        let (section, key) = pointer.rsplit_once('/').unwrap();
        let tried = |path: Value| {
            let mut document = document.clone();
            let section = document.pointer_mut(section).unwrap();
            let section = section.as_object_mut().unwrap();
            section.shift_remove(key);
            section.insert(format!("{key}_file"), path);
            (errors(&document), validator.is_valid(&document))
        };

        assert_eq!(tried(json!("/run/secret")), (Vec::new(), true), "{name}");
        for wrong in [json!("run/secret"), json!(["/run/secret"])] {
            let (reported, is_fit) = tried(wrong);
            let file = format!("{name}_file");
            assert!(is_blamed(&file, &reported), "{name}: {reported:?}");
            assert!(!is_fit, "{name}");
        }
        count += 1;
    }
    assert!(count >= 8, "{count}");
}

#[test]
fn what_is_required_is_missed_by_reader_and_schema_and_nothing_else_is() {
    let (full, validator) = (full(), validator());
    for key in all() {
        for mut document in full
            .iter()
            .filter(|document| document.pointer(&key.pointer).is_some())
            .cloned()
        {
            *document.pointer_mut(&key.pointer).unwrap() = Value::Null;

            let is_fit = validator.is_valid(&document);
            assert_eq!(is_fit, !key.key.required, "{}", key.name);
            if !is_fit {
                let reported = errors(&document);
                assert!(
                    is_blamed(&key.name, &reported),
                    "{}: {reported:?}",
                    key.name
                );
            }
        }
    }
}

#[test]
fn bounds_hold_for_reader_and_schema_alike() {
    let (full, validator) = (full(), validator());
    for key in all().iter().filter(|key| is_read(key)) {
        let Key { least, most, .. } = key.key;
        if key.key.kind != Kind::Number {
            continue;
        }
        let document = full
            .iter()
            .find(|document| document.pointer(&key.pointer).is_some())
            .unwrap();
        let tried = |number: i128| {
            let mut document = document.clone();
            let number = serde_json::from_str(&number.to_string()).unwrap();
            *document.pointer_mut(&key.pointer).unwrap() = number;
            let is_read = !is_blamed(&key.name, &errors(&document));
            assert_eq!(
                validator.is_valid(&document),
                is_read,
                "{}: {}",
                key.name,
                document.pointer(&key.pointer).unwrap()
            );
            is_read
        };
        assert!(tried(i128::from(*least)), "{}", key.name);
        assert!(!tried(i128::from(*least) - 1), "{}", key.name);
        if *most < UNLIMITED {
            assert!(tried(i128::from(*most)), "{}", key.name);
            assert!(!tried(i128::from(*most) + 1), "{}", key.name);
        }
    }
}

#[test]
fn what_is_broken_is_refused_by_reader_and_schema() {
    let validator = validator();
    for (pointer, value) in [
        ("/broker/port", json!("8080")),
        ("/broker/port", json!(70000)),
        ("/broker/enable_plan_schemas", json!("perhaps")),
        ("/broker/password", json!("")),
        ("/bosh/url", json!({})),
        ("/service_deployment/releases", json!([])),
        ("/service_deployment/releases/0", json!("redis/7")),
        ("/service_deployment/stemcells/0/os", json!("")),
        ("/service_catalog/plans", json!([])),
        ("/service_catalog/plans/0/name", json!(["small"])),
        (
            "/service_catalog/plans/0/update/max_in_flight",
            json!("half"),
        ),
        ("/service_catalog/plans/0/update/max_in_flight", json!(true)),
        (
            "/service_catalog/plans/0/quotas/resources/memory/limit",
            json!(-1),
        ),
        (
            "/service_catalog/plans/0/metadata/costs/0/amount/usd",
            json!("9.99"),
        ),
        (
            "/service_catalog/plans/0/maintenance_info/public",
            json!({ "nested": {} }),
        ),
        ("/service_catalog/requires", json!(["water"])),
    ] {
        let mut document = full()[0].clone();
        *document.pointer_mut(pointer).unwrap() = value;
        assert!(
            !errors(&document).is_empty(),
            "{pointer}: {}",
            document.pointer(pointer).unwrap()
        );
        assert!(
            !validator.is_valid(&document),
            "{pointer}: {}",
            document.pointer(pointer).unwrap()
        );
    }
}

#[test]
fn what_the_release_renders_where_nothing_is_set_fits_the_schema() {
    let mut document = full()[0].clone();
    for (pointer, value) in [
        (
            "/bosh/authentication",
            json!({
                "basic": { "username": null, "password": null },
                "uaa": { "client_credentials": { "client_id": "odb", "client_secret": "x" } },
            }),
        ),
        (
            "/bosh_credhub",
            json!({ "url": null, "root_ca_cert": null, "authentication": { "uaa": null } }),
        ),
        ("/service_deployment/stemcell", Value::Null),
        (
            "/service_catalog/global_quotas",
            json!({ "service_instance_limit": null, "resources": {}, "resource_limits": {} }),
        ),
        ("/service_catalog/dashboard_client", Value::Null),
        (
            "/service_catalog/plans/0/quotas",
            json!({ "service_instance_limit": null, "resources": {} }),
        ),
    ] {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        document.pointer_mut(parent).unwrap()[key] = value;
    }
    let unfit: Vec<_> = validator()
        .iter_errors(&document)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(unfit, Vec::<String>::new());
}

#[test]
fn a_key_is_declared_once_and_explained_in_sentences() {
    let mut names = BTreeSet::new();
    for Declared { name, key, .. } in all() {
        assert!(key.what.ends_with('.'), "{name}: {}", key.what);
        assert!(names.insert(name), "{}", key.name);
    }
}
