//! Blocks that are parts of BOSH manifests: laid over those of the project, rendered as a Director would, and checked
//! by the broker.

use odb_stories::{
    manifest::{Manifest, OpsFile, Variables, find},
    release::{Deployment, Jobs, Link, RenderedDeployment},
};
use serde_json::{Value, json};

use super::files::{blocks, check, lay_over, load};

/// The base for ops files and parts of manifests.
const BASE: &str = "manifests/redis.yml";

/// The release of which jobs are rendered.
const RELEASE: &str = "on-demand-broker";

#[test]
fn every_ops_file_in_a_document_applies_and_gives_a_valid_manifest() {
    let found = blocks(|fence| fence.information == "yaml ops");
    for (location, fence) in found {
        let operations = OpsFile::parse(&location, &fence.text);
        let operations = operations.unwrap_or_else(|error| panic!("{location}: {error}"));
        let manifest = Manifest::of_project(BASE).with_operations(&operations);
        let manifest = manifest.unwrap_or_else(|error| panic!("{location}: {error}"));
        expect_deployable(&location, &manifest, &Variables::of_example());
    }
}

#[test]
fn every_part_of_a_manifest_in_a_document_is_valid() {
    for (location, fence) in blocks(|fence| fence.information == "yaml manifest") {
        let mut document = Manifest::of_project(BASE).document().clone();
        lay_over(&mut document, &load(&location, &fence));
        expect_deployable(
            &location,
            &Manifest::from(document),
            &Variables::of_example(),
        );
    }
}

/// They are laid over those that the job has in the manifest, or over none.
#[test]
fn properties_of_a_job_in_a_document_are_declared_and_render_valid_files() {
    for (location, fence) in blocks(|fence| fence.information.starts_with("yaml job ")) {
        let name = fence.information.trim_start_matches("yaml job ");
        let properties = load(&location, &fence);
        let mut document = Manifest::of_project(BASE).document().clone();
        let group = &mut document["instance_groups"][0];
        let jobs = group["jobs"]
            .as_array_mut()
            .expect("the broker's VM has jobs");
        match jobs.iter_mut().find(|job| job["name"] == name) {
            Some(job) => {
                let mut all = job["properties"].clone();
                lay_over(&mut all, &properties);
                job["properties"] = all;
            }
            None => {
                jobs.push(json!({ "name": name, "release": RELEASE, "properties": properties }));
            }
        }
        expect_deployable(
            &location,
            &Manifest::from(document),
            &Variables::of_example(),
        );
    }
}

/// A Director accepts the manifest: every variable has a value, our jobs render, their properties are declared, and the
/// broker accepts its file.
pub(super) fn expect_deployable(location: &str, manifest: &Manifest, variables: &Variables) {
    let complete = manifest.complete(variables);
    let complete = complete.unwrap_or_else(|error| panic!("{location}: {error}"));
    assert!(
        complete.missing.is_empty(),
        "{location}: {:?} is not declared",
        complete.missing
    );
    expect_declared(location, &complete.document);
    let credhub = Link::with_properties(&json!({ "credhub": {
        "internal_url": "https://credhub.service.cf.internal",
        "port": 8844,
        "ca_certificate": Variables::of_example().text("cf_ca"),
    }}));
    let rendered = Deployment::of(&complete.document)
        .with_link_of("cf", "credhub", credhub)
        .render();
    let rendered = rendered.unwrap_or_else(|error| panic!("{location}: {error}"));
    expect_watched(location, &complete.document, &rendered);
    let folder = tempfile::tempdir().expect("tests may write temporary files");
    let checked = check(
        &folder,
        &rendered.job("broker").document("config/broker.yml"),
    );
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{location}: {said}");
}

/// The collector of instance metrics uses the source that the indicators expect.
fn expect_watched(location: &str, manifest: &Value, rendered: &RenderedDeployment) {
    let metrics =
        "/instance_groups/name=broker/jobs/name=service-metrics/properties/service_metrics";
    if let Some(metrics) = find(manifest, metrics) {
        let indicators = rendered.job("broker").document("config/indicators.yml");
        let labels = &indicators["metadata"]["labels"];
        assert_eq!(metrics["source_id"], labels["source_id"], "{location}");
    }
}

/// A Director silently drops undeclared properties.
pub(crate) fn expect_declared(location: &str, manifest: &Value) {
    let jobs = Jobs::of_project();
    let groups = manifest["instance_groups"].as_array().into_iter().flatten();
    let all = groups.flat_map(|group| group["jobs"].as_array().into_iter().flatten());
    for job in all.filter(|job| job["release"] == RELEASE) {
        let name = job["name"].as_str().expect("jobs have names");
        assert!(jobs.has(name), "{location}: there is no job `{name}`");
        let specification = jobs.specification(name);
        let declared = specification["properties"].as_object();
        let declared: Vec<&str> = declared
            .into_iter()
            .flat_map(|properties| properties.keys().map(String::as_str))
            .collect();
        let undeclared = undeclared("", &job["properties"], &declared);
        assert!(
            undeclared.is_empty(),
            "{location}: job `{name}` has no property {undeclared:?}"
        );
    }
}

/// The paths of properties that are neither declared nor part of one that is.
fn undeclared(path: &str, properties: &Value, declared: &[&str]) -> Vec<String> {
    if declared.contains(&path) {
        return Vec::new();
    }
    let leads_on = |path: &str| {
        declared
            .iter()
            .any(|one| one.starts_with(&format!("{path}.")))
    };
    match properties.as_object() {
        Some(members) if path.is_empty() || leads_on(path) => members
            .iter()
            .flat_map(|(name, value)| {
                let dot = if path.is_empty() { "" } else { "." };
                undeclared(&format!("{path}{dot}{name}"), value, declared)
            })
            .collect(),
        _ if properties.is_null() => Vec::new(),
        _ => vec![path.to_owned()],
    }
}

#[test]
fn properties_that_no_job_declares_are_found_out() {
    let declared = ["port", "tls.certificate", "cf.uaa.client_definition"];
    let fine = json!({ "port": 1, "tls": { "certificate": "x" }, "cf": { "uaa": { "client_definition": { "name": "y" } } } });
    assert_eq!(undeclared("", &fine, &declared), Vec::<String>::new());
    let wrong = json!({ "prot": 1, "tls": { "cert": "x" }, "cf": "y" });
    assert_eq!(
        undeclared("", &wrong, &declared),
        ["prot", "tls.cert", "cf"]
    );
}
