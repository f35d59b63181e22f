use clap::ValueEnum;
use odb_adapter_sdk::protocol::{RequestParameters, Subcommand};
use serde_json::{Map, Value, json};

/// The offering and the plans of a call by hand.
pub(super) const SERVICE_ID: &str = "service-id";

/// The purpose of a `generate-manifest` call (`spec/contracts/adapter-protocol.md`, "Which calls an operation makes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// A new service instance.
    Order,
    /// Other parameters, or another plan.
    Update,
    /// The search for pending changes that comes before an update: the previous plan, an empty request.
    Search,
    /// The operation of an operator on all instances.
    Upgrade,
}

/// The body of the platform's request for a manifest.
pub(super) fn for_a_manifest(
    operation: Operation,
    parameters: &Map<String, Value>,
) -> RequestParameters {
    let body = match operation {
        Operation::Order => json!({
            "service_id": SERVICE_ID,
            "plan_id": "plan-id",
            "organization_guid": "organization-guid",
            "space_guid": "space-guid",
            "context": context(),
            "parameters": parameters,
        }),
        Operation::Update => json!({
            "service_id": SERVICE_ID,
            "plan_id": "plan-id",
            "previous_values": {
                "plan_id": "previous-plan-id",
                "service_id": SERVICE_ID,
                "organization_id": "organization-guid",
                "space_id": "space-guid",
            },
            "context": context(),
            "parameters": parameters,
        }),
        Operation::Search => json!({}),
        Operation::Upgrade => json!({ "context": context() }),
    };
    of(body)
}

/// The body of the platform's request for a binding, or for its end.
pub(super) fn for_a_binding(
    subcommand: Subcommand,
    parameters: &Map<String, Value>,
) -> RequestParameters {
    if subcommand == Subcommand::DeleteBinding {
        return of(json!({ "service_id": SERVICE_ID, "plan_id": "plan-id" }));
    }
    of(json!({
        "app_guid": "app-guid",
        "service_id": SERVICE_ID,
        "plan_id": "plan-id",
        "bind_resource": { "app_guid": "app-guid", "space_guid": "space-guid" },
        "context": context(),
        "parameters": parameters,
    }))
}

fn context() -> Value {
    json!({
        "platform": "cloudfoundry",
        "organization_guid": "organization-guid",
        "organization_name": "organization",
        "space_guid": "space-guid",
        "space_name": "space",
        "instance_name": "by-hand",
    })
}

fn of(body: Value) -> RequestParameters {
    match body {
        Value::Object(fields) => RequestParameters::from_fields(fields),
        _ => RequestParameters::default(),
    }
}
