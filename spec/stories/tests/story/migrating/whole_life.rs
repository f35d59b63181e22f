//! An instance that a Go broker has made lives on with all that belongs to it, and takes all of it along when it goes.

use std::fs;

use odb_stories::{Broker, Foundation, Order, client_definition, new_id};
use serde_json::{Value, json};

use super::{
    OFFERING, SECURE, foundation,
    go_broker::{Errands, GoBroker, Reading, deployment},
};

/// The real adapter, which also returns a config. Its requests are recorded.
const NOTING: &str = r#"read_input
printf '%s' "$input" >"$folder/$call.json"
as_redis | sed 's/"configs":{}/"configs":{"cloud":"vm_extensions: []\\n"}/'"#;

const CLIENT_SECRET: &str = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9aB3dE";

/// An instance with everything that the Go broker can make of one.
struct Instance {
    id: String,
    /// A binding whose credentials are in the CredHub of applications.
    binding: String,
    app: String,
}

impl Instance {
    async fn left_by(go: &GoBroker, foundation: &Foundation) -> Self {
        let instance = Self {
            id: new_id(),
            binding: new_id(),
            app: new_id(),
        };
        let space = foundation.space();
        foundation
            .uaa_clients()
            .create(&json!({
                "client_id": instance.id,
                "client_secret": CLIENT_SECRET,
                "name": "cache",
                "scope": ["openid", format!("svc.{space}.read")],
                "resource_ids": ["none"],
                // It fills the space in in scopes alone when it makes a client.
                "authorities": ["svc.ODB_SPACE_GUID.write"],
                "authorized_grant_types": ["client_credentials", "authorization_code"],
                "redirect_uri": ["https://placeholder.example.com"],
            }))
            .await;
        foundation
            .bosh_credhub()
            .set_text(&instance.managed_secret(), "of the adapter")
            .await;
        foundation
            .director()
            .write_config_of_team("cloud", &instance.deployment(), "vm_extensions: []\n")
            .await;
        let manifest = SECURE
            .replace("CLIENT_SECRET", CLIENT_SECRET)
            .replace("SPACE", space)
            .replace("OFFERING", OFFERING)
            .replace("INSTANCE", &instance.id);
        let token = go
            .create(&instance.id, &manifest, Errands::Of(&["health-check"]))
            .await;
        assert_eq!(go.ends(&instance.id, &token).await, Reading::Succeeded);
        let credentials = json!({ "host": "10.0.0.1", "port": 6379, "password": "old" });
        let runtime = foundation.runtime_credhub();
        runtime.set(&instance.credentials(), &credentials).await;
        let actor = format!("mtls-app:{}", instance.app);
        runtime.permit(&instance.credentials(), &actor).await;
        instance
    }

    fn deployment(&self) -> String {
        deployment(&self.id)
    }

    fn managed_secret(&self) -> String {
        format!("/odb/{OFFERING}/{}/odb_managed_secret", self.deployment())
    }

    fn credentials(&self) -> String {
        format!("/c/{OFFERING}/{}/{}/credentials", self.id, self.binding)
    }

    /// The redis properties of its manifest, line by line.
    async fn properties(&self, foundation: &Foundation) -> Vec<String> {
        let manifest = foundation.director().manifest(&self.deployment()).await;
        manifest
            .lines()
            .map(|line| line.trim().to_owned())
            .collect()
    }

    async fn expect_all_kept(&self, foundation: &Foundation) {
        let properties = self.properties(foundation).await;
        for kept in [
            "password: MDEyMzQ1Njc4OWFiY2RlZjAxMjM=".to_owned(),
            format!("odb_managed_secret: (({}))", self.managed_secret()),
            format!("client_secret: {CLIENT_SECRET}"),
        ] {
            let is_there = |line: &String| line.replace('"', "") == kept;
            assert!(properties.iter().any(is_there), "`{kept}`: {properties:?}");
        }
        let credhub = foundation.bosh_credhub();
        let secret = credhub.value(&self.managed_secret()).await;
        assert_eq!(secret, Some(json!("of the adapter")));
        assert!(
            foundation
                .uaa_clients()
                .knows(&self.id, CLIENT_SECRET)
                .await
        );
        let configs = foundation.director().configs().await;
        let is_its = |config: &&Value| config["name"] == self.deployment().as_str();
        let its: Vec<&Value> = configs.iter().filter(is_its).collect();
        assert_eq!(its.len(), 1, "{configs:?}");
    }
}

