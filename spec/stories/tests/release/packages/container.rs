//! A container of the image, as a kubelet starts it: by an OCI runtime, as a user without rights, on a root that cannot
//! be written to. It shares the network with the test, as a pod with `hostNetwork` would.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use odb_stories::{Platform, Process, eventually, new_id};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    TIMEOUT,
    built::{VERSION, architecture, packages},
    machine::{as_root, succeed},
};

/// The image as a runtime takes it: its files, and `config.json`.
pub(super) struct Bundle {
    configuration: Value,
    // Its files belong to root.
    folder: TempDir,
}

pub(super) struct Container {
    pub(super) process: Process,
    bundle: Bundle,
    name: String,
}

pub(super) fn image() -> PathBuf {
    packages().join(format!(
        "on-demand-broker-image-{VERSION}-{}.tar",
        architecture()
    ))
}

impl Bundle {
    /// Unpacks the image.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("tests may write temporary files");
        let layout = folder.path().join("layout");
        fs::create_dir(&layout).expect("the test made the folder");
        succeed(
            Command::new("tar")
                .arg("-xf")
                .arg(image())
                .arg("-C")
                .arg(&layout),
        );
        let reference = format!("{}:{VERSION}", layout.display());
        let bundle = folder.path().join("bundle");
        succeed(
            as_root("umoci")
                .args(["unpack", "--image", &reference])
                .arg(&bundle),
        );
        let text = succeed(as_root("cat").arg(bundle.join("config.json")));
        Self {
            configuration: serde_json::from_str(&text).expect("umoci writes JSON"),
            folder,
        }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("bundle/rootfs")
    }

    /// The entry point with its default arguments.
    pub(super) fn arguments(&self) -> Vec<String> {
        serde_json::from_value(self.configuration["process"]["args"].clone())
            .expect("the image has an entry point")
    }

    /// Starts it with these arguments, variables, and folders or files of the test, which it cannot change.
    pub(super) fn start(
        self,
        arguments: &[String],
        variables: &[(String, String)],
        mounts: &[(PathBuf, String)],
    ) -> Container {
        let mut configuration = self.configuration.clone();
        let process = &mut configuration["process"];
        process["args"] = json!(arguments);
        process["terminal"] = false.into();
        process["noNewPrivileges"] = true.into();
        process["capabilities"] = json!({});
        let environment = process["env"].as_array_mut().expect("the image has some");
        environment.extend(
            variables
                .iter()
                .map(|(name, value)| Value::from(format!("{name}={value}"))),
        );
        configuration["root"]["readonly"] = true.into();
        configuration["linux"] = json!({
            "namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}],
        });
        let all = configuration["mounts"]
            .as_array_mut()
            .expect("there is /proc");
        all.retain(|mount| mount["type"] != "cgroup");
        for (source, target) in mounts {
            all.push(json!({
                "source": source, "destination": target, "type": "none", "options": ["rbind", "ro"],
            }));
        }
        let written = self.folder.path().join("config.json");
        fs::write(&written, configuration.to_string()).expect("the test made the folder");
        let bundle = self.folder.path().join("bundle");
        succeed(as_root("cp").arg(&written).arg(bundle.join("config.json")));
        let name = format!("odb-{}", new_id());
        let mut command = as_root("runc");
        command.args(["run", "--bundle"]).arg(&bundle).arg(&name);
        Container {
            process: Process::start("container", &mut command, self.folder.path()),
            bundle: self,
            name,
        }
    }
}

impl Container {
    /// Waits for an answer of 200 on a path that needs no credentials, as a probe does.
    pub(super) async fn answers(&mut self, platform: &Platform, path: &str) {
        eventually("the container answers", TIMEOUT, async || {
            assert!(self.process.is_running(), "it ended: {}", self.log());
            let request = platform.anonymous_request(Method::GET, path);
            match request.send().await {
                Ok(answer) if answer.status().is_success() => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    pub(super) fn log(&self) -> String {
        self.process.errors() + &self.process.output()
    }

    /// Members of `/proc/self/status` of its first process.
    pub(super) fn status(&self) -> String {
        self.look("status")
    }

    /// A file of its first process in `/proc`.
    pub(super) fn look(&self, file: &str) -> String {
        let state = succeed(as_root("runc").args(["state", &self.name]));
        let state: Value = serde_json::from_str(&state).expect("runc prints JSON");
        succeed(as_root("cat").arg(Path::new("/proc").join(state["pid"].to_string()).join(file)))
    }

    /// Ends it as a kubelet does.
    pub(super) async fn stop(mut self) -> std::process::ExitStatus {
        self.process.terminate();
        self.process.exit(TIMEOUT).await
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        let bundle = self.folder.path().join("bundle");
        let _ = as_root("rm").arg("-rf").arg(bundle).status();
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = as_root("runc")
            .args(["delete", "--force", &self.name])
            .output();
        let _ = &self.bundle;
    }
}
