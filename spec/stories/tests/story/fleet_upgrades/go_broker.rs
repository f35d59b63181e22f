//! A Go broker from the view of these errands: it has no `/mgmt/v1`, and returns configured answers.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use odb_stories::{Errand, ErrandConfiguration, ErrandRun, Foundation, eventually};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::{BOTH, RECREATE, UPGRADE, own_texts, summary};
use crate::TIMEOUT;

/// The longest request that is read.
const REQUEST_LIMIT: usize = 16 * 1024;

/// Answers by method and path, and what was asked.
#[derive(Debug, Default)]
struct Book {
    answers: HashMap<String, (u16, String)>,
    /// Answers that come first, each once.
    first: HashMap<String, VecDeque<(u16, String)>>,
    requests: Vec<String>,
}

#[derive(Debug)]
pub(super) struct GoBroker {
    url: String,
    book: Arc<Mutex<Book>>,
    task: JoinHandle<()>,
}

impl GoBroker {
    pub(super) async fn with(instances: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let book: Arc<Mutex<Book>> = Arc::default();
        let task = tokio::spawn({
            let book = book.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, book.clone()));
                }
            }
        });
        let broker = Self { url, book, task };
        let list: Value = instances
            .iter()
            .map(
                |id| json!({ "service_instance_id": id, "plan_id": "plan", "space_guid": "space" }),
            )
            .collect();
        broker.answers("GET /mgmt/service_instances", 200, &list.to_string());
        for id in instances {
            broker.triggers(
                id,
                202,
                r#"{"BoshTaskID":7,"OperationType":"upgrade","Odd":true}"#,
            );
            broker.polled(id, 200, r#"{"state":"succeeded"}"#);
        }
        broker
    }

    pub(super) fn answers(&self, request: &str, status: u16, body: &str) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.answers
            .insert(request.to_owned(), (status, body.to_owned()));
    }

    /// Sets the first answers, in order.
    pub(super) fn answers_first(&self, request: &str, answers: &[(u16, &str)]) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = answers.iter();
        let answers = answers.map(|(status, body)| (*status, (*body).to_owned()));
        book.first.insert(request.to_owned(), answers.collect());
    }

    fn triggers(&self, id: &str, status: u16, body: &str) {
        self.answers(&format!("PATCH /mgmt/service_instances/{id}"), status, body);
    }

    fn polled(&self, id: &str, status: u16, body: &str) {
        let path = format!("GET /v2/service_instances/{id}/last_operation");
        self.answers(&path, status, body);
    }

    /// The request lines so far.
    pub(super) fn requests(&self) -> Vec<String> {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.requests.clone()
    }

    pub(super) fn errand(&self, foundation: &Foundation, errand: &str) -> Errand {
        let file = ErrandConfiguration::of_broker(foundation, &self.url, "password")
            .without_cloud_controller()
            .with("/attempt_limit", json!(3));
        Errand::new(foundation, errand).configured(&file)
    }

    async fn run(&self, foundation: &Foundation, errand: &str, more: &[&str]) -> ErrandRun {
        self.errand(foundation, errand).with(more).run().await
    }
}

impl Drop for GoBroker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, book: Arc<Mutex<Book>>) {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !is_whole(&request) && request.len() < REQUEST_LIMIT {
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => request.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_suffix(" HTTP/1.1").unwrap_or(line);
    let (status, body) = {
        let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
        book.requests.push(line.to_owned());
        let asked = line.split('?').next().unwrap_or_default();
        let first = book.first.get_mut(asked).and_then(VecDeque::pop_front);
        let known = first.or_else(|| book.answers.get(asked).cloned());
        known.unwrap_or((404, "404 page not found\n".to_owned()))
    };
    let answer = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // A client that has disconnected reads no answer.
    let _ = stream.write_all(answer.as_bytes()).await;
}

/// Head and body have arrived.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    body.len() >= length.unwrap_or(0)
}

pub(super) async fn foundation() -> Foundation {
    Foundation::setup().without_processes().start().await
}

#[tokio::test]
async fn the_errands_work_with_a_go_broker() {
    let foundation = foundation().await;
    let broker = GoBroker::with(&["i1"]).await;
    let run = broker.run(&foundation, UPGRADE, &[]).await.expect_status(0);
    assert!(
        summary(&run).contains("successful operations: 1;"),
        "{run:?}"
    );
    let requests = broker.requests();
    assert!(
        requests.contains(&"PATCH /mgmt/service_instances/i1?operation_type=upgrade".to_owned()),
        "{requests:?}"
    );
    let poll = requests.last().unwrap();
    assert!(poll.contains("Odd"), "unknown members are returned: {poll}");
}

