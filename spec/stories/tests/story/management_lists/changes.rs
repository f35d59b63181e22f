//! The list changes while it is read, or breaks off.

use std::collections::BTreeSet;

use odb_stories::{Broker, Foundation, eventually};
use reqwest::Method;
use serde_json::{Value, json};

use super::{asked, both, expect_status_alone, latest_call, registered};
use crate::TIMEOUT;

/// More than two pages of today's Cloud Controller, and so of yesterday's.
const FLEET: usize = 1100;

async fn fleet(foundation: &Foundation) -> Broker {
    let broker = registered(foundation).await;
    foundation.control().seed_fleet(FLEET, 11).await;
    broker
}

fn ids(list: &Value) -> BTreeSet<String> {
    let rows = list.as_array().unwrap();
    let ids: BTreeSet<_> = rows
        .iter()
        .map(|row| row["service_instance_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), rows.len(), "an instance is listed twice");
    ids
}

#[tokio::test]
async fn a_list_that_shrinks_while_it_is_read_is_reported_whole() {
    for setup in both() {
        let foundation = setup.without_processes().start().await;
        let broker = fleet(&foundation).await;
        let platform = broker.platform().clone();
        let start = latest_call(&foundation).await;
        let before = ids(&platform.listed_instances("").await.json());
        assert_eq!(before.len(), FLEET);
        let quiet = asked(&foundation, start).await.len();
        let control = foundation.control();
        let latest = latest_call(&foundation).await;
        let hold = json!({
            "server": "cloud-controller",
            "requests": { "method": "GET", "query": { "page": "2" } },
            "times": 1,
            "effect": { "kind": "hold", "moment": "before" },
        });
        let fault = control.set_fault(&hold).await;
        let listing = tokio::spawn(async move { platform.listed_instances("").await });
        eventually("the second page is asked for", TIMEOUT, async || {
            let state = control.fault(fault.id).await;
            (state.holds > 0).then_some(()).ok_or(format!("{state:?}"))
        })
        .await;
        let controller = foundation.cloud_controller_of_admin().await;
        let mut gone = BTreeSet::new();
        for plan in ["small", "large"] {
            let plan = controller.plan(plan).await;
            gone.insert(controller.purge_newest(&plan).await);
        }
        control.clear_faults().await;

        let after = ids(&listing.await.unwrap().expect_status(200).json());

        let stayed: BTreeSet<_> = before.difference(&gone).cloned().collect();
        assert_eq!(stayed.len(), FLEET - 2);
        assert!(
            after.is_superset(&stayed),
            "{:?}",
            stayed.difference(&after)
        );
        let busy = asked(&foundation, latest).await.len();
        assert!(busy > quiet, "{busy} calls, {quiet} without a change");
    }
}

#[tokio::test]
async fn a_list_that_breaks_off_in_the_middle_has_no_end() {
    for setup in both() {
        let foundation = setup.without_processes().start().await;
        let broker = fleet(&foundation).await;
        let fault = json!({
            "server": "cloud-controller",
            "requests": { "method": "GET", "query": { "page": "3" } },
            "effect": { "kind": "answer", "status": 500, "body": "oh no" },
        });
        foundation.control().set_fault(&fault).await;
        let platform = broker.platform();
        let request = || platform.management_request(Method::GET, "/mgmt/service_instances");

        let response = request().send().await.unwrap();
        assert_eq!(response.status(), 200, "what comes first is there");
        let read = response.text().await;
        let mut client = broker.raw_client().await;
        client.send(request()).await;
        let said = client.last_words().await;

        assert!(read.is_err(), "{read:?}");
        assert!(said.starts_with("HTTP/1.1 200"), "{said}");
        assert!(said.contains("service_instance_id"), "{said}");
        assert!(!said.ends_with("0\r\n\r\n"), "the body has an end");
        let log = broker.log();
        let cut =
            |line: &&odb_stories::LogLine| line.mentions("ODB-4002") && line.mentions("cut off");
        assert_eq!(log.iter().filter(cut).count(), 2);

        let orphans = platform.listed_orphans().await;
        expect_status_alone(&broker, &orphans, 500, "ODB-4002");
    }
}
