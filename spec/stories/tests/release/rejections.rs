//! The errors of templates: in the words of the Go release, and in its order (`spec/contracts/config-and-release.md`
//! §1.5, §2.3 to §2.10).
//!
//! | file | contents |
//! | --- | --- |
//! | `in_order` | an error of each kind, in the order in which they are found |
//! | `further` | the others |
//! | `errands` | the errors of the errands' jobs |

mod errands;
mod further;
mod in_order;

use odb_stories::release::{Link, Rejection, Rendered, render_all};
use serde_json::{Value, json};

use self::{further::FURTHER, in_order::IN_ORDER};
use super::samples::{broker, smallest};

/// Something wrong with the properties of the job `broker`, and what is said of it. A text that ends in `…` is the
/// beginning.
struct Wrong {
    spoil: fn(&mut Value),
    text: &'static str,
}

const fn wrong(spoil: fn(&mut Value), text: &'static str) -> Wrong {
    Wrong { spoil, text }
}

fn catalog(properties: &mut Value) -> &mut Value {
    &mut properties["service_catalog"]
}

fn plan(properties: &mut Value) -> &mut Value {
    &mut properties["service_catalog"]["plans"][0]
}

fn deployment(properties: &mut Value) -> &mut Value {
    &mut properties["service_deployment"]
}

fn without_platform(properties: &mut Value) {
    properties["disable_cf_startup_checks"] = json!(true);
}

fn secure_manifests(properties: &mut Value, credhub: Value) {
    properties["enable_secure_manifests"] = json!(true);
    properties["bosh_credhub_api"] = credhub;
}

/// The message of the configuration's template.
fn said(outcome: &Result<Rendered, Rejection>) -> Option<&str> {
    let rejection = outcome.as_ref().err()?;
    let mut errors = rejection.errors().iter();
    let error = errors.find(|error| error.template.as_deref() == Some("broker.yml.erb"));
    error.map(|error| error.text.as_str())
}

fn expect_said(outcome: &Result<Rendered, Rejection>, expected: &str) {
    let text = said(outcome).unwrap_or_else(|| panic!("`{expected}` is not said"));
    match expected.strip_suffix('…') {
        Some(beginning) => assert!(
            text.starts_with(beginning),
            "`{text}`, and not `{expected}`"
        ),
        None => assert_eq!(text, expected),
    }
}

fn spoiled<'a>(errors: impl IntoIterator<Item = &'a Wrong>) -> Value {
    let mut properties = smallest();
    for error in errors {
        (error.spoil)(&mut properties);
    }
    properties
}

#[test]
fn each_error_is_rejected_in_the_words_of_the_go_release() {
    let errors: Vec<&Wrong> = IN_ORDER.iter().chain(FURTHER).collect();
    let renderings = errors.iter().map(|error| broker(spoiled([*error])));
    for (error, outcome) in errors.iter().zip(render_all(renderings)) {
        expect_said(&outcome, error.text);
    }
}

/// Numbers that other files of the job reckon with.
#[test]
fn what_is_no_number_is_refused_by_its_name() {
    let of_bpm = [
        wrong(
            |it| it["timings"]["connections"] = json!("600"),
            "Invalid timings.connections - must be a whole number, and is \"600\"",
        ),
        wrong(
            |it| it["timings"]["adapter_processes"] = json!(1.5),
            "Invalid timings.adapter_processes - must be a whole number, and is 1.5",
        ),
    ];
    let of_drain = [
        wrong(
            |it| it["shutdown_timeout_in_seconds"] = json!("10s"),
            "Invalid shutdown_timeout_in_seconds - must be a whole number of seconds, and is \"10s\"",
        ),
        wrong(
            |it| it["shutdown_timeout_in_seconds"] = json!("-1"),
            "Invalid shutdown_timeout_in_seconds - must be a whole number of seconds, and is \"-1\"",
        ),
    ];
    for (template, errors) in [("bpm.yml.erb", of_bpm), ("drain.erb", of_drain)] {
        let renderings = errors.iter().map(|error| broker(spoiled([error])));
        for (wrong, outcome) in errors.iter().zip(render_all(renderings)) {
            let rejection = outcome.expect_err(wrong.text);
            let mut errors = rejection.errors().iter();
            let error = errors.find(|error| error.template.as_deref() == Some(template));
            let error = error.unwrap_or_else(|| panic!("{rejection}"));
            assert_eq!(error.text, wrong.text);
        }
    }
}

/// Everything is wrong; what is said is put right, and the next is said.
#[test]
fn of_several_errors_the_first_in_the_order_of_the_go_release_is_reported() {
    let renderings = (0..IN_ORDER.len()).map(|first| {
        // The last errors first, because some are inserted into what an earlier one replaces.
        let mut properties = spoiled(IN_ORDER[first..].iter().rev());
        if first > 0 {
            // Deeper errors need a valid plan.
            properties["service_catalog"]["plans"][0]["name"] = json!("single");
        }
        broker(properties)
    });
    for (error, outcome) in IN_ORDER.iter().zip(render_all(renderings)) {
        expect_said(&outcome, error.text);
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
        expect_said(
            &outcome,
            "Secure service binding is enabled but CredHub link is empty",
        );
    }
}

/// Valid input that the Go release rejects or changes (`spec/contracts/config-and-release.md` §4.1).
#[test]
fn what_is_not_wrong_is_not_refused() {
    let accepted: [fn(&mut Value); 6] = [
        |it| {
            without_platform(it);
            plan(it)["quotas"] = json!({ "resources": { "ips": { "cost": 1 } } });
        },
        |it| {
            without_platform(it);
            it["cf"] = Value::Null;
        },
        |it| {
            secure_manifests(
                it,
                json!({
                    "url": "https://10.0.0.6:8844",
                    "authentication": { "uaa": { "client_credentials": { "client_id": "a", "client_secret": "b" } } },
                }),
            );
        },
        |it| {
            plan(it)["lifecycle_errands"] =
                json!({ "post_deploy": null, "pre_delete": [{ "name": "a", "disabled": "true" }] });
        },
        |it| plan(it)["instance_groups"][0]["instances"] = json!(0),
        |it| {
            it["secure_binding_credentials"] =
                json!({ "authentication": { "uaa": { "client_id": "", "client_secret": "" } } });
        },
    ];
    let renderings = accepted.map(|change| {
        let mut properties = smallest();
        change(&mut properties);
        broker(properties)
    });
    for outcome in render_all(renderings) {
        outcome.unwrap_or_else(|rejection| panic!("{rejection}"));
    }
}
