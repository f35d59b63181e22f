//! A Go broker, as far as foundations see it: what it submits to the Director, the tokens that it makes, and what it
//! makes of a token (`spec/contracts/broker-behaviour.md` §3.3, §3.11, §3.12, §4). Written from its rules, and knowing
//! nothing of this project's tokens and operation records.

use odb_stories::{CredHub, Director, Foundation, eventually, new_id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::TIMEOUT;

/// The lifecycle errands of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Errands<'a> {
    /// The plan says nothing of them.
    Unset,
    /// These, of the sort that belongs to the operation.
    Of(&'a [&'a str]),
}

/// A Go broker's reading of a token in a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    InProgress,
    Succeeded,
    Failed,
    /// It runs the next errand, which has this name and runs on these instances.
    RunsErrand(String, Vec<String>),
    /// It deletes the deployment.
    Deletes,
    /// It answers 500, upon which platforms ask again.
    Fails,
}

pub(super) struct GoBroker {
    director: Director,
    credhub: CredHub,
}

/// The Go broker's form of a token. Its names are matched without regard to case, unknown ones are passed over.
#[derive(Debug)]
struct OperationData {
    task: u64,
    context: String,
    kind: String,
    post_deploy: Vec<Errand>,
    pre_delete: Vec<Errand>,
    errands: Vec<Errand>,
}

#[derive(Clone, Debug)]
struct Errand {
    name: String,
    instances: Vec<String>,
}

pub(super) fn deployment(instance: &str) -> String {
    format!("service-instance_{instance}")
}

impl GoBroker {
    pub(super) fn on(foundation: &Foundation) -> Self {
        Self {
            director: foundation.director(),
            credhub: foundation.bosh_credhub(),
        }
    }

    /// Creates an instance with this manifest; `NAME` in it is replaced by the deployment.
    pub(super) async fn create(
        &self,
        instance: &str,
        manifest: &str,
        errands: Errands<'_>,
    ) -> String {
        let manifest = manifest.replace("NAME", &deployment(instance));
        self.deploy("create", manifest, errands).await
    }

    /// Deploys what is deployed again, as it is left by an update or an upgrade that changes nothing of it.
    pub(super) async fn deploy_again(
        &self,
        kind: &str,
        instance: &str,
        errands: Errands<'_>,
    ) -> String {
        let manifest = self.director.manifest(&deployment(instance)).await;
        self.deploy(kind, manifest, errands).await
    }

    async fn deploy(&self, kind: &str, manifest: String, errands: Errands<'_>) -> String {
        let context = context_of(kind, errands);
        let task = self
            .director
            .submit(
                (Method::POST, "/deployments"),
                context.as_deref(),
                ("text/yaml", manifest),
            )
            .await;
        token(task, context.as_deref(), kind, errands)
    }

    pub(super) async fn recreate(&self, instance: &str, errands: Errands<'_>) -> String {
        let context = context_of("recreate", errands);
        let path = format!(
            "/deployments/{}/jobs/*?fix=true&state=recreate",
            deployment(instance)
        );
        let work = (Method::PUT, path.as_str());
        let body = ("text/yaml", String::new());
        let task = self.director.submit(work, context.as_deref(), body).await;
        token(task, context.as_deref(), "recreate", errands)
    }

    /// Begins a `delete`, or a `force-delete`. Without errands its context id is no part of the token.
    pub(super) async fn delete(&self, kind: &str, instance: &str, errands: Errands<'_>) -> String {
        let Errands::Of(names @ [first, ..]) = errands else {
            let context = format!("delete-{instance}");
            let task = self.delete_deployment(kind, instance, &context).await;
            return token(task, None, kind, Errands::Unset);
        };
        let context = new_id();
        let first = Errand {
            name: (*first).to_owned(),
            instances: Vec::new(),
        };
        let task = self.run_errand(instance, &first, &context).await;
        token(task, Some(&context), kind, Errands::Of(names))
    }

