//! Lists and metrics of thousands of instances, and what they cost.

use std::collections::BTreeSet;

use odb_stories::{Broker, Foundation};

use super::{asked, both, latest_call, order, registered};

/// How many instances there are.
const FLEET: usize = 5000;

/// The memory for a list, in bytes: a few pages, and the id of each instance so that it is listed once. All pages at
/// once would take more.
const MEMORY: u64 = 8 * 1024 * 1024;

/// Asks, and gives what that cost: calls to the Cloud Controller.
async fn calls_of(foundation: &Foundation, broker: &Broker, path: &str) -> (String, Vec<String>) {
    let latest = latest_call(foundation).await;
    let answer = broker.platform().manage(path).await;
    let asked = asked(foundation, latest).await;
    // The first page of a list is read at its beginning and at its end.
    let others = asked.iter().filter(|call| !call.ends_with("page=1"));
    let distinct: BTreeSet<_> = others.clone().collect();
    assert_eq!(
        distinct.len(),
        others.count(),
        "{path}: a call is repeated: {asked:#?}"
    );
    answer.expect_status(200);
    (answer.text, asked)
}

#[tokio::test]
async fn five_thousand_instances_are_listed_checked_and_counted_without_repeated_calls() {
    // Calls for the list, the orphans and the metrics: offerings and plans, then pages, the first one of
    // each list twice, or counts. Version 2 has a list for each plan.
    let expected = [[2 + 11, 2 + 11, 2 + 2], [2 + 53, 2 + 53, 2 + 2]];
    for (setup, expected) in both().into_iter().zip(expected) {
        let foundation = setup.without_processes().start().await;
        let broker = registered(&foundation).await;
        // Data that the broker has loaded before does not count.
        order(&foundation, "small", "first").await;
        broker.platform().listed_instances("").await;
        foundation.control().seed_fleet(FLEET - 1, 5).await;
        let before = broker.peak_memory();

        let (list, listing) = calls_of(&foundation, &broker, "/mgmt/service_instances").await;
        let cost = broker.peak_memory().saturating_sub(before);
        let (metrics, counting) = calls_of(&foundation, &broker, "/mgmt/metrics").await;
        let (orphans, checking) = calls_of(&foundation, &broker, "/mgmt/orphan_deployments").await;

        println!(
            "before the list {} KiB, for it {} KiB more",
            before / 1024,
            cost / 1024
        );
        assert_eq!(length(&list), FLEET);
        assert_eq!(orphans, "[]");
        assert!(metrics.contains("/total_instances"), "{metrics}");
        assert_eq!(
            [listing.len(), checking.len(), counting.len()],
            expected,
            "{listing:#?} {checking:#?} {counting:#?}"
        );
        assert!(cost < MEMORY, "the list cost {cost} bytes");
    }
}

fn length(list: &str) -> usize {
    let list: Vec<serde_json::Value> = serde_json::from_str(list).unwrap();
    list.len()
}
