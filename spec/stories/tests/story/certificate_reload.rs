//! The broker's certificate changes while it serves.

use std::fs;

use odb_stories::{Foundation, Process, eventually};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256};
use rustls::version::{TLS12, TLS13};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::{
    TIMEOUT,
    start_up::everything,
    tls::{Own, listens, serve},
};

/// `broker` and `p`.
const AUTHORIZATION: &str = "Basic YnJva2VyOnA=";

const USABLE_UNTIL: (i32, u8, u8) = (2999, 1, 1);

/// An open connection to the broker.
struct Connection(TlsStream<TcpStream>);

impl Connection {
    async fn open(foundation: &Foundation, own: &Own) -> Result<Self, String> {
        let stream = own.connect(foundation, &TLS13, Vec::new()).await;
        stream.map(Self).map_err(|error| error.to_string())
    }

    async fn get(&mut self, path: &str) -> String {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: broker\r\nauthorization: {AUTHORIZATION}\r\n\r\n"
        );
        self.0.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&answer).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: "));
                if body.len() >= length.unwrap().parse().unwrap() {
                    return text;
                }
            }
            let count = self.0.read_buf(&mut answer).await.unwrap();
            assert!(count > 0, "it has ended: {text}");
        }
    }

    async fn expect_metric(&mut self, line: &str) {
        eventually(line, TIMEOUT, async || {
            let metrics = self.get("/metrics").await;
            let is_shown = metrics.lines().any(|shown| shown == line);
            is_shown.then_some(()).ok_or(metrics)
        })
        .await;
    }
}

fn write(foundation: &Foundation, until: (i32, u8, u8)) -> Own {
    Own::write(foundation, &PKCS_ECDSA_P256_SHA256, until, USABLE_UNTIL)
}

/// A broker with the certificate and key in this folder, below that of the foundation.
async fn start(foundation: &Foundation, folder: &str) -> Process {
    let file = |name: &str| {
        let file = foundation.folder().join(folder).join(name);
        file.display().to_string().into()
    };
    let configuration = foundation
        .broker()
        .with_password("p")
        .with("/broker/tls/cert_file", file("own.crt"))
        .with("/broker/tls/key_file", file("own.key"))
        .write("own.yml");
    let mut broker = serve(foundation, &configuration, &[]);
    listens(&mut broker).await;
    broker
}

/// Moves the files into a folder of this name, and replaces the link `data` to the current folder, as Kubernetes does.
fn publish(foundation: &Foundation, version: &str) {
    let path = |name: &str| foundation.folder().join(name);
    fs::create_dir(path(version)).unwrap();
    for name in ["own.crt", "own.key"] {
        fs::rename(path(name), path(version).join(name)).unwrap();
    }
    std::os::unix::fs::symlink(version, path("new")).unwrap();
    fs::rename(path("new"), path("data")).unwrap();
}

async fn serves(foundation: &Foundation, own: &Own) -> Connection {
    eventually("the certificate is served", TIMEOUT, async || {
        Connection::open(foundation, own).await
    })
    .await
}

#[tokio::test]
async fn new_connections_use_a_changed_certificate_and_open_ones_continue() {
    let foundation = Foundation::start().await;
    let first = write(&foundation, (2990, 1, 1));
    publish(&foundation, "1");
    let _broker = start(&foundation, "data").await;
    let mut open = serves(&foundation, &first).await;
    let expiry = |seconds: &str| {
        format!(
            "odb_certificate_expiry_timestamp_seconds{{certificate=\"broker.tls.cert_file\"}} {seconds}"
        )
    };
    open.expect_metric(&expiry("32188147200")).await;

    // Also of the other kind, for which TLS 1.2 is supported.
    let second = Own::write(&foundation, &PKCS_RSA_SHA256, (2991, 1, 1), USABLE_UNTIL);
    publish(&foundation, "2");
    serves(&foundation, &second).await;

    let old = second.connect(&foundation, &TLS12, Vec::new()).await;
    assert!(old.is_ok(), "{old:?}");
    let refused = Connection::open(&foundation, &first).await;
    assert!(refused.is_err());
    let answer = open.get("/health").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    open.expect_metric(&expiry("32219683200")).await;
}

#[tokio::test]
async fn a_changed_pair_that_cannot_be_used_keeps_the_previous_one_and_is_reported_once() {
    let foundation = Foundation::start().await;
    let first = write(&foundation, USABLE_UNTIL);
    let broker = start(&foundation, "").await;
    let mut open = serves(&foundation, &first).await;
    let failed = |value: u8| {
        format!("odb_certificate_reload_failed{{certificate=\"broker.tls.cert_file\"}} {value}")
    };
    open.expect_metric(&failed(0)).await;
    let key_file = foundation.folder().join("own.key");
    let key = fs::read_to_string(&key_file).unwrap();

    let other = KeyPair::generate().unwrap().serialize_pem();
    fs::write(&key_file, other).unwrap();
    open.expect_metric(&failed(1)).await;
    assert!(Connection::open(&foundation, &first).await.is_ok());

    fs::write(&key_file, key).unwrap();
    open.expect_metric(&failed(0)).await;
    let said = everything(&broker);
    let reports: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("ODB-1106"))
        .collect();
    let [report] = reports.as_slice() else {
        panic!("{said}")
    };
    assert!(
        report.contains("ERROR") && report.contains("own.key"),
        "{report}"
    );

    // An expired one is unusable, too.
    write(&foundation, (2024, 2, 29));
    open.expect_metric(&failed(1)).await;
    assert!(Connection::open(&foundation, &first).await.is_ok());
    let last = write(&foundation, USABLE_UNTIL);
    serves(&foundation, &last).await;
    open.expect_metric(&failed(0)).await;
}
