//! Our merge is Helm's: values merged here into one file are what templates see of a file for each layer.

use std::{fs, process::Command};

use odb_offer::{
    chart::Chart,
    findings::Findings,
    helm::{Helm, Rendering},
    values::{Values, effective, merge},
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::Value;

use crate::{fixtures::packed, helms};

/// Charts that one process renders, so that a case costs little.
const AT_ONCE: usize = 25;

fn values() -> impl Strategy<Value = Values> {
    let leaf = prop_oneof![
        2 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        2 => (-9i64..9).prop_map(Value::from),
        1 => "[a-c]{0,2}".prop_map(Value::from),
        1 => prop::collection::vec((0u8..3).prop_map(Value::from), 0..3).prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(3, 24, 4, |inner| {
        prop::collection::btree_map("[a-c]", inner, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    });
    prop::collection::btree_map("[a-c]", tree, 0..4).prop_map(|map| map.into_iter().collect())
}

/// Default values without nulls, as charts have them, and three layers.
fn case() -> impl Strategy<Value = [Values; 4]> {
    let without_nulls = values().prop_map(|mut values| {
        remove_nulls(&mut values);
        values
    });
    (without_nulls, values(), values(), values())
        .prop_map(|(defaults, a, b, c)| [defaults, a, b, c])
}

fn remove_nulls(values: &mut Values) {
    values.retain(|_, value| !value.is_null());
    for value in values.values_mut() {
        if let Value::Object(members) = value {
            remove_nulls(members);
        }
    }
}

#[test]
fn one_merged_file_gives_what_a_file_for_each_layer_gives() {
    for helm in helms::both() {
        let mut runner = TestRunner::new(Config {
            cases: 3,
            failure_persistence: None,
            ..Config::default()
        });
        let strategy = prop::collection::vec(case(), AT_ONCE);
        let run = runner.run(&strategy, |cases| {
            compare(&helm, &cases);
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{helm}: {error}"));
    }
}

/// Each case has a key of its own in one chart.
fn compare(helm: &Helm, cases: &[[Values; 4]]) {
    let layer = |nth: usize| -> Values {
        let of = cases.iter().enumerate();
        of.map(|(number, case)| (format!("case{number}"), Value::Object(case[nth].clone())))
            .collect()
    };
    let defaults = serde_json::to_string(&layer(0)).unwrap();
    let files = [
        (
            "Chart.yaml",
            "apiVersion: v2\nname: probe\nversion: 1.0.0\n",
        ),
        ("values.yaml", defaults.as_str()),
        (
            "templates/values.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe}\ndata: {values: {{ .Values | toJson | quote }}}\n",
        ),
    ];
    let archive = packed("probe", &files);
    let mut merged = Values::new();
    for nth in 1..4 {
        merge(&mut merged, &layer(nth));
    }
    let separate = with_a_file_each(helm, &archive, &[layer(1), layer(2), layer(3)]);
    let mut findings = Findings::default();
    let chart = Chart::read("probe.tgz", archive, &mut findings).unwrap();
    let rendering = Rendering {
        release: "probe",
        namespace: "probe",
        kube_version: None,
    };
    let together = shown(&helm.template(&chart, &merged, rendering).unwrap());
    assert_eq!(together, separate, "{cases:?}");
    // What we validate against a schema is what templates see.
    assert_eq!(
        Value::Object(effective(&chart.defaults, &merged)),
        separate,
        "{cases:?}"
    );
}

fn with_a_file_each(helm: &Helm, archive: &[u8], layers: &[Values]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let mut command = Command::new(helm.path());
    command
        .env_clear()
        .env("HOME", folder.path())
        .env("KUBECONFIG", write("kubeconfig", b""));
    command.args(["template", "probe", "--namespace", "probe"]);
    command.arg(write("chart.tgz", archive));
    for (nth, layer) in layers.iter().enumerate() {
        let layer = serde_json::to_vec(layer).unwrap();
        command
            .arg("--values")
            .arg(write(&format!("{nth}.json"), &layer));
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    shown(std::str::from_utf8(&output.stdout).unwrap())
}

/// What the template shows.
pub(crate) fn shown(manifest: &str) -> Value {
    let manifest: Value = odb_adapter_sdk::yaml::from_str(manifest).unwrap();
    serde_json::from_str(manifest["data"]["values"].as_str().unwrap()).unwrap()
}

/// Keys aside: a plain `on:` or `n:` is the key `"true"` or `"false"` for Helm, and itself for us.
#[test]
fn yaml_means_what_helm_reads() {
    let values = "merged: &m {x: 1, z: 2}\nover:\n  <<: *m\n  z: 3\nalias: *m\n\
        octal: 0644\noct: 0o17\nhex: 0x1F\nunderscore: 1_000\nexponent: 1e3\nfloat: 1.50\nswitch: on\nother: off\nnull1: ~\n\
        date: 2020-01-01\ntime: 12:30:45\nversion: 1.2.3\nquoted: \"0644\"\nbig: 12345678901234567890\n\
        block: |\n  a\n  b\nfolded: >-\n  a\n  b\nempty: {}\nlist: [1, two, {three: 3}]\ntwice: 1\ntwice: 2\n";
    let files = [
        (
            "Chart.yaml",
            "apiVersion: v2\nname: probe\nversion: 1.0.0\n",
        ),
        ("values.yaml", values),
        (
            "templates/values.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe}\ndata: {values: {{ .Values | toJson | quote }}}\n",
        ),
    ];
    let mut findings = Findings::default();
    let chart = Chart::read("probe.tgz", packed("probe", &files), &mut findings).unwrap();
    let rendering = Rendering {
        release: "probe",
        namespace: "probe",
        kube_version: None,
    };
    for helm in helms::both() {
        let shown = shown(&helm.template(&chart, &Values::new(), rendering).unwrap());
        let ours = Value::Object(chart.defaults.clone());
        assert_eq!(as_floats(&shown), as_floats(&ours), "{helm}");
    }
}

/// Numbers are floats on their way through templates.
fn as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.iter().map(as_floats).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(key, value)| (key.clone(), as_floats(value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}
