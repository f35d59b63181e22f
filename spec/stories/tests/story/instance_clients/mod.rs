//! Each instance has a UAA client of its own, which is created and deleted with it in every case.
//!
//! | module | contents |
//! | --- | --- |
//! | `life` | an instance is created, changed and deleted |
//! | `failures` | a request fails, is lost or killed, or the client belongs to another owner |

mod failures;
mod life;

use std::collections::BTreeSet;

use odb_stories::{
    Broker, BrokerConfiguration, Control, Fault, Foundation, Order, UaaClients, client_definition,
    eventually,
};
use serde_json::{Value, json};

use crate::TIMEOUT;

const PLACEHOLDER: &str = "https://placeholder.example.com";

/// Answers as the real adapter, names a dashboard and records each request.
const WITH_DASHBOARD: &str = r#"read_input
case $call in
dashboard-url)
  id=$(jq -r .dashboard_url.instance_id <<<"$input")
  jq -cn --arg id "$id" '{dashboard_url: "https://dashboard.example/\($id)"}' ;;
generate-manifest)
  jq -r .generate_manifest.uaa_client <<<"$input" | jq -c . >>"$folder/received"
  as_redis ;;
*) as_redis ;;
esac"#;

/// The same, but for questions after the file `broken` is there.
const BREAKABLE: &str = r#"read_input
case $call in
dashboard-url)
  if [[ -e $folder/broken ]]; then echo "no dashboard today"; exit 1; fi
  echo '{"dashboard_url": "https://dashboard.example/x"}' ;;
*) as_redis ;;
esac"#;

/// Records each request, and fails once the file `broken` exists.
const NOTING: &str = r#"read_input
case $call in
generate-manifest)
  jq -r .generate_manifest.uaa_client <<<"$input" | jq -c . >>"$folder/received"
  if [[ -e $folder/broken ]]; then echo "no manifest today"; exit 1; fi
  as_redis ;;
*) as_redis ;;
esac"#;

fn defined<'f>(foundation: &'f Foundation, script: &str) -> BrokerConfiguration<'f> {
    let adapter = foundation.adapters().script(script);
    foundation
        .broker()
        .with_adapter(&adapter)
        .with_client_definition(client_definition())
}

/// The client in each request to the adapter.
fn reported(foundation: &Foundation) -> Vec<Value> {
    let noted = std::fs::read_to_string(foundation.folder().join("received")).unwrap_or_default();
    let lines = noted.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("it is JSON")
}

/// The members of a list, whatever their order.
fn members(value: &Value) -> BTreeSet<&str> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::String(text) => text.split(',').collect(),
        other => panic!("`{other}` is not a list"),
    }
}

fn set<'a>(items: &[&'a str]) -> BTreeSet<&'a str> {
    items.iter().copied().collect()
}

fn change(maxclients: u32) -> Order {
    Order::small().with_parameters(json!({ "maxclients": maxclients }))
}

/// The secret that is in the deployed manifest.
async fn deployed_secret(foundation: &Foundation, instance: &str) -> String {
    let manifest = foundation
        .director()
        .manifest(&format!("service-instance_{instance}"))
        .await;
    let secret = manifest
        .lines()
        .find_map(|line| line.trim().strip_prefix("client_secret: "));
    let secret = secret.unwrap_or_else(|| panic!("no secret is in {manifest}"));
    secret.trim_matches(['"', '\'']).to_owned()
}

async fn expect_no_client(clients: &UaaClients, instance: &str) {
    eventually("the client is gone", TIMEOUT, async || {
        match clients.find(instance).await {
            None => Ok(()),
            Some(client) => Err(client.to_string()),
        }
    })
    .await;
}

async fn set_fault(control: &Control, server: &str, requests: Value, effect: Value) {
    let fault = json!({ "server": server, "requests": requests, "effect": effect, "times": 1 });
    control.set_fault(&fault).await;
}

/// Another definition than the usual one.
fn renamed() -> Value {
    json!({
        "scopes": "other", "name": "renamed",
        "authorized_grant_types": "client_credentials,authorization_code",
    })
}

/// No deployment gets to the Director.
async fn lose_deployments(control: &Control) {
    control
        .set(Fault::of("director", "POST /deployments").drops("before"))
        .await;
}

/// The Director refuses the next deployment.
async fn refuse_deployments(control: &Control) {
    let refused =
        json!({ "kind": "answer", "status": 400, "body": r#"{"code":100,"description":"no"}"# });
    let deploy = json!({ "method": "POST", "path": "/deployments" });
    set_fault(control, "director", deploy, refused).await;
}

/// Kills the broker when UAA has made the client of an order, and starts it again.
async fn kill_when_the_client_is_made(
    foundation: &Foundation,
    broker: &mut Broker,
    instance: &str,
) {
    let control = foundation.control();
    let hold = json!({
        "server": "cf-uaa",
        "requests": { "method": "POST", "path": "/oauth/clients" },
        "effect": { "kind": "hold", "moment": "after" },
        "times": 1,
    });
    let hold = control.set_fault(&hold).await.id;
    let request = broker
        .platform()
        .provision_request(instance, &Order::small());
    let request = tokio::spawn(request.send());
    eventually("the client is made", TIMEOUT, async || {
        let set = control.fault(hold).await;
        if set.holds > 0 {
            Ok(())
        } else {
            Err(format!("{set:?}"))
        }
    })
    .await;
    broker.kill();
    let _ = request.await.expect("it is not cancelled");
    control.clear_faults().await;
    broker.start_again().await;
}

/// Without the time of its latest change.
fn without_time(mut client: Value) -> Value {
    if let Some(client) = client.as_object_mut() {
        client.remove("lastModified");
    }
    client
}

/// The next task of the instance fails where it comes to this place.
async fn fail_task(control: &Control, instance: &str, location: Value) {
    let fails = json!({
        "deployment": format!("service-instance_{instance}"),
        "at": location,
        "effect": { "kind": "fail", "code": 450_001, "message": "the disk is full" },
    });
    control.set_task_fault(&fails).await;
}

/// The last secret that the adapter received.
fn reported_secret(foundation: &Foundation) -> String {
    let last = reported(foundation).pop().expect("it was asked");
    last["client_secret"].as_str().expect("a text").to_owned()
}
