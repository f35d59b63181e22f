//! The errors of templates: in the words of the Go release, and in its order (`spec/contracts/config-and-release.md`
//! §1.5, §2.3 to §2.10). Those of the job `broker` are in `rejections/broker.yml`.

mod errands;

use odb_adapter_sdk::yaml;
use odb_stories::release::{Link, Rejection, Rendered, render_all};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::samples::{broker, smallest};

#[derive(Deserialize)]
struct Errors {
    in_order: Vec<Wrong>,
    further: Vec<Wrong>,
}

/// What is set at which place, and what is said of it.
#[derive(Deserialize)]
struct Wrong {
    said: String,
    set: Map<String, Value>,
}

fn errors() -> Errors {
    yaml::from_str(include_str!("rejections/broker.yml")).expect("it is a table of errors")
}

/// The smallest broker with other values at these places.
fn with(changes: &Map<String, Value>) -> Value {
    let mut properties = smallest();
    set(&mut properties, changes);
    properties
}

fn set(properties: &mut Value, changes: &Map<String, Value>) {
    for (pointer, value) in changes {
        let mut target = &mut *properties;
        for step in pointer.split('/').skip(1) {
            target = match step.parse::<usize>() {
                Ok(index) => &mut target[index],
                Err(_) => &mut target[step],
            };
        }
        *target = value.clone();
    }
}

fn plan(properties: &mut Value) -> &mut Value {
    &mut properties["service_catalog"]["plans"][0]
}

/// The message of a template.
fn said<'r>(outcome: &'r Result<Rendered, Rejection>, template: &str) -> &'r str {
    let rejection = outcome.as_ref().expect_err("the template refuses it");
    let mut errors = rejection.errors().iter();
    let error = errors.find(|error| error.template.as_deref() == Some(template));
    &error.unwrap_or_else(|| panic!("{rejection}")).text
}

fn expect_said(outcome: &Result<Rendered, Rejection>, expected: &str) {
    let text = said(outcome, "broker.yml.erb");
    match expected.strip_suffix('…') {
        Some(beginning) => assert!(text.starts_with(beginning), "`{text}`, not `{expected}`"),
        None => assert_eq!(text, expected),
    }
}

#[test]
fn each_error_is_rejected_in_the_words_of_the_go_release() {
    let Errors { in_order, further } = errors();
    let errors: Vec<Wrong> = in_order.into_iter().chain(further).collect();
    let renderings = errors.iter().map(|error| broker(with(&error.set)));
    for (error, outcome) in errors.iter().zip(render_all(renderings)) {
        expect_said(&outcome, &error.said);
    }
}

/// Numbers that other files of the job reckon with.
#[test]
fn what_is_no_number_is_refused_by_its_name() {
    let (bpm, drain) = ("bpm.yml.erb", "drain.erb");
    let seconds = "a whole number of seconds";
    let cases = [
        (bpm, "timings.connections", json!("600"), "a whole number"),
        (
            bpm,
            "timings.adapter_processes",
            json!(1.5),
            "a whole number",
        ),
        (drain, "shutdown_timeout_in_seconds", json!("10s"), seconds),
        (drain, "shutdown_timeout_in_seconds", json!("-1"), seconds),
    ];
    let renderings = cases.iter().map(|(_, name, value, _)| {
        let pointer = format!("/{}", name.replace('.', "/"));
        broker(with(&Map::from_iter([(pointer, value.clone())])))
    });
    for ((template, name, value, wanted), outcome) in cases.iter().zip(render_all(renderings)) {
        let expected = format!("Invalid {name} - must be {wanted}, not {value}");
        assert_eq!(said(&outcome, template), expected);
    }
}

/// Everything is wrong; what is said is put right, and the next is said.
#[test]
fn of_several_errors_the_first_in_the_order_of_the_go_release_is_reported() {
    let in_order = errors().in_order;
    let renderings = (0..in_order.len()).map(|first| {
        let mut properties = smallest();
        // The last errors first, because some are inserted into what an earlier one replaces.
        for error in in_order[first..].iter().rev() {
            set(&mut properties, &error.set);
        }
        if first > 0 {
            // Deeper errors need a valid plan.
            plan(&mut properties)["name"] = json!("single");
        }
        broker(properties)
    });
    for (error, outcome) in in_order.iter().zip(render_all(renderings)) {
        expect_said(&outcome, &error.said);
    }
}

#[test]
fn a_link_to_a_credhub_that_says_nothing_is_refused() {
    let mut properties = smallest();
    properties["secure_binding_credentials"]["enabled"] = json!(true);
    let whole = json!({ "internal_url": "https://credhub", "port": 8844, "ca_certificate": "PEM" });
    let renderings = ["internal_url", "port", "ca_certificate"].map(|absent| {
        let mut link = json!({ "credhub": whole });
        link["credhub"][absent] = Value::Null;
        broker(properties.clone()).link("credhub", &Link::with_properties(&link))
    });
    for outcome in render_all(renderings) {
        let expected = "Secure service binding is enabled but CredHub link is empty";
        expect_said(&outcome, expected);
    }
}

/// Valid input that the Go release rejects or changes (`spec/contracts/config-and-release.md` §4.1).
#[test]
fn what_is_not_wrong_is_not_refused() {
    let client = json!({ "client_credentials": { "client_id": "a", "client_secret": "b" } });
    let credhub = json!({ "url": "https://10.0.0.6:8844", "authentication": { "uaa": client } });
    let empty = json!({ "authentication": { "uaa": { "client_id": "", "client_secret": "" } } });
    let errands =
        json!({ "post_deploy": null, "pre_delete": [{ "name": "a", "disabled": "true" }] });
    let accepted = [
        json!({
            "/disable_cf_startup_checks": true,
            "/service_catalog/plans/0/quotas": { "resources": { "ips": { "cost": 1 } } },
        }),
        json!({ "/disable_cf_startup_checks": true, "/cf": null }),
        json!({ "/enable_secure_manifests": true, "/bosh_credhub_api": credhub }),
        json!({ "/service_catalog/plans/0/lifecycle_errands": errands }),
        json!({ "/service_catalog/plans/0/instance_groups/0/instances": 0 }),
        json!({ "/secure_binding_credentials": empty }),
    ];
    let renderings = accepted.iter().map(|changes| {
        let changes = changes.as_object().expect("they are a map");
        broker(with(changes))
    });
    for outcome in render_all(renderings) {
        outcome.unwrap_or_else(|rejection| panic!("{rejection}"));
    }
}
