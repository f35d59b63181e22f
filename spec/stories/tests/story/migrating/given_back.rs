//! The Go broker replaces this one: it can poll every operation of this broker, continue those in progress, and finds
//! what it would have left itself.

use odb_stories::{
    Broker, BrokerConfiguration, Foundation, Order, client_definition, eventually, new_id,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    OFFERING, foundation,
    go_broker::{GoBroker, Reading, deployment},
    history_of, hold, is_held, next_task,
};
use crate::TIMEOUT;

const KINDS: [&str; 6] = [
    "create",
    "update",
    "upgrade",
    "recreate",
    "delete",
    "force-delete",
];

/// The plan has two errands of each sort.
const ERRANDS: [&str; 2] = ["health-check", "cleanup-data"];
/// So an operation has so many tasks.
const TASKS: usize = 3;

/// An operation of this broker, whose tasks continue one by one under control of the test.
struct InFlight {
    kind: &'static str,
    instance: String,
    token: String,
    holds: Vec<u64>,
    /// How many tasks had ended when this broker was stopped.
    ended: usize,
}

fn configuration(foundation: &Foundation) -> BrokerConfiguration<'_> {
    let errands = json!([{ "name": ERRANDS[0] }, { "name": ERRANDS[1] }]);
    foundation
        .broker()
        .without_quotas()
        .with_lifecycle_errands(&json!({ "post_deploy": errands, "pre_delete": errands }))
        .with_timing("lost_answer_in_seconds", 1)
}

impl InFlight {
    fn of(kind: &'static str, ended: usize) -> Self {
        Self {
            kind,
            instance: new_id(),
            token: String::new(),
            holds: Vec::new(),
            ended,
        }
    }

    fn reported(&self) -> String {
        format!("{} after {} tasks", self.kind, self.ended)
    }

    async fn begin(&mut self, broker: &Broker, foundation: &Foundation) {
        for _ in 0..TASKS {
            self.holds.push(hold(foundation, &self.instance).await);
        }
        let (platform, instance) = (broker.platform(), self.instance.as_str());
        let body = json!({ "plan_id": Order::small().member("plan_id"), "context": {} });
        self.token = match self.kind {
            "create" => platform.order(instance).await,
            "update" => {
                let order = Order::small().with_parameters(json!({ "maxclients": 150 }));
                platform.update(instance, &order).await.accepted()
            }
            "delete" => platform.deprovision(instance).await.accepted(),
            "force-delete" => {
                let path = format!(
                    "/v2/service_instances/{instance}?service_id={OFFERING}&plan_id={}&accepts_incomplete=true&force=true",
                    Order::small()
                        .member("plan_id")
                        .as_str()
                        .unwrap_or_default()
                );
                let request = platform.request(Method::DELETE, &path);
                platform.send(request).await.accepted()
            }
            operation => {
                let begun = platform.operate(instance, operation, &body).await;
                begun.operation_data().to_string()
            }
        };
        is_held(foundation, self.holds[0]).await;
    }

    /// Lets the next task continue, and the one after it begin.
    async fn advance(&self, task: usize, foundation: &Foundation) {
        foundation
            .control()
            .clear_task_fault(self.holds[task])
            .await;
        if let Some(next) = self.holds.get(task + 1) {
            is_held(foundation, *next).await;
        }
    }

    async fn state(&self, broker: &Broker) -> Value {
        let poll = broker
            .platform()
            .last_operation(&self.instance, &self.token);
        poll.await.expect_status(200).json()["state"].clone()
    }

    fn history(&self) -> Vec<String> {
        let errands = ERRANDS.map(|errand| format!("run errand {errand}: done"));
        let deployed = ["create deployment: done".to_owned()];
        let mut history = [deployed.as_slice(), errands.as_slice()].concat();
        match self.kind {
            "create" => {}
            "delete" | "force-delete" => {
                history.extend(errands);
                history.push("delete deployment: done".to_owned());
            }
            _ => {
                history.extend(deployed);
                history.extend(errands);
            }
        }
        history
    }
}

/// Instances of this broker for everything that changes or deletes one.
async fn provision(broker: &Broker, operations: &[InFlight]) {
    let mut tokens = Vec::new();
    for operation in operations.iter().filter(|one| one.kind != "create") {
        let ordered = broker
            .platform()
            .provision(&operation.instance, &Order::small())
            .await;
        tokens.push((&operation.instance, ordered.accepted()));
    }
    for (instance, token) in tokens {
        broker.platform().succeeds(instance, &token).await;
    }
}

