use odb_adapter_sdk::protocol::{ManifestText, Plan};
use odb_adapter_sdk::secrets::references_in;
use odb_adapter_sdk::yaml;
use serde_json::{Map, Value, json};

use super::answers::Generated;
use super::request::deployment_name;
use super::rules::{self, Rule};
use super::scalars::ambiguous_scalars;
use super::session::Session;

pub(super) fn check_manifest(session: &mut Session<'_>, answer: &Generated, plan: &Plan) {
    let inputs = session.inputs;
    let given = json!({
        "releases": inputs.releases,
        "stemcells": inputs.stemcells,
        "plan": plan,
    });
    let found = errors(&answer.text, &answer.manifest, &answer.configs, &given);
    for (rule, detail) in found {
        session.find(rule, detail.clone(), detail, answer.id);
    }
}

/// The rules that a manifest and the configs beside it break, and how. `given` has what the adapter was asked with.
fn errors(
    text: &str,
    document: &Value,
    configs: &Map<String, Value>,
    given: &Value,
) -> Vec<(&'static Rule, String)> {
    let mut errors = Errors {
        document,
        given,
        found: Vec::new(),
    };
    if let Err(error) = ManifestText::from(text).parse() {
        errors.note(&rules::NOT_A_MANIFEST, error.to_string());
    }
    errors.name();
    errors.versions();
    errors.jobs();
    errors.errands();
    errors.update();
    errors.stemcells();
    errors.groups();
    errors.configs(configs);
    errors.variables(text);
    for (line, kind) in ambiguous_scalars(text) {
        errors.note(&rules::AMBIGUOUS_SCALAR, format!("{kind} on line {line}"));
    }
    errors.found
}

struct Errors<'d> {
    document: &'d Value,
    given: &'d Value,
    found: Vec<(&'static Rule, String)>,
}

impl<'d> Errors<'d> {
    fn note(&mut self, rule: &'static Rule, detail: impl Into<String>) {
        self.found.push((rule, detail.into()));
    }

    fn list(&self, key: &str) -> impl Iterator<Item = &'d Value> + use<'d> {
        list(self.document, key)
    }

    fn given(&self, key: &str) -> impl Iterator<Item = &'d Value> + use<'d> {
        list(self.given, key)
    }

    fn name(&mut self) {
        let wanted = deployment_name();
        let found = &self.document["name"];
        if *found != wanted.as_str() {
            let detail = format!("it is {found}, the deployment's is `{wanted}`");
            self.note(&rules::WRONG_NAME, detail);
        }
    }

    fn versions(&mut self) {
        for release in self.list("releases") {
            let (name, version) = (text(release, "name"), text(release, "version"));
            let mut known = self.given("releases");
            let is_known =
                known.any(|known| text(known, "name") == name && text(known, "version") == version);
            self.version("release", name, version, is_known);
        }
        for stemcell in self.list("stemcells") {
            let called = [text(stemcell, "os"), text(stemcell, "name")].concat();
            let mut known = self.given("stemcells");
            let is_known = known.any(|known| is_stemcell(known, stemcell));
            self.version("stemcell", &called, text(stemcell, "version"), is_known);
        }
    }

    fn version(&mut self, what: &str, name: &str, version: &str, is_known: bool) {
        let detail = format!("{what} `{name}`, version `{version}`");
        if version.ends_with("latest") {
            self.note(&rules::INEXACT_VERSION, detail);
        } else if !is_known {
            self.note(&rules::FOREIGN_VERSION, detail);
        }
    }

    fn jobs(&mut self) {
        for job in self
            .list("instance_groups")
            .flat_map(|group| list(group, "jobs"))
        {
            let (name, release) = (text(job, "name"), text(job, "release"));
            let is_of = |known: &&Value| text(known, "name") == release;
            let known = self.given("releases").find(is_of);
            let provides = |known: &Value| list(known, "jobs").any(|job| job == name);
            if self.list("releases").find(is_of).is_none() {
                let detail = format!(
                    "job `{name}` is of release `{release}`, which the manifest does not list"
                );
                self.note(&rules::JOB_WITHOUT_RELEASE, detail);
            } else if known.is_some_and(|known| !provides(known)) {
                let detail =
                    format!("release `{release}` of the service deployment has no job `{name}`");
                self.note(&rules::JOB_WITHOUT_RELEASE, detail);
            }
        }
    }

