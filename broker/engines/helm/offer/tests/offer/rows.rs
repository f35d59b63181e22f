//! The table of bad inputs (rows 1 to 25, 37 to 42): what an author or a user reads.

use std::fmt::Write;

use odb_offer::{
    helm::{Helm, UnusableHelm},
    values::parameters::{self, Base, Settable, Validation},
};
use odb_process::Orphans;
use serde_json::json;
use tar::EntryType;

use crate::{
    fixtures::{DEMO, Files, Folder, demo_with, entry, gzipped, packed, tgz},
    helms,
};

const MIB: usize = 1024 * 1024;

const OFFER: &str =
    "charts:\n- {chart: demo, version: \"1.0.0\", offered: true, overrideValuesFile: o.yaml}\n";

/// An input, under the number of its row.
struct Case {
    row: u8,
    what: &'static str,
    folder: Folder,
    charts: Vec<&'static str>,
}

#[test]
fn every_bad_input_is_explained_to_its_author() {
    let texts = helms::both().map(|helm| report(&helm));
    assert_eq!(texts[0], texts[1], "the generations of Helm differ");
    insta::assert_snapshot!("rows", texts[0]);
}

fn report(helm: &Helm) -> String {
    let mut report = String::new();
    for case in cases() {
        let (_, findings) = case.folder.check(&case.charts, Some(helm));
        let lines = case.folder.lines(&findings);
        assert!(
            !lines.is_empty(),
            "row {}, {}: nothing is found",
            case.row,
            case.what
        );
        writeln!(
            report,
            "{}. {}\n   {}",
            case.row,
            case.what,
            lines.replace('\n', "\n   ")
        )
        .unwrap();
    }
    report
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    archives(&mut cases);
    charts(&mut cases);
    descriptors(&mut cases);
    layers(&mut cases);
    plans(&mut cases);
    cases.sort_by_key(|case| case.row);
    cases
}

/// The demo chart with a package.
fn package(row: u8, what: &'static str, files: Files<'_>) -> Case {
    with(row, what, files, packed("demo", DEMO))
}

/// A chart with a package.
fn with(row: u8, what: &'static str, files: Files<'_>, chart: Vec<u8>) -> Case {
    Case {
        row,
        what,
        folder: Folder::of(files, &[("demo-1.0.0.tgz", chart)]),
        charts: vec!["demo-1.0.0.tgz"],
    }
}

/// A chart of these files.
fn chart(row: u8, what: &'static str, files: Files<'_>) -> Case {
    with(row, what, &[], packed("demo", &demo_with(files)))
}

/// The demo chart with an override file.
fn overrides(row: u8, what: &'static str, text: &str) -> Case {
    package(
        row,
        what,
        &[("offer.yaml", OFFER), ("overrides/o.yaml", text)],
    )
}

