//! An author at work: a folder, and the command line `odb-adapter` in it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use odb_stories::Binaries;
use serde_json::Value;
use tempfile::TempDir;

/// The inputs of the test adapter.
const INPUTS: &str = r#"
service_deployment:
  releases:
  - {name: redis-example-service, version: "7.4", jobs: [redis-server, health-check, cleanup-data]}
  stemcells:
  - {os: ubuntu-jammy, version: "1.80"}
plans:
- name: small
  properties: {persistence: true}
  instance_groups:
  - {name: redis-server, vm_type: small, instances: 1, networks: [net], azs: [z1]}
- name: large
  properties: {persistence: true}
  instance_groups:
  - {name: redis-server, vm_type: large, instances: 1, networks: [net], azs: [z1]}
"#;

/// An author with a folder.
pub(crate) struct Author {
    binaries: Binaries,
    folder: TempDir,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Author {
    /// With an empty folder.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("tests may write temporary files");
        let binaries = Binaries::find();
        Self { binaries, folder }
    }

    /// With what the adapter of Redis is asked with.
    pub(crate) fn of_redis() -> Self {
        let author = Self::new();
        author.write("adapter-check.yml", INPUTS);
        author
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder().join(name), text).expect("the test made the folder");
    }

    /// Writes an adapter in Bash.
    pub(crate) fn script(&self, script: &str) -> PathBuf {
        self.write("adapter", &format!("#!/bin/bash\n{script}\n"));
        let path = self.folder().join("adapter");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("the test made the folder");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder().join(name)).expect("the file is there")
    }

    /// Types `odb-adapter` with these arguments.
    pub(crate) fn types(&self, arguments: &[&str]) -> Ran {
        self.types_with(("LANG", "C.UTF-8"), arguments)
    }

    /// The same with a variable in the environment.
    pub(crate) fn types_with(&self, variable: (&str, &str), arguments: &[&str]) -> Ran {
        let output = Command::new(self.binaries.path("odb-adapter"))
            .args(arguments)
            .env_remove("ODB_ADAPTER_SDK")
            .env(variable.0, variable.1)
            .current_dir(self.folder())
            .stdin(Stdio::null())
            .output()
            .expect("it can be started");
        let text = |bytes| String::from_utf8(bytes).expect("it prints text");
        Ran {
            status: output.status.code().expect("it ends by itself"),
            output: text(output.stdout),
            errors: text(output.stderr),
        }
    }

    /// Asks the adapter of Redis one thing.
    pub(crate) fn asks_redis(&self, arguments: &[&str]) -> Ran {
        let adapter = self.binaries.path("go-test-adapter");
        self.asks(&adapter, arguments)
    }

    /// Asks an adapter one thing, with the inputs of the folder.
    pub(crate) fn asks(&self, adapter: &Path, arguments: &[&str]) -> Ran {
        let adapter = adapter.to_str().expect("folders have names of text");
        let ask = ["run", "--adapter", adapter, "--inputs", "adapter-check.yml"];
        self.types(&[&ask, arguments].concat())
    }
}

impl Ran {
    /// The command has done what it was asked for.
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.status, 0, "{self:?}");
        self
    }

    /// The JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// A section of the report, by its heading.
    pub(crate) fn section(&self, heading: &str) -> &str {
        let start = format!("== {heading} ==\n");
        let (_, rest) = self
            .output
            .split_once(&start)
            .unwrap_or_else(|| panic!("there is no `{heading}`: {self:?}"));
        rest.split_once("\n== ")
            .map_or(rest, |(section, _)| section)
    }
}
