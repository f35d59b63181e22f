//! The API server, and what a kubelet and an operator do with it.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use odb_stories::eventually;
use serde_json::Value;
use tempfile::TempDir;

use super::super::{
    TIMEOUT,
    built::PROJECT,
    chart::{helm, script, testbed},
    image::for_nonroot,
    machine::succeed,
    site::Site,
};

const NAMESPACE: &str = "redis";

/// A cluster without nodes: pods are made and stay pending.
pub(super) struct Cluster {
    pub(super) environment: HashMap<String, String>,
    state: PathBuf,
    pub(super) folder: TempDir,
}

impl Cluster {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().expect("tests may write temporary files");
        let state = folder.path().join("cluster");
        let printed = succeed(script().arg("up").arg(testbed()).arg(&state));
        let environment = printed
            .lines()
            .flat_map(|line| line.trim_start_matches("export ").split(' '))
            .filter_map(|setting| setting.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned()))
            .collect();
        Self {
            environment,
            state,
            folder,
        }
    }

    pub(super) fn start_with_namespace() -> Self {
        let cluster = Self::start();
        succeed(cluster.kubectl().args(["create", "namespace", NAMESPACE]));
        cluster
    }

    pub(super) fn kubectl(&self) -> Command {
        let mut command = Command::new(&self.environment["KUBECTL"]);
        command
            .args(["--namespace", NAMESPACE])
            .envs(&self.environment)
            .current_dir(PROJECT);
        command
    }

    pub(super) fn helm(&self, generation: &str) -> Command {
        let mut command = helm(generation);
        command
            .args(["--namespace", NAMESPACE])
            .envs(&self.environment)
            // Helm writes there.
            .env("HOME", self.folder.path());
        command
    }

    fn get(&self, what: &[&str]) -> Value {
        let text = succeed(self.kubectl().arg("get").args(what).arg("--output=json"));
        serde_json::from_str(&text).expect("kubectl prints JSON")
    }

    /// The one pod of the release, if it has this annotation or none is asked for.
    pub(super) async fn pod(&self, release: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
        let selector = format!("--selector=app.kubernetes.io/instance={release}");
        eventually("there is one pod", TIMEOUT, async || {
            let pods = self.get(&["pods", &selector]);
            match pods["items"].as_array().map(Vec::as_slice) {
                Some([pod]) if is_expected(pod) => Ok(pod.clone()),
                other => Err(format!("{other:#?}")),
            }
        })
        .await
    }

    /// The objects of the release that are there.
    pub(super) fn objects(&self, release: &str) -> Vec<String> {
        let kinds = "statefulsets,pods,services,configmaps,serviceaccounts,networkpolicies,poddisruptionbudgets";
        let selector = format!("--selector=app.kubernetes.io/instance={release}");
        let found = succeed(
            self.kubectl()
                .args(["get", kinds, &selector, "--output=name"]),
        );
        found.lines().map(str::to_owned).collect()
    }

    pub(super) async fn has_nothing_of(&self, release: &str) {
        eventually("nothing is left", TIMEOUT, async || {
            let objects = self.objects(release);
            if objects.is_empty() {
                Ok(())
            } else {
                Err(format!("{objects:?}"))
            }
        })
        .await;
    }

    /// The content of a volume, in a folder of the test.
    fn materialise(&self, volume: &Value, folder: &Path) {
        fs::create_dir_all(folder).expect("the test made the folder");
        if let Some(name) = volume["configMap"]["name"].as_str() {
            self.write_members(&["configmap", name], folder, |text| {
                text.as_bytes().to_vec()
            });
        } else if let Some(name) = volume["secret"]["secretName"].as_str() {
            self.write_secret(name, folder);
        } else if let Some(sources) = volume["projected"]["sources"].as_array() {
            for source in sources {
                let name = source["secret"]["name"].as_str();
                self.write_secret(name.expect("the chart projects secrets"), folder);
            }
        } else {
            assert!(volume["emptyDir"].is_object(), "{volume}");
        }
        for_nonroot(folder);
    }

    fn write_secret(&self, name: &str, folder: &Path) {
        self.write_members(&["secret", name], folder, decoded);
    }

    fn write_members(&self, object: &[&str], folder: &Path, content: impl Fn(&str) -> Vec<u8>) {
        for (file, text) in self.get(object)["data"].as_object().expect("it has data") {
            let text = text.as_str().expect("data is text");
            fs::write(folder.join(file), content(text)).expect("the test made the folder");
        }
    }

    /// The variables of a container.
    pub(super) fn variables(&self, container: &Value) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        for source in container["envFrom"].as_array().into_iter().flatten() {
            let name = source["secretRef"]["name"]
                .as_str()
                .expect("the chart refers to secrets");
            for (key, text) in self.get(&["secret", name])["data"]
                .as_object()
                .expect("it has data")
            {
                let value = decoded(text.as_str().expect("data is text"));
                variables.push((key.clone(), String::from_utf8_lossy(&value).into_owned()));
            }
        }
        for variable in container["env"].as_array().into_iter().flatten() {
            let member = |name: &str| variable[name].as_str().expect("it is a text").to_owned();
            variables.push((member("name"), member("value")));
        }
        variables
    }

    /// What the container sees, by the place where it sees it.
    pub(super) fn mounts(&self, pod: &Value, container: &Value) -> Vec<(PathBuf, String)> {
        let volumes = pod["spec"]["volumes"]
            .as_array()
            .expect("the pod has volumes");
        let mut mounts = Vec::new();
        for mount in container["volumeMounts"]
            .as_array()
            .expect("the container has mounts")
        {
            let volume = volumes
                .iter()
                .find(|volume| volume["name"] == mount["name"]);
            let name = mount["name"].as_str().expect("volumes have names");
            let mut source = self.folder.path().join("volumes").join(name);
            self.materialise(volume.expect("the pod has the volume"), &source);
            if let Some(file) = mount["subPath"].as_str() {
                source = source.join(file);
            }
            let target = mount["mountPath"].as_str().expect("mounts have places");
            mounts.push((source, target.to_owned()));
        }
        mounts
    }

    /// The Secrets that an operator makes, one with files and one with a variable, and `broker.yml`.
    pub(super) fn prepare(&self, site: &Site, files: &str) -> PathBuf {
        let folder = self.folder.path().join("site");
        fs::create_dir_all(&folder).expect("the test made the folder");
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).expect("the test made the folder");
            path.display().to_string()
        };
        let mut create = vec![
            "create".to_owned(),
            "secret".to_owned(),
            "generic".to_owned(),
            files.to_owned(),
        ];
        for (name, secret) in &site.secrets {
            create.push(format!("--from-file={name}={}", write(name, secret)));
        }
        succeed(self.kubectl().args(&create));
        let cf_secret = &site.secrets[2].1;
        let variable = format!("--from-literal=CF_CLIENT_SECRET={cf_secret}");
        succeed(
            self.kubectl()
                .args(["create", "secret", "generic", "variables", &variable]),
        );
        let certificate = format!("--cert={}", write("tls.crt", &site.certificate));
        let key = format!("--key={}", write("tls.key", &site.key));
        succeed(
            self.kubectl()
                .args(["create", "secret", "tls", "broker-tls", &certificate, &key]),
        );
        PathBuf::from(write("broker.yml", &site.configuration))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = script().arg("down").arg(&self.state).output();
    }
}

fn decoded(text: &str) -> Vec<u8> {
    STANDARD.decode(text).expect("secrets are base64")
}
