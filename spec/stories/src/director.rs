//! The Director, as its administrator sees it.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, header::LOCATION};
use serde_json::Value;

use crate::{
    eventually,
    foundation::{Client, DirectorAccess},
};

#[derive(Clone, Debug)]
pub struct Director {
    http: reqwest::Client,
    access: DirectorAccess,
}

/// The type of the configs that hold operation records.
const RECORD: &str = "odb-operation";

/// How long a deletion may take.
const TIMEOUT: Duration = Duration::from_mins(1);

impl Director {
    pub(crate) fn new(http: reqwest::Client, access: &DirectorAccess) -> Self {
        Self {
            http,
            access: access.clone(),
        }
    }

    pub async fn info(&self) -> Value {
        let token = self.token().await;
        let request = self.http.get(format!("{}/info", self.access.url));
        json(request.bearer_auth(token)).await
    }

    pub fn url(&self) -> &str {
        &self.access.url
    }

    pub async fn deployments(&self) -> Vec<String> {
        let deployments = self.list("/deployments").await;
        let names = deployments.iter().filter_map(|row| row["name"].as_str());
        names.map(str::to_owned).collect()
    }

    pub async fn tasks(&self) -> Vec<Value> {
        let mut tasks = self.list("/tasks?verbose=2").await;
        tasks.sort_by_key(|task| task["id"].as_u64());
        tasks
    }

    /// The tasks of one deployment, the oldest first.
    pub async fn tasks_of(&self, deployment: &str) -> Vec<Value> {
        let mut tasks = self
            .list(&format!("/tasks?verbose=2&deployment={deployment}"))
            .await;
        tasks.sort_by_key(|task| task["id"].as_u64());
        tasks
    }

    /// The stages of a task, each once, in the order of their beginnings.
    pub async fn stages_of(&self, task: u64) -> Vec<String> {
        let url = format!("{}/tasks/{task}/output?type=event", self.access.url);
        let request = self.http.get(url).bearer_auth(self.token().await);
        let response = request.send().await.expect("the sandbox answers");
        let log = response.text().await.expect("the answer is complete");
        let mut stages = Vec::new();
        for line in log.lines() {
            let event: Value = serde_json::from_str(line).expect("an event log is JSON lines");
            if let Some(stage) = event["stage"].as_str()
                && !stages.iter().any(|known| known == stage)
            {
                stages.push(stage.to_owned());
            }
        }
        stages
    }

    /// The descriptions of all tasks, in their order: `create deployment`, `run errand …`, each with its state.
    pub async fn history(&self) -> Vec<String> {
        let tasks = self.tasks().await;
        let reported = tasks.iter().map(|task| {
            let text = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", text("description"), text("state"))
        });
        reported.collect()
    }

    /// The latest version of every config but the cloud config that the foundation has from the beginning.
    pub async fn configs(&self) -> Vec<Value> {
        let mut configs = self.list("/configs?latest=true").await;
        configs.retain(|config| config["type"] != "cloud" || config["name"] != "default");
        configs
    }

    /// Writes a config, as an operator would.
    pub async fn write_config(&self, kind: &str, name: &str, content: &str) {
        let administrator = &self.access.admin_client;
        self.write_config_by(administrator, (kind, name), content)
            .await;
    }

    /// Writes a config that the broker's team sees, as another broker of the team would.
    pub async fn write_config_of_team(&self, kind: &str, name: &str, content: &str) {
        let team = &self.access.team_client;
        self.write_config_by(team, (kind, name), content).await;
    }

    /// Hands work over as any broker of the team would: under this context id if there is one, with a body of this
    /// type. Gives the task.
    pub async fn submit(
        &self,
        (method, path): (Method, &str),
        context: Option<&str>,
        (content_type, body): (&str, String),
    ) -> u64 {
        let request = self
            .http
            .request(method, format!("{}{path}", self.access.url))
            .bearer_auth(self.token_of(&self.access.team_client).await)
            .header("Content-Type", content_type)
            .body(body);
        let request = match context {
            Some(context) => request.header("X-Bosh-Context-Id", context),
            None => request,
        };
        let response = request.send().await.expect("the sandbox answers");
        assert_eq!(response.status(), 302, "{path}: {response:?}");
        let task = response.headers().get(LOCATION).and_then(|location| {
            let (_, id) = location.to_str().ok()?.rsplit_once('/')?;
            id.parse().ok()
        });
        task.expect("the Director names the task")
    }

