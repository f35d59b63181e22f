//! The manifest of the contract, the smallest broker, and a machine on which their files are looked at.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use odb_adapter_sdk::yaml;
use odb_stories::{
    Binaries,
    release::{Deployment, Link, Rendered, RenderedDeployment, Rendering, Vm},
};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

const CONTRACT: &str = include_str!("../../../contracts/config-and-release.md");

/// Answers what a check asks of an adapter.
const ADAPTER: &str = r#"#!/bin/bash
cat >/dev/null
parameters='{"parameters": {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"}}'
echo "{\"service_instance\": {\"create\": $parameters, \"update\": $parameters}, \"service_binding\": {\"create\": $parameters}}"
"#;

/// Where the job looks for the adapter, below `/var/vcap`.
const ADAPTER_PATH: &str = "packages/odb-service-adapter/bin/service-adapter";

/// The required properties, and no others.
pub(crate) fn smallest() -> Value {
    json!({
        "username": "broker",
        "password": "of-the-broker",
        "bosh": {
            "url": "https://10.0.0.6:25555",
            "authentication": { "uaa": { "client_id": "odb", "client_secret": "of-the-director" } },
        },
        "cf": {
            "url": "https://api.sys.example.org",
            "uaa": {
                "url": "https://uaa.sys.example.org",
                "authentication": {
                    "client_credentials": { "client_id": "odb", "client_secret": "of-the-platform" },
                },
            },
        },
        "service_deployment": {
            "releases": [{ "name": "lumen", "version": "7.4.2", "jobs": ["lumen-server"] }],
            "stemcells": [{ "os": "ubuntu-jammy", "version": "1.860" }],
        },
        "service_catalog": {
            "id": "id-of-lumen",
            "service_name": "lumen-cache",
            "service_description": "A store.",
            "bindable": true,
            "plan_updatable": false,
            "plans": [{
                "name": "single",
                "plan_id": "id-of-single",
                "description": "One node.",
                "instance_groups": [{
                    "name": "lumen-server",
                    "vm_type": "medium",
                    "instances": 1,
                    "networks": ["services"],
                    "azs": ["z1"],
                }],
            }],
        },
    })
}

/// The job `broker` with these properties.
pub(crate) fn broker(properties: Value) -> Rendering {
    Rendering::of("broker").properties(properties)
}

/// A job that a broker with these properties is linked to.
pub(crate) fn errand(job: &str, properties: Value, broker: &Value) -> Rendering {
    Rendering::of(job)
        .properties(properties)
        .link("broker", &Link::to_broker(broker, "10.0.16.4"))
}

/// The `credhub` of cf-deployment, as others see it.
pub(crate) fn credhub() -> Link {
    Link::with_properties(&json!({
        "credhub": {
            "internal_url": "https://credhub.service.cf.internal",
            "port": 8844,
            "ca_certificate": certificate().0,
        },
    }))
}

/// The manifest of the contract's third chapter, to the letter.
pub(crate) fn text_of_contract() -> &'static str {
    let chapter = CONTRACT.split("## 3. The operator's manifest").nth(1);
    let fence = chapter.and_then(|text| text.split("```yaml\n").nth(1));
    let fence = fence.and_then(|text| text.split("```").next());
    fence.expect("the contract has a manifest")
}

/// The same manifest with another release name.
pub(crate) fn manifest_of_contract() -> Value {
    let swapped = text_of_contract().replace("on-demand-service-broker", "on-demand-broker");
    filled_in(&swapped)
}

/// A manifest with something of the right kind in the place of each `((variable))`.
pub(crate) fn filled_in(text: &str) -> Value {
    let mut manifest = yaml::from_str(text).expect("the manifest is YAML");
    let (certificate, key) = certificate();
    fill_in(&mut manifest, &certificate, &key);
    manifest
}

/// The files of the contract's manifest.
pub(crate) fn rendered_contract() -> RenderedDeployment {
    rendered(&manifest_of_contract())
}

/// The files of a manifest like it.
pub(crate) fn rendered(manifest: &Value) -> RenderedDeployment {
    Deployment::of(manifest)
        .with_link_of("cf", "credhub", credhub())
        .render()
        .unwrap_or_else(|rejection| panic!("{rejection}"))
}

/// Puts something of the right kind into the place of each `((variable))`.
fn fill_in(value: &mut Value, certificate: &str, key: &str) {
    match value {
        Value::String(text) => {
            let Some(name) = text.strip_prefix("((").and_then(|it| it.strip_suffix("))")) else {
                return;
            };
            let of_certificate = ["_ca", ".ca", ".certificate"];
            *text = if name.ends_with(".private_key") {
                key.to_owned()
            } else if of_certificate.iter().any(|end| name.ends_with(end)) {
                certificate.to_owned()
            } else {
                format!("value-of-{name}")
            };
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| fill_in(item, certificate, key)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| fill_in(member, certificate, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A certificate with its key, in PEM.
pub(crate) fn certificate() -> (String, String) {
    let key = KeyPair::generate().expect("there is chance");
    let names = vec!["lumen.sys.example.org".to_owned()];
    let certificate = CertificateParams::new(names).and_then(|params| params.self_signed(&key));
    let certificate = certificate.expect("the name is one");
    (certificate.pem(), key.serialize_pem())
}

/// A machine with an adapter, onto which files of jobs are put.
pub(crate) struct Machine {
    folder: TempDir,
    /// The folders in place of `/var/vcap`.
    pub(crate) vm: Vm,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let vm = Vm::in_folder(folder.path());
        vm.write_executable(ADAPTER_PATH, ADAPTER);
        Self { folder, vm }
    }

    /// A folder for whatever else there is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Puts a job there.
    pub(crate) fn put(&self, job: &Rendered) {
        let folder = self.vm.root().join("jobs").join(job.job());
        job.clone().relocated(self.vm.root()).write_to(&folder);
    }

    /// A file of a job.
    pub(crate) fn file(&self, job: &str, path: &str) -> PathBuf {
        self.vm.root().join("jobs").join(job).join(path)
    }

    /// The errors and warnings of `on-demand-broker check` for the broker's configuration. Its adapter returns schemas
    /// and generates no manifests.
    pub(crate) fn check(&self) -> Value {
        let output = Command::new(Binaries::find().path("on-demand-broker"))
            .args(["check", "--format", "json", "--adapter", "off", "--config"])
            .arg(self.file("broker", "config/broker.yml"))
            .stdin(Stdio::null())
            .output()
            .expect("it can be started");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Everything is as it should be.
    pub(crate) fn expect_no_findings(&self) {
        let report = self.check();
        let text = fs::read_to_string(self.file("broker", "config/broker.yml"));
        for kind in ["errors", "warnings"] {
            let found = report[kind]
                .as_array()
                .expect("there is a list of each kind");
            assert!(
                found.is_empty(),
                "{kind}: {found:#?}\n{}",
                text.unwrap_or_default()
            );
        }
    }
}
