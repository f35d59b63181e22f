//! The service that an offer becomes.

use odb_offer::catalog;
use serde_json::{Value, json};

use tar::EntryType;

use crate::fixtures::{DEMO, Files, Folder, demo_with, entry, packed, tgz};

fn service(package: Files<'_>, chart: Files<'_>) -> Value {
    let folder = Folder::of(package, &[("chart.tgz", packed("any", &demo_with(chart)))]);
    let (offer, findings) = folder.check(&["chart.tgz"], None);
    assert_eq!(findings.errors(), 0, "{}", folder.lines(&findings));
    catalog::service(&offer.unwrap())
}

fn version(package: Files<'_>, chart: Files<'_>) -> String {
    let service = service(package, chart);
    let version = &service["plans"][0]["maintenance_info"]["version"];
    version.as_str().unwrap().to_owned()
}

#[test]
fn a_chart_alone_is_an_offer() {
    let chart = "apiVersion: v2\nname: redis\nversion: 1.0.0\ndescription: A cache\nkeywords: [cache]\nhome: https://example.com\nmaintainers: [{name: Someone}]\n";
    let mut service = service(&[], &[("Chart.yaml", chart)]);
    let version = service["plans"][0]["maintenance_info"]["version"].take();
    assert!(version.as_str().unwrap().starts_with("1.0.0+"), "{version}");
    assert_eq!(
        service,
        json!({
            "id": "6a15c66e-77c6-521b-a559-91f9931bc8d4",
            "name": "redis",
            "description": "A cache",
            "bindable": true,
            "plan_updateable": true,
            "instances_retrievable": true,
            "bindings_retrievable": true,
            "tags": ["cache"],
            "metadata": {
                "displayName": "redis",
                "documentationUrl": "https://example.com",
                "longDescription": "A cache",
                "providerDisplayName": "Someone",
            },
            "plans": [{
                "id": "6a15c66e-77c6-521b-a559-91f9931bc8d4-default",
                "name": "default",
                "description": "Plan with default values",
                "free": true,
                "bindable": true,
                "metadata": {"bullets": ["Plan with default values"]},
                "maintenance_info": {"version": null, "description": "redis 1.0.0"},
            }],
        })
    );
}

#[test]
fn the_maintenance_version_changes_with_what_an_upgrade_brings() {
    let package = |values: &'static str, template: &'static str| -> Vec<(&str, &str)> {
        vec![
            ("plans.yaml", "- {name: a, description: A, file: a.yaml}\n"),
            ("plans/a.yaml", values),
            ("bind.yaml", template),
        ]
    };
    let first = version(&package("replicaCount: 2\n", "template: \"{}\"\n"), &[]);
    assert_eq!(
        first,
        version(&package("replicaCount: 2\n", "template: \"{a: 1}\"\n"), &[])
    );
    assert_ne!(
        first,
        version(&package("replicaCount: 3\n", "template: \"{}\"\n"), &[])
    );
    assert_ne!(
        first,
        version(
            &package("replicaCount: 2\n", "template: \"{}\"\n"),
            &[("templates/x", "")]
        )
    );
    for (text, start) in [("1.2", "1.2.0+"), ("0.1.1+master", "0.1.1+master.")] {
        let chart = format!("apiVersion: v2\nname: demo\nversion: \"{text}\"\n");
        let version = version(&[], &[("Chart.yaml", &chart)]);
        let mark = version.strip_prefix(start).unwrap();
        assert_eq!(mark.len(), 8, "{version}");
    }
}

