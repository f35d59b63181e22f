//! The properties of errands.

use serde_json::{Value, json};

use super::{ERRAND, Property, expect_all_declared, expect_found};
use crate::samples::{errand, smallest};
use odb_stories::release::Rendered;

/// One that an errand's file calls otherwise.
fn of_errand(name: &'static str, value: Value, member: &str) -> Property {
    Property {
        name,
        value,
        file: ERRAND,
        member: member.to_owned(),
    }
}

fn of_the_address() -> Vec<Property> {
    vec![
        of_errand(
            "broker_uri",
            json!("https://broker.example.org"),
            "/broker_api/url",
        ),
        of_errand("tls.ca_cert", json!("PEM"), "/broker_api/tls/ca_cert"),
        of_errand(
            "tls.disable_ssl_cert_verification",
            json!(true),
            "/broker_api/tls/disable_ssl_cert_verification",
        ),
    ]
}

fn of_a_fleet() -> Vec<Property> {
    let mut properties = of_the_address();
    properties.extend([
        of_errand("polling_interval_seconds", json!(7), "/polling_interval"),
        of_errand("attempt_interval_seconds", json!(7), "/attempt_interval"),
        of_errand("attempt_limit", json!(7), "/attempt_limit"),
        of_errand("request_timeout", json!(7), "/request_timeout"),
        of_errand("max_in_flight", json!(7), "/max_in_flight"),
        of_errand("canaries", json!(7), "/canaries"),
        of_errand(
            "canary_selection_params",
            json!({ "cf_org": "a" }),
            "/canary_selection_params",
        ),
    ]);
    for (name, value) in [
        ("run.continue", json!(true)),
        ("run.retry_failed", json!(true)),
        ("run.dry_run", json!(true)),
        ("run.max_failures", json!("2%")),
        ("run.health_gate", json!(true)),
        ("run.wave", json!(7)),
        ("run.health_timeout", json!(7)),
        ("run.answer_timeout", json!(7)),
        ("run.plans", json!(["a"])),
        ("run.organizations", json!(["a"])),
        ("run.spaces", json!(["a"])),
        ("run.instances", json!(["a"])),
        ("run.exclude", json!(["a"])),
    ] {
        properties.push(of_errand(
            name,
            value,
            &format!("/{}", name.replace('.', "/")),
        ));
    }
    properties
}

fn of_a_deletion() -> Vec<Property> {
    vec![
        of_errand("polling_interval_seconds", json!(7), "/polling_interval"),
        of_errand(
            "polling_initial_offset_seconds",
            json!(7),
            "/polling_initial_offset",
        ),
        of_errand("max_in_flight", json!(7), "/max_in_flight"),
        of_errand("give_up_after_seconds", json!(7), "/give_up_after"),
        as_argument(),
    ]
}

fn as_argument() -> Property {
    Property {
        name: "broker_name",
        value: json!("another"),
        file: "config/bpm.yml",
        member: "/processes/0/args/4".to_owned(),
    }
}

#[test]
fn every_property_of_an_errand_is_found_in_its_files() {
    let jobs = [
        (
            "register-broker",
            vec![
                of_errand("broker_name", json!("another"), "/broker_name"),
                of_errand(
                    "broker_uri",
                    json!("https://broker.example.org"),
                    "/broker_url",
                ),
            ],
        ),
        ("deregister-broker", vec![as_argument()]),
        ("upgrade-all-service-instances", of_a_fleet()),
        ("recreate-all-service-instances", of_a_fleet()),
        ("delete-all-service-instances", of_a_deletion()),
        (
            "delete-all-service-instances-and-deregister-broker",
            of_a_deletion(),
        ),
        ("orphan-deployments", of_the_address()),
        ("service-metrics-adapter", of_the_address()),
        (
            "service-adapters",
            vec![Property {
                name: "redis.secure_manifests_enabled",
                value: json!(true),
                file: "config/redis.yml",
                member: "/secure_manifests_enabled".to_owned(),
            }],
        ),
    ];
    let fine = smallest();
    for (job, properties) in jobs {
        expect_found(
            &properties,
            errand(job, json!({ "broker_name": "lumen" }), &fine),
        );
        expect_all_declared(job, &properties, &[]);
    }
}

/// The defaults of the Go release (`spec/contracts/config-and-release.md` §2.4 to §2.9).
#[test]
fn what_an_errand_is_not_reported_is_as_with_the_go_release() {
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