fn archives(cases: &mut Vec<Case>) {
    let nothing = |row, what, charts| Case {
        row,
        what,
        folder: Folder::of(&[], &[]),
        charts,
    };
    cases.push(nothing(1, "no chart is given", Vec::new()));
    cases.push(nothing(
        1,
        "a chart that is not there",
        vec!["demo-1.0.0.tgz"],
    ));
    let whole = packed("demo", DEMO);
    let archive = |row, what, bytes| with(row, what, &[], bytes);
    cases.push(archive(2, "not gzip", b"PK\x03\x04".to_vec()));
    cases.push(archive(2, "gzip of something else", gzipped(&[7; 2000])));
    cases.push(archive(2, "truncated", whole[..whole.len() / 2].to_vec()));
    cases.push(archive(2, "too large", [whole, vec![0; 33 * MIB]].concat()));
    let large = |name: &str, size| entry(name, EntryType::Regular, &vec![0; size]);
    let many: Vec<_> = (0..30)
        .map(|nth| large(&format!("demo/{nth}"), 4 * MIB))
        .collect();
    cases.push(archive(2, "unpacks to too much", tgz(&many)));
    let sub: Vec<_> = (0..12)
        .map(|nth| large(&format!("sub/{nth}"), 4 * MIB))
        .collect();
    let sub = tgz(&sub);
    let packed = |nth| entry(&format!("demo/charts/{nth}.tgz"), EntryType::Regular, &sub);
    let own = DEMO.iter().map(|(name, text)| {
        let name = format!("demo/{name}");
        entry(&name, EntryType::Regular, text.as_bytes())
    });
    let nested: Vec<_> = own.chain((0..3).map(packed)).collect();
    cases.push(archive(2, "charts in it unpack to too much", tgz(&nested)));
    cases.push(archive(
        2,
        "one large file",
        tgz(&[large("demo/large", 6 * MIB)]),
    ));
    let many: Vec<_> = (0..2001)
        .map(|nth| large(&format!("demo/{nth}"), 0))
        .collect();
    cases.push(archive(2, "too many files", tgz(&many)));
    let file = |name: &str| entry(name, EntryType::Regular, b"x");
    cases.push(archive(
        3,
        "names and kinds that no archive may have",
        tgz(&[
            file("demo/../../etc/passwd"),
            file("/etc/passwd"),
            file("demo\\x"),
            file("demo/A"),
            file("demo/a"),
            file("demo/b"),
            file("demo/b"),
            file("demo/._c"),
            entry("demo/link", EntryType::Symlink, b""),
            entry("demo/hard", EntryType::Link, b""),
            entry("demo/device", EntryType::Char, b""),
        ]),
    ));
    let mut two = vec![file("other/file")];
    two.extend(
        DEMO.iter().map(|(name, text)| {
            entry(&format!("demo/{name}"), EntryType::Regular, text.as_bytes())
        }),
    );
    cases.push(archive(3, "a second folder", tgz(&two)));
}

fn charts(cases: &mut Vec<Case>) {
    cases.push(with(4, "no Chart.yaml", &[], packed("demo", &DEMO[1..])));
    for (row, what, text) in [
        (4, "Chart.yaml is a list", "- a\n"),
        (4, "Chart.yaml is not YAML", "name: [\n"),
        (4, "no version", "apiVersion: v2\nname: demo\n"),
        (
            4,
            "version one",
            "apiVersion: v2\nname: demo\nversion: one\n",
        ),
        (
            5,
            "apiVersion v3",
            "apiVersion: v3\nname: demo\nversion: 1.0.0\n",
        ),
        (
            5,
            "a library",
            "apiVersion: v2\nname: demo\nversion: 1.0.0\ntype: library\n",
        ),
        (
            5,
            "deprecated",
            "apiVersion: v2\nname: demo\nversion: 1.0.0\ndeprecated: true\n",
        ),
        (
            6,
            "a name with capitals",
            "apiVersion: v2\nname: My Demo\nversion: 1.0.0\n",
        ),
        (
            6,
            "a long name",
            "apiVersion: v2\nname: a23456789-123456789-123456789-123456789-123456789-1234\nversion: 1.0.0\n",
        ),
        (
            7,
            "dependencies that are not there",
            "apiVersion: v2\nname: demo\nversion: 1.0.0\ndependencies:\n- {name: common, version: 1.x, repository: \"oci://x\"}\n- {name: redis, version: 1.x}\n",
        ),
    ] {
        cases.push(chart(row, what, &[("Chart.yaml", text)]));
    }
    let hook = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a.b\n  annotations:\n    \"helm.sh/hook\": crd-install\n";
    cases.push(chart(
        8,
        "a hook of Helm 2",
        &[("templates/crd.yaml", hook)],
    ));
    cases.push(chart(
        21,
        "a schema that would be fetched",
        &[(
            "values.schema.json",
            r#"{"properties": {"a": {"$ref": "https://example.com/a.json"}}}"#,
        )],
    ));
}

