//! The chart on a Kubernetes API server, and the pod that its controllers make, started as a kubelet would.

mod server;

use std::{fs, os::unix::fs::symlink, path::Path};

use odb_stories::{Foundation, Reader, eventually};
use serde_json::Value;

use super::{
    TIMEOUT,
    built::{PROJECT, commands_of, instead_of_the_script},
    chart::{chart, plain_manifests},
    container::Bundle,
    machine::succeed,
    site::{Site, site},
};
use server::Cluster;

const SECRETS: &str = "/run/secrets/on-demand-broker";
const TLS: &str = "/etc/on-demand-broker/tls";

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
        rollback,
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
    for command in [
        "rollout status",
        "rollout restart",
        "logs statefulset/",
        "doctor --config",
    ] {
        assert!(notes.contains(command), "{command}: {notes}");
    }
    let pod = cluster.pod("redis-broker", |_| true).await;
    let image = &pod["spec"]["containers"][0]["image"];
    assert_eq!(image, "registry.example.com/on-demand-broker:1.0.0");
    fs::write(reader.folder().join("broker.yml"), "broker: {port: 8081}\n").unwrap();
    reader.follow(upgrade).await;
    cluster
        .pod("redis-broker", |new| checksum(new) != checksum(&pod))
        .await;
    reader.follow(rollback).await;
    let earlier = cluster
        .pod("redis-broker", |new| checksum(new) == checksum(&pod))
        .await;
    reader.follow(restart).await;
    let is_new = |new: &Value| new["metadata"]["uid"] != earlier["metadata"]["uid"];
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
