//! `odb offer`, as authors of offers use it: the guide, exit statuses, and what is left after a signal.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use odb_stories::{Binaries, Document, Reader, eventually};
use serde_json::Value;
use tempfile::TempDir;

const GUIDE: &str = "docs/authors/charts.md";

/// A template that runs for minutes.
const ENDLESS: &str = "{{ range until 100000000 }}{{ range until 1000 }}{{ end }}{{ end }}";

/// The folders of both generations of Helm, each as `helm`.
fn helms() -> [TempDir; 2] {
    [("ODB_HELM3", "helm-3"), ("ODB_HELM4", "helm-4")].map(|(variable, name)| {
        let path = env::var_os(variable).map_or_else(|| cached(name), PathBuf::from);
        assert!(
            path.is_file(),
            "there is no `{}`; run `scripts/kubernetes-testbed build`, or set {variable}",
            path.display()
        );
        let folder = tempfile::tempdir().expect("tests may write temporary files");
        symlink(path, folder.path().join("helm")).expect("the folder is new");
        folder
    })
}

fn cached(name: &str) -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or_else(home).expect("a user has a home");
    cache
        .join("on-demand-broker/kubernetes-testbed/bin")
        .join(name)
}

#[tokio::test]
async fn the_guide_leads_from_a_chart_to_its_manifests() {
    for helm in helms() {
        let mut reader = Reader::new().of(GUIDE).with_programs(helm.path());
        let fences = Document::open(GUIDE).fences();
        let mut followed = 0;
        for fence in fences
            .iter()
            .filter(|fence| fence.information.starts_with("sh"))
        {
            reader.follow(fence).await;
            followed += 1;
        }
        assert!(followed > 7, "the commands are not found");
    }
}

fn odb(folder: &Path, helm: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(Binaries::find().path("odb"));
    command.arg("offer").args(arguments).current_dir(folder);
    command.env("PATH", helm).env("TMPDIR", folder.join("tmp"));
    command
}

fn run(folder: &Path, helm: &Path, arguments: &[&str]) -> Output {
    let mut command = odb(folder, helm, arguments);
    command.output().expect("odb can be started")
}

/// A folder with a chart and an offer of it.
fn folder(template: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("tests may write temporary files");
    for (name, text) in [
        (
            "chart/Chart.yaml",
            "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
        ),
        ("chart/values.yaml", "size: 1\n"),
        ("chart/templates/a.yaml", template),
        (
            "demo/plans.yaml",
            "- {name: small, description: Small, file: small.yaml}\n",
        ),
        ("demo/plans/small.yaml", "sise: 2\n"),
        ("tmp/.keep", ""),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is new");
        fs::write(path, text).expect("it is new");
    }
    fs::remove_file(folder.path().join("tmp/.keep")).expect("it was written");
    folder
}

#[test]
fn the_exit_status_and_the_json_report_whether_an_offer_passes() {
    let [helm, _] = helms();
    let folder = folder("a: b\n");
    let status = |arguments: &[&str]| run(folder.path(), helm.path(), arguments).status.code();
    assert_eq!(status(&["check", "demo", "chart"]), Some(0));
    assert_eq!(status(&["check", "demo", "chart", "--strict"]), Some(1));
    assert_eq!(
        status(&["check", "demo", "chart", "--no-render", "--helm", "/absent"]),
        Some(0)
    );
    assert_eq!(
        status(&["check", "demo", "chart", "--helm", "/absent"]),
        Some(1)
    );
    assert_eq!(status(&["check", "demo"]), Some(1));
    assert_eq!(status(&["check", "absent", "chart"]), Some(1));
    assert_eq!(status(&["check"]), Some(2));
    assert_eq!(status(&["render", "demo", "chart"]), Some(2));
    assert_eq!(
        status(&["render", "demo", "chart", "--plan", "smal"]),
        Some(1)
    );
    assert_eq!(
        status(&["render", "demo", "chart", "--plan", "small", "-c", "[1]"]),
        Some(1)
    );
    assert_eq!(status(&["init", "demo"]), Some(1));
    assert_eq!(status(&["init", "Demo"]), Some(1));

    let output = run(
        folder.path(),
        helm.path(),
        &["check", "demo", "chart", "-o", "json"],
    );
    let report: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let expected = serde_json::json!({
        "offer": {
            "name": "demo",
            "service_id": report["offer"]["service_id"],
            "charts": ["demo 1.0.0"],
            "plans": ["small"],
        },
        "passed": true,
        "errors": 0,
        "warnings": 1,
        "rendered": true,
        "findings": [{
            "severity": "warning",
            "file": "demo/plans/small.yaml",
            "line": 1,
            "column": 1,
            "key": "sise",
            "message": "`sise` has no default in the chart",
            "remedy": "did you mean `size`?",
        }],
    });
    assert_eq!(report, expected);
}

#[test]
fn a_new_package_of_a_chart_passes_the_check() {
    for helm in helms() {
        let folder = folder("a: b\n");
        let run = |arguments: &[&str]| run(folder.path(), helm.path(), arguments);
        let output = run(&["init", "new", "--chart", "demo"]);
        assert!(output.status.success(), "{output:?}");
        let output = run(&["check", "new", "chart", "--strict"]);
        assert!(output.status.success(), "{output:?}");
    }
}

#[tokio::test]
async fn after_a_signal_neither_helm_nor_its_files_are_left() {
    let [helm, _] = helms();
    let folder = folder(ENDLESS);
    let files = || {
        fs::read_dir(folder.path().join("tmp"))
            .expect("it is there")
            .count()
    };
    let mut child = odb(folder.path(), helm.path(), &["check", "demo", "chart"])
        .spawn()
        .expect("odb can be started");
    let chart = || runs_helm(folder.path());
    let timeout = Duration::from_mins(1);
    eventually("helm renders", timeout, async || is(chart())).await;
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &id]).status();
    assert!(killed.expect("there is a kill").success());
    let status = child.wait().expect("it is a child");
    assert_eq!(status.code(), Some(1));
    assert_eq!(files(), 0, "helm's files are left");
    assert!(!runs_helm(folder.path()), "helm is left");
}

fn is(so: bool) -> Result<(), String> {
    if so {
        Ok(())
    } else {
        Err("not yet".to_owned())
    }
}

/// Whether a helm renders a chart below the folder.
fn runs_helm(folder: &Path) -> bool {
    let folder = folder.display().to_string();
    let processes = fs::read_dir("/proc").expect("this is Linux");
    processes.flatten().any(|process| {
        let call = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let call = String::from_utf8_lossy(&call).into_owned();
        call.contains("template\0") && call.contains(&folder)
    })
}