fn descriptors(cases: &mut Vec<Case>) {
    let offer = |row, what, text: &str| {
        package(row, what, &[("offer.yaml", text), ("overrides/o.yaml", "")])
    };
    for (row, what, text) in [
        (9, "not a map", "- demo\n"),
        (9, "not YAML", "charts:\n  - {\n"),
        (
            9,
            "five errors at once",
            "offer-nam: demo\nbindable: maybe\ncharts:\n- chart: demo\n  version: \"1.0.0\"\n  offerd: true\n  scope: global\n  timeout: 5\n",
        ),
        (10, "no charts", "charts: []\n"),
        (
            10,
            "one chart twice",
            "charts:\n- {chart: demo, version: 1.0.0, offered: true}\n- {chart: demo, version: 1.0.0}\n",
        ),
        (
            11,
            "another version",
            "charts:\n- {chart: demo, version: 2.3.0}\n",
        ),
        (11, "no version", "charts:\n- {chart: demo}\n"),
        (
            12,
            "two are offered",
            "charts:\n- {chart: demo, version: 1.0.0, offered: true}\n- {chart: demo, version: 1.0.0, offered: true, scope: cluster}\n",
        ),
        (
            12,
            "the offered one is installed once",
            "charts:\n- {chart: demo, version: 1.0.0, offered: true, scope: cluster}\n",
        ),
        (
            12,
            "none is offered",
            "charts:\n- {chart: demo, version: 1.0.0}\n- {chart: demo, version: 1.0.0, scope: cluster}\n",
        ),
        (
            12,
            "an unknown scope",
            "charts:\n- {chart: demo, version: 1.0.0, scope: global}\n",
        ),
        (
            13,
            "a path",
            "charts:\n- {chart: demo, version: 1.0.0, overrideValuesFile: ../o.yaml}\n",
        ),
        (
            13,
            "a file that is not there",
            "charts:\n- {chart: demo, version: 1.0.0, overrideValuesFile: p.yaml}\n",
        ),
        (
            3,
            "a chart that is not named",
            "charts:\n- {chart: dem, version: 1.0.0}\n",
        ),
    ] {
        cases.push(offer(row, what, text));
    }
    cases.push(package(
        9,
        "two descriptors",
        &[
            ("tsmgr.yaml", "{}"),
            ("ksm.yaml", "{}"),
            ("offer.yaml", "{}"),
        ],
    ));
    let number = "apiVersion: v2\nname: demo\nversion: \"1.10\"\n";
    cases.push(with(
        11,
        "a version that is read as a number",
        &[("offer.yaml", "charts:\n- {chart: demo, version: 1.10}\n")],
        packed("demo", &demo_with(&[("Chart.yaml", number)])),
    ));
}

