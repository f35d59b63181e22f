//! Processes end when they should, and only then.

use std::{
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use odb_sandbox::cpi::{AddressPool, Cpi, JobCatalog, Processes};

use crate::{
    foundation::{Foundation, Options, jobs, processes_with, redis},
    redis::listens,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_process_outlives_the_director() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let address = bosh.address("d", "redis-server").await;
    let vm = foundation.vm_folders().pop().unwrap();
    assert_eq!(processes_with(&format!("{address}:6379")).len(), 1);
    let record = vm.join("redis-server.process.json");
    assert!(record.exists());

    foundation.shut_down().await;
    assert!(!listens(&address).await);
    assert_eq!(processes_with(&format!("{address}:6379")), [0; 0]);
    assert!(!record.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_jobs_are_private_and_no_password_is_in_a_command_line() {
    use std::os::unix::fs::PermissionsExt;

    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let manifest = crate::foundation::redis_with_password("d", "hush-hush");
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

    let folder = tempfile::tempdir().unwrap();
    if std::fs::metadata(folder.path()).unwrap().uid() != 0 {
        let addresses = AddressPool::new([127, 0, 9, 10].into(), [127, 0, 9, 20].into());
        let catalog = JobCatalog::load(&jobs()).unwrap();
        let root = Some("root".to_owned());
        assert!(
            Cpi::new(
                catalog,
                folder.path().to_owned(),
                addresses,
                Processes::Real,
                root
            )
            .is_err()
        );
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
    let health = bosh
        .errand_result("d", "health-check", &serde_json::json!({}))
        .await;
    assert_eq!(health["exit_code"], 0, "{health}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_sandbox_ends_what_an_earlier_one_left_running_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let vm = folder.path().join("vms/vm-1");
    std::fs::create_dir_all(&vm).unwrap();
    let sleeper = || {
        let mut command = Command::new("sleep");
        command
            .arg("600")
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap()
    };
    let (mut left, mut stranger) = (sleeper(), sleeper());
    let record = |pid: u32, start_time: &str| {
        let text = format!(r#"{{"pid":{pid},"start_time":{start_time}}}"#);
        std::fs::write(vm.join(format!("{pid}.process.json")), text).unwrap();
    };
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", left.id())).unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    record(left.id(), after_name.split_whitespace().nth(19).unwrap());
    record(stranger.id(), "1");

    let addresses = AddressPool::new([127, 0, 9, 10].into(), [127, 0, 9, 20].into());
    let catalog = JobCatalog::load(&jobs()).unwrap();
    Cpi::new(
        catalog,
        folder.path().to_owned(),
        addresses,
        Processes::Real,
        None,
    )
    .unwrap();

    assert!(left.wait().unwrap().code().is_none(), "it was killed");
    assert!(
        stranger.try_wait().unwrap().is_none(),
        "its pid belongs to another process"
    );
    assert!(!vm.exists());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}
