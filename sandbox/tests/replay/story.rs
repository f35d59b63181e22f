//! Replays the story of the recording: sends each request in the state in which it was sent.

use std::time::Duration;

use odb_sandbox::director::{TaskEffect, TaskFault, TaskFaultId, TaskPoint};
use reqwest::{Method, redirect::Policy};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    compare::Response,
    names::{Kind, Names},
    sandbox::{PASSWORD, Sandbox, Setup, USER},
    transcript::{self, Body, Transcript},
};

pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// Calls that were recorded while tasks were at work. Before all others the Director comes to rest.
const IN_THE_MIDDLE: [&str; 31] = [
    "031-task-right-after-create",
    "032-task-processing",
    "033-events-while-processing",
    "034-result-while-processing",
    "035-locks-while-deploying",
    "036-deployments-while-locked",
    "037-tasks-unfinished-of-deployment",
    "140-long-errand-processing",
    "141-deploy-while-locked",
    "142-second-task-processing",
    "143-two-unfinished-tasks",
    "144-locks",
    "145-second-task-lock-timeout",
    "146-second-task-lock-timeout-events",
    "150-cancel-task",
    "151-task-cancelling",
    "152-cancel-plural-path",
    "160-delete-while-locked",
    "161-delete-force-while-locked",
    "162-deploy-when-all-workers-busy",
    "163-task-queued",
    "164-tasks-queued",
    "165-cancel-queued-task",
    "166-cancelled-queued-task-at-once",
    "167-cancelled-queued-task-later",
    "168-cancelled-queued-task-events",
    "169-delete-while-locked-task",
    "170-delete-force-while-locked-task",
    "171-delete-while-locked-events",
    "172-task-of-killed-worker-at-once",
    "271-delete-task-running",
];

/// The story so far.
pub(crate) struct Story {
    pub(crate) sandbox: Sandbox,
    pub(crate) names: Names,
    http: reqwest::Client,
    held: Vec<TaskFaultId>,
}

impl Story {
    pub(crate) async fn begin() -> Self {
        // All tests of one process share the provider; the first one installs it.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let http = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .build()
            .unwrap();
        let mut story = Self {
            sandbox: Sandbox::start(Setup::Plain),
            names: Names::default(),
            http,
            held: Vec::new(),
        };
        story.upload_cloud_config().await;
        let task = story.deploy(&manifest_of("012-deployment-found")).await;
        story.settle().await;
        story.task_is(3, task);
        story
    }

    /// Replays the events before a recorded call.
    pub(crate) async fn lead_up_to(&mut self, next: &Transcript) {
        if next.name.starts_with('3') {
            self.sandbox.set_up(Setup::WithUaa).await;
        } else if self.sandbox.setup == Setup::WithUaa || next.name.starts_with("009") {
            self.settle().await;
            self.sandbox.set_up(Setup::WithConfigServer).await;
        }
        self.interlude(&next.name).await;
        if !IN_THE_MIDDLE.contains(&next.name.as_str()) {
            self.settle().await;
        }
        self.await_recorded_state(next).await;
    }

    /// Sends a recorded request as it was sent, with our ids in it.
    pub(crate) async fn send(&self, recorded: &Transcript) -> Response {
        let target = self.names.in_request(&recorded.target);
        let body = self.names.in_request(&recorded.request_body);
        let mut request = self
            .http
            .request(
                recorded.method.clone(),
                format!("{}{target}", self.sandbox.url),
            )
            .header("host", "director.example:25555")
            .body(body);
        if self.sandbox.setup != Setup::WithUaa {
            request = request.header("x-forwarded-proto", "https");
        }
        for name in ["content-type", "x-bosh-context-id", "range"] {
            if let Some(value) = recorded.request_headers.get(name) {
                request = request.header(name, value);
            }
        }
        if let Some(credentials) = self.credentials(recorded) {
            request = request.header("authorization", credentials);
        }
        answer(request.send().await.unwrap()).await
    }