fn layers(cases: &mut Vec<Case>) {
    for (row, what, text) in [
        (14, "not YAML", "a: 1\nb: [\n"),
        (14, "a list", "- a\n"),
        (15, "a name that is not there", "a: {{ .Release.Nam }}\n"),
        (
            15,
            "other names that are not there",
            "a: {{ .Values.master }}\nb: {{ .Values.odb.plam }}\n",
        ),
        (15, "no condition", "master:\n  size: {{ if }}\n"),
        (
            15,
            "no function",
            "master:\n  size: 1\n  user: {{ env \"PATH\" }}\n",
        ),
        (15, "nil", "master: {{ index .Values.odb \"x\" \"y\" }}\n"),
        (15, "fails", "master: {{ fail \"give a size\" }}\n"),
        (
            16,
            "random",
            "replicaCount: 1\nmaster:\n  password: {{ randAlphaNum 8 }}\n",
        ),
        (16, "the clock", "a: {{ now | date \"2006\" }}\n"),
        (
            17,
            "unknown keys",
            "mastr: {size: 1}\nmaster: {sise: 2, free: 1}\n",
        ),
        (17, "another kind", "master: 5\nreplicaCount: {a: 1}\n"),
        (17, "a large number", "master: {size: 1000000}\n"),
    ] {
        cases.push(overrides(row, what, text));
    }
    let schema = r#"{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"master": {"properties": {"size": {"type": "integer", "maximum": 9}}}}}"#;
    let schema = packed("demo", &demo_with(&[("values.schema.json", schema)]));
    let plans = "- {name: small, description: A, file: small.yaml}\n- {name: large, description: B, file: large.yaml}\n";
    let files = &[
        ("plans.yaml", plans),
        ("plans/small.yaml", "master:\n  size: lots\n"),
        ("plans/large.yaml", "replicaCount: 2\nmaster: {size: 10}\n"),
    ];
    cases.push(with(21, "values that the schema refuses", files, schema));
    for (what, template) in [
        (
            "required",
            "a: {{ required \"set master.user\" .Values.master.user }}\n",
        ),
        (
            "fail",
            "{{ if not .Values.master.user }}\n{{ fail \"no user\" }}\n{{ end }}\n",
        ),
        ("not YAML", "a: [b\n"),
        ("nil", "a: {{ .Values.x.y }}\n"),
    ] {
        cases.push(chart(22, what, &[("templates/a.yaml", template)]));
    }
    let old = "apiVersion: v2\nname: demo\nversion: 1.0.0\nkubeVersion: \">=9.0.0\"\n";
    cases.push(chart(22, "another Kubernetes", &[("Chart.yaml", old)]));
}

fn plans(cases: &mut Vec<Case>) {
    for (row, what, text) in [
        (
            18,
            "names",
            "- {name: Small Plan, description: A}\n- {name: b, description: B}\n- {name: b, description: C}\n",
        ),
        (18, "no plan", "[]\n"),
        (
            18,
            "no description",
            "- {name: a, description: \"\"}\n- {name: b}\n",
        ),
        (
            19,
            "no file",
            "- {name: a, description: A, file: smal.yaml}\n",
        ),
        (
            19,
            "one file for two",
            "- {name: a, description: A, file: small.yaml}\n- {name: b, description: B, file: small.yaml}\n",
        ),
        (
            20,
            "no cluster",
            "- {name: a, description: A, clusterName: prod2}\n",
        ),
        (
            18,
            "credentials in a package",
            "- {name: a, description: A, credentials: {token: x}}\n",
        ),
    ] {
        let files = &[
            ("plans.yaml", text),
            ("plans/small.yaml", "replicaCount: 2\n"),
        ];
        cases.push(package(row, what, files));
    }
    let plan = "- {name: a, description: A, resourceQuotaPath: q.yaml}\n";
    for (what, text) in [
        (
            "another kind",
            "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a}\nspec: {hard: {pods: 1}}\n",
        ),
        (
            "two documents",
            "apiVersion: v1\n---\nkind: ResourceQuota\n",
        ),
        (
            "a quantity",
            "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: a}\nspec:\n  hard:\n    requests.storage: 1Gib\n",
        ),
        ("nothing", ""),
    ] {
        cases.push(package(
            23,
            what,
            &[("plans.yaml", plan), ("resource-quotas/q.yaml", text)],
        ));
    }
    for (row, what, text) in [
        (24, "no template", "templat: 1\n"),
        (24, "not text", "template: {host: a}\n"),
        (
            24,
            "an error",
            "template: |\n  {\n    host: $.services[0.name,\n  }\n",
        ),
        (24, "an end too early", "template: \"{ host: 1\"\n"),
        (
            24,
            "a second expression",
            "template: |\n  { a: 1 }\n  { b: 2 } // two\n  { c: 3 }, 4\n",
        ),
        (24, "a string without end", "template: |\n  { a: 'b }\n"),
        (
            25,
            "an import",
            "template: |\n  local secrets = import \"/etc/passwd\";\n  {}\n",
        ),
    ] {
        cases.push(package(row, what, &[("bind.yaml", text)]));
    }
}

