//! Fleets of thousands.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::TcpListener,
};

use actix_web::{HttpResponse, web};
use odb_sandbox::{fleet::FleetReport, serve::Servers};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::{client::send, foundation::Sandbox};

const INSTANCES: usize = 5000;

/// A broker that has a catalog and nothing else.
async fn register_broker(sandbox: &Sandbox) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut servers = Servers::new(Handle::current());
    servers
        .http("a broker", listener, |app| {
            app.route("/v2/catalog", web::get().to(catalog));
        })
        .unwrap();
    let client = sandbox.client();
    let token = client
        .admin_token(&sandbox.description().cloud_controller)
        .await;
    let request = client
        .request(
            Method::POST,
            &sandbox.cloud_controller("/v3/service_brokers"),
        )
        .bearer_auth(&token)
        .header("Content-Type", "application/json")
        .body(
            json!({
                "name": "fleet-broker",
                "url": url,
                "authentication": {
                    "type": "basic",
                    "credentials": {"username": "broker", "password": "password"},
                },
            })
            .to_string(),
        );
    let accepted = send(request).await.unwrap();
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.body);
    let job = accepted.headers["location"].to_str().unwrap().to_owned();
    loop {
        let job = sandbox.get(&job, &token).await;
        match job["state"].as_str() {
            Some("COMPLETE") => break,
            Some("FAILED") => panic!("{job}"),
            _ => tokio::task::yield_now().await,
        }
    }
}

async fn catalog() -> HttpResponse {
    let plan = |id: &str, name: &str| json!({"id": id, "name": name, "description": name});
    HttpResponse::Ok().json(json!({"services": [{
        "id": "fleet-offering",
        "name": "redis",
        "description": "A Redis",
        "bindable": true,
        "plans": [plan("plan-small", "small"), plan("plan-large", "large")],
    }]}))
}

#[tokio::test]
async fn five_thousand_instances_are_the_same_in_cloud_controller_and_director() {
    let sandbox = Sandbox::start().await;
    register_broker(&sandbox).await;
    let client = sandbox.client();
    let order = json!({"broker": "fleet-broker", "instances": INSTANCES, "random_seed": 42});

    let seeded = client.post(&sandbox.control("/fleet"), &order).await;

    assert_eq!(seeded.status, StatusCode::OK, "{}", seeded.body);
    let report: FleetReport = serde_json::from_str(&seeded.body).unwrap();
    assert_eq!(report.instances, INSTANCES);
    let instances = all_instances(&sandbox).await;
    assert_eq!(instances.len(), INSTANCES);
    let states = instances.values().map(|instance| {
        let operation = &instance["last_operation"];
        format!("{} {}", operation["type"], operation["state"]).replace('"', "")
    });
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for state in states {
        *counted.entry(state).or_default() += 1;
    }
    assert_eq!(
        counted.get("create failed"),
        report.conditions.get("create failed")
    );
    assert_eq!(
        counted.get("update in progress"),
        report.conditions.get("update in progress")
    );
    let director = client.token(&sandbox.description().director).await;
    let deployments = sandbox
        .get(&sandbox.director("/deployments"), &director)
        .await;
    let deployments: BTreeSet<String> = deployments
        .as_array()
        .unwrap()
        .iter()
        .map(|deployment| deployment["name"].as_str().unwrap().to_owned())
        .collect();
    let expected: BTreeSet<String> = instances
        .keys()
        .map(|guid| format!("service-instance_{guid}"))
        .collect();
    assert_eq!(deployments, expected);
    for (guid, instance) in instances.iter().step_by(500).chain(one_failed(&instances)) {
        let url = sandbox.director(&format!("/deployments/service-instance_{guid}"));
        let manifest = &sandbox.get(&url, &director).await["manifest"];
        let operation = &instance["last_operation"];
        if operation["type"] == "create" && operation["state"] == "failed" {
            assert_eq!(*manifest, Value::Null);
        } else {
            let name = format!("name: service-instance_{guid}");
            assert!(manifest.as_str().unwrap().contains(&name), "{manifest}");
        }
    }
    let records = sandbox.director("/configs?type=odb-operation&latest=true");
    let records = sandbox.get(&records, &director).await;
    assert_eq!(records.as_array().unwrap().len(), INSTANCES);
}

fn one_failed(all: &BTreeMap<String, Value>) -> Option<(&String, &Value)> {
    all.iter().find(|(_, instance)| {
        let operation = &instance["last_operation"];
        operation["type"] == "create" && operation["state"] == "failed"
    })
}

/// Every page of the list, each as long as it says.
async fn all_instances(sandbox: &Sandbox) -> BTreeMap<String, Value> {
    let client = sandbox.client();
    let token = client
        .admin_token(&sandbox.description().cloud_controller)
        .await;
    let mut url = sandbox.cloud_controller("/v3/service_instances?per_page=700");
    let mut found = BTreeMap::new();
    for number in 1.. {
        let page = sandbox.get(&url, &token).await;
        assert_eq!(page["pagination"]["total_results"], INSTANCES);
        let resources = page["resources"].as_array().unwrap();
        let expected = (INSTANCES - 700 * (number - 1)).min(700);
        assert_eq!(resources.len(), expected, "page {number}");
        for resource in resources {
            let guid = resource["guid"].as_str().unwrap().to_owned();
            assert!(found.insert(guid, resource.clone()).is_none(), "twice");
        }
        match page["pagination"]["next"]["href"].as_str() {
            Some(next) => url = next.to_owned(),
            None => break,
        }
    }
    found
}

#[tokio::test]
async fn the_same_random_seed_draws_the_same_fleet() {
    let order = json!({"broker": "fleet-broker", "instances": 50, "random_seed": 7});
    let mut generated = Vec::new();
    for _ in 0..2 {
        let sandbox = Sandbox::start().await;
        register_broker(&sandbox).await;
        let client = sandbox.client();
        let seeded = client.post(&sandbox.control("/fleet"), &order).await;
        assert_eq!(seeded.status, StatusCode::OK, "{}", seeded.body);
        let director = client.token(&sandbox.description().director).await;
        let deployments = sandbox
            .get(&sandbox.director("/deployments"), &director)
            .await;
        let names = deployments.as_array().unwrap().iter();
        generated.push(names.map(|row| row["name"].clone()).collect::<Vec<_>>());
        let again = client.post(&sandbox.control("/fleet"), &order).await;
        assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.body);
    }

    assert_eq!(generated[0].len(), 50);
    assert_eq!(generated[0], generated[1]);
}

#[tokio::test]
async fn a_fleet_of_an_unregistered_broker_is_rejected() {
    let sandbox = Sandbox::start().await;
    let order = json!({"broker": "nobody", "instances": 5, "random_seed": 7});

    let refused = sandbox
        .client()
        .post(&sandbox.control("/fleet"), &order)
        .await;

    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(
        refused.json()["error"],
        "there is no service broker `nobody` with plans; register it first"
    );
}