#[tokio::test]
async fn a_go_broker_reads_of_every_operation_what_this_one_reports_at_every_step() {
    let foundation = foundation().await;
    let (go, broker) = (
        GoBroker::on(&foundation),
        configuration(&foundation).start().await,
    );
    let mut operations = KINDS.map(|kind| InFlight::of(kind, TASKS));
    provision(&broker, &operations).await;
    for operation in &mut operations {
        operation.begin(&broker, &foundation).await;
    }
    for task in 0..TASKS {
        for operation in &operations {
            let reported = operation.state(&broker).await;
            assert_eq!(reported, "in progress", "{}", operation.reported());
            let read = go.reads(&operation.instance, &operation.token).await;
            assert_eq!(read, Reading::InProgress, "{}", operation.reported());
        }
        for operation in &operations {
            operation.advance(task, &foundation).await;
        }
    }
    for operation in &operations {
        let (platform, instance) = (broker.platform(), &operation.instance);
        let ended = platform.end_of_operation(instance, &operation.token).await;
        assert_eq!(
            ended.state,
            "succeeded",
            "{}: {ended:?}",
            operation.reported()
        );
        let read = go.reads(instance, &operation.token).await;
        assert_eq!(read, Reading::Succeeded, "{}", operation.reported());
    }
}

#[tokio::test]
async fn a_go_broker_carries_on_what_this_one_has_begun_and_nothing_is_done_twice() {
    let foundation = foundation().await;
    let go = GoBroker::on(&foundation);
    let mut broker = configuration(&foundation).start().await;
    let mut operations = Vec::new();
    for kind in KINDS {
        operations.extend((0..TASKS).map(|ended| InFlight::of(kind, ended)));
    }
    provision(&broker, &operations).await;
    for operation in &mut operations {
        operation.begin(&broker, &foundation).await;
        for task in 0..operation.ended {
            operation.advance(task, &foundation).await;
        }
    }
    broker.kill();
    foundation.control().clear_task_faults().await;

    for operation in &operations {
        let ended = go.ends(&operation.instance, &operation.token).await;
        assert_eq!(ended, Reading::Succeeded, "{}", operation.reported());
        let history = history_of(&foundation, &operation.instance).await;
        assert_eq!(history, operation.history(), "{}", operation.reported());
    }

    // And back again: what the Go broker has ended meanwhile has ended.
    broker.start_again().await;
    for operation in &operations {
        let (platform, instance) = (broker.platform(), &operation.instance);
        let ended = platform.end_of_operation(instance, &operation.token).await;
        assert!(
            ["succeeded", "gone"].contains(&ended.state.as_str()),
            "{}: {ended:?}",
            operation.reported()
        );
        let history = history_of(&foundation, instance).await;
        assert_eq!(history, operation.history(), "{}", operation.reported());
    }
    eventually("deleted instances are forgotten", TIMEOUT, async || {
        let configs = foundation.director().configs().await;
        let deleted = operations.iter().filter(|one| one.kind.ends_with("delete"));
        let left: Vec<&String> = deleted
            .map(|one| &one.instance)
            .filter(|instance| {
                configs
                    .iter()
                    .any(|one| one["name"] == format!("odb-{instance}"))
            })
            .collect();
        left.is_empty()
            .then_some(())
            .ok_or_else(|| format!("{left:?}"))
    })
    .await;
}

/// Platforms ask again when they read an error: what the Go broker cannot read is to be ended by this one.
#[tokio::test]
async fn a_deletion_that_cuts_a_creation_short_is_none_to_a_go_broker_before_it_is_submitted() {
    let foundation = foundation().await;
    let go = GoBroker::on(&foundation);
    let broker = configuration(&foundation)
        .with_lifecycle_errands(&json!({ "post_deploy": [{ "name": ERRANDS[0] }] }))
        .start()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let held = hold(&foundation, &instance).await;
    let creation = platform.order(&instance).await;
    is_held(&foundation, held).await;

    let deletion = platform.deprovision(&instance).await.accepted();
    assert_eq!(go.reads(&instance, &deletion).await, Reading::Fails);
    foundation.control().clear_task_faults().await;
    platform.succeeds(&instance, &deletion).await;
    assert_eq!(go.reads(&instance, &deletion).await, Reading::Succeeded);
    assert_eq!(go.reads(&instance, &creation).await, Reading::Failed);
}

