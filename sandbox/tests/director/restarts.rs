//! A sandbox that is started again finds its VMs, and what ran on them.

use odb_sandbox::{
    cpi::{Shutdown, remove_state},
    store::Store,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    machine::{Machine, eventually, pids},
    redis::ask,
};

/// Whether a process runs. Unreaped ones are children of this test, which has released them.
fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_still_run_are_taken_over_and_looked_after() {
    let machine = Machine::new();
    let store = machine.store();
    let cpi = machine.cpi(&store);
    let vm = machine.redis(&cpi).await;
    let pid = pids(&cpi, &vm)["redis-server"].unwrap();
    // As when the sandbox is killed: the process has no supervisor any more.
    cpi.shut_down(Shutdown::LeaveProcesses).await;
    drop(cpi);
    store.close();
    drop(store);
    assert!(runs(pid));

    let cpi = machine.cpi(&machine.store());
    eventually("it is known to run", async || cpi.is_healthy(&vm.cid)).await;
    assert_eq!(pids(&cpi, &vm)["redis-server"], Some(pid));
    let address = vm.address().to_string();
    ask(&address, &["AUTH secret", "SET k v"]).await;

    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    eventually("another process runs", async || {
        cpi.is_healthy(&vm.cid) && pids(&cpi, &vm)["redis-server"] != Some(pid)
    })
    .await;
    let answer = ask(&address, &["AUTH secret", "GET k"]).await;
    assert!(answer.contains("\r\nv\r\n"), "{answer}");
    assert_ne!(cpi.reserve_vm().unwrap().address(), vm.address());

    let another = pids(&cpi, &vm)["redis-server"].unwrap();
    cpi.delete_vm(&vm.cid).await.unwrap();
    assert!(!runs(another));
    assert_eq!(cpi.count().vms, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_was_taken_over_is_stopped_like_any_other() {
    let machine = Machine::new();
    let store = machine.store();
    let cpi = machine.cpi(&store);
    let vm = machine.redis(&cpi).await;
    let pid = pids(&cpi, &vm)["redis-server"].unwrap();
    cpi.shut_down(Shutdown::LeaveProcesses).await;
    store.close();
    drop((cpi, store));

    let cpi = machine.cpi(&machine.store());
    cpi.agent(&vm).stop().await.unwrap();

    assert!(!runs(pid));
    assert_eq!(pids(&cpi, &vm)["redis-server"], None);
    cpi.shut_down(Shutdown::StopProcesses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_were_stopped_with_the_sandbox_run_again_after_its_start() {
    let machine = Machine::new();
    let store = machine.store();
    let cpi = machine.cpi(&store);
    let (vm, idle) = (machine.redis(&cpi).await, machine.redis(&cpi).await);
    cpi.agent(&idle).stop().await.unwrap();
    let address = vm.address().to_string();
    ask(&address, &["AUTH secret", "SET k v"]).await;
    let pid = pids(&cpi, &vm)["redis-server"].unwrap();
    cpi.shut_down(Shutdown::StopProcesses).await;
    store.close();
    drop((cpi, store));
    assert!(!runs(pid));

    let cpi = machine.cpi(&machine.store());
    eventually("it runs again", async || cpi.is_healthy(&vm.cid)).await;
    let answer = ask(&address, &["AUTH secret", "GET k"]).await;
    assert!(answer.contains("\r\nv\r\n"), "{answer}");
    assert_eq!(
        pids(&cpi, &idle)["redis-server"],
        None,
        "what was stopped before stays so"
    );
    cpi.shut_down(Shutdown::StopProcesses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_belongs_to_no_vm_is_ended_and_removed_and_nothing_else_is() {
    let (machine, other_machine) = (Machine::new(), Machine::new());
    let other = other_machine.cpi(&Store::in_memory());
    let unauthenticated_client = other_machine.redis(&other).await;
    let cpi = machine.cpi(&Store::in_memory());
    let vm = machine.redis(&cpi).await;
    let pid = pids(&cpi, &vm)["redis-server"].unwrap();
    cpi.shut_down(Shutdown::LeaveProcesses).await;
    drop(cpi);

    // A store that knows of no VM.
    let cpi = machine.cpi(&Store::in_memory());

    assert!(!runs(pid));
    assert_eq!(cpi.count().vms, 0);
    let left = std::fs::read_dir(machine.folder().join("vms")).unwrap();
    assert_eq!(left.count(), 0);
    assert!(other.is_healthy(&unauthenticated_client.cid));
    other.shut_down(Shutdown::StopProcesses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_that_is_removed_takes_its_processes_along() {
    let machine = Machine::new();
    let store = machine.store();
    let cpi = machine.cpi(&store);
    let vm = machine.redis(&cpi).await;
    let disk = cpi.create_disk(1024);
    cpi.attach_disk(&vm.cid, &disk).await.unwrap();
    let pid = pids(&cpi, &vm)["redis-server"].unwrap();
    cpi.shut_down(Shutdown::LeaveProcesses).await;
    drop((cpi, store));

    remove_state(machine.folder()).unwrap();

    assert!(!runs(pid));
    for part in ["vms", "disks"] {
        let left = std::fs::read_dir(machine.folder().join(part)).unwrap();
        assert_eq!(left.count(), 0, "{part}");
    }
}
