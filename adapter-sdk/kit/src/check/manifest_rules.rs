use odb_adapter_sdk::protocol::ManifestText;
use odb_adapter_sdk::secrets::references_in;
use odb_adapter_sdk::yaml;
use serde_json::{Map, Value};

use crate::check::answers::Generated;
use crate::check::requests::deployment_name;
use crate::check::rules::{Rule, manifest};
use crate::check::scalars::ambiguous_scalars;
use crate::check::session::Session;

/// Holds an answer to the rules on manifests.
pub(super) fn check_manifest(session: &mut Session<'_>, answer: &Generated, plan: &Value) {
    let software = (&session.inputs.releases, &session.inputs.stemcells);
    let found = errors(
        &answer.text,
        &answer.manifest,
        &answer.configs,
        plan,
        software,
    );
    for (rule, detail) in found {
        session.find(rule, detail.clone(), detail, Some(answer.id));
    }
}

/// The rules that a manifest and the configs beside it break, and how.
fn errors(
    text: &str,
    document: &Value,
    configs: &Map<String, Value>,
    plan: &Value,
    (releases, stemcells): (&Value, &Value),
) -> Vec<(&'static Rule, String)> {
    let mut errors = Errors(Vec::new());
    errors.shape(text);
    errors.name(document);
    errors.versions(document, releases, stemcells);
    errors.jobs(document, releases);
    errors.errands(document, plan);
    errors.update(document);
    errors.stemcells(document);
    errors.groups(document, plan);
    errors.configs(configs);
    errors.variables(text, document);
    errors.scalars(text);
    errors.0
}

