//! `odb-sandbox up`, as a person starts it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use reqwest::Certificate;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::platform::TIMEOUT;

fn up(state: &Path) -> Command {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_odb-sandbox"));
    command
        .args([
            "up",
            "--config",
            "manifests/sandbox/foundation.yml",
            "--no-processes",
            "--state",
        ])
        .arg(state)
        .current_dir(root)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Waits for the line with the path of the description.
async fn ready(child: &mut Child) -> PathBuf {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = timeout(TIMEOUT, lines.next_line())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    line.strip_prefix("ready ").unwrap().into()
}

fn terminate(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
}

#[tokio::test]
async fn a_foundation_reports_where_it_is_answers_over_tls_and_goes_on_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = up(folder.path()).spawn().unwrap();

    let file = ready(&mut child).await;
    let foundation: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    let text = |pointer: &str| {
        foundation
            .pointer(pointer)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };

    assert_eq!(file, folder.path().join("foundation.json"));
    assert_eq!(
        (mode(&file), mode(&folder.path().join("broker.key"))),
        (0o600, 0o600)
    );
    let authority = Certificate::from_pem(&fs::read(text("/ca_certificate")).unwrap()).unwrap();
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .unwrap();
    let http = reqwest::Client::builder()
        .tls_certs_only([authority])
        .timeout(TIMEOUT)
        .build()
        .unwrap();
    for url in [
        text("/control"),
        text("/cloud_controller/url"),
        format!("{}/info", text("/cloud_controller/uaa_url")),
        format!("{}/info", text("/director/uaa_url")),
    ] {
        assert_eq!(http.get(&url).send().await.unwrap().status(), 200, "{url}");
    }
    let reported = http
        .get(format!("{}/foundation", text("/control")))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        reported.contains(&text("/net"))
            && !reported.contains(&text("/director/team_client/secret"))
    );
    let director = text("/director/url");
    assert!(
        http.get(format!("{director}/info")).send().await.is_ok(),
        "{director}"
    );

    terminate(&child);
    let ended = timeout(TIMEOUT, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert!(
        !file.exists(),
        "who looks for the foundation now must not find it"
    );
}

#[tokio::test]
async fn a_net_belongs_to_one_sandbox() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut first = up(one.path()).spawn().unwrap();
    let file = ready(&mut first).await;
    let foundation: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();

    let second = up(other.path())
        .args(["--net", foundation["net"].as_str().unwrap()])
        .output();
    let second = timeout(TIMEOUT, second).await.unwrap().unwrap();

    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("is taken by another sandbox"));
    assert!(second.stdout.is_empty());
    terminate(&first);
    assert!(
        timeout(TIMEOUT, first.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
}

#[tokio::test]
async fn a_state_folder_belongs_to_one_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = up(folder.path()).spawn().unwrap();
    ready(&mut first).await;

    let second = timeout(TIMEOUT, up(folder.path()).output()).await;
    let second = second.unwrap().unwrap();

    assert_eq!(second.status.code(), Some(1));
    let reported = String::from_utf8_lossy(&second.stderr);
    assert!(reported.contains("in use by another sandbox"), "{reported}");
    terminate(&first);
    let ended = timeout(TIMEOUT, first.wait()).await.unwrap().unwrap();
    assert!(ended.success());
}