/// It counts the tasks of an operation, whatever became of them. This broker begins a step again that got no lock.
#[tokio::test]
async fn a_go_broker_miscounts_where_a_step_was_begun_twice_and_this_one_does_not() {
    let foundation = foundation().await;
    let go = GoBroker::on(&foundation);
    let errands = json!([{ "name": ERRANDS[1] }]);
    let mut broker = configuration(&foundation)
        .with_lifecycle_errands(&json!({ "pre_delete": errands }))
        .start()
        .await;
    let platform = broker.platform().clone();
    let instance = platform.created().await;
    let locked_out = json!({
        "kind": "fail",
        "code": 100,
        "message": format!("Failed to acquire lock for lock:deployment:{}", deployment(&instance)),
    });
    next_task(&foundation, &instance, locked_out).await;
    let held = hold(&foundation, &instance).await;

    let deletion = platform.deprovision(&instance).await.accepted();
    is_held(&foundation, held).await;
    broker.kill();
    foundation.control().clear_task_faults().await;

    let read = eventually("the errand has ended", TIMEOUT, async || {
        match go.reads(&instance, &deletion).await {
            Reading::InProgress => Err("in progress".to_owned()),
            ended => Ok(ended),
        }
    })
    .await;
    assert_eq!(read, Reading::Succeeded, "though there is more to do");
    let name = deployment(&instance);
    assert_eq!(foundation.director().deployments().await, [name]);
    broker.start_again().await;
    platform.succeeds(&instance, &deletion).await;
    let history = history_of(&foundation, &instance).await;
    assert_eq!(
        history,
        [
            "create deployment: done",
            "run errand cleanup-data: error",
            "run errand cleanup-data: done",
            "delete deployment: done"
        ]
    );
}

/// The real adapter, which also asks for a config.
const WITH_CONFIG: &str = r#"read_input
as_redis | sed 's/"configs":{}/"configs":{"cloud":"vm_extensions: []\\n"}/'"#;

#[tokio::test]
async fn a_go_broker_finds_what_it_would_have_made_and_leaves_the_record_alone_behind() {
    let foundation = foundation().await;
    let (go, director) = (GoBroker::on(&foundation), foundation.director());
    let adapter = foundation.adapters().script(WITH_CONFIG);
    let configuration = foundation
        .broker()
        .with_secure_manifests()
        .with_secure_bindings()
        .with_client_definition(client_definition())
        .with_adapter(&adapter);
    let mut broker = configuration.start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let (binding, app) = (new_id(), new_id());
    platform.create(&instance).await;
    platform
        .bind_app(&instance, &binding, &app)
        .await
        .expect_status(201);
    broker.stop().await;

    let name = deployment(&instance);
    assert_eq!(director.deployments().await, [name.as_str()]);
    let secret = format!("/odb/{OFFERING}/{name}/odb_managed_secret");
    let manifest = director.manifest(&name).await;
    assert!(manifest.contains(&format!("(({secret}))")), "{manifest}");
    let value = foundation.bosh_credhub().value(&secret).await;
    assert!(
        value.is_some_and(|value| value.is_string()),
        "a text as text"
    );
    let credentials = format!("/c/{OFFERING}/{instance}/{binding}/credentials");
    let runtime = foundation.runtime_credhub();
    assert!(runtime.value(&credentials).await.is_some());
    let reader = format!("mtls-app:{app}");
    assert_eq!(runtime.permitted(&credentials, &reader).await, ["read"]);
    let path = format!("/configs?latest=true&limit=1&name={name}");
    let configs = director.reported_to_team(&path).await.unwrap_or_default();
    let configs: Vec<Value> = serde_json::from_str(&configs).unwrap();
    assert_eq!(configs.len(), 1, "what its adapter receives: {configs:?}");
    assert_eq!(configs[0]["type"], "cloud");
    let client = foundation.uaa_clients().client(&instance).await;
    for list in [
        "scope",
        "authorities",
        "authorized_grant_types",
        "redirect_uri",
    ] {
        assert!(client[list].is_array(), "{client}");
    }

    let errands = super::go_broker::Errands::Of(&["cleanup-data"]);
    let token = go.delete("delete", &instance, errands).await;
    assert_eq!(go.ends(&instance, &token).await, Reading::Succeeded);
    assert_eq!(
        foundation.bosh_credhub().names_like(&instance).await,
        Vec::<String>::new()
    );
    let left = director.configs().await;
    let left: Vec<_> = left
        .iter()
        .map(|one| (&one["type"], &one["name"]))
        .collect();
    assert_eq!(
        left,
        [(&json!("odb-operation"), &json!(format!("odb-{instance}")))]
    );
}
