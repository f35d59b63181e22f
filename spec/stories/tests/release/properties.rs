//! Every property of every job, and where it is found again. The tables are in `properties/`.

use std::collections::{BTreeMap, BTreeSet};

use odb_adapter_sdk::yaml;
use odb_stories::release::{Jobs, Rendered, Rendering, render_all};
use serde::Deserialize;
use serde_json::{Value, json};

use super::samples::{broker, credhub, errand, smallest};

const CONFIGURATION: &str = "config/broker.yml";
const ERRAND: &str = "config/config.yml";

const SCHEMA: &str = include_str!("../../../schemas/broker.schema.json");

/// A property with a value, and the member of a file that is the same value then.
#[derive(Deserialize)]
struct Property {
    name: String,
    value: Value,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    member: Option<String>,
}

#[derive(Deserialize)]
struct OfTheBroker {
    properties: Vec<Property>,
    elsewhere: Vec<String>,
}

impl Property {
    fn member(&self) -> String {
        let same = || format!("/{}", self.name.replace('.', "/"));
        self.member.clone().unwrap_or_else(same)
    }
}

fn of_the_broker() -> OfTheBroker {
    yaml::from_str(include_str!("properties/broker.yml")).expect("it is a table of properties")
}

/// All of them are set at once.
fn expect_found(properties: &[Property], usual_file: &str, rendering: Rendering) {
    let rendering = properties.iter().fold(rendering, |rendering, property| {
        rendering.property(&property.name, property.value.clone())
    });
    let rendered = rendering
        .render()
        .unwrap_or_else(|rejection| panic!("{rejection}"));
    for property in properties {
        let file = property.file.as_deref().unwrap_or(usual_file);
        let document = rendered.document(file);
        let member = property.member();
        let (found, name) = (document.pointer(&member), &property.name);
        assert_eq!(found, Some(&property.value), "`{name}` as `{member}`");
    }
}

fn expect_all_declared(job: &str, properties: &[Property], elsewhere: &[String]) {
    let specification = Jobs::of_project().specification(job);
    let declared = specification["properties"]
        .as_object()
        .expect("a job has properties");
    let declared: BTreeSet<&String> = declared.keys().collect();
    let shown = properties.iter().map(|property| &property.name);
    assert_eq!(declared, shown.chain(elsewhere).collect(), "{job}");
}

#[test]
fn every_property_of_the_broker_is_found_in_its_files() {
    let OfTheBroker {
        mut properties,
        elsewhere,
    } = of_the_broker();
    expect_found(&properties, CONFIGURATION, broker(smallest()));
    // These two do not go with some of the others.
    let metadata = json!({ "display_name": "a", "costTier": { "b": [1, null] } });
    for (name, value, member) in [
        (
            "disable_cf_startup_checks",
            json!(true),
            Some("/broker/disable_cf_startup_checks"),
        ),
        ("service_catalog.metadata", metadata, None),
    ] {
        let property = Property {
            name: name.to_owned(),
            value,
            file: None,
            member: member.map(str::to_owned),
        };
        let alone = std::slice::from_ref(&property);
        expect_found(alone, CONFIGURATION, broker(smallest()));
        properties.push(property);
    }
    expect_all_declared("broker", &properties, &elsewhere);
}

#[test]
fn every_property_of_an_errand_is_found_in_its_files() {
    let jobs: BTreeMap<String, Vec<Property>> =
        yaml::from_str(include_str!("properties/errands.yml"))
            .expect("it is a table of properties");
    let fine = smallest();
    for (job, properties) in jobs {
        let rendering = errand(&job, json!({ "broker_name": "lumen" }), &fine);
        expect_found(&properties, ERRAND, rendering);
        expect_all_declared(&job, &properties, &[]);
    }
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
    let properties = of_the_broker().properties;
    let of_the_file = properties.iter().filter(|property| property.file.is_none());
    let mut members: Vec<String> = of_the_file.map(Property::member).collect();
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
        "/ui",
    ] {
        let keys = schema.pointer(&format!(
            "{}/properties",
            section.replace('/', "/properties/")
        ));
        let keys = keys
            .and_then(Value::as_object)
            .unwrap_or_else(|| panic!("{section} has keys"));
        // BOSH puts secrets into the file itself: a job needs no property for the file of a secret.
        let is_file_of_secret = |key: &str| {
            let secret = key.strip_suffix("_file");
            secret.is_some_and(|secret| keys.contains_key(secret))
        };
        for key in keys.keys().filter(|key| !is_file_of_secret(key)) {
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

/// The defaults of the Go release (`spec/contracts/config-and-release.md` §2.4 to §2.9).
#[test]
fn what_an_errand_is_not_given_is_as_with_the_go_release() {
    let fine = smallest();
    let document = |job: &str| -> Value {
        let outcome = errand(job, json!({ "broker_name": "lumen" }), &fine).render();
        let rendered: Rendered = outcome.unwrap_or_else(|rejection| panic!("{rejection}"));
        rendered.document(ERRAND)
    };
    let fleet = json!({
        "polling_interval": 60, "attempt_interval": 60, "attempt_limit": 5, "request_timeout": 120, "max_in_flight": 1,
        "canaries": 0, "canary_selection_params": {},
        "broker_api": {
            "url": "http://10.0.16.4:8080",
            "authentication": { "basic": { "username": "broker", "password": "of-the-broker" } },
            "tls": { "disable_ssl_cert_verification": false },
        },
    });
    for job in [
        "upgrade-all-service-instances",
        "recreate-all-service-instances",
    ] {
        let found = document(job);
        for (key, value) in fleet.as_object().expect("it is a map") {
            assert_eq!(found[key], *value, "{key} of {job}");
        }
    }
    for job in [
        "delete-all-service-instances",
        "delete-all-service-instances-and-deregister-broker",
    ] {
        let found = document(job);
        assert_eq!(
            (&found["polling_interval"], &found["polling_initial_offset"]),
            (&json!(60), &json!(5))
        );
    }
}