    /// The answer to brokers of the team, verbatim; `None` for 404.
    pub async fn reported_to_team(&self, path: &str) -> Option<String> {
        let request = self
            .http
            .get(format!("{}{path}", self.access.url))
            .bearer_auth(self.token_of(&self.access.team_client).await);
        let response = request.send().await.expect("the sandbox answers");
        let status = response.status();
        let text = response.text().await.expect("the answer is complete");
        if status == 404 {
            return None;
        }
        assert!(status.is_success(), "{path}: {status}: {text}");
        Some(text)
    }

    /// Deletes all configs of a name, as brokers of the team do.
    pub async fn delete_configs_named(&self, name: &str) {
        let path = format!("/configs?latest=true&name={name}");
        let configs = self.reported_to_team(&path).await.unwrap_or_default();
        let configs: Vec<Value> = serde_json::from_str(&configs).expect("it is a list");
        for config in configs {
            let kind = config["type"].as_str().expect("a config has a type");
            let url = format!("{}/configs?name={name}&type={kind}", self.access.url);
            let token = self.token_of(&self.access.team_client).await;
            let deleted = self.http.delete(url).bearer_auth(token).send().await;
            let status = deleted.expect("the sandbox answers").status();
            assert_eq!(status, 204, "{kind} {name}");
        }
    }

    async fn write_config_by(&self, client: &Client, (kind, name): (&str, &str), content: &str) {
        let body = serde_json::json!({ "type": kind, "name": name, "content": content });
        let request = self
            .http
            .post(format!("{}/configs", self.access.url))
            .bearer_auth(self.token_of(client).await)
            .header("Content-Type", "application/json")
            .body(body.to_string());
        let response = request.send().await.expect("the sandbox answers");
        assert_eq!(response.status(), 201, "{response:?}");
    }

    pub async fn record(&self, instance: &str) -> Option<Value> {
        let configs = self.configs().await;
        let record = configs.into_iter().find(|config| {
            let name = config["name"].as_str().unwrap_or_default();
            config["type"] == RECORD && name.contains(instance)
        })?;
        let content = record["content"].as_str().unwrap_or_default();
        Some(serde_json::from_str(content).expect("an operation record is JSON"))
    }

    pub async fn addresses(&self, deployment: &str) -> Vec<String> {
        let vms = self.list(&format!("/deployments/{deployment}/vms")).await;
        let addresses = vms.iter().filter_map(|vm| vm["ips"][0].as_str());
        addresses.map(str::to_owned).collect()
    }

    pub async fn manifest(&self, deployment: &str) -> String {
        let row = self.get(&format!("/deployments/{deployment}")).await;
        row["manifest"].as_str().unwrap_or_default().to_owned()
    }

    /// The names of external consumers that have a link to this deployment.
    pub async fn outsiders_linked_to(&self, deployment: &str) -> Vec<String> {
        let consumers = self
            .list(&format!("/link_consumers?deployment={deployment}"))
            .await;
        let outsiders = consumers
            .iter()
            .map(|consumer| &consumer["owner_object"])
            .filter(|owner| owner["type"] == "external");
        let names = outsiders.filter_map(|owner| owner["name"].as_str());
        names.map(str::to_owned).collect()
    }

    /// Has a task look at the VMs of a deployment, as monitors do, and does not wait for it.
    pub async fn look_at_vms(&self, deployment: &str) {
        let url = format!(
            "{}/deployments/{deployment}/vms?format=full",
            self.access.url
        );
        let request = self.http.get(url).bearer_auth(self.token().await);
        let response = request.send().await.expect("the sandbox answers");
        let status = response.status();
        assert!(status.is_success() || status.is_redirection(), "{status}");
    }

