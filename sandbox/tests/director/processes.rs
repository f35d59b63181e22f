//! Processes end when they should, and only then.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    foundation::{Foundation, Options, processes_with, redis, redis_with_password},
    machine::{Machine, eventually},
    redis::{ask, listens},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_process_outlives_the_director() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let address = bosh.address("d", "redis-server").await;
    assert_eq!(processes_with(&format!("{address}:6379")).len(), 1);

    foundation.shut_down().await;
    assert!(!listens(&address).await);
    assert_eq!(processes_with(&format!("{address}:6379")), [0; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_jobs_are_private_and_no_password_is_in_a_command_line() {
    use std::os::unix::fs::PermissionsExt;

    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let manifest = redis_with_password("d", "hush-hush");
    bosh.deployed(&manifest).await;
    let vm = foundation.vm_folders().pop().unwrap();
    let config = vm.join("jobs/redis-server/redis.conf");
    assert!(
        std::fs::read_to_string(&config)
            .unwrap()
            .contains("hush-hush")
    );
    assert_eq!(
        std::fs::metadata(&config).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        std::fs::metadata(&vm).unwrap().permissions().mode() & 0o777,
        0o700
    );
    assert_eq!(processes_with("hush-hush"), [0; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_run_as_the_job_user_which_takes_root() {
    use std::os::unix::fs::MetadataExt;

    if !rustix::process::geteuid().is_root() {
        let machine = Machine::new();
        assert!(machine.cpi_as("root").is_err());
        return;
    }
    let foundation = Foundation::with(Options {
        job_user: Some("nobody".to_owned()),
        ..Options::default()
    });
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let address = bosh.address("d", "redis-server").await;
    let pid = processes_with(&format!("{address}:6379")).pop().unwrap();
    let owner = std::fs::metadata(format!("/proc/{pid}")).unwrap().uid();
    assert_ne!(owner, 0);
    let health = bosh.errand_result("d", "health-check", &json!({})).await;
    assert_eq!(health["exit_code"], 0, "{health}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_dies_is_started_again_with_its_data() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    bosh.deployed(&redis_with_password("d", "secret")).await;
    let address = bosh.address("d", "redis-server").await;
    ask(&address, &["AUTH secret", "SET k v"]).await;
    let pid = processes_with(&format!("{address}:6379")).pop().unwrap();

    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();

    let vm = foundation.cpi().vms().pop().unwrap();
    eventually("another process runs", async || {
        let processes = foundation.cpi().processes(&vm);
        processes[0].pid.is_some_and(|other| other != pid) && foundation.cpi().is_healthy(&vm)
    })
    .await;
    let answer = ask(&address, &["AUTH secret", "GET k"]).await;
    assert!(answer.contains("\r\nv\r\n"), "{answer}");
    let task = bosh.delete("/deployments/d").await.task();
    bosh.done(task).await;
    assert_eq!(processes_with(&format!("{address}:6379")), [0; 0]);
    assert_eq!(foundation.cpi().count().processes, 0);
}
