//! Rendering: what layers become, and what a hostile template cannot do.

use odb_offer::{
    findings::Findings,
    helm::{HelmError, Rendering},
    offer::Offer,
    plan_values::{self, Order},
    values::layer::Renderer,
};
use serde_json::{Value, json};

use crate::{
    fixtures::{DEMO, Folder, demo_with, packed},
    helms,
    merging::shown,
};

const RENDERING: Rendering<'_> = Rendering {
    release: "r",
    namespace: "n",
    kube_version: None,
};

fn offer_of(folder: &Folder, charts: &[&str]) -> Offer {
    let (offer, findings) = folder.check(charts, None);
    assert_eq!(folder.lines(&findings), "");
    offer.unwrap()
}

#[test]
fn each_layer_wins_over_those_below_it() {
    let folder = Folder::of(
        &[
            (
                "tsmgr.yaml",
                "charts:\n- {chart: demo, version: 1.0.0, offered: true, overrideValuesFile: o.yaml}\n",
            ),
            (
                "overrides/o.yaml",
                "replicaCount: 2\nmaster:\n  size: 2\n  bucket: bucket-{{ .Release.Namespace }}\n",
            ),
            (
                "plans.yaml",
                "- {name: small, description: Small, file: small.yaml}\n",
            ),
            (
                "plans/small.yaml",
                "master:\n  size: 3\n  owner: {{ .Values.odb.organization }}/{{ .Values.odb.plan }}\n",
            ),
        ],
        &[("demo-1.0.0.tgz", packed("demo", DEMO))],
    );
    for helm in helms::both() {
        let offer = offer_of(&folder, &["demo-1.0.0.tgz"]);
        let renderer = Renderer {
            helm: Some(&helm),
            kube_version: None,
        };
        let order = Order {
            instance_id: "11111111-2222-4333-8444-555555555555".to_owned(),
            ..Order::example()
        };
        let mut findings = Findings::default();
        let values = plan_values::of_plan(&offer, &offer.plans[0], &order, renderer, &mut findings);
        assert_eq!(folder.lines(&findings), "");
        let merged = values[0].merged();
        let namespace = "odb-11111111-2222-4333-8444-555555555555";
        let expected = json!({
            "replicaCount": 2,
            "master": {"size": 3, "bucket": format!("bucket-{namespace}"), "owner": "example-organization/small"},
        });
        assert_eq!(Value::Object(merged.clone()), expected, "{helm}");
        let rendering = Rendering {
            namespace,
            ..RENDERING
        };
        let seen = shown(
            &helm
                .template(&values[0].chart.chart, &merged, rendering)
                .unwrap(),
        );
        assert_eq!(seen["master"]["image"]["tag"], "a", "{helm}");
        assert_eq!(seen["master"]["size"], 3, "{helm}");
    }
}

#[test]
fn a_plan_file_has_values_for_the_other_charts_of_its_offer() {
    let operator = demo_with(&[(
        "Chart.yaml",
        "apiVersion: v2\nname: operator\nversion: 1.0.0\n",
    )]);
    let folder = Folder::of(
        &[
            (
                "ksm.yaml",
                "charts:\n- {chart: operator, version: 1.0.0, scope: cluster}\n- {chart: demo, version: 1.0.0, offered: true}\n",
            ),
            (
                "plans.yaml",
                "- {name: small, description: Small, file: small.yaml}\n",
            ),
            (
                "plans/small.yaml",
                "replicaCount: 3\ncharts:\n  operator: {replicaCount: 1}\n",
            ),
        ],
        &[
            ("demo.tgz", packed("demo", DEMO)),
            ("operator.tgz", packed("operator", &operator)),
        ],
    );
    let offer = offer_of(&folder, &["demo.tgz", "operator.tgz"]);
    let renderer = Renderer {
        helm: None,
        kube_version: None,
    };
    let mut findings = Findings::default();
    let values = plan_values::of_plan(
        &offer,
        &offer.plans[0],
        &Order::example(),
        renderer,
        &mut findings,
    );
    let shown: Vec<_> = values
        .iter()
        .map(|values| {
            (
                values.release.as_str(),
                values.namespace.as_str(),
                Value::Object(values.merged()),
            )
        })
        .collect();
    assert_eq!(
        shown[0],
        ("operator", "odb-chart-operator", json!({"replicaCount": 1}))
    );
    assert_eq!(shown[1].2, json!({"replicaCount": 3}));
    assert_eq!(shown[1].1, "odb-00000000-0000-4000-8000-000000000000");
}

#[test]
fn a_template_that_never_ends_or_takes_all_memory_is_stopped() {
    let hostile = [
        "{{ range until 100000000 }}{{ range until 1000 }}{{ end }}{{ end }}",
        "{{ range until 1000000 }}{{ range until 1000 }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end }}{{ end }}",
        "{{ $x := \"xxxxxxxxxxxxxxxx\" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}{{ $x }}",
    ];
    for helm in helms::both() {
        for template in hostile {
            let own = [("templates/values.yaml", template)];
            let files = demo_with(&own);
            let mut findings = Findings::default();
            let archive = packed("demo", &files);
            let chart = odb_offer::chart::Chart::read("demo.tgz", archive, &mut findings).unwrap();
            let ended = helm.template(&chart, &serde_json::Map::new(), RENDERING);
            assert!(
                matches!(ended, Err(HelmError::TooMuch(_))),
                "{helm}: {template}: {ended:?}"
            );
        }
    }
}

#[test]
fn helm_has_only_the_variables_and_files_that_it_needs() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("helm");
    let script = "#!/bin/sh\ncase $1 in version) echo v3.16.1; exit;; esac\n\
        env | sort\nfor a; do case $a in /*) stat -c '%a' \"$a\";; esac; done\nstat -c '%a %s' \"$KUBECONFIG\"\nls -A .\n";
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let helm = odb_offer::helm::Helm::find(&path, None, odb_process::Orphans::Ignored).unwrap();
    let mut findings = Findings::default();
    let chart =
        odb_offer::chart::Chart::read("demo.tgz", packed("demo", DEMO), &mut findings).unwrap();
    let output = helm
        .template(&chart, &serde_json::Map::new(), RENDERING)
        .unwrap();
    let (variables, rest): (Vec<&str>, Vec<&str>) =
        output.lines().partition(|line| line.contains('='));
    let names: Vec<&str> = variables
        .iter()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    // The shell adds PWD.
    let expected = [
        "HELM_CACHE_HOME",
        "HELM_CONFIG_HOME",
        "HELM_DATA_HOME",
        "HELM_DRIVER",
        "HELM_NO_PLUGINS",
        "HOME",
        "KUBECONFIG",
        "PATH",
        "PWD",
        "TMPDIR",
    ];
    assert_eq!(names, expected);
    assert_eq!(rest, ["600", "600", "600 0"]);
    let home = variables
        .iter()
        .find_map(|line| line.strip_prefix("HOME="))
        .unwrap();
    assert!(!std::path::Path::new(home).exists(), "{home} is left");
}