#[test]
fn the_schema_of_a_plan_lacks_what_users_may_not_set() {
    let schema = r#"{"$schema": "http://json-schema.org/draft-07/schema#", "required": ["master"], "properties": {
        "replicaCount": {"type": "integer"},
        "fullnameOverride": {"type": "string"},
        "master": {"properties": {"size": {"type": "integer"}, "image": {"properties": {"registry": {}, "tag": {}}}}}}}"#;
    let chart = &[("values.schema.json", schema)];
    let shown = |package: Files<'_>| {
        let service = service(package, chart);
        service["plans"][0]["schemas"]["service_instance"]["create"]["parameters"].clone()
    };
    assert_eq!(
        shown(&[]),
        json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "properties": {
                "replicaCount": {"type": "integer"},
                "master": {"properties": {"size": {"type": "integer"}, "image": {"properties": {"tag": {}}}}},
            },
        })
    );
    let allowed = shown(&[("offer.yaml", "parameters: {allow: [master.size]}\n")]);
    assert_eq!(
        allowed["properties"],
        json!({"master": {"properties": {"size": {"type": "integer"}}}})
    );
    assert_eq!(
        shown(&[("offer.yaml", "parameters: {schema: none}\n")]),
        Value::Null
    );
    // Platforms refuse numbers as `exclusiveMinimum`.
    let newer = &[(
        "values.schema.json",
        r#"{"properties": {"replicaCount": {"exclusiveMinimum": 0}}}"#,
    )];
    let plan = service(&[], newer)["plans"][0].clone();
    assert_eq!(plan.get("schemas"), None);
}

#[test]
fn a_tar_of_a_package_with_its_charts_is_the_same_offer() {
    let plans = "- {name: a, description: A}\n";
    let chart = packed("demo", DEMO);
    for folder in ["", "./", "redis-offer/"] {
        let tar = tgz(&[
            entry(
                &format!("{folder}plans.yaml"),
                EntryType::Regular,
                plans.as_bytes(),
            ),
            entry(
                &format!("{folder}charts/demo.tgz"),
                EntryType::Regular,
                &chart,
            ),
        ]);
        let tar = Folder::of(&[], &[("offer.tar.gz", tar)]);
        let (offer, findings) = tar.check_at("offer.tar.gz", &[], None);
        assert_eq!(tar.lines(&findings), "", "{folder}");
        assert_eq!(
            catalog::service(&offer.unwrap()),
            service(&[("plans.yaml", plans)], &[]),
            "{folder}"
        );
    }
}

#[test]
fn a_folder_of_a_chart_is_packed_without_what_it_ignores() {
    let ignored = [
        (".helmignore", "# mine\n*.bak\n/secret\nci/\n"),
        ("a.bak", "x"),
        ("templates/b.bak", "x"),
        ("secret", "x"),
        ("ci/values.yaml", "x"),
    ];
    let files = demo_with(&ignored);
    let names: Vec<_> = files
        .iter()
        .map(|(name, text)| (format!("demo/{name}"), text.as_bytes().to_vec()))
        .collect();
    let names: Vec<_> = names
        .iter()
        .map(|(name, text)| (name.as_str(), text.clone()))
        .collect();
    let folder = Folder::of(&[], &names);
    let (offer, findings) = folder.check(&["demo"], None);
    assert_eq!(folder.lines(&findings), "");
    let mut findings = odb_offer::findings::Findings::default();
    let kept = demo_with(&ignored[..1]);
    let kept = odb_offer::chart::Chart::read("demo.tgz", packed("demo", &kept), &mut findings);
    assert_eq!(offer.unwrap().offered().chart.digest, kept.unwrap().digest);
}

#[test]
fn packing_again_keeps_the_digest() {
    let read = |bytes| {
        let mut findings = odb_offer::findings::Findings::default();
        odb_offer::chart::Chart::read("x.tgz", bytes, &mut findings)
            .unwrap()
            .digest
    };
    let mut reversed: Vec<_> = DEMO.to_vec();
    reversed.reverse();
    assert_eq!(read(packed("demo", DEMO)), read(packed("other", &reversed)));
    assert_ne!(
        read(packed("demo", DEMO)),
        read(packed("demo", &demo_with(&[("README.md", "x")])))
    );
}
