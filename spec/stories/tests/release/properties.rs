//! Every property of every job, and where it is found again.
//!
//! | file | holds |
//! | --- | --- |
//! | `of_broker` | the properties of the job `broker` |
//! | `of_errands` | those of errands |

mod of_broker;
mod of_errands;

use std::collections::BTreeSet;

use odb_stories::release::{Jobs, Rendering, render_all};
use serde_json::{Value, json};

use self::of_broker::{
    OF_THE_BROKER_ELSEWHERE, of_other_files, of_the_broker_itself, of_the_service, of_upstreams,
};
use super::samples::{broker, credhub, errand, smallest};

const CONFIGURATION: &str = "config/broker.yml";
const ERRAND: &str = "config/config.yml";

const SCHEMA: &str = include_str!("../../../schemas/broker.schema.json");

/// A property with a value, and the member of a file that is the same value then.
struct Property {
    name: &'static str,
    value: Value,
    file: &'static str,
    member: String,
}

fn property(name: &'static str, value: Value, member: &str) -> Property {
    Property {
        name,
        value,
        file: CONFIGURATION,
        member: member.to_owned(),
    }
}

/// One whose key has the same name in a section of the file.
fn under(section: &str, name: &'static str, value: Value) -> Property {
    let member = format!("/{section}/{}", name.replace('.', "/"));
    property(name, value, &member)
}

/// One whose key is called as the property.
fn same(name: &'static str, value: Value) -> Property {
    let member = format!("/{}", name.replace('.', "/"));
    property(name, value, &member)
}

/// All of them are set at once.
fn expect_found(properties: &[Property], rendering: Rendering) {
    let rendering = properties.iter().fold(rendering, |rendering, property| {
        rendering.property(property.name, property.value.clone())
    });
    let rendered = rendering
        .render()
        .unwrap_or_else(|rejection| panic!("{rejection}"));
    for property in properties {
        let document = rendered.document(property.file);
        let found = document.pointer(&property.member);
        assert_eq!(
            found,
            Some(&property.value),
            "`{}` as `{}`",
            property.name,
            property.member
        );
    }
}

fn expect_all_declared(job: &str, properties: &[Property], elsewhere: &[&str]) {
    let specification = Jobs::of_project().specification(job);
    let declared = specification["properties"]
        .as_object()
        .expect("a job has properties");
    let declared: BTreeSet<&str> = declared.keys().map(String::as_str).collect();
    let shown = properties
        .iter()
        .map(|property| property.name)
        .chain(elsewhere.iter().copied());
    assert_eq!(declared, shown.collect(), "{job}");
}

#[test]
fn every_property_of_the_broker_is_found_in_its_files() {
    let mut properties: Vec<_> = [
        of_the_broker_itself(),
        of_upstreams(),
        of_the_service(),
        of_other_files(),
    ]
    .into_iter()
    .flatten()
    .collect();
    expect_found(&properties, broker(smallest()));
    // These two do not go with some of the others.
    for property in [
        under("broker", "disable_cf_startup_checks", json!(true)),
        same(
            "service_catalog.metadata",
            json!({ "display_name": "a", "costTier": { "b": [1, null] } }),
        ),
    ] {
        expect_found(std::slice::from_ref(&property), broker(smallest()));
        properties.push(property);
    }
    expect_all_declared("broker", &properties, OF_THE_BROKER_ELSEWHERE);
}

/// Keys that other tests set, that mean nothing, or that mean the same as another.
const KEYS_ELSEWHERE: &[&str] = &[
    "/broker/enable_optimised_upgrades",
    "/broker/enable_secure_manifests",
    "/broker/tls",
    "/cf/disable_ssl_cert_verification",
    "/service_catalog/plans",
    "/service_deployment/stemcell",
];

