//! PostgreSQL, the second service, made of the job catalog alone.

use std::{io::Write, os::unix::fs::PermissionsExt, process::Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    foundation::{Foundation, Options, processes_with},
    machine::eventually,
};

/// PostgreSQL refuses to run as root.
fn foundation() -> Foundation {
    Foundation::with(Options {
        job_user: geteuid().is_root().then(|| "nobody".to_owned()),
        ..Options::default()
    })
}

fn postgres(name: &str, password: &str) -> Value {
    let group = |group: &str, job: Value| {
        json!({
            "name": group,
            "instances": 1,
            "jobs": [job],
            "vm_type": "small",
            "stemcell": "default",
            "azs": ["z1"],
            "networks": [{"name": "default"}],
        })
    };
    let properties = json!({"postgres": {
        "password": password,
        "max_connections": 20,
        "databases": ["shop", "it's \"odd\""],
    }});
    let release = "redis-example-service";
    let mut server = group(
        "postgres",
        json!({"name": "postgres-server", "release": release, "properties": properties}),
    );
    server["persistent_disk_type"] = json!("1GB");
    let mut tests = group(
        "smoke-tests",
        json!({"name": "postgres-smoke-tests", "release": release}),
    );
    tests["lifecycle"] = json!("errand");
    json!({
        "name": name,
        "releases": [{"name": release, "version": "7.4"}],
        "stemcells": [{"alias": "default", "os": "ubuntu-jammy", "version": "1.80"}],
        "instance_groups": [server, tests],
        "update": {
            "canaries": 1,
            "canary_watch_time": "1000-60000",
            "update_watch_time": "1000-60000",
            "max_in_flight": 1,
        },
    })
}

/// The output of `psql`, or its error.
async fn query(address: &str, password: &str, sql: &str) -> Result<String, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.as_file()
        .set_permissions(std::fs::Permissions::from_mode(0o600))
        .unwrap();
    let escaped = password.replace('\\', r"\\").replace(':', r"\:");
    write!(file, "*:*:*:*:{escaped}").unwrap();
    let connection = format!("host={address} user=vcap dbname=shop connect_timeout=10");
    let run = Command::new("psql")
        .args(["--no-psqlrc", "--no-password", "--quiet", "-tA"])
        .args(["--command", sql, &connection])
        .env("PGPASSFILE", file.path())
        .stdin(Stdio::null())
        .output();
    let output = run.await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_outlives_updates_and_a_killed_server() {
    let foundation = foundation();
    let bosh = foundation.admin();
    let password = "it's: a \\ \"well-hidden\" $HOME";
    bosh.deployed(&postgres("d", password)).await;
    let address = bosh.address("d", "postgres").await;
    let sql = "CREATE TABLE words (word text); INSERT INTO words VALUES ('kept')";
    query(&address, password, sql).await.unwrap();
    assert_eq!(processes_with("well-hidden"), [0; 0]);
    let refused = query(&address, "wrong", "SELECT 1").await.unwrap_err();
    assert!(
        refused.contains("password authentication failed"),
        "{refused}"
    );
    let tests = bosh.errand_result("d", "smoke-tests", &json!({})).await;
    assert_eq!(tests["exit_code"], 0, "{tests}");

    let before = foundation.cpi().vms();
    let mut changed = postgres("d", "another");
    changed["instance_groups"][0]["jobs"][0]["properties"]["postgres"]["max_connections"] =
        json!(30);
    bosh.deployed(&changed).await;
    let word = query(&address, "another", "SELECT word FROM words").await;
    assert_eq!(word.unwrap(), "kept");
    let limit = query(&address, "another", "SHOW max_connections").await;
    assert_eq!(limit.unwrap(), "30");
    assert!(query(&address, password, "SELECT 1").await.is_err());
    let databases = "SELECT count(*) FROM pg_database WHERE datname = 'it''s \"odd\"'";
    assert_eq!(query(&address, "another", databases).await.unwrap(), "1");

    // Another disk and another VM.
    let group = changed["instance_groups"][0].as_object_mut().unwrap();
    group.remove("persistent_disk_type");
    group.insert("persistent_disk".to_owned(), json!(2048));
    let manifest = changed.to_string();
    let task = bosh.post_yaml("/deployments?recreate=true", manifest).await;
    bosh.done(task.task()).await;
    assert_ne!(foundation.cpi().vms(), before);
    assert_eq!(foundation.cpi().orphaned_disks().len(), 1);
    let address = bosh.address("d", "postgres").await;
    let word = query(&address, "another", "SELECT word FROM words").await;
    assert_eq!(word.unwrap(), "kept");

    let vms = foundation.cpi().vms();
    let server = foundation.cpi().processes(&vms[0])[0].pid.unwrap();
    kill_process(Pid::from_raw(server).unwrap(), Signal::KILL).unwrap();
    eventually("another server runs", async || {
        let process = &foundation.cpi().processes(&vms[0])[0];
        process.pid.is_some_and(|pid| pid != server) && foundation.cpi().is_healthy(&vms[0])
    })
    .await;
    let word = query(&address, "another", "SELECT word FROM words").await;
    assert_eq!(word.unwrap(), "kept");

    let task = bosh.delete("/deployments/d").await.task();
    bosh.done(task).await;
    assert_eq!(foundation.cpi().count().processes, 0);
    assert_eq!(foundation.cpi().count().vms, 0);
    assert_eq!(foundation.vm_folders().len(), 0);
    assert_eq!(foundation.cpi().orphaned_disks().len(), 2);
    assert!(query(&address, "another", "SELECT 1").await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_refuses_root_says_what_to_do() {
    if !geteuid().is_root() {
        // Only root can be refused.
        return;
    }
    let foundation = Foundation::start();
    let bosh = foundation.admin();

    let task = bosh.deploy(&postgres("d", "secret")).await;
    bosh.ended(task).await;

    let (_, text) = bosh.error_of(task).await;
    assert!(text.contains("refuses to run as root"), "{text}");
    assert!(text.contains("--job-user"), "{text}");
}
