//! The Helm chart and the plain manifests, as rendered.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use super::{
    built::{PROJECT, VERSION, packages},
    machine::{succeed, text},
};

/// The programs of `scripts/kubernetes-testbed`: API server, Helm of both generations, kubectl. The first call builds
/// them, which takes minutes; `scripts/test` does it beforehand.
pub(super) fn testbed() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let cache = succeed(script().arg("cache"));
        succeed(script().arg("build"));
        PathBuf::from(cache.trim())
    })
}

pub(super) fn script() -> Command {
    let mut command = Command::new("scripts/kubernetes-testbed");
    command.current_dir(PROJECT);
    command
}

pub(super) fn helm(generation: &str) -> Command {
    let mut command = Command::new(testbed().join("bin").join(format!("helm-{generation}")));
    command.current_dir(PROJECT);
    command
}

pub(super) fn chart() -> PathBuf {
    packages().join(format!("on-demand-broker-chart-{VERSION}.tgz"))
}

pub(super) fn plain_manifests() -> PathBuf {
    packages().join(format!("on-demand-broker-{VERSION}.yml"))
}

/// One of the two sources of `broker.yml`, of which the chart needs one.
const CONFIG_MAP: &str = "existingConfigMap=on-demand-broker";

/// The objects of the chart with these options.
fn rendered(options: &[&str]) -> Vec<Value> {
    let text = succeed(
        helm("4")
            .args(["template", "redis"])
            .arg(chart())
            .args(options),
    );
    objects(&text)
}

fn objects(text: &str) -> Vec<Value> {
    text.split("\n---\n")
        .map(|document| document.trim_start_matches("---\n"))
        .map(|document| {
            yaml::from_str::<Value>(document).unwrap_or_else(|error| panic!("{error}: {document}"))
        })
        .filter(|object| !object.is_null())
        .collect()
}

fn of_kind<'o>(objects: &'o [Value], kind: &str) -> &'o Value {
    let found: Vec<_> = objects
        .iter()
        .filter(|object| object["kind"] == kind)
        .collect();
    assert_eq!(found.len(), 1, "{kind}: {objects:#?}");
    found[0]
}

fn kinds(objects: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<_> = objects
        .iter()
        .filter_map(|object| object["kind"].as_str())
        .collect();
    kinds.sort_unstable();
    kinds
}

#[test]
fn both_generations_of_helm_find_no_fault_in_the_chart() {
    for generation in ["3", "4"] {
        let said = succeed(helm(generation).args([
            "lint",
            "--strict",
            "release/chart/on-demand-broker",
            "--set",
            CONFIG_MAP,
        ]));
        assert!(said.contains("0 chart(s) failed"), "{said}");
    }
}

#[test]
fn the_plain_manifests_are_the_chart_with_the_values_of_the_guide() {
    let built = fs::read_to_string(plain_manifests()).unwrap();
    let rendered = succeed(
        helm("4")
            .args(["template", "on-demand-broker"])
            .arg(chart())
            .args(["--set", CONFIG_MAP])
            .args(["--set", "tls.existingSecret=broker-tls"]),
    );
    // `scripts/build-packages render` leaves out what names Helm.
    let of_helm = ["# Source:", "helm.sh/chart:", "managed-by: Helm"];
    let expected: Vec<&str> = rendered
        .lines()
        .filter(|line| !of_helm.iter().any(|word| line.contains(word)))
        .collect();
    let lines: Vec<&str> = built.lines().collect();
    let begin = lines.iter().position(|line| *line == "---").unwrap();
    assert_eq!(
        lines[begin..],
        expected,
        "run `scripts/build-packages render`"
    );
}

