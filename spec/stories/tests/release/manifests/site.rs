//! A manifest as a site deploys it.

use std::{fs, path::Path, process::Command};

use odb_stories::{
    Binaries,
    manifest::{Manifest, Variables, find},
    release::{Deployment, Link, RenderedDeployment, RenderedInstance},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::table;
use crate::documents::expect_declared;

/// A manifest with all variables filled in, and its rendered jobs of this release.
pub(super) struct Site {
    pub(super) manifest: Value,
    pub(super) rendered: RenderedDeployment,
}

impl Site {
    /// A base with ops files over it, and the variables of the example.
    pub(super) fn of(base: &str, files: &[&str]) -> Self {
        let manifest = files.iter().fold(table::base(base), |manifest, file| {
            let applied = manifest.with_operations(&table::operations(file));
            applied.unwrap_or_else(|error| panic!("{base} with {files:?}: {error}: {error:?}"))
        });
        let variables = Variables::of_example().for_manifest(&manifest);
        Self::deployed(&manifest, &variables, &format!("{base} with {files:?}"))
    }

    /// A manifest with these variables; `name` is for error messages.
    pub(super) fn deployed(manifest: &Manifest, variables: &Variables, name: &str) -> Self {
        let completed = manifest.complete(variables);
        let completed = completed.unwrap_or_else(|error| panic!("{name}: {error}: {error:?}"));
        assert!(
            completed.missing.is_empty(),
            "{name} lacks {:?}",
            completed.missing
        );
        assert!(
            completed.unused.is_empty(),
            "{name} has no use for {:?}",
            completed.unused
        );
        assert_names_are_unique(&completed.document, name);
        expect_declared(name, &completed.document);
        let rendered = Deployment::of(&completed.document)
            .with_link_of("cf", "credhub", credhub())
            .render();
        Self {
            manifest: completed.document,
            rendered: rendered.unwrap_or_else(|error| panic!("{name}: {error}")),
        }
    }

    /// The broker's file.
    pub(super) fn broker(&self) -> Value {
        self.rendered.job("broker").document("config/broker.yml")
    }

    /// The file of an errand.
    pub(super) fn errand(&self, name: &str) -> Value {
        self.rendered.job(name).document("config/config.yml")
    }

    /// The properties that the manifest gives the broker's job.
    pub(super) fn property(&self, path: &str) -> &Value {
        let job = "/instance_groups/name=broker/jobs/name=broker/properties";
        find(&self.manifest, &format!("{job}{path}")).unwrap_or(&Value::Null)
    }

    /// A job on the broker's VM, as the manifest has it.
    pub(super) fn job(&self, name: &str) -> Option<&Value> {
        find(
            &self.manifest,
            &format!("/instance_groups/name=broker/jobs/name={name}"),
        )
    }

    /// The names of the jobs of an instance group, if there is such a group.
    pub(super) fn jobs_of(&self, group: &str) -> Option<Vec<&str>> {
        let group = find(
            &self.manifest,
            &format!("/instance_groups/name={group}/jobs"),
        )?;
        let names = group.as_array()?.iter().map(|job| job["name"].as_str());
        names.collect()
    }

    /// The report of `on-demand-broker check` for the broker's file, with any adapter.
    pub(super) fn report(&self, folder: &Path) -> Value {
        let file = folder.join("broker.yml");
        fs::write(&file, self.rendered.job("broker").file("config/broker.yml")).unwrap();
        let output = Command::new(Binaries::find().path("on-demand-broker"))
            .args(["check", "--elsewhere", "--format", "json", "--config"])
            .arg(&file)
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// Fails the test if the check finds anything, or if an errand does not know where the broker is.
    pub(super) fn assert_fine(&self, name: &str) {
        let folder = TempDir::new().unwrap();
        let report = self.report(folder.path());
        let nothing = json!([]);
        assert_eq!(report["errors"], nothing, "{name}");
        assert_eq!(report["warnings"], nothing, "{name}");
        let scheme = if self.property("/tls").is_null() {
            "http://"
        } else {
            "https://"
        };
        let instances = self.rendered.instances().iter();
        for job in instances.flat_map(RenderedInstance::jobs) {
            if !job.files().any(|(path, _)| path == "config/config.yml") {
                continue;
            }
            let file = job.document("config/config.yml");
            for url in [&file["broker_api"]["url"], &file["broker_url"]] {
                let is_right = url.as_str().is_none_or(|url| url.starts_with(scheme));
                assert!(is_right, "{name}: {} asks {url}", job.job());
            }
        }
    }
}

/// The link of Cloud Foundry's deployment for its CredHub.
fn credhub() -> Link {
    Link::with_properties(&json!({"credhub": {
        "internal_url": "https://credhub.service.cf.internal",
        "port": 8844,
        "ca_certificate": Variables::of_example().text("cf_ca"),
    }}))
}

/// A Director refuses two of a name in these lists.
fn assert_names_are_unique(manifest: &Value, name: &str) {
    let groups = manifest["instance_groups"].as_array().unwrap();
    let lists = ["releases", "variables", "stemcells", "instance_groups"];
    let lists = lists.iter().map(|list| &manifest[*list]);
    for list in lists.chain(groups.iter().map(|group| &group["jobs"])) {
        let names = list.as_array().into_iter().flatten();
        let mut names: Vec<&Value> = names.map(|item| &item["name"]).collect();
        names.retain(|name| !name.is_null());
        names.sort_by_key(ToString::to_string);
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "{name}");
    }
}
