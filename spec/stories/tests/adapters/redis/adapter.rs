//! Runs the adapter and holds the sample inputs of `spec/contracts/adapter-protocol.md`, "Worked
//! sample: redis create".

use std::{io::Write, path::Path};

use odb_adapter_sdk::yaml;
use odb_stories::AdapterFolder;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::executable::{Executable, Run};

/// An adapter for Redis.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Implementation {
    /// The executable `go-test-adapter`.
    Rust,
    /// The folder `spec/test-adapter/templates`.
    Folder,
}

/// An adapter with its settings.
pub(crate) struct Adapter {
    executable: Executable,
    settings: NamedTempFile,
}

impl Implementation {
    /// With secure manifests, as the sample has it.
    pub(crate) fn secure(self) -> Adapter {
        self.configured("secure_manifests_enabled: true\n")
    }

    /// With the default settings.
    pub(crate) fn plain(self) -> Adapter {
        self.configured("")
    }

    /// With these settings, in YAML.
    pub(crate) fn configured(self, text: &str) -> Adapter {
        let mut settings = NamedTempFile::new().unwrap();
        settings.write_all(text.as_bytes()).unwrap();
        Adapter {
            executable: self.executable(Some(settings.path())),
            settings,
        }
    }

    /// The adapter as it is run, with its settings in this file if any.
    pub(crate) fn executable(self, settings: Option<&Path>) -> Executable {
        let (executable, variable) = match self {
            Self::Rust => (Executable::named("go-test-adapter"), "REDIS_ADAPTER_CONFIG"),
            Self::Folder => (
                Executable::named("template-service-adapter")
                    .with_environment("SERVICE_ADAPTER_FOLDER", AdapterFolder::of("redis")),
                "SERVICE_ADAPTER_SETTINGS",
            ),
        };
        match settings {
            Some(settings) => executable.with_environment(variable, settings),
            None => executable,
        }
    }
}

impl Adapter {
    /// The path of the file with its settings.
    pub(crate) fn settings(&self) -> &str {
        self.settings.path().to_str().unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str], stdin: &str) -> Run {
        self.executable.run(arguments, stdin)
    }

    /// The answer to `generate-manifest`.
    pub(crate) fn generated(&self, input: &Value) -> Generated {
        let run = self.run(
            &["generate-manifest"],
            &json!({ "generate_manifest": input }).to_string(),
        );
        assert_eq!(run.code, Some(0), "{} {}", run.stdout, run.stderr);
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
        assert_eq!(run.code, Some(1), "{} {}", run.stdout, run.stderr);
        run
    }

    /// The credentials that `create-binding` answers with.
    pub(crate) fn credentials(&self, input: &Value) -> Value {
        let run = self.run(
            &["create-binding"],
            &json!({ "create_binding": input }).to_string(),
        );
        assert_eq!(run.code, Some(0), "{} {}", run.stdout, run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap()["credentials"].clone()
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