    /// The credentials that were scrubbed.
    fn credentials(&self, recorded: &Transcript) -> Option<String> {
        recorded.request_headers.get("authorization")?;
        let bearer = |token: String| Some(format!("bearer {token}"));
        let client = |scopes: &[&str]| self.sandbox.token("odb-client", "1", 300, scopes);
        match &recorded.name[..3] {
            "003" | "005" => Some(basic("wrong")),
            "006" => Some("Bearer abc".to_owned()),
            "303" | "304" => bearer(client(&["bosh.admin"])),
            "305" => bearer(self.sandbox.token("odb-client", "1", -60, &["bosh.admin"])),
            "306" => bearer(Sandbox::forged_token("odb-client", &["bosh.admin"])),
            "307" => bearer(client(&["openid"])),
            "308" | "309" | "310" | "311" | "312" | "325" => bearer(client(&["bosh.read"])),
            "327" => bearer(
                self.sandbox
                    .token("odb-client", "1-r", 300, &["bosh.admin"]),
            ),
            number if number >= "313" => bearer(client(&["bosh.teams.odb.admin"])),
            _ => Some(basic(PASSWORD)),
        }
    }

    /// A task that had ended when it was read has ended now.
    async fn await_recorded_state(&self, next: &Transcript) {
        let Body::Whole(body) = &next.body else {
            return;
        };
        let Ok(task) = serde_json::from_str::<Value>(body) else {
            return;
        };
        let (Some(id), Some(state)) = (task["id"].as_u64(), task["state"].as_str()) else {
            return;
        };
        let Some(actual) = self.names.actual(Kind::Task, &id.to_string()) else {
            return;
        };
        if is_final(state) {
            self.ended(actual.parse().unwrap()).await;
        }
    }

    /// Lets all tasks end but those that are held up.
    pub(crate) async fn settle(&self) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let open = self
                .get("/tasks?state=queued,processing,cancelling&verbose=2")
                .await;
            let held: Vec<u64> = self
                .sandbox
                .director
                .armed()
                .iter()
                .filter_map(|armed| armed.holds)
                .collect();
            let open = open.as_array().cloned().unwrap_or_default();
            let busy = open
                .iter()
                .any(|task| !held.contains(&task["id"].as_u64().unwrap()));
            if !busy {
                return;
            }
            assert!(Instant::now() < deadline, "tasks do not end: {open:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn hold(&mut self, deployment: &str, at: TaskPoint) {
        self.held.push(self.arm(deployment, at, TaskEffect::Hold));
    }

    pub(crate) fn arm(&self, deployment: &str, at: TaskPoint, effect: TaskEffect) -> TaskFaultId {
        self.sandbox.director.arm(TaskFault {
            deployment: Some(deployment.to_owned()),
            at,
            effect,
        })
    }

    /// Releases held tasks.
    pub(crate) fn go_on(&mut self) {
        for fault in self.held.drain(..) {
            self.sandbox.director.disarm(fault);
        }
    }

    pub(crate) fn go_on_first(&mut self) {
        let first = self.held.remove(0);
        self.sandbox.director.disarm(first);
    }

    pub(crate) fn go_on_but_first(&mut self) {
        for fault in self.held.drain(1..) {
            self.sandbox.director.disarm(fault);
        }
    }

    /// Waits until everything that is to be held up is.
    pub(crate) async fn until_held(&self) {
        self.until("a task to be held up", || {
            let armed = self.sandbox.director.armed();
            armed
                .iter()
                .all(|armed| armed.fault.effect != TaskEffect::Hold || armed.holds.is_some())
        })
        .await;
    }

