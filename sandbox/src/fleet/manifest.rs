//! Manifests of a fleet, and the deployments that they make.

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use crate::director::{
    SeededDeployment, SeededGroup, SeededGroupKind, UploadedRelease, UploadedStemcell,
};

/// The deployment of a plain manifest. No other has this name.
const NAME: &str = "service-instance_00000000-0000-4000-8000-000000000000";

#[derive(Clone, Debug)]
pub struct FleetPattern {
    pub releases: Vec<UploadedRelease>,
    pub stemcells: Vec<UploadedStemcell>,
    pub cloud_config: Value,
    pub team: Option<String>,
}

/// A deployment of which the name is still open.
pub(super) struct Template {
    name: String,
    text: String,
    manifest: Value,
    target: Option<String>,
}

impl Template {
    /// A pattern from an existing deployment: each occurrence of its name in the manifest is replaced.
    pub(super) fn of(name: &str, text: &str, target: Option<String>) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            manifest: yaml::from_str(text).unwrap_or_default(),
            target,
        }
    }

    /// The broker's target of the plan, if it is known.
    pub(super) fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// A plain one: the first job of the first release on one VM. There is none without releases or stemcells.
    pub(super) fn plain(pattern: &FleetPattern, plan: &str) -> Option<Self> {
        let (release, stemcell) = (pattern.releases.first()?, pattern.stemcells.first()?);
        let job = release.jobs.first()?;
        let first = |list: &str| &pattern.cloud_config[list][0]["name"];
        let manifest = json!({
            "name": NAME,
            "releases": [{"name": release.name, "version": release.version}],
            "stemcells": [
                {"alias": "only-stemcell", "os": stemcell.os, "version": stemcell.version},
            ],
            "instance_groups": [{
                "name": job,
                "instances": 1,
                "jobs": [{"name": job, "release": release.name}],
                "vm_type": first("vm_types"),
                "stemcell": "only-stemcell",
                "azs": [first("azs")],
                "networks": [{"name": first("networks")}],
            }],
            "update": {
                "canaries": 1,
                "canary_watch_time": "1000-60000",
                "update_watch_time": "1000-60000",
                "max_in_flight": 1,
            },
            "tags": {"plan": plan},
        });
        let text = yaml::to_string(&manifest).unwrap_or_else(|_| manifest.to_string());
        Some(Self::of(NAME, &text, None))
    }

    /// The deployment of this name; one that never succeeded has no manifest and no VMs.
    pub(super) fn deployment(
        &self,
        name: &str,
        has_failed: bool,
        pattern: &FleetPattern,
    ) -> SeededDeployment {
        let groups = list(&self.manifest["instance_groups"]);
        let releases = list(&self.manifest["releases"]);
        SeededDeployment {
            name: name.to_owned(),
            teams: pattern.team.iter().cloned().collect(),
            manifest: (!has_failed).then(|| self.text.replace(&self.name, name)),
            releases: releases
                .iter()
                .map(|release| (text(&release["name"]), text(&release["version"])))
                .collect(),
            stemcells: list(&self.manifest["stemcells"])
                .iter()
                .filter_map(|wanted| stemcell(wanted, pattern))
                .collect(),
            groups: groups
                .iter()
                .map(|group| seeded(group, has_failed, pattern))
                .collect(),
        }
    }
}

fn seeded(group: &Value, has_failed: bool, pattern: &FleetPattern) -> SeededGroup {
    let is_errand = group["lifecycle"] == "errand";
    let instances = group["instances"].as_u64().unwrap_or_default();
    let disk_types = list(&pattern.cloud_config["disk_types"]);
    let disk_type = disk_types
        .iter()
        .find(|kind| kind["name"] == group["persistent_disk_type"]);
    SeededGroup {
        name: text(&group["name"]),
        kind: match (is_errand, has_failed) {
            (true, _) => SeededGroupKind::Errand,
            (false, true) => SeededGroupKind::Failed,
            (false, false) => SeededGroupKind::Service,
        },
        instances: u32::try_from(instances).unwrap_or(u32::MAX),
        az: group["azs"][0].as_str().map(str::to_owned),
        vm_type: group["vm_type"].as_str().map(str::to_owned),
        disk_size: disk_type.and_then(|kind| kind["disk_size"].as_u64()),
    }
}

/// The stemcell that a manifest means, by its operating system or its name.
fn stemcell(wanted: &Value, pattern: &FleetPattern) -> Option<(String, String)> {
    let version = text(&wanted["version"]);
    let found = pattern
        .stemcells
        .iter()
        .find(|stemcell| wanted["os"] == *stemcell.os || wanted["name"] == *stemcell.name)?;
    Some((found.name.clone(), version))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