#[tokio::test]
async fn every_answer_of_a_broker_has_its_outcome_and_its_text() {
    let foundation = foundation().await;
    let failed = |id: &str, text: &str| {
        format!("operation type: upgrade failed for service instance {id}: {text}")
    };
    for (status, body, account, text) in [
        (204, "", "skipped operations: 1;", None),
        (410, "", "orphans detected: 1;", None),
        (404, "", "operation could happen: 1;", None),
        (
            409,
            "",
            "which could not be processed: 1 [i1];",
            Some("The following instances could not be processed: i1".to_owned()),
        ),
        (
            500,
            r#"{"description":"no stemcell"}"#,
            "failed to process: 1 [i1]",
            Some(failed(
                "i1",
                "unexpected status code: 500. description: no stemcell",
            )),
        ),
        (
            500,
            "oops",
            "failed to process: 1 [i1]",
            Some(failed(
                "i1",
                "unexpected status code: 500. cannot parse upgrade response: 'oops'",
            )),
        ),
        (
            418,
            "teapot",
            "failed to process: 1 [i1]",
            Some(failed("i1", "unexpected status code: 418. body: teapot")),
        ),
    ] {
        let broker = GoBroker::with(&["i1"]).await;
        broker.triggers("i1", status, body);
        let run = broker.run(&foundation, UPGRADE, &[]).await;
        let run = run.expect_status(i32::from(text.is_some()));
        assert!(summary(&run).contains(account), "{status}: {run:?}");
        if let Some(text) = text {
            assert_eq!(run.last_text(), text, "{status}");
        }
    }
}

#[tokio::test]
async fn every_answer_to_a_poll_has_its_text() {
    let foundation = foundation().await;
    for (status, body, text) in [
        (
            200,
            r#"{"state":"failed","description":"out of disk"}"#,
            "[i1] Operation failed: bosh task id 7: out of disk",
        ),
        (
            200,
            r#"{"state":"strange"}"#,
            "[i1] unknown state from last operation: strange",
        ),
        (
            403,
            "{}",
            "[i1] error getting last operation: HTTP response status: 403 Forbidden",
        ),
    ] {
        let broker = GoBroker::with(&["i1"]).await;
        broker.polled("i1", status, body);
        let run = broker.run(&foundation, UPGRADE, &[]).await.expect_status(1);
        assert!(run.last_text().starts_with(text), "{status}: {run:?}");
    }
}

#[tokio::test]
async fn an_instance_that_is_gone_from_the_list_is_not_triggered() {
    let foundation = foundation().await;
    let broker = GoBroker::with(&["i1", "i2"]).await;
    broker.polled("i1", 200, r#"{"state":"in progress"}"#);
    let errand = broker.errand(&foundation, UPGRADE).start();
    eventually("the first instance is worked on", TIMEOUT, async || {
        let requests = broker.requests();
        let is_polled = requests.iter().any(|line| line.contains("last_operation"));
        is_polled.then_some(()).ok_or(format!("{requests:?}"))
    })
    .await;
    let list = r#"[{"service_instance_id":"i1","plan_id":"plan"}]"#;
    broker.answers("GET /mgmt/service_instances", 200, list);
    broker.polled("i1", 200, r#"{"state":"succeeded"}"#);

    let run = errand.ended().await.expect_status(0);

    let gone = "[i2] Result: already deleted from platform".to_owned();
    assert!(own_texts(&run).contains(&gone), "{run:?}");
    let requests = broker.requests();
    let touched = |line: &String| line.starts_with("PATCH /mgmt/service_instances/i2");
    assert!(!requests.iter().any(touched), "{requests:?}");
}

#[tokio::test]
async fn options_that_a_go_broker_does_not_support_are_rejected_before_any_change() {
    let foundation = foundation().await;
    for flags in [
        &["--continue"][..],
        &["--dry-run"],
        &["--health-gate"],
        &["--plan", "small"],
        &["--exclude", "i1"],
    ] {
        for errand in BOTH {
            let broker = GoBroker::with(&["i1"]).await;
            let run = broker
                .run(&foundation, errand, flags)
                .await
                .expect_status(1);
            let last = run.last_text();
            assert!(last.contains("this broker does not support"), "{last}");
            let requests = broker.requests();
            assert!(
                !requests.iter().any(|line| line.starts_with("PATCH")),
                "{requests:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_recreation_wants_to_know_the_directors_version() {
    let foundation = foundation().await;
    let broker = GoBroker::with(&["i1"]).await;
    let run = broker
        .run(&foundation, RECREATE, &[])
        .await
        .expect_status(1);
    assert!(run.last_text().contains("`bosh.url`"), "{run:?}");

    let director = GoBroker::with(&[]).await;
    for (status, info, wanted) in [
        (
            200,
            r#"{"version":"268.3.0 (00000000)"}"#,
            "Insufficient BOSH director version: \"268.3.0 (00000000)\"",
        ),
        (
            503,
            "",
            "an error occurred while talking to the BOSH director: got HTTP 503",
        ),
        (200, r#"{"version":"268.4.0 (00000000)"}"#, ""),
    ] {
        director.answers("GET /info", status, info);
        let file = ErrandConfiguration::of_broker(&foundation, &broker.url, "password")
            .without_cloud_controller()
            .with(
                "/bosh",
                json!({ "url": director.url, "root_ca_cert": null }),
            );
        let run = Errand::new(&foundation, RECREATE)
            .configured(&file)
            .run()
            .await;
        if wanted.is_empty() {
            let _ = run.expect_status(0);
        } else {
            let run = run.expect_status(1);
            assert!(run.last_text().starts_with(wanted), "{run:?}");
        }
    }
}