    fn errands(&mut self) {
        for kind in ["post_deploy", "pre_delete"] {
            for errand in list(&self.given["plan"]["lifecycle_errands"], kind) {
                let name = text(errand, "name");
                let has_job =
                    |group: &Value| list(group, "jobs").any(|job| text(job, "name") == name);
                let mut instances = list(errand, "instances")
                    .filter_map(Value::as_str)
                    .peekable();
                if instances.peek().is_none() {
                    let mut groups = self.list("instance_groups");
                    if !groups.any(|group| text(group, "lifecycle") == "errand" && has_job(group)) {
                        let detail = format!(
                            "no instance group with `lifecycle: errand` has job `{name}` ({kind})"
                        );
                        self.note(&rules::ERRAND_MISSING, detail);
                    }
                }
                for instance in instances {
                    let wanted = instance.split('/').next().unwrap_or(instance);
                    let mut groups = self.list("instance_groups");
                    if !groups.any(|group| text(group, "name") == wanted && has_job(group)) {
                        let detail =
                            format!("instance group `{wanted}` has no job `{name}` ({kind})");
                        self.note(&rules::ERRAND_MISSING, detail);
                    }
                }
            }
        }
    }

    fn update(&mut self) {
        const NEEDED: [&str; 4] = [
            "canaries",
            "max_in_flight",
            "canary_watch_time",
            "update_watch_time",
        ];
        let Some(update) = self.document.get("update").and_then(Value::as_object) else {
            self.note(&rules::NO_UPDATE_BLOCK, "there is no `update`");
            return;
        };
        for key in NEEDED {
            if update
                .get(key)
                .is_none_or(|value| value.is_null() || value == "")
            {
                let detail = format!("`update.{key}` is missing or empty");
                self.note(&rules::NO_UPDATE_BLOCK, detail);
            }
        }
    }

    fn stemcells(&mut self) {
        for group in self.list("instance_groups") {
            let (name, alias) = (text(group, "name"), text(group, "stemcell"));
            let mut stemcells = self.list("stemcells");
            if !stemcells.any(|stemcell| text(stemcell, "alias") == alias) {
                let detail = format!("instance group `{name}` uses stemcell `{alias}`");
                self.note(&rules::UNKNOWN_STEMCELL, detail);
            }
        }
    }

    fn groups(&mut self) {
        for group in self.list("instance_groups") {
            let name = text(group, "name");
            let mut planned = list(&self.given["plan"], "instance_groups");
            let Some(planned) = planned.find(|planned| text(planned, "name") == name) else {
                continue;
            };
            for key in ["instances", "vm_type", "azs", "persistent_disk_type"] {
                if !planned[key].is_null() && planned[key] != "" && group[key] != planned[key] {
                    let detail =
                        format!("instance group `{name}` has another `{key}` than the plan");
                    self.note(&rules::PLAN_NOT_FOLLOWED, detail);
                }
            }
            let networks: Vec<_> = list(group, "networks").map(|one| &one["name"]).collect();
            if !list(planned, "networks").all(|network| networks.contains(&network)) {
                let detail = format!("instance group `{name}` is not in all networks of the plan");
                self.note(&rules::PLAN_NOT_FOLLOWED, detail);
            }
        }
    }

    fn configs(&mut self, configs: &Map<String, Value>) {
        for (kind, config) in configs {
            if !["cloud", "cpi", "runtime"].contains(&kind.as_str()) {
                let detail = format!("there are no configs of type `{kind}`");
                self.note(&rules::WRONG_CONFIG, detail);
            }
            let is_map = config
                .as_str()
                .and_then(|text| yaml::from_str::<Value>(text).ok())
                .is_some_and(|config| config.is_object() || config.is_null());
            if !is_map {
                let detail = format!("config `{kind}` is not a text of YAML with a map");
                self.note(&rules::WRONG_CONFIG, detail);
            }
        }
    }

    fn variables(&mut self, manifest: &str) {
        for reference in references_in(manifest) {
            let name = reference.trim_start_matches("((").trim_end_matches("))");
            let name = name.trim_start_matches('!');
            if name.starts_with('/') || name.starts_with("odb_secret:") {
                continue;
            }
            let whole = name.split('.').next().unwrap_or(name);
            let mut declared = self
                .list("variables")
                .map(|variable| text(variable, "name"));
            if !declared.any(|declared| declared == whole || declared == name) {
                self.note(&rules::UNDECLARED_VARIABLE, format!("`{reference}`"));
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

fn list<'d>(value: &'d Value, key: &str) -> impl Iterator<Item = &'d Value> + use<'d> {
    value[key].as_array().into_iter().flatten()
}

fn text<'d>(value: &'d Value, key: &str) -> &'d str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
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
        let given = json!({
            "releases": [{"name": "cache", "version": "1.2", "jobs": ["server", "smoke"]}],
            "stemcells": [{"stemcell_os": "ubuntu-jammy", "stemcell_version": "1.80"}],
            "plan": {
                "lifecycle_errands": {
                    "post_deploy": [{"name": "smoke"}, {"name": "server", "instances": ["cache/0"]}],
                },
                "instance_groups": [group("cache", 2), group("smoke", 1)],
            },
        });
        let document = yaml::from_str(text).unwrap();
        let configs = configs.as_object().unwrap();
        let found = errors(text, &document, configs, &given);
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