#[test]
fn every_key_of_the_configuration_has_a_property() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let properties = [of_the_broker_itself(), of_upstreams(), of_the_service()];
    let mut members: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|property| property.member)
        .collect();
    members.extend(KEYS_ELSEWHERE.iter().map(|member| (*member).to_owned()));
    members.push("/broker/disable_cf_startup_checks".to_owned());
    for section in [
        "/broker",
        "/broker/timings",
        "/bosh",
        "/cf",
        "/service_adapter",
        "/service_deployment",
        "/service_catalog",
    ] {
        let keys = schema.pointer(&format!(
            "{}/properties",
            section.replace('/', "/properties/")
        ));
        let keys = keys
            .and_then(Value::as_object)
            .unwrap_or_else(|| panic!("{section} has keys"));
        for key in keys.keys() {
            let member = format!("{section}/{key}");
            let below = format!("{member}/");
            let is_set = members
                .iter()
                .any(|other| *other == member || other.starts_with(&below));
            assert!(is_set, "no property becomes `{member}`");
        }
    }
}

#[test]
fn other_ways_to_authenticate_and_other_upstreams_are_found_in_the_file() {
    let mut other = smallest();
    other["bosh"]["authentication"] =
        json!({ "basic": { "username": "admin", "password": "of-admin" } });
    let user = json!({ "user_credentials": { "username": "admin", "password": "of-admin" } });
    other["cf"]["uaa"]["authentication"] = user.clone();
    let listed = json!({
        "url": "https://instances.example.org",
        "root_ca_cert": "PEM",
        "disable_ssl_cert_verification": true,
        "authentication": { "basic": { "username": "a", "password": "b" } },
    });
    other["service_instances_api"] = listed.clone();
    other["enable_secure_manifests"] = json!(true);
    let client =
        json!({ "uaa": { "client_credentials": { "client_id": "a", "client_secret": "b" } } });
    other["bosh_credhub_api"] = json!({ "url": "https://10.0.0.6:8844", "authentication": client });
    let secure =
        json!({ "uaa": { "client_id": "a", "client_secret": "b", "ca_cert": "AUTHORITY" } });
    other["secure_binding_credentials"] = json!({ "enabled": true, "authentication": secure });
    other["tls"] = json!({ "certificate": "CERTIFICATE", "private_key": "KEY" });
    let link = credhub();
    let renderings = [
        broker(other.clone()).link("credhub", &link),
        errand("register-broker", json!({ "broker_name": "lumen" }), &other),
        errand("orphan-deployments", json!({}), &other),
    ];
    let mut rendered = render_all(renderings).into_iter();
    let mut next = || {
        rendered
            .next()
            .expect("it was rendered")
            .unwrap_or_else(|rejection| panic!("{rejection}"))
    };
    let (broker, registration, audit) = (next(), next(), next());
    let document = broker.document(CONFIGURATION);
    assert_eq!(
        document["bosh"]["authentication"],
        json!({ "basic": { "username": "admin", "password": "of-admin" } })
    );
    assert_eq!(document["cf"]["uaa"]["authentication"], user);
    assert_eq!(document["service_instances_api"], listed);
    assert_eq!(document["broker"]["enable_secure_manifests"], true);
    let runtime = &document["credhub"];
    assert_eq!(
        runtime["api_url"],
        "https://credhub.service.cf.internal:8844"
    );
    assert_eq!(runtime["client_secret"], "b");
    assert_eq!(runtime["internal_uaa_ca_cert"], "AUTHORITY");
    assert_eq!(broker.file("certs/broker.crt").trim(), "CERTIFICATE");
    assert_eq!(broker.file("certs/broker.key").trim(), "KEY");
    assert_eq!(
        registration.document(ERRAND)["cf"]["uaa"]["authentication"],
        user
    );
    assert_eq!(
        registration.document(ERRAND)["broker_url"],
        "https://10.0.16.4:8080"
    );
    assert_eq!(
        audit.document(ERRAND)["broker_api"]["url"],
        "https://10.0.16.4:8080"
    );
}
