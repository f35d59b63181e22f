//! `broker-post-start` (`spec/contracts/errands.md` §9, its weakness 11.3 #4 fixed).

use std::fs;

use odb_stories::{Broker, Errand, Foundation, Secrets, StandIn, eventually};
use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use crate::TIMEOUT;

const ERRAND: &str = "broker-post-start";

async fn foundation() -> Foundation {
    Foundation::bare().start().await
}

/// The file of the broker that `BrokerConfiguration::start` has written.
fn broker_yml(foundation: &Foundation) -> String {
    foundation.folder().join("broker.yml").display().to_string()
}

#[tokio::test]
async fn a_broker_that_serves_its_catalog_is_up() {
    let foundation = foundation().await;
    for broker in [foundation.broker(), foundation.broker().with_plain_http()] {
        let mut broker = broker.start().await;
        let file = broker_yml(&foundation);
        let errand = Errand::new(&foundation, ERRAND).with(&["--config", &file]);
        let run = errand.run().await.expect_status(0);
        assert_eq!(run.output, "");
        assert_eq!(run.last_text(), "Broker post-start check successful");
        expect_no_secrets(&broker, &run.stderr);

        // As the release's script has it.
        let go = Errand::by_its_name(&foundation, ERRAND)
            .with(&[
                "-brokerUsername",
                "broker",
                "-brokerPassword",
                broker.password(),
            ])
            .with(&["-brokerPort", "8080", "-configFilePath", &file]);
        let run = go.run().await.expect_status(0);
        assert_eq!(run.last_text(), "Broker post-start check successful");
        broker.stop().await;
    }
}

fn expect_no_secrets(broker: &Broker, text: &str) {
    Secrets::default()
        .and("the broker's password", broker.password())
        .expect_none_in("stderr", text);
}

#[tokio::test]
async fn it_waits_for_a_broker_that_starts_later() {
    let foundation = foundation().await;
    let mut broker = foundation.broker().start().await;
    broker.stop().await;
    let file = broker_yml(&foundation);
    let errand = Errand::new(&foundation, ERRAND).with(&["--config", &file]);
    let running = errand.start();
    eventually("the errand has looked", TIMEOUT, async || {
        let stderr = running.stderr();
        let looked = stderr.contains("error performing request: no connection");
        if looked { Ok(()) } else { Err(stderr) }
    })
    .await;

    broker.start_again().await;

    let run = running.ended().await.expect_status(0);
    assert_eq!(run.last_text(), "Broker post-start check successful");
}

#[tokio::test]
async fn the_last_failure_is_reported_at_the_timeout() {
    let foundation = foundation().await;
    let broker = foundation.broker().start().await;
    let file = broker_yml(&foundation);
    let (address, port) = foundation.broker_address();
    let errand = || {
        let errand = Errand::by_its_name(&foundation, ERRAND);
        errand.with(&["-configFilePath", &file, "-timeout", "1"])
    };
    for (flags, expected) in [
        (
            ["-brokerPort", "1"],
            "error performing request: no connection could be established".to_owned(),
        ),
        (
            ["-brokerPassword", "wrong"],
            format!("expected status 200, was 401, from https://{address}:{port}/v2/catalog"),
        ),
    ] {
        let run = errand().with(&flags).run().await.expect_status(1);
        let last = format!("Broker post-start check failed: {expected}");
        assert!(run.last_text().starts_with(&last), "{}", run.stderr);
        let earlier = run.texts();
        assert!(
            earlier.iter().any(|text| text.starts_with(&expected)),
            "{}",
            run.stderr
        );
        expect_no_secrets(&broker, &run.stderr);
    }
}

#[tokio::test]
async fn the_time_is_over_in_the_middle_of_a_request_too() {
    let foundation = foundation().await;
    let silent = StandIn::silent().await;
    let configuration = foundation
        .broker()
        .with_plain_http()
        .with("/broker/bind_address", "127.0.0.1".into());
    let file = configuration.write("broker.yml").display().to_string();

    let run = Errand::new(&foundation, ERRAND)
        .with(&["--config", &file])
        .with(&["--brokerPort", silent.port(), "--timeout", "1"])
        .run()
        .await
        .expect_status(1);

    run.expect_said_last("Broker post-start check failed: ");
    assert_eq!(silent.requests().len(), 1);
}

/// The Go errand verifies nothing.
#[tokio::test]
async fn another_server_on_the_port_gets_no_password() {
    let foundation = foundation().await;
    let broker = foundation.broker().start().await;
    let key = KeyPair::generate().unwrap();
    let other = CertificateParams::new([foundation.broker_address().0.to_owned()]).unwrap();
    let other = other.self_signed(&key).unwrap();
    let folder = foundation.folder();
    fs::write(folder.join("other.crt"), other.pem()).unwrap();
    fs::write(folder.join("other.key"), key.serialize_pem()).unwrap();
    let path = |name: &str| Value::from(folder.join(name).display().to_string());
    let file = foundation
        .broker()
        .with_password(broker.password())
        .with("/broker/tls/cert_file", path("other.crt"))
        .with("/broker/tls/key_file", path("other.key"))
        .write("other.yml");
    let errand = Errand::new(&foundation, ERRAND).with(&["--timeout", "1"]);

    let run = errand
        .with(&["--config", &file.display().to_string()])
        .run()
        .await
        .expect_status(1);

    run.expect_said_last("the TLS handshake failed");
}

#[tokio::test]
async fn a_configuration_that_is_of_no_use_is_reported_at_once() {
    let foundation = foundation().await;
    let broken = foundation
        .broker()
        .with("/service_adapter/path", "/no/such/adapter".into());
    let file = broken.write("broker.yml").display().to_string();
    for (flags, expected) in [
        (&[][..], "must supply -configFilePath"),
        (
            &["-configFilePath", "/nowhere.yml"],
            "error parsing config: could not read the configuration `/nowhere.yml`",
        ),
        (
            &["-configFilePath", &file],
            "error parsing config: the configuration has 1 error",
        ),
    ] {
        let errand = Errand::by_its_name(&foundation, ERRAND).with(flags);
        let run = errand.run().await.expect_status(1);
        run.expect_said(expected);
    }

    let file = foundation.broker().write("broker.yml");
    let run = Errand::new(&foundation, ERRAND)
        .with(&["-configFilePath", &file.display().to_string()])
        .with(&["-brokerPort", "no port"])
        .run()
        .await
        .expect_status(1);
    run.expect_said_last("error creating request: ");
}

#[tokio::test]
async fn a_signal_ends_the_wait() {
    let foundation = foundation().await;
    let file = foundation.broker().write("broker.yml");
    let errand = Errand::new(&foundation, ERRAND);
    let errand = errand.with(&["--config", &file.display().to_string()]);
    let mut running = errand.start();
    eventually("the errand waits", TIMEOUT, async || {
        let stderr = running.stderr();
        let waits = stderr.contains("error performing request");
        if waits { Ok(()) } else { Err(stderr) }
    })
    .await;

    running.terminate();

    let run = running.ended().await.expect_status(1);
    assert_eq!(run.last_text(), "stopped by a signal before its end");
}