    pub(crate) async fn until(&self, what: &str, condition: impl Fn() -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !condition() {
            assert!(Instant::now() < deadline, "waited for {what} in vain");
            sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) async fn until_processing(&self, recorded: u64) {
        let actual = self
            .names
            .actual(Kind::Task, &recorded.to_string())
            .unwrap();
        let path = format!("/tasks/{actual}");
        let deadline = Instant::now() + TIMEOUT;
        while self.get(&path).await["state"] == "queued" {
            assert!(
                Instant::now() < deadline,
                "task {actual} stays in the queue"
            );
            sleep(Duration::from_millis(10)).await;
        }
    }

    async fn upload_cloud_config(&mut self) {
        let recorded = transcript::named("200-configs-list");
        let Body::Whole(body) = &recorded.body else {
            panic!("the list of configs is whole")
        };
        let configs: Value = serde_json::from_str(body).unwrap();
        let config = json!({
            "type": "cloud",
            "name": "default",
            "content": configs[0]["content"],
        });
        let answer = self.post_json("/configs", &config).await;
        self.names
            .learn(Kind::Config, "1", answer["id"].as_str().unwrap());
    }

    pub(crate) fn task_is(&mut self, recorded: u64, actual: u64) {
        self.names
            .learn(Kind::Task, &recorded.to_string(), &actual.to_string());
    }

    pub(crate) async fn deploy(&self, manifest: &str) -> u64 {
        let yaml = [("content-type", "text/yaml")];
        let answer = self
            .call(Method::POST, "/deployments", &yaml, manifest.to_owned())
            .await;
        task_of(&answer)
    }

    pub(crate) async fn delete(&self, deployment: &str) -> u64 {
        let path = format!("/deployments/{deployment}?force=true");
        let answer = self.call(Method::DELETE, &path, &[], String::new()).await;
        let task = task_of(&answer);
        self.settle().await;
        task
    }

    pub(crate) async fn run_errand(&self, deployment: &str, context_id: &str) -> u64 {
        let path = format!("/deployments/{deployment}/errands/smoke/runs");
        let headers = [("x-bosh-context-id", context_id)];
        let answer = self
            .call(Method::POST, &path, &headers, "{}".to_owned())
            .await;
        task_of(&answer)
    }

    pub(crate) async fn ask_vms(&self, deployment: &str) -> u64 {
        let path = format!("/deployments/{deployment}/vms?format=full");
        task_of(&self.call(Method::GET, &path, &[], String::new()).await)
    }

    pub(crate) async fn post_json(&self, path: &str, body: &Value) -> Value {
        let json = [("content-type", "application/json")];
        let answer = self.call(Method::POST, path, &json, body.to_string()).await;
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Starts to recreate a complete deployment, and returns the task.
    pub(crate) async fn recreate(&self, deployment: &str) -> u64 {
        let path = format!("/deployments/{deployment}/jobs/*?state=recreate");
        let yaml = [("content-type", "text/yaml")];
        task_of(&self.call(Method::PUT, &path, &yaml, String::new()).await)
    }

    /// A task once it has ended.
    pub(crate) async fn ended(&self, task: u64) -> Value {
        let path = format!("/tasks/{task}");
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let seen = self.get(&path).await;
            if seen["state"].as_str().is_some_and(is_final) {
                return seen;
            }
            assert!(Instant::now() < deadline, "the task stays at {seen}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Deletes what is at a path.
    pub(crate) async fn delete_path(&self, path: &str) {
        self.call(Method::DELETE, path, &[], String::new()).await;
    }

    /// The body at a path, unchanged.
    pub(crate) async fn text(&self, path: &str) -> String {
        self.call(Method::GET, path, &[], String::new()).await.body
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        serde_json::from_str(&self.text(path).await).unwrap_or_default()
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Response {
        let credentials = if self.sandbox.setup == Setup::WithUaa {
            let token = self.sandbox.token("odb-client", "1", 300, &["bosh.admin"]);
            format!("bearer {token}")
        } else {
            basic(PASSWORD)
        };
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.sandbox.url))
            .header("authorization", credentials)
            .body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request.send().await.unwrap()).await
    }
}

fn is_final(state: &str) -> bool {
    matches!(state, "done" | "error" | "cancelled" | "timeout")
}

async fn answer(response: reqwest::Response) -> Response {
    Response {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body: response.text().await.unwrap(),
    }
}

fn task_of(answer: &Response) -> u64 {
    let location = answer.headers.get("location");
    let location = location.unwrap_or_else(|| panic!("no task: {} {}", answer.status, answer.body));
    let id = location.to_str().unwrap().rsplit('/').next().unwrap();
    id.parse().unwrap()
}

/// The manifest that a recorded answer shows.
pub(crate) fn manifest_of(name: &str) -> String {
    let recorded = transcript::named(name);
    let Body::Whole(body) = &recorded.body else {
        panic!("`{name}` is whole")
    };
    let shown: Value = serde_json::from_str(body).unwrap();
    shown["manifest"].as_str().unwrap().to_owned()
}

fn basic(password: &str) -> String {
    use base64::{Engine, prelude::BASE64_STANDARD};
    format!(
        "Basic {}",
        BASE64_STANDARD.encode(format!("{USER}:{password}"))
    )
}

pub(crate) fn stage(name: &str) -> TaskPoint {
    TaskPoint::Step {
        stage: name.to_owned(),
        task: None,
        status: None,
    }
}
