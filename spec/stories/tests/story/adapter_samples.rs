//! The sample manifests of the adapters, deployed.

use std::{fs, path::Path};

use odb_stories::{Foundation, Redis};
use serde_json::json;
use tokio::net::TcpStream;

const ADAPTERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../adapters");

fn sample(adapter: &str, name: &str) -> String {
    let folder = Path::new(ADAPTERS).join(adapter).join("samples");
    fs::read_to_string(folder.join(name).with_extension("yml")).unwrap()
}

#[tokio::test]
async fn a_director_deploys_the_samples_of_redis() {
    let foundation = Foundation::start().await;
    let director = foundation.director();

    for (name, maxclients) in [("create", "250"), ("change-of-plan", "300")] {
        director.deploy(&sample("redis", name)).await;

        let deployments = director.deployments().await;
        let addresses = director.addresses(&deployments[0]).await;
        let credentials = json!({
            "host": addresses[0], "port": 6379, "password": "SamplePassword123SamplePassword1",
        });
        let mut redis = Redis::connect(&credentials).await;
        assert_eq!(redis.info("clients", "maxclients").await, maxclients);
    }
}

#[tokio::test]
async fn a_director_deploys_the_samples_of_kafka() {
    let foundation = Foundation::start().await;
    let director = foundation.director();

    for (name, machines) in [("single", 2), ("cluster", 6)] {
        let manifest = sample("kafka", name);
        director.deploy(&manifest).await;

        let deployment = manifest.lines().next().unwrap().replace("name: ", "");
        let addresses = director.addresses(&deployment).await;
        assert_eq!(addresses.len(), machines);
        for address in &addresses {
            let kafka = TcpStream::connect((address.as_str(), 9092)).await;
            let zookeeper = TcpStream::connect((address.as_str(), 2181)).await;
            assert!(kafka.is_ok() != zookeeper.is_ok(), "{address}");
        }
    }
}
