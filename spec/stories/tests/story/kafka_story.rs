//! A user orders Kafka, binds to it, chooses, grows, and deletes it. The jobs of the sandbox are stand-ins for Kafka
//! and ZooKeeper, and so are the topic commands: the test shows what the adapter makes a Director and programs do.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use odb_stories::{Binaries, Broker, Cf, Foundation};
use serde_json::Value;
use tokio::{io::AsyncReadExt, net::TcpStream};

async fn marketplace_of(foundation: &Foundation) -> (Broker, Cf) {
    let adapter = with_topic_commands(foundation);
    let broker = foundation
        .kafka_broker()
        .with_adapter(&adapter)
        .start()
        .await;
    let cf = foundation.cf();
    cf.register_as(&broker, ("kafka-broker", "kafka")).await;
    (broker, cf)
}

/// The adapter, in whose environment there are topic commands that keep a record.
fn with_topic_commands(foundation: &Foundation) -> PathBuf {
    let folder = foundation.folder();
    let script = |name: &str, text: &str| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o755);
        let path = folder.join(name);
        let mut file = options.open(&path).unwrap();
        write!(file, "#!/bin/bash\n{text}\n").unwrap();
        path
    };
    let record = |verb: &str| format!("echo \"{verb} $*\" >>'{}'", folder.join("topics").display());
    let creator = script("topic-creator", &record("create"));
    let deleter = script("topic-deleter", &record("delete"));
    let adapter = Binaries::find().path("kafka-service-adapter");
    let text = format!(
        "export TOPIC_CREATOR_COMMAND='{}' TOPIC_DELETER_COMMAND='{}'\nexec '{}' \"$@\"",
        creator.display(),
        deleter.display(),
        adapter.display()
    );
    script("kafka-adapter", &text)
}

#[tokio::test]
async fn an_ordered_kafka_is_bound_keeps_what_was_chosen_and_is_gone_after_its_deletion() {
    let foundation = Foundation::start().await;
    let (_broker, cf) = marketplace_of(&foundation).await;

    let chosen = r#"{"auto_create_topics": false}"#;
    cf.run(&[
        "create-service",
        "kafka",
        "single",
        "events",
        "-c",
        chosen,
        "--wait",
    ])
    .await
    .succeeded();
    cf.run(&[
        "create-service-key",
        "events",
        "key",
        "-c",
        r#"{"topic": "orders"}"#,
        "--wait",
    ])
    .await
    .succeeded();
    let servers = bootstrap_servers(&cf, "key").await;
    assert_eq!(servers.len(), 1);
    let reported = reported_by(&servers[0]).await;
    for line in [
        "auto.create.topics.enable=false",
        "default.replication.factor=1",
    ] {
        assert!(reported.contains(line), "{reported}");
    }

    // The broker looks for pending changes first and finds none; the larger plan has another default.
    cf.run(&["update-service", "events", "-p", "cluster", "--wait"])
        .await
        .succeeded();
    cf.run(&["create-service-key", "events", "another", "--wait"])
        .await
        .succeeded();
    let servers = bootstrap_servers(&cf, "another").await;
    assert_eq!(servers.len(), 3);
    for server in &servers {
        let reported = reported_by(server).await;
        for line in [
            "auto.create.topics.enable=false",
            "default.replication.factor=1",
        ] {
            assert!(reported.contains(line), "{reported}");
        }
        assert_eq!(reported.matches(":2181").count(), 3, "{reported}");
    }

    for key in ["key", "another"] {
        cf.run(&["delete-service-key", "events", key, "--wait"])
            .await
            .succeeded();
    }
    cf.run(&["delete-service", "events", "--wait"])
        .await
        .succeeded();
    let topics = fs::read_to_string(foundation.folder().join("topics")).unwrap();
    let verbs: Vec<_> = topics
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(verbs, ["create", "create", "create", "delete", "delete"]);
    assert!(
        topics.lines().nth(1).unwrap().ends_with(" orders"),
        "{topics}"
    );
    foundation.director().expect_nothing_left().await;
}

async fn bootstrap_servers(cf: &Cf, key: &str) -> Vec<String> {
    let shown = cf.run(&["service-key", "events", key, "--json"]).await;
    let credentials: Value = serde_json::from_str(&shown.succeeded()).unwrap();
    serde_json::from_value(credentials["bootstrap_servers"].clone()).unwrap()
}

/// The stand-in's answer to a connection: its `server.properties`.
async fn reported_by(server: &str) -> String {
    let mut reported = String::new();
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.read_to_string(&mut reported).await.unwrap();
    reported
}
