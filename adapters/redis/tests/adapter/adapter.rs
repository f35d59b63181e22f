//! Runs the adapter and holds the sample inputs of `spec/contracts/adapter-protocol.md`, "Worked
//! sample: redis create".

use std::io::Write;
use std::process::{Command, Stdio};

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

/// An adapter with its configuration.
pub(crate) struct Adapter {
    configuration: NamedTempFile,
}

/// How a call of the adapter ended.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Adapter {
    /// With secure manifests, as the sample has it.
    pub(crate) fn secure() -> Self {
        Self::configured("secure_manifests_enabled: true\n")
    }

    /// With the default settings.
    pub(crate) fn plain() -> Self {
        Self::configured("")
    }

    pub(crate) fn configured(text: &str) -> Self {
        let mut configuration = NamedTempFile::new().unwrap();
        configuration.write_all(text.as_bytes()).unwrap();
        Self { configuration }
    }

    pub(crate) fn run(&self, arguments: &[&str], stdin: &str) -> Run {
        let path = self.configuration.path().to_str().unwrap();
        run(&[("REDIS_ADAPTER_CONFIG", path)], arguments, stdin)
    }

    /// The answer to `generate-manifest`.
    pub(crate) fn generated(&self, input: &Value) -> Generated {
        let run = self.run(
            &["generate-manifest"],
            &json!({ "generate_manifest": input }).to_string(),
        );
        assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        let text = answer["manifest"].as_str().unwrap().to_owned();
        Generated {
            manifest: yaml::from_str(&text).unwrap(),
            text,
            answer,
        }
    }

    /// A call of `generate-manifest` that is refused.
    pub(crate) fn refused(&self, input: &Value) -> Run {
        let run = self.run(
            &["generate-manifest"],
            &json!({ "generate_manifest": input }).to_string(),
        );
        assert_eq!(run.code, 1, "{} {}", run.stdout, run.stderr);
        run
    }

    /// The credentials that `create-binding` answers with.
    pub(crate) fn credentials(&self, input: &Value) -> Value {
        let run = self.run(
            &["create-binding"],
            &json!({ "create_binding": input }).to_string(),
        );
        assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap()["credentials"].clone()
    }
}

pub(crate) fn run(environment: &[(&str, &str)], arguments: &[&str], stdin: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_redis-service-adapter"))
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // An adapter that refuses to start does not read its input.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// An answer to `generate-manifest`.
pub(crate) struct Generated {
    pub(crate) text: String,
    pub(crate) manifest: Value,
    pub(crate) answer: Value,
}

impl Generated {
    /// A property of Redis.
    pub(crate) fn redis(&self, name: &str) -> &Value {
        &self.manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"][name]
    }

    /// The manifest as it is deployed: the broker has stored the secrets and put their paths in.
    pub(crate) fn deployed(&self) -> String {
        let path = format!("((/odb/svc-redis/{DEPLOYMENT}/");
        self.text.replace("((odb_secret:", &path)
    }
}

pub(crate) const DEPLOYMENT: &str = "service-instance_c0ffee00-1111-4222-8333-444455556666";

pub(crate) fn service_deployment() -> Value {
    json!({
        "deployment_name": DEPLOYMENT,
        "releases": [
            {"name": "redis-example-service", "version": "7.4", "jobs": ["redis-server", "health-check", "cleanup-data"]},
        ],
        "stemcells": [{"stemcell_os": "ubuntu-jammy", "stemcell_version": "1.80"}],
    })
}

pub(crate) fn plan() -> Value {
    json!({
        "properties": {"persistence": true, "plan_secret": "s3cr3t"},
        "lifecycle_errands": {"post_deploy": [{"name": "health-check"}], "pre_delete": [{"name": "cleanup-data"}]},
        "instance_groups": [
            {
                "name": "redis-server", "vm_type": "cache", "vm_extensions": ["public"],
                "persistent_disk_type": "5GB", "instances": 1, "networks": ["svc-net"], "azs": ["az-a"],
            },
            {
                "name": "health-check", "vm_type": "tiny", "instances": 1, "networks": ["svc-net"], "azs": ["az-a"],
                "lifecycle": "errand",
            },
            {
                "name": "cleanup-data", "vm_type": "tiny", "instances": 1, "networks": ["svc-net"], "azs": ["az-a"],
                "lifecycle": "errand",
            },
        ],
        "update": {
            "canaries": 1, "canary_watch_time": "5000-60000", "update_watch_time": "5000-60000", "max_in_flight": 1,
        },
    })
}

/// A create with these arbitrary parameters.
pub(crate) fn create(plan: &Value, parameters: &Value) -> Value {
    let request = json!({
        "service_id": "svc-redis", "plan_id": "plan-cache", "organization_guid": "org-7", "space_guid": "space-9",
        "context": {
            "platform": "cloudfoundry", "organization_guid": "org-7", "space_guid": "space-9",
            "instance_name": "web-cache",
        },
        "maintenance_info": {"version": "2.0.0"},
        "parameters": parameters,
    });
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

/// An update of what is deployed, with these arbitrary parameters.
pub(crate) fn update(plan: &Value, deployed: &str, secrets: &Value, parameters: &Value) -> Value {
    let mut input = create(plan, parameters);
    input["previous_plan"] = plan.to_string().into();
    input["previous_manifest"] = deployed.into();
    input["previous_secrets"] = secrets.to_string().into();
    input["previous_configs"] = "{}".into();
    input
}

/// What the broker reads when it looks for pending changes.
pub(crate) fn pending_changes(plan: &Value, deployed: &str, secrets: &Value) -> Value {
    let mut input = update(plan, deployed, secrets, &json!({}));
    input["request_parameters"] = "{}".into();
    input
}

/// What the broker reads for an upgrade.
pub(crate) fn upgrade(plan: &Value, deployed: &str) -> Value {
    let mut input = update(plan, deployed, &Value::Null, &json!({}));
    input["request_parameters"] = r#"{"context":null}"#.into();
    input
}