    /// A poll's reading of a token. Nothing is begun.
    pub(super) async fn reads(&self, instance: &str, token: &str) -> Reading {
        let data = OperationData::read(token);
        if data.task == 0 {
            return Reading::Fails;
        }
        if data.context.is_empty() {
            let task = self
                .director
                .reported_to_team(&format!("/tasks/{}", data.task))
                .await;
            return task.map_or(Reading::Fails, |task| {
                state_of(&serde_json::from_str(&task).expect("a task is JSON"))
            });
        }
        let tasks = self.tasks(instance, &data.context).await;
        match data.kind.as_str() {
            "create" | "update" | "upgrade" | "recreate" => data.after_deploy(&tasks),
            "delete" | "force-delete" => data.before_delete(&tasks),
            other => panic!("the Go broker knows no operation `{other}`"),
        }
    }

    /// The same, and what follows is begun.
    pub(super) async fn polls(&self, instance: &str, token: &str) -> Reading {
        let reading = self.reads(instance, token).await;
        let data = OperationData::read(token);
        match &reading {
            Reading::RunsErrand(name, instances) => {
                let errand = Errand {
                    name: name.clone(),
                    instances: instances.clone(),
                };
                self.run_errand(instance, &errand, &data.context).await;
                Reading::InProgress
            }
            Reading::Deletes => {
                self.delete_deployment(&data.kind, instance, &data.context)
                    .await;
                Reading::InProgress
            }
            Reading::Succeeded if data.kind.ends_with("delete") => {
                self.cleans_up(instance).await;
                reading
            }
            _ => reading,
        }
    }

    /// Polls until the operation has ended.
    pub(super) async fn ends(&self, instance: &str, token: &str) -> Reading {
        eventually("the Go broker sees the end", TIMEOUT, async || {
            match self.polls(instance, token).await {
                Reading::InProgress => Err("in progress".to_owned()),
                ended => Ok(ended),
            }
        })
        .await
    }

    /// Configs that have the deployment's name, and whatever has the id in its name.
    async fn cleans_up(&self, instance: &str) {
        let name = deployment(instance);
        self.director.delete_configs_named(&name).await;
        for name in self.credhub.names_like(instance).await {
            self.credhub.delete(&name).await;
        }
    }

    /// The tasks of an operation, the newest first; errands that failed count as failed tasks.
    async fn tasks(&self, instance: &str, context: &str) -> Vec<Value> {
        let path = format!("/tasks?context_id={context}");
        let tasks = self
            .director
            .reported_to_team(&path)
            .await
            .unwrap_or_default();
        let mut tasks: Vec<Value> = serde_json::from_str(&tasks).expect("it is a list");
        tasks.retain(|task| task["deployment"] == deployment(instance).as_str());
        for task in &mut tasks {
            if task["state"] != "done" {
                continue;
            }
            let path = format!("/tasks/{}/output?type=result", task["id"]);
            let output = self
                .director
                .reported_to_team(&path)
                .await
                .unwrap_or_default();
            // Several lines are no JSON: the Go broker takes them for a success.
            let output: Value = serde_json::from_str(&output).unwrap_or_default();
            if output["exit_code"].as_i64().unwrap_or_default() != 0 {
                task["state"] = "error".into();
            }
        }
        tasks
    }

    async fn run_errand(&self, instance: &str, errand: &Errand, context: &str) -> u64 {
        let Errand { name, instances } = errand;
        let path = format!("/deployments/{}/errands/{name}/runs", deployment(instance));
        let instances = instances.iter().map(|wanted| match wanted.split_once('/') {
            Some((group, id)) => json!({ "group": group, "id": id }),
            None => json!({ "group": wanted }),
        });
        let instances: Vec<Value> = instances.collect();
        let body = json!({ "instances": instances, "keep-alive": false, "when-changed": false });
        let body = ("application/json", body.to_string());
        self.director
            .submit((Method::POST, &path), Some(context), body)
            .await
    }

    async fn delete_deployment(&self, kind: &str, instance: &str, context: &str) -> u64 {
        let force = if kind == "force-delete" {
            "?force=true"
        } else {
            ""
        };
        let path = format!("/deployments/{}{force}", deployment(instance));
        let body = ("application/json", String::new());
        self.director
            .submit((Method::DELETE, &path), Some(context), body)
            .await
    }
}