struct Errors(Vec<(&'static Rule, String)>);

impl Errors {
    fn note(&mut self, rule: &'static Rule, detail: impl Into<String>) {
        self.0.push((rule, detail.into()));
    }

    fn shape(&mut self, text: &str) {
        if let Err(error) = ManifestText::from(text).parse() {
            self.note(&manifest::NOT_A_MANIFEST, error.to_string());
        }
    }

    fn name(&mut self, document: &Value) {
        let wanted = deployment_name();
        if document["name"] != wanted.as_str() {
            let found = &document["name"];
            self.note(
                &manifest::WRONG_NAME,
                format!("it is {found}, the deployment's is `{wanted}`"),
            );
        }
    }

    fn versions(&mut self, document: &Value, releases: &Value, stemcells: &Value) {
        for release in list(document, "releases") {
            let (name, version) = (text(release, "name"), text(release, "version"));
            if version.ends_with("latest") {
                self.note(
                    &manifest::INEXACT_VERSION,
                    format!("release `{name}`, version `{version}`"),
                );
            } else if !items(releases)
                .any(|known| text(known, "name") == name && text(known, "version") == version)
            {
                self.note(
                    &manifest::FOREIGN_VERSION,
                    format!("release `{name}`, version `{version}`"),
                );
            }
        }
        for stemcell in list(document, "stemcells") {
            let version = text(stemcell, "version");
            let called = [text(stemcell, "os"), text(stemcell, "name")].concat();
            if version.ends_with("latest") {
                self.note(
                    &manifest::INEXACT_VERSION,
                    format!("stemcell `{called}`, version `{version}`"),
                );
            } else if !items(stemcells).any(|known| is_stemcell(known, stemcell)) {
                self.note(
                    &manifest::FOREIGN_VERSION,
                    format!("stemcell `{called}`, version `{version}`"),
                );
            }
        }
    }

    fn jobs(&mut self, document: &Value, releases: &Value) {
        for group in list(document, "instance_groups") {
            for job in list(group, "jobs") {
                let (name, release) = (text(job, "name"), text(job, "release"));
                let is_listed =
                    list(document, "releases").any(|known| text(known, "name") == release);
                let known = items(releases).find(|known| text(known, "name") == release);
                let provides = |known: &Value| list(known, "jobs").any(|job| job == name);
                if !is_listed {
                    let detail = format!(
                        "job `{name}` is of release `{release}`, which the manifest does not list"
                    );
                    self.note(&manifest::JOB_WITHOUT_RELEASE, detail);
                } else if known.is_some_and(|known| !provides(known)) {
                    let detail = format!(
                        "release `{release}` of the service deployment has no job `{name}`"
                    );
                    self.note(&manifest::JOB_WITHOUT_RELEASE, detail);
                }
            }
        }
    }

    fn errands(&mut self, document: &Value, plan: &Value) {
        for kind in ["post_deploy", "pre_delete"] {
            for errand in list(&plan["lifecycle_errands"], kind) {
                let name = text(errand, "name");
                let instances: Vec<&str> = list(errand, "instances")
                    .filter_map(Value::as_str)
                    .collect();
                let has_job =
                    |group: &Value| list(group, "jobs").any(|job| text(job, "name") == name);
                if instances.is_empty() {
                    let mut groups = list(document, "instance_groups");
                    if !groups.any(|group| text(group, "lifecycle") == "errand" && has_job(group)) {
                        let detail = format!(
                            "no instance group with `lifecycle: errand` has job `{name}` ({kind})"
                        );
                        self.note(&manifest::ERRAND_MISSING, detail);
                    }
                }
                for instance in instances {
                    let wanted = instance.split('/').next().unwrap_or(instance);
                    let mut groups = list(document, "instance_groups");
                    if !groups.any(|group| text(group, "name") == wanted && has_job(group)) {
                        let detail =
                            format!("instance group `{wanted}` has no job `{name}` ({kind})");
                        self.note(&manifest::ERRAND_MISSING, detail);
                    }
                }
            }
        }
    }

    fn update(&mut self, document: &Value) {
        const NEEDED: [&str; 4] = [
            "canaries",
            "max_in_flight",
            "canary_watch_time",
            "update_watch_time",
        ];
        let Some(update) = document.get("update").and_then(Value::as_object) else {
            self.note(&manifest::NO_UPDATE_BLOCK, "there is no `update`");
            return;
        };
        for key in NEEDED {
            let is_there = update
                .get(key)
                .is_some_and(|value| !value.is_null() && value != "");
            if !is_there {
                self.note(
                    &manifest::NO_UPDATE_BLOCK,
                    format!("`update.{key}` is missing or empty"),
                );
            }
        }
    }

    fn stemcells(&mut self, document: &Value) {
        for group in list(document, "instance_groups") {
            let alias = text(group, "stemcell");
            if !list(document, "stemcells").any(|stemcell| text(stemcell, "alias") == alias) {
                let name = text(group, "name");
                let detail = format!("instance group `{name}` uses stemcell `{alias}`");
                self.note(&manifest::UNKNOWN_STEMCELL, detail);
            }
        }
    }

    fn groups(&mut self, document: &Value, plan: &Value) {
        for group in list(document, "instance_groups") {
            let name = text(group, "name");
            let Some(planned) =
                list(plan, "instance_groups").find(|planned| text(planned, "name") == name)
            else {
                continue;
            };
            for key in ["instances", "vm_type", "azs", "persistent_disk_type"] {
                if !planned[key].is_null() && planned[key] != "" && group[key] != planned[key] {
                    let detail =
                        format!("instance group `{name}` has another `{key}` than the plan");
                    self.note(&manifest::PLAN_NOT_FOLLOWED, detail);
                }
            }
            let networks: Vec<&str> = list(group, "networks")
                .map(|network| text(network, "name"))
                .collect();
            if !list(planned, "networks")
                .all(|network| networks.iter().any(|name| network == *name))
            {
                let detail = format!("instance group `{name}` is not in all networks of the plan");
                self.note(&manifest::PLAN_NOT_FOLLOWED, detail);
            }
        }
    }

    fn configs(&mut self, configs: &Map<String, Value>) {
        for (kind, config) in configs {
            if !["cloud", "cpi", "runtime"].contains(&kind.as_str()) {
                self.note(
                    &manifest::WRONG_CONFIG,
                    format!("there are no configs of type `{kind}`"),
                );
            }
            let is_map = config
                .as_str()
                .and_then(|text| yaml::from_str::<Value>(text).ok())
                .is_some_and(|config| config.is_object() || config.is_null());
            if !is_map {
                self.note(
                    &manifest::WRONG_CONFIG,
                    format!("config `{kind}` is not a text of YAML with a map"),
                );
            }
        }
    }

    fn scalars(&mut self, text: &str) {
        for (line, kind) in ambiguous_scalars(text) {
            self.note(
                &manifest::AMBIGUOUS_SCALAR,
                format!("{kind} on line {line}"),
            );
        }
    }

    fn variables(&mut self, manifest: &str, document: &Value) {
        for reference in references_in(manifest) {
            let name = reference.trim_start_matches("((").trim_end_matches("))");
            let name = name.trim_start_matches('!');
            if name.starts_with('/') || name.starts_with("odb_secret:") {
                continue;
            }
            let whole = name.split('.').next().unwrap_or(name);
            let mut declared = list(document, "variables").map(|variable| text(variable, "name"));
            if !declared.any(|declared| declared == whole || declared == name) {
                self.note(&manifest::UNDECLARED_VARIABLE, format!("`{reference}`"));
            }
        }
    }
}

/// Whether a stemcell of a manifest matches the given stemcell of the service deployment.
fn is_stemcell(known: &Value, found: &Value) -> bool {
    let is_same = |key: &str, known: &str| text(found, key).is_empty() || text(found, key) == known;
    text(known, "stemcell_version") == text(found, "version")
        && is_same("os", text(known, "stemcell_os"))
        && is_same("name", text(known, "stemcell_name"))
}

fn list<'d>(value: &'d Value, key: &str) -> impl Iterator<Item = &'d Value> {
    items(&value[key])
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text<'d>(value: &'d Value, key: &str) -> &'d str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MANIFEST: &str = r#"
name: service-instance_0db0c4ec-0000-4000-8000-000000000001
releases: [{name: cache, version: "1.2"}]
stemcells: [{alias: default, os: ubuntu-jammy, version: "1.80"}]
instance_groups:
- name: cache
  instances: 2
  vm_type: small
  azs: [z1]
  networks: [{name: net}]
  stemcell: default
  jobs: [{name: server, release: cache, properties: {password: ((admin.password))}}]