    /// Has a deployment deleted, behind the broker's back, and waits until it is gone.
    pub async fn delete_deployment(&self, deployment: &str) {
        let url = format!("{}/deployments/{deployment}?force=true", self.access.url);
        let request = self.http.delete(url).bearer_auth(self.token().await);
        let response = request.send().await.expect("the sandbox answers");
        let status = response.status();
        assert!(status.is_success() || status.is_redirection(), "{status}");
        eventually("the deployment is gone", TIMEOUT, async || {
            let left = self.deployments().await;
            if left.iter().any(|left| left == deployment) {
                Err(format!("{left:?}"))
            } else {
                Ok(())
            }
        })
        .await;
    }

    /// Has a manifest deployed, without any broker, and waits until it is.
    pub async fn deploy(&self, manifest: &str) {
        let known = self.tasks().await.len();
        let request = self
            .http
            .post(format!("{}/deployments", self.access.url))
            .bearer_auth(self.token().await)
            .header("Content-Type", "text/yaml")
            .body(manifest.to_owned());
        let response = request.send().await.expect("the sandbox answers");
        let status = response.status();
        assert!(status.is_success() || status.is_redirection(), "{status}");
        eventually("the manifest is deployed", TIMEOUT, async || {
            let tasks = self.tasks().await;
            let is_over = |task: &Value| task["state"] != "queued" && task["state"] != "processing";
            if tasks.len() > known && tasks.iter().all(is_over) {
                Ok(())
            } else {
                Err(format!("{tasks:?}"))
            }
        })
        .await;
        let tasks = self.tasks().await;
        let failed = tasks.iter().find(|task| task["state"] != "done");
        assert_eq!(failed, None);
    }

    pub async fn vms(&self, deployment: &str) -> Vec<String> {
        let vms = self.list(&format!("/deployments/{deployment}/vms")).await;
        let names = vms
            .iter()
            .filter_map(|vm| vm["vm_cid"].as_str().or(vm["cid"].as_str()));
        names.map(str::to_owned).collect()
    }

    /// Fails the test unless the Director has never been given anything to do, and knows no more than at first.
    pub async fn expect_untouched(&self) {
        assert_eq!(self.deployments().await, Vec::<String>::new());
        assert_eq!(self.history().await, Vec::<String>::new());
        assert_eq!(self.configs().await, Vec::<Value>::new());
    }

    /// Fails the test if there is a deployment or a config.
    pub async fn expect_nothing_left(&self) {
        assert_eq!(self.deployments().await, Vec::<String>::new());
        assert_eq!(self.configs().await, Vec::<Value>::new());
    }

    /// Waits until the latest task does this.
    pub async fn is_at(&self, activity: &str) {
        eventually(activity, TIMEOUT, async || {
            let tasks = self.tasks().await;
            let latest = tasks.last().ok_or_else(|| "there is no task".to_owned())?;
            let text = latest["description"].as_str().unwrap_or_default();
            let is_so = text.starts_with(activity) && latest["state"] == "processing";
            is_so.then_some(()).ok_or_else(|| latest.to_string())
        })
        .await;
    }

    async fn list(&self, path: &str) -> Vec<Value> {
        match self.get(path).await {
            Value::Array(items) => items,
            other => panic!("`{path}` is not a list: {other}"),
        }
    }

    async fn get(&self, path: &str) -> Value {
        let token = self.token().await;
        let request = self.http.get(format!("{}{path}", self.access.url));
        json(request.bearer_auth(token)).await
    }

    async fn token(&self) -> String {
        self.token_of(&self.access.admin_client).await
    }

    async fn token_of(&self, client: &Client) -> String {
        let request = self
            .http
            .post(format!("{}/oauth/token", self.access.uaa_url))
            .basic_auth(&client.id, Some(&client.secret))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Accept", "application/json")
            .body("grant_type=client_credentials");
        let token = json(request).await;
        token["access_token"]
            .as_str()
            .expect("the UAA knows the client")
            .to_owned()
    }
}

async fn json(request: RequestBuilder) -> Value {
    let response = request.send().await.expect("the sandbox answers");
    let (status, url) = (response.status(), response.url().clone());
    let text = response.text().await.expect("the answer is complete");
    assert_eq!(status, 200, "{url}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url} is no JSON ({error}): {text}"))
}