impl OperationData {
    /// Fails the test where the Go broker would not be able to read it, or would take one of our members for its own.
    fn read(token: &str) -> Self {
        let token: Value = serde_json::from_str(token).expect("a token is JSON");
        let members = token.as_object().expect("a token is an object");
        let known = [
            "BoshTaskID",
            "BoshContextID",
            "OperationType",
            "PlanID",
            "PostDeployErrand",
            "PreDeleteErrand",
            "Errands",
        ];
        for name in members.keys() {
            let namesake = known.iter().find(|known| known.eq_ignore_ascii_case(name));
            assert!(
                namesake.is_none_or(|known| known == name),
                "the Go broker takes `{name}` for another member"
            );
        }
        let text = |name: &str| match &token[name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => panic!("`{name}` is {other}"),
        };
        assert_eq!(text("PlanID"), "");
        let errands = match &token["Errands"] {
            Value::Null => Vec::new(),
            Value::Array(errands) => errands.iter().flat_map(Errand::read).collect(),
            other => panic!("`Errands` is {other}"),
        };
        Self {
            task: token["BoshTaskID"].as_u64().expect("it is a whole number"),
            context: text("BoshContextID"),
            kind: text("OperationType"),
            post_deploy: Errand::read(&token["PostDeployErrand"]),
            pre_delete: Errand::read(&token["PreDeleteErrand"]),
            errands,
        }
    }

    fn after_deploy(&self, tasks: &[Value]) -> Reading {
        let Some(newest) = tasks.first() else {
            return Reading::Fails;
        };
        if newest["state"] != "done" {
            return state_of(newest);
        }
        if tasks.len() == 1
            && let Some(errand) = self.post_deploy.first()
        {
            return errand.runs();
        }
        let next = self.errands.get(tasks.len() - 1);
        next.map_or(Reading::Succeeded, Errand::runs)
    }

    fn before_delete(&self, tasks: &[Value]) -> Reading {
        let Some(newest) = tasks.first() else {
            return Reading::Fails;
        };
        let state = state_of(newest);
        let is_done = match state {
            Reading::Failed => self.kind == "force-delete",
            Reading::Succeeded => true,
            _ => false,
        };
        if !is_done || tasks.len() > self.errands.len().max(self.pre_delete.len()) {
            return state;
        }
        let next = self.errands.get(tasks.len());
        next.map_or(Reading::Deletes, Errand::runs)
    }
}

impl Errand {
    /// One without a name is none.
    fn read(errand: &Value) -> Vec<Self> {
        let members = errand.as_object();
        let unknown = members.and_then(|members| {
            let mut names = members.keys();
            names.find(|name| !["Name", "Instances"].contains(&name.as_str()))
        });
        assert_eq!(unknown, None, "{errand}");
        let instances = match &errand["Instances"] {
            Value::Null => Vec::new(),
            Value::Array(instances) => instances
                .iter()
                .map(|one| one.as_str().expect("it is text").to_owned())
                .collect(),
            other => panic!("`Instances` is {other}"),
        };
        let name = errand["Name"].as_str().unwrap_or_default().to_owned();
        let errand = Self { name, instances };
        (!errand.name.is_empty())
            .then_some(errand)
            .into_iter()
            .collect()
    }

    fn runs(&self) -> Reading {
        Reading::RunsErrand(self.name.clone(), self.instances.clone())
    }
}

fn state_of(task: &Value) -> Reading {
    match task["state"].as_str() {
        Some("done") => Reading::Succeeded,
        Some("processing" | "queued" | "cancelling") => Reading::InProgress,
        _ => Reading::Failed,
    }
}

/// An update has a context id if its plan has errands, other operations if their plan mentions them.
fn context_of(kind: &str, errands: Errands<'_>) -> Option<String> {
    match (kind, errands) {
        (_, Errands::Unset) | ("update", Errands::Of([])) => None,
        _ => Some(new_id()),
    }
}

fn token(task: u64, context: Option<&str>, kind: &str, errands: Errands<'_>) -> String {
    let mut token = json!({ "BoshTaskID": task });
    if let Some(context) = context {
        token["BoshContextID"] = context.into();
    }
    token["OperationType"] = kind.into();
    token["PostDeployErrand"] = json!({});
    token["PreDeleteErrand"] = json!({});
    if let Errands::Of(names @ [_, ..]) = errands {
        let errands = names.iter();
        let errands = errands.map(|name| json!({ "Name": name, "Instances": null }));
        token["Errands"] = errands.collect();
    }
    token.to_string()
}
