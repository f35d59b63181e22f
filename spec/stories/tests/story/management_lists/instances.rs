//! Which service instances there are.

use std::collections::BTreeSet;

use odb_stories::{Fault, Foundation, Order, Response};
use reqwest::Method;
use serde_json::{Value, json};

use super::{PATHS, both, expect_status_alone, order, registered};

/// The rows of a list, in any order.
fn rows(answer: &Response) -> BTreeSet<String> {
    let list = answer.expect_status(200).json();
    let rows = list.as_array().unwrap_or_else(|| panic!("{answer:?}"));
    let distinct: BTreeSet<_> = rows.iter().map(Value::to_string).collect();
    assert_eq!(distinct.len(), rows.len(), "{answer:?}");
    distinct
}

fn row(instance: &str, order: &Order, space: &str) -> String {
    let plan = order.member("plan_id");
    json!({ "service_instance_id": instance, "plan_id": plan, "space_guid": space }).to_string()
}

#[tokio::test]
async fn instances_are_reported_with_their_plans_of_the_catalog_and_their_spaces_and_null_where_there_are_none()
 {
    for setup in both() {
        let foundation = setup.without_processes().start().await;
        let broker = registered(&foundation).await;
        let platform = broker.platform();
        let none = platform.listed_instances("").await;
        assert_eq!(none.expect_status(200).json(), Value::Null);
        let small = order(&foundation, "small", "one").await;
        let large = order(&foundation, "large", "two").await;

        let reported = platform.listed_instances("").await;

        let space = foundation.space();
        assert_eq!(
            rows(&reported),
            BTreeSet::from([
                row(&small, &Order::small(), space),
                row(&large, &Order::large(), space)
            ])
        );
    }
}

#[tokio::test]
async fn instances_are_chosen_by_the_names_of_organization_and_space() {
    let (organization, location) = ("a&b, ö%2C+", "dev/1 #=?");
    let location_of = |organization: &str, space: &str| {
        let pairs = [("cf_org", organization), ("cf_space", space)];
        let url = url::Url::parse_with_params("http://query", pairs).unwrap();
        url.query().unwrap().to_owned()
    };
    for setup in both() {
        let foundation = setup
            .with_another_location(organization, location)
            .without_processes()
            .start()
            .await;
        let broker = registered(&foundation).await;
        let platform = broker.platform();
        let here = order(&foundation, "small", "here").await;
        let controller = foundation.cloud_controller().await.in_space(location).await;
        let plan = controller.plan("small").await;
        let ordered = controller.order("there", &plan).await;
        controller.end(&ordered).await.unwrap();

        let chosen = platform
            .listed_instances(&location_of("acme", "development"))
            .await;
        assert_eq!(
            rows(&chosen),
            BTreeSet::from([row(&here, &Order::small(), foundation.space())])
        );
        let chosen = platform
            .listed_instances(&location_of(organization, location))
            .await;
        let there = rows(&chosen);
        assert_eq!(there.len(), 1);
        assert!(
            there.iter().all(|row| row.contains(controller.space())),
            "{there:?}"
        );

        // A space of another organization is none of this one, and who is not there has nothing.
        for (organization, space) in [
            ("acme", location),
            ("acme", "nowhere"),
            ("nobody", "development"),
        ] {
            let none = platform
                .listed_instances(&location_of(organization, space))
                .await;
            assert_eq!(none.expect_status(200).json(), Value::Null);
        }
        // The first value counts.
        let query = "cf_org=acme&cf_org=nobody&cf_space=development&cf_space=nowhere";
        assert_eq!(rows(&platform.listed_instances(query).await).len(), 1);
    }
}

#[tokio::test]
async fn a_source_that_fails_is_reported_by_a_500_and_why_in_the_log() {
    for setup in both() {
        let foundation = setup.without_processes().start().await;
        let broker = registered(&foundation).await;
        let control = foundation.control();
        for (server, code) in [("cloud-controller", "ODB-4002"), ("cf-uaa", "ODB-4002")] {
            if server == "cf-uaa" {
                control.revoke_tokens(server).await;
            }
            control
                .set(Fault::of(server, "/**").says(500, "oh no"))
                .await;
            for path in PATHS {
                let answer = broker.platform().manage(path).await;
                expect_status_alone(&broker, &answer, 500, code);
            }
            control.clear_faults().await;
        }
    }
}

#[tokio::test]
async fn nothing_is_reported_where_nothing_is_known() {
    let foundation = Foundation::bare().start().await;
    let broker = foundation.broker().without_quotas();
    let broker = broker.without_cloud_controller().start().await;

    for (path, status, code) in [
        (PATHS[0], 500, "ODB-2043"),
        (PATHS[1], 500, "ODB-2043"),
        (PATHS[2], 503, "ODB-2043"),
    ] {
        let answer = broker.platform().manage(path).await;
        expect_status_alone(&broker, &answer, status, code);
    }
}

#[tokio::test]
async fn unauthenticated_clients_are_reported_nothing_and_nothing_else_can_be_asked_there() {
    let foundation = Foundation::bare().start().await;
    let broker = registered(&foundation).await;
    let platform = broker.platform();

    for path in PATHS {
        let anonymous = platform.anonymous_request(Method::GET, path);
        platform.send(anonymous).await.expect_status(401);
        let unauthenticated_client = platform.with_wrong_password();
        unauthenticated_client.manage(path).await.expect_status(401);
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            let request = platform.management_request(method, path);
            let refused = platform.send(request).await;
            assert_eq!(refused.expect_status(405).header("allow"), "GET");
        }
    }
    platform.manage("/mgmt/somewhere").await.expect_status(404);
    assert_eq!(foundation.director().history().await, Vec::<String>::new());
}
