//! Agents, and what happens when they do not answer.

use std::collections::BTreeSet;

use odb_sandbox::{
    cpi::{CallError, JobState, ProcessState, Script, Shutdown},
    store::Store,
};
use serde_json::{Value, json};

use crate::{
    machine::{Machine, eventually, pids, rendered},
    redis::listens,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_agent_answers_nothing_while_its_processes_go_on() {
    let machine = Machine::new();
    let cpi = machine.cpi(&Store::in_memory());
    let vm = machine.redis(&cpi).await;
    let agent = cpi.agent(&vm);
    assert_eq!(agent.state().await.unwrap().job_state, JobState::Running);

    cpi.kill_agent(&vm.cid).unwrap();

    let silence = agent.state().await.unwrap_err();
    assert_eq!(
        (silence.method, silence.agent_id),
        ("get_state", vm.agent_id)
    );
    assert_eq!(silence.after, cpi.agent_timeouts().state);
    let silence = agent.stop().await.unwrap_err();
    assert_eq!(silence.after, cpi.agent_timeouts().call);
    let refused = agent.run_script(Script::PreStop).await.unwrap_err();
    let CallError::Unresponsive(silence) = refused else {
        panic!("not refused by its silence")
    };
    assert_eq!(silence.method, "run_script");
    assert!(listens(&vm.address().to_string()).await);

    cpi.revive(&vm.cid).unwrap();
    agent.ping().await.unwrap();
    agent.stop().await.unwrap();
    assert!(!listens(&vm.address().to_string()).await);
    cpi.shut_down(Shutdown::StopProcesses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_to_a_dead_agent_goes_on_when_the_agent_comes_back() {
    let machine = Machine::new();
    let cpi = machine.cpi(&Store::in_memory());
    let mut patient = cpi.agent_timeouts();
    patient.call = std::time::Duration::from_mins(1);
    cpi.set_agent_timeouts(patient);
    let vm = cpi.reserve_vm().unwrap();
    cpi.create_vm(&vm).await.unwrap();
    cpi.kill_agent(&vm.cid).unwrap();

    let agent = cpi.agent(&vm);
    let (answer, ()) = tokio::join!(agent.ping(), async { cpi.revive(&vm.cid).unwrap() });

    answer.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_vm_has_no_processes_until_it_comes_back() {
    let machine = Machine::new();
    let cpi = machine.cpi(&Store::in_memory());
    let vm = machine.redis(&cpi).await;
    let address = vm.address().to_string();

    cpi.kill_vm(&vm.cid).await.unwrap();
    assert!(!listens(&address).await);
    assert!(!cpi.has_vm(&vm.cid));
    assert!(cpi.agent(&vm).ping().await.is_err());
    assert!(!cpi.is_healthy(&vm.cid));

    cpi.revive(&vm.cid).unwrap();
    eventually("it runs again", async || cpi.is_healthy(&vm.cid)).await;
    assert!(listens(&address).await);

    cpi.kill_vm(&vm.cid).await.unwrap();
    cpi.delete_vm(&vm.cid).await.unwrap();
    assert!(cpi.revive(&vm.cid).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_has_the_shape_that_a_director_passes_on() {
    let machine = Machine::new();
    let cpi = machine.cpi(&Store::in_memory());
    let vm = machine.redis(&cpi).await;
    let disk = cpi.create_disk(1024);
    cpi.attach_disk(&vm.cid, &disk).await.unwrap();

    let state = cpi.agent(&vm).state().await.unwrap();
    let seen = serde_json::to_value(&state).unwrap();

    assert_eq!(seen["job_state"], "running");
    let vitals = &seen["vitals"];
    for text in [
        "/cpu/sys",
        "/cpu/user",
        "/cpu/wait",
        "/disk/ephemeral/inode_percent",
        "/disk/persistent/percent",
        "/disk/system/percent",
        "/load/2",
        "/mem/kb",
        "/mem/percent",
        "/swap/kb",
    ] {
        assert!(
            vitals.pointer(text).is_some_and(Value::is_string),
            "{text}: {vitals}"
        );
    }
    assert!(vitals["uptime"]["secs"].is_u64());
    let process = &seen["processes"][0];
    assert_eq!(process["name"], "redis-server");
    assert_eq!(process["state"], "running");
    assert!(process["mem"]["kb"].as_u64().unwrap() > 0, "{process}");
    assert!(process["mem"]["percent"].is_number() && process["cpu"]["total"].is_number());

    cpi.agent(&vm).stop().await.unwrap();
    let state = cpi.agent(&vm).state().await.unwrap();
    assert_eq!(state.job_state, JobState::Stopped);
    assert_eq!(state.processes[0].state, ProcessState::Stopped);
    cpi.shut_down(Shutdown::StopProcesses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_vms_without_processes_have_addresses_and_nothing_on_the_disk() {
    const VMS: usize = 5_000;
    let machine = Machine::new();
    let cpi = machine.cpi_without_processes(&Store::in_memory());
    let mut addresses = BTreeSet::new();
    for _ in 0..VMS {
        let vm = cpi.reserve_vm().unwrap();
        cpi.create_vm(&vm).await.unwrap();
        let disk = cpi.create_disk(1024);
        cpi.attach_disk(&vm.cid, &disk).await.unwrap();
        addresses.insert(vm.address());
    }
    assert_eq!(addresses.len(), VMS);
    assert!(addresses.iter().all(|address| address.octets()[0] == 10));
    assert_eq!((cpi.count().vms, cpi.count().disks), (VMS, VMS));
    assert_eq!(std::fs::read_dir(machine.folder()).unwrap().count(), 0);

    let vm = cpi.reserve_vm().unwrap();
    cpi.create_vm(&vm).await.unwrap();
    let properties = json!({"redis": {"password": "p", "persistence": "no", "maxclients": 1}});
    let job = rendered(&cpi, &vm, "redis-server", properties);
    cpi.agent(&vm).apply(&[job]).await.unwrap();
    cpi.agent(&vm).start().await.unwrap();
    let state = cpi.agent(&vm).state().await.unwrap();
    assert_eq!(state.job_state, JobState::Running);
    assert_eq!(state.processes[0].name.as_ref(), "redis-server");
    cpi.kill_vm(&vm.cid).await.unwrap();
    assert!(!cpi.is_healthy(&vm.cid));
    cpi.delete_everything().await.unwrap();
    assert_eq!((cpi.count().vms, cpi.count().disks), (0, 0));
}

const SERVERS: &str = r#"
name: servers
description: Two processes, and scripts that note when they run.
properties:
  fail: {description: Which script fails., default: none}
templates:
  note.sh.tera: {to: note.sh, mode: "0700"}
scripts:
  pre-start: {command: ["{{ job.folder }}/note.sh", pre-start, "{{ data }}"], timeout_in_seconds: 10}
  post-start: {command: ["{{ job.folder }}/note.sh", post-start, "{{ data }}"], timeout_in_seconds: 10}
  drain: {command: ["{{ job.folder }}/note.sh", drain, "{{ data }}"], timeout_in_seconds: 10}
processes:
- name: one
  command: [redis-server, --bind, "{{ address }}", --port, "7001", --dir, "{{ data }}"]
  port: 7001
  ready_within_seconds: 20
  stop_within_seconds: 10
- name: two
  command: [redis-server, --bind, "{{ address }}", --port, "7002", --dir, "{{ data }}"]
  port: 7002
  ready_within_seconds: 20
  stop_signal: INT
  stop_within_seconds: 10
"#;
const NOTE: &str = "#!/bin/bash\necho \"$1\" >>\"$2/notes\"\n[[ $1 != {{ properties.fail }} ]]\n";

fn servers() -> Machine {
    Machine::new().with_job("servers", &[("job.yml", SERVERS), ("note.sh.tera", NOTE)])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_has_several_processes_and_scripts_around_them() {
    let machine = servers();
    let cpi = machine.cpi(&Store::in_memory());
    let vm = cpi.reserve_vm().unwrap();
    cpi.create_vm(&vm).await.unwrap();
    let job = rendered(&cpi, &vm, "servers", json!({"fail": "none"}));
    let agent = cpi.agent(&vm);
    agent.apply(&[job]).await.unwrap();
    agent.run_script(Script::PreStart).await.unwrap();
    agent.start().await.unwrap();
    agent.run_script(Script::PostStart).await.unwrap();

    let running = pids(&cpi, &vm);
    assert_eq!(running.keys().collect::<Vec<_>>(), ["one", "two"]);
    assert!(running.values().all(Option::is_some), "{running:?}");
    assert_eq!(cpi.count().processes, 2);

    agent.run_script(Script::Drain).await.unwrap();
    agent.stop().await.unwrap();
    agent.run_script(Script::PostStop).await.unwrap();
    let notes = std::fs::read_to_string(cpi.data_folder(&vm.cid).join("notes")).unwrap();
    assert_eq!(notes, "pre-start\npost-start\ndrain\n");
    cpi.delete_vm(&vm.cid).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_fails_is_named_with_its_job() {
    let machine = servers();
    let cpi = machine.cpi(&Store::in_memory());
    let vm = cpi.reserve_vm().unwrap();
    cpi.create_vm(&vm).await.unwrap();
    let job = rendered(&cpi, &vm, "servers", json!({"fail": "pre-start"}));
    let agent = cpi.agent(&vm);
    agent.apply(&[job]).await.unwrap();

    let failure = agent.run_script(Script::PreStart).await.unwrap_err();

    assert_eq!(
        failure.to_string(),
        "1 of 1 pre-start scripts failed. Failed Jobs: servers."
    );
    cpi.delete_vm(&vm.cid).await.unwrap();
}