- name: smoke
  lifecycle: errand
  instances: 1
  vm_type: small
  azs: [z1]
  networks: [{name: net}]
  stemcell: default
  jobs: [{name: smoke, release: cache}]
update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1-2, update_watch_time: 1-2}
variables: [{name: admin, type: user}]
"#;

    /// Ids of the rules that are broken when one text of the manifest is another.
    fn broken(old: &str, new: &str) -> Vec<&'static str> {
        assert!(MANIFEST.contains(old), "{old}");
        broken_by(&MANIFEST.replace(old, new), &json!({}))
    }

    fn broken_by(text: &str, configs: &Value) -> Vec<&'static str> {
        let group = |name: &str, instances: u32| json!({"name": name, "instances": instances, "vm_type": "small", "azs": ["z1"], "networks": ["net"]});
        let plan = json!({
            "lifecycle_errands": {
                "post_deploy": [{"name": "smoke"}, {"name": "server", "instances": ["cache/0"]}],
            },
            "instance_groups": [group("cache", 2), group("smoke", 1)],
        });
        let releases = json!([{"name": "cache", "version": "1.2", "jobs": ["server", "smoke"]}]);
        let stemcells = json!([{"stemcell_os": "ubuntu-jammy", "stemcell_version": "1.80"}]);
        let document = yaml::from_str(text).unwrap();
        let configs = configs.as_object().unwrap();
        let found = errors(text, &document, configs, &plan, (&releases, &stemcells));
        found.into_iter().map(|(rule, _)| rule.id).collect()
    }

    #[test]
    fn a_good_manifest_breaks_nothing() {
        assert!(broken("cache", "cache").is_empty());
    }

    #[test]
    fn names_and_versions_are_those_of_the_deployment() {
        assert_eq!(broken("service-instance_0", "service-instance_1"), ["M-02"]);
        assert_eq!(broken("\"1.2\"", "1.latest"), ["M-03"]);
        assert_eq!(broken("\"1.2\"", "\"1.3\""), ["M-04"]);
        assert_eq!(broken("\"1.80\"", "latest"), ["M-03"]);
        assert_eq!(broken("ubuntu-jammy", "ubuntu-noble"), ["M-04"]);
    }

    #[test]
    fn jobs_are_in_their_release_and_errands_in_their_group() {
        assert_eq!(
            broken(
                "{name: server, release: cache",
                "{name: server, release: other"
            ),
            ["M-05"]
        );
        assert_eq!(broken("name: server", "name: unknown"), ["M-05", "M-06"]);
        assert_eq!(broken("lifecycle: errand", "lifecycle: service"), ["M-06"]);
        assert_eq!(
            broken(
                "stemcell: default\n  jobs: [{name: smoke",
                "stemcell: other\n  jobs: [{name: smoke"
            ),
            ["M-09"]
        );
    }

    #[test]
    fn there_is_an_update_block_with_all_that_directors_ask_for() {
        assert_eq!(broken("update: {", "x_update: {"), ["M-07"]);
        assert_eq!(broken("canaries: 1, ", ""), ["M-07"]);
        assert_eq!(
            broken("canary_watch_time: 1-2", "canary_watch_time: ''"),
            ["M-07"]
        );
    }

    #[test]
    fn what_the_plan_says_of_groups_is_carried_over() {
        assert_eq!(broken("instances: 2", "instances: 1"), ["M-10"]);
        assert_eq!(
            broken(
                "azs: [z1]\n  networks: [{name: net}]\n  stemcell: default\n  jobs: [{name: server",
                "azs: [z2]\n  networks: [{name: net}]\n  stemcell: default\n  jobs: [{name: server"
            ),
            ["M-10"]
        );
    }

    #[test]
    fn references_are_to_variables_that_are_declared_or_to_paths() {
        assert_eq!(broken("((admin.password))", "((other))"), ["M-12"]);
        assert!(broken("((admin.password))", "((/shared/password))").is_empty());
    }

    #[test]
    fn values_that_readers_disagree_about_are_reported() {
        assert_eq!(
            broken("- name: cache\n", "- name: cache\n  x_open: 12:30\n"),
            ["M-08"]
        );
    }

    #[test]
    fn configs_are_of_a_known_type_and_of_yaml() {
        assert_eq!(
            broken_by(MANIFEST, &json!({"cloud": "vm_types: []"})),
            [""; 0]
        );
        assert_eq!(broken_by(MANIFEST, &json!({"clouds": "{}"})), ["M-11"]);
        assert_eq!(
            broken_by(MANIFEST, &json!({"cloud": "[", "cpi": 1})),
            ["M-11", "M-11"]
        );
    }
}
