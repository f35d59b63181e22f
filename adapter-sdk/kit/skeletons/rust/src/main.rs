//! Service adapter that deploys @NAME@: a server with its own password for each service instance.

use odb_adapter_sdk::manifest::Variable;
use odb_adapter_sdk::parameters::NoParameters;
use odb_adapter_sdk::prelude::*;
use odb_adapter_sdk::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::json;

const SERVER: &str = "@NAME@-server";
const MAX_CLIENTS: JobProperty = JobProperty::new("server", SERVER, "/max_clients");
const PASSWORD: JobProperty = JobProperty::new("server", SERVER, "/password");

/// The parameters of an order.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The maximum number of connected clients.
    #[schemars(range(min = 1, max = 10_000))]
    max_clients: Option<u32>,
}

/// The properties of a plan.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanProperties {
    /// The default of the users' parameter.
    #[schemars(range(min = 1, max = 10_000))]
    max_clients: Option<u32>,
}

struct ServiceAdapter;

impl Adapter for ServiceAdapter {
    fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
        let parameters: Parameters = call.request_parameters.parameters()?;
        let plan: PlanProperties = call.plan.properties_as()?;
        let previous = call.previous()?;
        let max_clients = first_of(parameters.max_clients)
            .then_deployed(previous.as_ref(), MAX_CLIENTS)?
            .then_plan(plan.max_clients)
            .or_default(100);

        let manifest = ManifestBuilder::new(&call)
            .instance_group("server", [SERVER])
            .property(MAX_CLIENTS, max_clients)
            // The Director generates the password; only applications receive it.
            .property(PASSWORD, "((password))")
            .variable(Variable::new("password", "password"))
            .build()?;
        Ok(GeneratedManifest::new(&manifest)?)
    }

    fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
        let NoParameters {} = call.request_parameters.parameters()?;
        let hosts = call.bosh_vms.get("server");
        let host = hosts
            .and_then(|hosts| hosts.first())
            .ok_or("there is no VM")?;
        let password = call.resolve(&call.deployed()?, PASSWORD)?;
        Ok(Binding::with_credentials(json!({
            "host": host,
            "port": 6379,
            "password": password.expose_secret(),
        })))
    }

    fn delete_binding(&self, _: DeleteBinding) -> Result<(), AdapterError> {
        Ok(())
    }

    fn generate_plan_schemas(&self, _: GeneratePlanSchemas) -> Result<PlanSchemas, AdapterError> {
        Ok(PlanSchemas::of_parameters::<Parameters>())
    }
}

fn main() -> std::process::ExitCode {
    run(&ServiceAdapter, version!())
}
