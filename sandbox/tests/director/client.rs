//! A client of a Director, with the requests of a broker.

use std::time::Duration;

use reqwest::{Method, StatusCode, header::HeaderMap, redirect::Policy};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// One line of an event log, without what varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) stage: String,
    pub(crate) task: String,
    pub(crate) state: String,
}

impl Client {
    pub(crate) fn new(url: &str, token: Option<String>) -> Self {
        let http = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .build()
            .unwrap();
        Self {
            http,
            url: url.to_owned(),
            token,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.call(Method::GET, path, &[], String::new()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Response {
        self.call(Method::DELETE, path, &[], String::new()).await
    }

    pub(crate) async fn post_json(&self, path: &str, body: &Value) -> Response {
        let headers = [("content-type", "application/json")];
        self.call(Method::POST, path, &headers, body.to_string())
            .await
    }

    pub(crate) async fn post_yaml(&self, path: &str, body: impl Into<String>) -> Response {
        let headers = [("content-type", "text/yaml")];
        self.call(Method::POST, path, &headers, body.into()).await
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Response {
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.url))
            .body(body);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        Response {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.text().await.unwrap(),
        }
    }

    /// Starts a deploy, and returns its task.
    pub(crate) async fn deploy(&self, manifest: &Value) -> u64 {
        self.post_yaml("/deployments", manifest.to_string())
            .await
            .task()
    }

    /// Deploys, and wants it to succeed.
    pub(crate) async fn deployed(&self, manifest: &Value) -> u64 {
        let task = self.deploy(manifest).await;
        self.done(task).await;
        task
    }

    /// Starts an errand, and returns its task.
    pub(crate) async fn run_errand(&self, deployment: &str, errand: &str, options: &Value) -> u64 {
        let path = format!("/deployments/{deployment}/errands/{errand}/runs");
        self.post_json(&path, options).await.task()
    }

    /// Runs an errand to its end, and reads the one line of its result.
    pub(crate) async fn errand_result(
        &self,
        deployment: &str,
        errand: &str,
        options: &Value,
    ) -> Value {
        let task = self.run_errand(deployment, errand, options).await;
        self.done(task).await;
        serde_json::from_str(&self.output(task, "result").await).unwrap()
    }

    /// The task once it has ended.
    pub(crate) async fn ended(&self, task: u64) -> Value {
        self.task_when(task, |task| {
            matches!(
                task["state"].as_str(),
                Some("done" | "error" | "cancelled" | "timeout")
            )
        })
        .await
    }

    /// The task, which must have ended well.
    pub(crate) async fn done(&self, task: u64) -> Value {
        let ended = self.ended(task).await;
        assert_eq!(ended["state"], "done", "{ended}");
        ended
    }

    /// The task once a condition is met.
    pub(crate) async fn task_when(&self, task: u64, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let seen = self.get(&format!("/tasks/{task}")).await.json();
            if condition(&seen) {
                return seen;
            }
            assert!(Instant::now() < deadline, "the task stays at {seen}");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// The events of a task. An error line becomes an event of the stage `error`, a warning one of the stage with the
    /// name of its type.
    pub(crate) async fn events(&self, task: u64) -> Vec<Event> {
        let log = self.output(task, "event").await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        log.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .map(|line: Value| match (line.get("error"), line.get("type")) {
                (Some(error), _) => Event {
                    stage: "error".to_owned(),
                    task: text(&error["message"]),
                    state: error["code"].to_string(),
                },
                (None, Some(kind)) => Event {
                    stage: text(kind),
                    task: text(&line["message"]),
                    state: String::new(),
                },
                (None, None) => Event {
                    stage: text(&line["stage"]),
                    task: text(&line["task"]),
                    state: text(&line["state"]),
                },
            })
            .collect()
    }

    /// The stages of a task, each once, in the order of their beginning.
    pub(crate) async fn stages(&self, task: u64) -> Vec<String> {
        let mut stages: Vec<String> = Vec::new();
        for event in self.events(task).await {
            if !stages.contains(&event.stage) {
                stages.push(event.stage);
            }
        }
        stages
    }

    /// What a task has written: its `event` log, its `result` or another of its outputs.
    pub(crate) async fn output(&self, task: u64, kind: &str) -> String {
        let path = format!("/tasks/{task}/output?type={kind}");
        self.get(&path).await.body
    }

    /// Deploys what must fail, and returns the error.
    pub(crate) async fn deploy_error(&self, manifest: &Value) -> (String, String) {
        let task = self.deploy(manifest).await;
        let ended = self.ended(task).await;
        assert_eq!(ended["state"], "error", "{ended}");
        self.error_of(task).await
    }

    /// The code and the text of the error with which a task ends.
    pub(crate) async fn error_of(&self, task: u64) -> (String, String) {
        self.ended(task).await;
        let last = self.events(task).await.pop().unwrap();
        assert_eq!(last.stage, "error", "{last:?}");
        (last.state, last.task)
    }

    /// The address of the first instance of a group.
    pub(crate) async fn address(&self, deployment: &str, group: &str) -> String {
        let vms = self
            .get(&format!("/deployments/{deployment}/vms"))
            .await
            .json();
        let vms = vms.as_array().unwrap();
        let vm = vms.iter().find(|vm| vm["job"] == group).unwrap();
        vm["ips"][0].as_str().unwrap().to_owned()
    }
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| json!({"not json": self.body}))
    }

    /// Status and body.
    pub(crate) fn reported(&self) -> (u16, &str) {
        (self.status.as_u16(), &self.body)
    }

    /// The id of the task that an answer leads to.
    pub(crate) fn task(&self) -> u64 {
        assert_eq!(self.status, StatusCode::FOUND, "{}", self.body);
        let location = self.header("location");
        location.rsplit('/').next().unwrap().parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}