#[test]
fn every_bad_parameter_is_explained_to_its_user() {
    let object = |value: serde_json::Value| value.as_object().cloned().unwrap();
    let defaults = object(json!({
        "replica": {"replicaCount": 1},
        "master": {"size": 1, "image": {"registry": "docker.io", "tag": "a"}},
        "global": {"imageRegistry": ""},
        "a": "",
    }));
    let layers = object(json!({"replica": {"replicaCount": 2}}));
    let schema = json!({
        "properties": {
            "replica": {"properties": {"replicaCount": {"type": "number"}}, "additionalProperties": false},
            // The author's own violation.
            "master": {"required": ["user"]},
        },
    });
    let chart = packed(
        "demo",
        &demo_with(&[("values.schema.json", &schema.to_string())]),
    );
    let mut findings = odb_offer::findings::Findings::default();
    let chart = odb_offer::chart::Chart::read("demo.tgz", chart, &mut findings).unwrap();
    let settable = Settable::default();
    let base = Base {
        defaults: &defaults,
        layers: &layers,
        schema: Validation::Values(chart.schema.as_ref().unwrap()),
        settable: &settable,
    };
    let deep = "[".repeat(20) + &"]".repeat(20);
    let deep = format!("{{\"a\": {deep}}}");
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(70_000));
    let keys: Vec<String> = (0..2001).map(|nth| format!("\"k{nth}\": 1")).collect();
    let keys = format!("{{{}}}", keys.join(", "));
    let cases = [
        (37, "[1]"),
        (37, "\"x\""),
        (37, "5"),
        (37, "{"),
        (37, &large),
        (37, &deep),
        (37, &keys),
        (38, r#"{"replica": {"replicaCount": "lots"}}"#),
        (38, r#"{"replica": {"replicas": 2}}"#),
        (39, r#"{"global": {"imageRegistry": "evil"}}"#),
        (39, r#"{"master": {"image": null}, "odb": {"plan": "x"}}"#),
        (40, r#"{"master": 5, "a": {"b": 1}}"#),
        (41, r#"{"a": "{{ .Release.Name }}"}"#),
        (41, "null"),
        (42, r#"{"a": 1e20}"#),
        (42, r#"{"a": 9007199254740993}"#),
        (42, r#"{"a": 1e999}"#),
        (42, "{\"a\\u0000\": 1}"),
        (42, r#"{"a": 1, "a": 2}"#),
    ];
    let mut report = String::new();
    for (row, json) in cases {
        let checked = parameters::parse(json).and_then(|values| parameters::check(&values, base));
        let text = checked.map_or_else(|error| error.to_string(), |()| "accepted".to_owned());
        let shown: String = json.chars().take(60).collect();
        writeln!(report, "{row}. {shown}\n    {text}").unwrap();
    }
    insta::assert_snapshot!("parameters", report);
}

#[test]
fn an_unusable_helm_is_named_with_what_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let find = |path: &std::path::Path| Helm::find(path, Some("/nowhere"), Orphans::Ignored);
    assert!(matches!(
        find(&folder.path().join("absent")),
        Err(UnusableHelm::NotFound(_))
    ));
    assert!(matches!(
        find("helm".as_ref()),
        Err(UnusableHelm::NotFound(_))
    ));
    assert!(matches!(
        find(folder.path()),
        Err(UnusableHelm::Start { .. })
    ));
    for version in ["v3.8.2", "v2.16.0", "v3.15.9"] {
        let path = script("old", &format!("#!/bin/sh\necho {version}\n"));
        assert!(
            matches!(find(&path), Err(UnusableHelm::Version { found, .. }) if found == version)
        );
    }
    for text in ["#!/bin/sh\necho hello\n", "#!/bin/sh\nexit 3\n"] {
        let path = script("other", text);
        assert!(matches!(find(&path), Err(UnusableHelm::NoVersion { .. })));
    }
}
