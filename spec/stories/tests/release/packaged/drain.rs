//! How the broker is stopped: what is open is answered, and nothing that hangs holds the deployment up.

use std::fs;

use odb_stories::{Foundation, Order, Platform, eventually, new_id};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{
    TIMEOUT,
    site::{Plan, Site},
};

/// Asks the real adapter, but not before the gate is open.
const ADAPTER: &str = r#"#!/bin/bash
if [[ $1 == generate-manifest || $1 == create-binding ]] && [[ -e /var/vcap/store/closed ]]; then
  echo "$1" >>/var/vcap/store/entered
  while [[ -e /var/vcap/store/closed ]]; do sleep 0.02; done
fi
exec /var/vcap/packages/service-adapters/bin/redis-service-adapter "$@"
"#;

/// Redis with a gate before its adapter, and so many seconds to finish when it is stopped.
async fn site(seconds: u64) -> (Site, Plan) {
    let site = Site::of_the_sources(Foundation::bare().start().await);
    let adapter = "packages/odb-service-adapter/bin/service-adapter";
    site.vm.write_executable(adapter, ADAPTER);
    let mut plan = Plan::of_project("redis", &site.foundation);
    let slow =
        json!({ "service_adapter": { "path": null }, "shutdown_timeout_in_seconds": seconds });
    plan.lay_over("broker", &slow);
    site.apply(&plan);
    (site, plan)
}

fn close_gate(site: &Site) {
    fs::write(site.vm.root().join("store/closed"), "").unwrap();
}

fn open_gate(site: &Site) {
    fs::remove_file(site.vm.root().join("store/closed")).unwrap();
}

/// Waits until an order and a binding hang in the adapter, and gives what becomes of them.
async fn open_requests(
    site: &Site,
    platform: &Platform,
    instance: &str,
) -> [tokio::task::JoinHandle<u16>; 2] {
    close_gate(site);
    let binding = platform.bind_request(instance, &new_id());
    let order = platform.provision_request(&new_id(), &Order::small());
    let requests = [binding, order].map(|request| {
        tokio::spawn(async move {
            request
                .send()
                .await
                .map_or(0, |answer| answer.status().as_u16())
        })
    });
    eventually("both are at the gate", TIMEOUT, async || {
        let entered = fs::read_to_string(site.vm.root().join("store/entered")).unwrap_or_default();
        if entered.lines().count() == 2 {
            Ok(())
        } else {
            Err(entered)
        }
    })
    .await;
    requests
}

#[tokio::test]
async fn an_order_and_a_binding_that_are_open_are_answered_before_the_broker_is_gone() {
    let (site, plan) = site(60).await;
    let platform = site.platform(&plan);

    // There is no process to stop.
    site.drain().await;
    site.start_broker().await;
    let instance = platform.created().await;
    let requests = open_requests(&site, &platform, &instance).await;

    let mut drain = site.vm.script("broker", "drain");
    eventually("no connection is accepted any more", TIMEOUT, async || {
        let (address, port) = site.foundation.broker_address();
        match tokio::net::TcpStream::connect((address, port)).await {
            Ok(_) => Err("a connection was taken".to_owned()),
            Err(_) => Ok(()),
        }
    })
    .await;
    assert!(drain.is_running(), "{}", drain.errors());
    assert_eq!(drain.output(), "");
    open_gate(&site);

    let [binding, order] = requests;
    assert_eq!((binding.await.unwrap(), order.await.unwrap()), (201, 202));
    assert_eq!(drain.exit(TIMEOUT).await.code(), Some(0));
    assert_eq!(drain.output(), "0\n");
    assert_eq!(site.vm.processes("broker"), Vec::new());
    // The file of a process that is gone.
    fs::write(site.vm.pid_file("broker"), "999999999").unwrap();
    site.drain().await;
    assert!(!site.vm.pid_file("broker").exists());
}

#[tokio::test]
async fn without_any_time_open_requests_are_cut_off_and_a_broker_that_hangs_is_killed() {
    let (site, plan) = site(0).await;
    let platform = site.platform(&plan);
    site.start_broker().await;
    let instance = platform.created().await;
    let requests = open_requests(&site, &platform, &instance).await;

    site.drain().await;

    let [binding, order] = requests;
    let answers = [binding.await.unwrap(), order.await.unwrap()];
    assert!(
        answers.iter().all(|status| !(200..300).contains(status)),
        "{answers:?}"
    );
    open_gate(&site);
    assert_eq!(site.vm.processes("broker"), Vec::new());

    site.start_broker().await;
    let broker = site.vm.processes("broker");
    assert_eq!(broker.len(), 1, "{broker:?}");
    let id = Pid::from_raw(i32::try_from(broker[0].id).unwrap()).unwrap();
    kill_process(id, Signal::STOP).unwrap();
    site.drain().await;
    let log = site.vm.log("broker", "drain.log");
    assert!(log.contains("killing it"), "{log}");
    eventually("the broker is gone", TIMEOUT, async || {
        let left = site.vm.processes("broker");
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:?}"))
        }
    })
    .await;
    assert!(!site.vm.pid_file("broker").exists());
}