#[test]
fn a_pod_has_no_rights_and_is_probed_on_a_path_that_calls_nothing() {
    let objects = rendered(&["--set", CONFIG_MAP]);
    assert_eq!(
        kinds(&objects),
        [
            "NetworkPolicy",
            "PodDisruptionBudget",
            "Service",
            "ServiceAccount",
            "StatefulSet"
        ]
    );
    let set = of_kind(&objects, "StatefulSet");
    assert_eq!(set["spec"]["replicas"], 1);
    let pod = &set["spec"]["template"]["spec"];
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(
        pod["securityContext"]["seccompProfile"]["type"],
        "RuntimeDefault"
    );
    let container = &pod["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(
        container["securityContext"]["allowPrivilegeEscalation"],
        false
    );
    assert_eq!(
        container["securityContext"]["capabilities"]["drop"][0],
        "ALL"
    );
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        assert_eq!(container[probe]["httpGet"]["path"], "/health", "{probe}");
        assert_eq!(container[probe]["httpGet"]["scheme"], "HTTP", "{probe}");
    }
    // Drains of nodes must be possible with one pod.
    let budget = of_kind(&objects, "PodDisruptionBudget");
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
}

#[test]
fn values_lead_to_the_objects_that_they_describe() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broker.yml");
    fs::write(&file, "broker:\n  port: 9443\n  password: ${PASSWORD}\n").unwrap();
    let config = format!("config={}", file.display());
    let objects = rendered(&[
        "--set-file",
        &config,
        "--set",
        "port=9443,service.port=443,tls.existingSecret=broker-tls,log=debug",
        "--set",
        "secrets.files={one,two},secrets.environment={three},environment.HTTPS_PROXY=http://proxy:3128",
        "--set",
        "adapter.image=registry.example.com/adapter:1,serviceMonitor.enabled=true,serviceMonitor.basicAuth.secretName=scrape",
        "--set",
        "networkPolicy.from[0].namespaceSelector.matchLabels.name=cf",
        "--set",
        "image.digest=sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ]);

    let config = of_kind(&objects, "ConfigMap");
    let text = config["data"]["broker.yml"].as_str().unwrap();
    assert_eq!(
        text.trim_end(),
        "broker:\n  port: 9443\n  password: ${PASSWORD}"
    );
    let template = &of_kind(&objects, "StatefulSet")["spec"]["template"];
    assert!(template["metadata"]["annotations"]["checksum/config"].is_string());
    let pod = &template["spec"];
    let container = &pod["containers"][0];
    assert!(
        container["image"]
            .as_str()
            .unwrap()
            .contains("on-demand-broker@sha256:e3b0"),
        "{container}"
    );
    assert_eq!(container["ports"][0]["containerPort"], 9443);
    assert_eq!(container["readinessProbe"]["httpGet"]["scheme"], "HTTPS");
    assert_eq!(container["args"][4], "debug");
    assert_eq!(container["envFrom"][0]["secretRef"]["name"], "three");
    assert_eq!(container["env"][0]["name"], "HTTPS_PROXY");
    let mounted: Vec<_> = container["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|mount| mount["mountPath"].as_str())
        .collect();
    assert_eq!(
        mounted,
        [
            "/etc/on-demand-broker/broker.yml",
            "/run/secrets/on-demand-broker",
            "/etc/on-demand-broker/tls",
            "/opt/adapter",
            "/tmp"
        ]
    );
    assert_eq!(
        pod["initContainers"][0]["image"],
        "registry.example.com/adapter:1"
    );
    let policy = of_kind(&objects, "NetworkPolicy");
    assert_eq!(
        policy["spec"]["ingress"][0]["from"][0]["namespaceSelector"]["matchLabels"]["name"],
        "cf"
    );
    assert_eq!(
        of_kind(&objects, "Service")["spec"]["ports"][0]["port"],
        443
    );
    let monitor = of_kind(&objects, "ServiceMonitor");
    assert_eq!(
        monitor["spec"]["endpoints"][0]["basicAuth"]["password"]["name"],
        "scrape"
    );
}

#[test]
fn parts_that_are_turned_off_are_absent() {
    let objects = rendered(&[
        "--set",
        CONFIG_MAP,
        "--set",
        "networkPolicy.enabled=false,podDisruptionBudget.enabled=false,serviceAccount.create=false,secrets.files=null",
    ]);
    assert_eq!(kinds(&objects), ["Service", "StatefulSet"]);
    let pod = &of_kind(&objects, "StatefulSet")["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "default");
    let names: Vec<_> = pod["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|volume| &volume["name"])
        .collect();
    assert_eq!(names, ["configuration", "temporary"]);
}

#[test]
fn a_pod_can_be_fitted_to_its_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.yaml");
    let values = json!({
        "existingConfigMap": "own",
        "podSecurityContext": {"runAsUser": null, "runAsGroup": null, "fsGroup": null},
        "securityContext": {"readOnlyRootFilesystem": false},
        "extraVolumes": [{"name": "authority", "configMap": {"name": "authority"}}],
        "extraVolumeMounts": [{"name": "authority", "mountPath": "/etc/authority"}],
        "hostAliases": [{"ip": "10.0.0.6", "hostnames": ["director.example.com"]}],
        "service": {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
        "networkPolicy": {"egress": null},
    });
    fs::write(&file, values.to_string()).unwrap();

    let objects = rendered(&["--values", &file.display().to_string()]);

    let pod = &of_kind(&objects, "StatefulSet")["spec"]["template"]["spec"];
    assert_eq!(
        pod["securityContext"],
        json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}})
    );
    assert_eq!(pod["hostAliases"], values["hostAliases"]);
    let last = |list: &Value| list.as_array().and_then(|list| list.last().cloned());
    assert_eq!(last(&pod["volumes"]), last(&values["extraVolumes"]));
    let container = &pod["containers"][0];
    assert_eq!(
        last(&container["volumeMounts"]),
        last(&values["extraVolumeMounts"])
    );
    assert_eq!(
        container["securityContext"]["readOnlyRootFilesystem"],
        false
    );
    assert_eq!(
        container["securityContext"]["allowPrivilegeEscalation"],
        false
    );
    let service = of_kind(&objects, "Service");
    assert_eq!(service["spec"]["externalTrafficPolicy"], "Local");
    let policy = &of_kind(&objects, "NetworkPolicy")["spec"];
    assert_eq!(policy["policyTypes"], json!(["Ingress"]));
    assert_eq!(policy.get("egress"), None);
}

#[test]
fn a_configuration_with_a_secret_is_refused_with_its_key() {
    for (config, expected) in [
        ("password: word", "secret password:"),
        ("bosh:\n  password: word", "secret bosh.password:"),
        (
            "a:\n- client_secret: x${NAME}",
            "secret a[0].client_secret:",
        ),
        ("broker: {password: 12345678}", "secret broker.password:"),
        ("a: {", "config is not a YAML map"),
    ] {
        let refused = with_config(config).output().unwrap();
        assert!(!refused.status.success(), "{config}");
        let message = text(&refused.stderr);
        assert!(message.contains(expected), "{config}: {message}");
    }
}

#[test]
fn a_configuration_without_a_secret_is_unchanged() {
    for config in [
        "  a: {password_file: /file}\n  b:\n    secret: ${NAME}\n",
        "password: ((redis_password))\n",
        "properties: {password: {type: string}, is_secret: true}\n",
    ] {
        let objects = objects(&succeed(&mut with_config(config)));
        let config_map = of_kind(&objects, "ConfigMap");
        assert_eq!(config_map["data"]["broker.yml"], config);
    }
}

fn with_config(config: &str) -> Command {
    let mut command = helm("4");
    command
        .args(["template", "redis"])
        .arg(chart())
        .args(["--set-json", &format!("config={}", json!(config))]);
    command
}

#[test]
fn unknown_and_unusable_values_are_refused_with_their_name() {
    for (value, named) in [
        ("imgae.tag=1", "imgae"),
        ("port=70000", "port"),
        ("existingConfigMap=", "set config with --set-file"),
        ("config=broker", "either config or existingConfigMap"),
        ("image.digest=latest", "digest"),
        ("replicas=2", "replicas"),
        ("podDisruptionBudget.maxUnavailable=2", "maxUnavailable"),
        (
            "serviceMonitor.enabled=true",
            "serviceMonitor.basicAuth.secretName is required",
        ),
    ] {
        let refused = helm("4")
            .args(["template", "redis", "--set", CONFIG_MAP, "--set", value])
            .arg(chart())
            .output()
            .unwrap();
        assert!(!refused.status.success(), "{value}");
        let said = text(&refused.stderr);
        assert!(said.contains(named), "{value}: {said}");
    }
}
