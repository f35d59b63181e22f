use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, str};

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const DEPLOYMENT: &str = "service-instance_7";

/// A folder of an adapter.
pub(crate) struct Folder {
    directory: TempDir,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A manifest that was made.
pub(crate) struct Made {
    pub(crate) text: String,
    pub(crate) manifest: Value,
    pub(crate) answer: Value,
}

impl Folder {
    /// The example of `docs/authors/templates.md`.
    pub(crate) fn example() -> Self {
        let folder = Self::empty();
        for block in blocks() {
            for name in block.names.iter().filter(|name| name.contains('.')) {
                folder.write(name, &block.text);
            }
        }
        folder
    }

    /// A folder whose manifest has this text under `properties` of its one job, and this
    /// `adapter.yml`.
    pub(crate) fn with_properties(properties: &str, description: &str) -> Self {
        let folder = Self::empty();
        let manifest = MANIFEST.replace("PROPERTIES", &properties.replace('\n', "\n      "));
        folder.write("manifest.yml.tera", &manifest);
        folder.write("adapter.yml", description);
        folder.write("schemas/create.json", "{}");
        folder.write("schemas/update.json", "{}");
        folder
    }

    fn empty() -> Self {
        let directory = TempDir::new().unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A file changed by replacing a text that must be there.
    pub(crate) fn replace(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path().join(name)).unwrap();
        assert!(text.contains(from), "{name} has no {from}");
        self.write(name, &text.replace(from, to));
    }

    pub(crate) fn run(&self, subcommand: &str, section: &Value) -> Run {
        self.run_with(&[], &[subcommand], &stdin(subcommand, section))
    }

    pub(crate) fn run_with(
        &self,
        environment: &[(&str, &str)],
        arguments: &[&str],
        stdin: &str,
    ) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_template-service-adapter"));
        command
            .env_clear()
            .env("SERVICE_ADAPTER_FOLDER", self.path())
            .envs(environment.iter().copied())
            .args(arguments);
        run(command, stdin)
    }

    pub(crate) fn make(&self, input: &Value) -> Made {
        let run = self.run("generate-manifest", input);
        assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        let text = answer["manifest"].as_str().unwrap().to_owned();
        Made {
            manifest: yaml::from_str(&text).unwrap(),
            text,
            answer,
        }
    }

    /// The output of a failed `generate-manifest` for user and operator.
    pub(crate) fn refused(&self, input: &Value) -> Run {
        let run = self.run("generate-manifest", input);
        assert_eq!(run.code, 1, "{run:?}");
        run
    }
}

impl Made {
    /// Properties of the first job of the first group.
    pub(crate) fn properties(&self) -> &Value {
        &self.manifest["instance_groups"][0]["jobs"][0]["properties"]
    }

    /// The manifest once the broker has stored the secrets.
    pub(crate) fn deployed(&self) -> String {
        self.text.replace("((odb_secret:", "((/odb/o/i/")
    }

    /// The secrets that the broker has stored, by reference.
    pub(crate) fn stored(&self) -> Value {
        let entries = self.answer["secrets"].as_object().unwrap().iter();
        entries
            .map(|(name, value)| (format!("((/odb/o/i/{name}))"), value.clone()))
            .collect()
    }
}

pub(crate) fn run(mut command: Command, stdin: &str) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A folder that cannot be loaded reads no input.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn stdin(subcommand: &str, section: &Value) -> String {
    json!({ subcommand.replace('-', "_"): section }).to_string()
}

pub(crate) fn service_deployment() -> Value {
    json!({
        "deployment_name": DEPLOYMENT,
        "releases": [{"name": "queue", "version": "1.10", "jobs": ["queue-server"]}],
        "stemcells": [{"stemcell_os": "ubuntu-jammy", "stemcell_version": "1.80"}],
    })
}

pub(crate) fn plan() -> Value {
    json!({
        "properties": {},
        "instance_groups": [
            {"name": "queue", "vm_type": "small", "instances": 1, "networks": ["default"], "azs": ["z1"]},
        ],
    })
}

pub(crate) fn create(plan: &Value, parameters: &Value) -> Value {
    let request = json!({"service_id": "s", "plan_id": "p", "context": {"platform": "sandbox"}, "parameters": parameters});
    json!({
        "service_deployment": service_deployment().to_string(),
        "plan": plan.to_string(),
        "previous_plan": "null",
        "previous_manifest": "",
        "request_parameters": request.to_string(),
        "previous_secrets": "null",
        "previous_configs": "null",
        "uaa_client": "null",
    })
}

pub(crate) fn update(plan: &Value, deployed: &str, secrets: &Value, parameters: &Value) -> Value {
    let mut input = create(plan, parameters);
    input["previous_plan"] = plan.to_string().into();
    input["previous_manifest"] = deployed.into();
    input["previous_secrets"] = secrets.to_string().into();
    input
}

/// The broker's request to look for pending changes.
pub(crate) fn pending_changes(plan: &Value, deployed: &str, secrets: &Value) -> Value {
    let mut input = update(plan, deployed, secrets, &json!({}));
    input["request_parameters"] = "{}".into();
    input
}

/// The broker's request for an upgrade.
pub(crate) fn upgrade(plan: &Value, deployed: &str) -> Value {
    let mut input = update(plan, deployed, &Value::Null, &json!({}));
    input["request_parameters"] = r#"{"context":null}"#.into();
    input
}

pub(crate) fn binding(manifest: &str, vms: &Value, secrets: &Value) -> Value {
    json!({
        "binding_id": "b-1",
        "bosh_vms": vms.to_string(),
        "manifest": manifest,
        "request_parameters": r#"{"app_guid":"","parameters":{}}"#,
        "secrets": secrets.to_string(),
        "dns_addresses": r#"{"queue":"q-s0.queue.bosh"}"#,
    })
}

/// A block of code of the documentation: ```` ```yaml name other-name ````.
pub(crate) struct Block {
    pub(crate) names: Vec<&'static str>,
    pub(crate) text: String,
}

pub(crate) fn blocks() -> Vec<Block> {
    let document = include_str!("../../../../docs/authors/templates.md");
    let parts: Vec<&str> = document.split("\n```").collect();
    let blocks = parts.iter().skip(1).step_by(2).map(|part| {
        let (info, text) = part.split_once('\n').unwrap();
        Block {
            names: info.split(' ').skip(1).collect(),
            text: format!("{text}\n"),
        }
    });
    blocks.collect()
}

pub(crate) fn block(name: &str) -> String {
    let mut blocks = blocks().into_iter();
    let block = blocks.find(|block| block.names.contains(&name));
    block.unwrap().text
}

const MANIFEST: &str = r#"name: {{ deployment_name }}
releases: {{ manifest_releases }}
stemcells: [{{ stemcell(alias="default") }}]
instance_groups:
- <<: {{ instance_group(name="queue") }}
  stemcell: default
  jobs:
  - name: queue-server
    release: {{ release_of(job="queue-server") }}
    properties:
      PROPERTIES
update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1000-60000, update_watch_time: 1000-60000}
"#;