/// A part of the adapter's last request, which is a text in it.
fn asked(foundation: &Foundation, call: &str, pointer: &str) -> String {
    let file = foundation.folder().join(format!("{call}.json"));
    let question: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let part = question.pointer(pointer).and_then(Value::as_str);
    part.unwrap_or_else(|| panic!("{question}")).to_owned()
}

async fn operate(broker: &Broker, instance: &str, operation: &str) {
    let body =
        json!({ "plan_id": Order::small().member("plan_id"), "context": { "space_guid": "" } });
    let platform = broker.platform();
    let data = platform.operate(instance, operation, &body).await;
    let token = data.operation_data().to_string();
    let ended = platform.end_of_operation(instance, &token).await;
    assert_eq!(ended.state, "succeeded", "{operation}: {ended:?}");
}

#[tokio::test]
async fn an_instance_of_a_go_broker_lives_on_and_leaves_nothing_behind() {
    let foundation = foundation().await;
    let go = GoBroker::on(&foundation);
    let instance = Instance::left_by(&go, &foundation).await;
    let adapter = foundation.adapters().script(NOTING);
    let broker = foundation
        .broker()
        .with_secure_manifests()
        .with_secure_bindings()
        .with_client_definition(client_definition())
        .with_adapter(&adapter)
        .start()
        .await;
    let platform = broker.platform();

    let order = Order::small().with_parameters(json!({ "maxclients": 150 }));
    let token = platform.update(&instance.id, &order).await.accepted();
    platform.succeeds(&instance.id, &token).await;
    let question = |pointer: &str| asked(&foundation, "generate-manifest", pointer);
    let secrets: Value =
        serde_json::from_str(&question("/generate_manifest/previous_secrets")).unwrap();
    let reference = format!("(({}))", instance.managed_secret());
    assert_eq!(secrets[reference], "of the adapter");
    assert!(secrets["((secret_pass))"].is_string(), "{secrets}");
    let configs: Value =
        serde_json::from_str(&question("/generate_manifest/previous_configs")).unwrap();
    assert_eq!(configs, json!({ "cloud": "vm_extensions: []\n" }));
    let client: Value = serde_json::from_str(&question("/generate_manifest/uaa_client")).unwrap();
    assert_eq!(client["client_id"], instance.id.as_str());
    assert_eq!(client["client_secret"], "", "it is unknown now");
    let properties = instance.properties(&foundation).await;
    assert!(properties.contains(&"maxclients: 150".to_owned()));
    instance.expect_all_kept(&foundation).await;
    for operation in ["upgrade", "recreate"] {
        operate(&broker, &instance.id, operation).await;
        instance.expect_all_kept(&foundation).await;
    }

    let (binding, app) = (new_id(), new_id());
    let bound = platform.bind_app(&instance.id, &binding, &app).await;
    bound.expect_status(201);
    let unbound = platform.unbind(&instance.id, &instance.binding).await;
    unbound.expect_status(200);
    let runtime = foundation.runtime_credhub();
    assert_eq!(runtime.value(&instance.credentials()).await, None);
    platform
        .unbind(&instance.id, &binding)
        .await
        .expect_status(200);

    let token = platform.deprovision(&instance.id).await.accepted();
    platform.succeeds(&instance.id, &token).await;
    foundation.director().expect_nothing_left().await;
    // The Director's own variables are not the broker's to delete.
    let folder = format!("/odb/{OFFERING}/{}", instance.deployment());
    let secrets = foundation.bosh_credhub().names_like(&folder).await;
    assert_eq!(secrets, Vec::<String>::new());
    let credentials = runtime.names_like(&instance.id).await;
    assert_eq!(credentials, Vec::<String>::new());
    assert_eq!(foundation.uaa_clients().find(&instance.id).await, None);
}
