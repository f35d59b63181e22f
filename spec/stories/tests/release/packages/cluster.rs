//! The chart on a Kubernetes API server, and the pod that its controllers make, started as a kubelet would.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use odb_stories::{Foundation, Reader, eventually};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    TIMEOUT,
    built::{PROJECT, commands_of, instead_of_the_script},
    chart::{chart, helm, plain_manifests, script, testbed},
    container::Bundle,
    image::for_nonroot,
    machine::succeed,
    site::{Site, site},
};

const NAMESPACE: &str = "redis";
const SECRETS: &str = "/run/secrets/on-demand-broker";
const TLS: &str = "/etc/on-demand-broker/tls";

/// A cluster without nodes: pods are made and stay pending.
struct Cluster {
    environment: HashMap<String, String>,
    state: PathBuf,
    folder: TempDir,
}

impl Cluster {
    fn start() -> Self {
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

    fn start_with_namespace() -> Self {
        let cluster = Self::start();
        succeed(cluster.kubectl().args(["create", "namespace", NAMESPACE]));
        cluster
    }

    fn kubectl(&self) -> Command {
        let mut command = Command::new(&self.environment["KUBECTL"]);
        command
            .args(["--namespace", NAMESPACE])
            .envs(&self.environment)
            .current_dir(PROJECT);
        command
    }

    fn helm(&self, generation: &str) -> Command {
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
    async fn pod(&self, release: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
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
    fn objects(&self, release: &str) -> Vec<String> {
        let kinds = "statefulsets,pods,services,configmaps,serviceaccounts,networkpolicies,poddisruptionbudgets";
        let selector = format!("--selector=app.kubernetes.io/instance={release}");
        let found = succeed(
            self.kubectl()
                .args(["get", kinds, &selector, "--output=name"]),
        );
        found.lines().map(str::to_owned).collect()
    }

    async fn has_nothing_of(&self, release: &str) {
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
    fn variables(&self, container: &Value) -> Vec<(String, String)> {
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
    fn mounts(&self, pod: &Value, container: &Value) -> Vec<(PathBuf, String)> {
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
    fn prepare(&self, site: &Site, files: &str) -> PathBuf {
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

/// The configuration with one secret in a variable.
fn with_variable(configuration: &str) -> String {
    let mut document: Value = serde_json::from_str(configuration).expect("JSON is YAML");
    let client = document.pointer_mut("/cf/uaa/authentication/client_credentials");
    let client = client
        .and_then(Value::as_object_mut)
        .expect("the manifest has it");
    client.remove("client_secret_file");
    client.insert("client_secret".to_owned(), "${CF_CLIENT_SECRET}".into());
    format!("{document:#}")
}

fn checksum(pod: &Value) -> &str {
    pod["metadata"]["annotations"]["checksum/config"]
        .as_str()
        .unwrap_or_default()
}

#[tokio::test]
async fn the_pod_of_the_chart_serves_and_its_probes_succeed() {
    let foundation = Foundation::start().await;
    let mut site = site(&foundation, SECRETS, TLS);
    site.configuration = with_variable(&site.configuration);
    let cluster = Cluster::start_with_namespace();
    let config = format!("config={}", cluster.prepare(&site, "files").display());
    let values =
        "tls.existingSecret=broker-tls,secrets.files={files},secrets.environment={variables}";
    let install = [
        "upgrade",
        "--install",
        "redis-broker",
        "--set-file",
        &config,
        "--set",
        values,
    ];

    let notes = succeed(cluster.helm("4").args(install).arg(chart()));

    assert!(
        notes.contains("rollout status statefulset/redis-broker"),
        "{notes}"
    );
    let pod = cluster.pod("redis-broker", |_| true).await;
    expect_to_serve(&cluster, &pod, &foundation, &site).await;
}

/// Starts the pod's container as a kubelet does.
async fn expect_to_serve(cluster: &Cluster, pod: &Value, foundation: &Foundation, site: &Site) {
    let container = &pod["spec"]["containers"][0];
    let bundle = Bundle::new();
    let mut arguments = bundle.arguments();
    // `args` of a pod replaces the image's command and keeps its entry point.
    arguments.truncate(1);
    let given = container["args"]
        .as_array()
        .expect("the chart has arguments");
    arguments.extend(given.iter().filter_map(Value::as_str).map(str::to_owned));
    let mut running = bundle.start(
        &arguments,
        &cluster.variables(container),
        &cluster.mounts(pod, container),
    );
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let get = &container[probe]["httpGet"];
        assert_eq!(get["scheme"], "HTTPS", "{probe}");
        assert_eq!(get["port"], container["ports"][0]["name"], "{probe}");
        let path = get["path"].as_str().expect("probes have paths");
        running.answers(&site.platform, path).await;
    }
    let (_, port) = foundation.broker_address();
    assert_eq!(container["ports"][0]["containerPort"], port);
    site.platform.catalog().await.expect_status(200);
    site.platform.created().await;
    let user = pod["spec"]["securityContext"]["runAsUser"]
        .as_u64()
        .expect("the chart has a user");
    assert!(running.status().contains(&format!("Uid:\t{user}\t")));
    // A shutdown takes as long as the open requests, and the pod has more time.
    assert!(pod["spec"]["terminationGracePeriodSeconds"].as_u64() > Some(60));
    let ended = running.stop().await;
    assert!(ended.success(), "{ended}");
}

#[tokio::test]
async fn a_changed_configuration_is_a_new_pod_and_removal_leaves_only_secrets() {
    let cluster = Cluster::start_with_namespace();
    let file = cluster.folder.path().join("broker.yml");
    let config = format!("config={}", file.display());
    succeed(cluster.kubectl().args([
        "create",
        "secret",
        "generic",
        "on-demand-broker",
        "--from-literal=a=b",
    ]));
    for generation in ["3", "4"] {
        let release = format!("helm-{generation}");
        let install = ["upgrade", "--install", &release, "--set-file", &config];
        fs::write(&file, "broker: {port: 8080}\n").unwrap();
        succeed(cluster.helm(generation).args(install).arg(chart()));
        let first = cluster.pod(&release, |pod| !checksum(pod).is_empty()).await;
        assert_eq!(
            cluster.objects(&release).len(),
            7,
            "{:?}",
            cluster.objects(&release)
        );

        fs::write(&file, "broker: {port: 8081}\n").unwrap();
        succeed(cluster.helm(generation).args(install).arg(chart()));

        let is_new = |pod: &Value| checksum(pod) != checksum(&first);
        let second = cluster.pod(&release, is_new).await;
        assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
        succeed(cluster.helm(generation).args(["uninstall", &release]));
        cluster.has_nothing_of(&release).await;
    }
    let secrets = succeed(
        cluster
            .kubectl()
            .args(["get", "secret", "on-demand-broker"]),
    );
    assert!(secrets.contains("on-demand-broker"), "{secrets}");
}

/// Everything is there but a registry and a kubelet.
#[tokio::test]
async fn the_guide_leads_from_the_image_to_a_running_pod_and_to_its_removal() {
    let cluster = Cluster::start();
    let programs = cluster.folder.path().join("programs");
    fs::create_dir(&programs).unwrap();
    for (name, variable) in [("helm", "HELM4"), ("kubectl", "KUBECTL")] {
        symlink(&cluster.environment[variable], programs.join(name)).unwrap();
    }
    let plain = cluster.folder.path().join("plain.yml");
    fs::write(&plain, plain_manifests_of_old_budgets()).unwrap();
    let guide = "docs/operators/kubernetes.md";
    let mut reader = Reader::new()
        .of(guide)
        .with_programs(&programs)
        .with_variable("KUBECONFIG", &cluster.environment["KUBECONFIG"])
        .with_variable("HOME", &cluster.folder.path().display().to_string())
        .with_word("scripts/build-packages", "build_packages")
        .with_program("build_packages", &instead_of_the_script())
        .with_word("on-demand-broker-1.0.0.yml", &plain.display().to_string())
        .without_program("skopeo");
    let key = rcgen::generate_simple_self_signed(["broker.example.com".to_owned()]).unwrap();
    let example = fs::read_to_string(Path::new(PROJECT).join("release/debian/broker.yml")).unwrap();
    for (name, text) in [
        ("broker-password", "one".to_owned()),
        ("director-client-secret", "two".to_owned()),
        ("cf-client-secret", "three".to_owned()),
        ("broker.crt", key.cert.pem()),
        ("broker.key", key.signing_key.serialize_pem()),
        ("broker.yml", example),
    ] {
        fs::write(reader.folder().join(name), text).unwrap();
    }
    let fences = commands_of(guide, "to_its_removal");
    let [
        build,
        secrets,
        install,
        upgrade,
        restart,
        remove,
        without_helm,
    ] = &fences[..]
    else {
        panic!("other commands than these: {fences:#?}")
    };

    reader.follow(build).await;
    let pushed = reader.calls();
    let archive = pushed[0][2]
        .trim_start_matches("oci-archive:")
        .trim_end_matches(":1.0.0");
    assert!(reader.folder().join(archive).is_file(), "{pushed:?}");
    assert!(reader.folder().join("on-demand-broker-1.0.0.yml").is_file());
    reader.follow(secrets).await;
    let notes = reader.follow(install).await;
    for command in ["rollout status", "logs statefulset/", "doctor --config"] {
        assert!(notes.contains(command), "{command}: {notes}");
    }
    let pod = cluster.pod("redis-broker", |_| true).await;
    let image = &pod["spec"]["containers"][0]["image"];
    assert_eq!(image, "registry.example.com/on-demand-broker:1.0.0");
    fs::write(reader.folder().join("broker.yml"), "broker: {port: 8081}\n").unwrap();
    reader.follow(upgrade).await;
    let changed = cluster
        .pod("redis-broker", |new| checksum(new) != checksum(&pod))
        .await;
    reader.follow(restart).await;
    let is_new = |new: &Value| new["metadata"]["uid"] != changed["metadata"]["uid"];
    cluster.pod("redis-broker", is_new).await;
    reader.follow(remove).await;
    cluster.has_nothing_of("redis-broker").await;

    reader.follow(without_helm).await;
    eventually("the plain manifests make a pod", TIMEOUT, async || {
        let mut command = cluster.kubectl();
        let said = succeed(command.args(["--namespace", "plain", "get", "pods"]));
        if said.contains("on-demand-broker-0") {
            Ok(())
        } else {
            Err(said)
        }
    })
    .await;
}

#[tokio::test]
async fn the_pod_of_the_plain_manifests_serves_too() {
    let foundation = Foundation::start().await;
    let site = site(&foundation, SECRETS, TLS);
    let cluster = Cluster::start_with_namespace();
    let config = cluster.prepare(&site, "on-demand-broker");
    let config = format!("--from-file=broker.yml={}", config.display());
    succeed(
        cluster
            .kubectl()
            .args(["create", "configmap", "on-demand-broker", &config]),
    );
    let manifests = cluster.folder.path().join("manifests.yml");
    fs::write(&manifests, plain_manifests_of_old_budgets()).unwrap();

    succeed(
        cluster
            .kubectl()
            .args(["apply", "--filename"])
            .arg(&manifests),
    );

    let pod = cluster.pod("on-demand-broker", |_| true).await;
    expect_to_serve(&cluster, &pod, &foundation, &site).await;
    succeed(
        cluster
            .kubectl()
            .args(["delete", "--filename"])
            .arg(&manifests),
    );
    cluster.has_nothing_of("on-demand-broker").await;
}

/// The API server under test is older than this version of budgets.
fn plain_manifests_of_old_budgets() -> String {
    let text = fs::read_to_string(plain_manifests()).expect("it is one of the packages");
    text.replace("apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n")
}
