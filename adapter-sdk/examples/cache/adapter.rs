use odb_adapter_sdk::prelude::*;
use serde::Deserialize;

const CLIENTS: JobProperty = JobProperty::new("cache", "cache-server", "/clients");
const PASSWORD: JobProperty = JobProperty::new("cache", "cache-server", "/password");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// How many clients may be connected at once.
    clients: Option<u32>,
}

struct Cache;

impl Adapter for Cache {
    fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
        let parameters: Parameters = call.request_parameters.parameters()?;
        let previous = call.previous()?;
        let clients = first_of(parameters.clients).then_deployed(previous.as_ref(), CLIENTS)?;
        let mut secrets = ManagedSecrets::new(&call, previous.as_ref());
        let password = secrets.generated("password", PASSWORD, new_password);
        let manifest = ManifestBuilder::new(&call)
            .instance_group("cache", ["cache-server"])
            .property(CLIENTS, clients.or_default(100))
            .property(PASSWORD, password)
            .build()?;
        Ok(GeneratedManifest::new(&manifest)?.with_secrets(secrets)?)
    }

    fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
        let password = call.resolve(&call.deployed()?, PASSWORD)?;
        let hosts = call.addresses_of("cache")?;
        let credentials = json!({ "hosts": hosts, "password": password.expose_secret() });
        Ok(Binding::with_credentials(credentials))
    }

    fn delete_binding(&self, _: DeleteBinding) -> Result<(), AdapterError> {
        Ok(()) // All applications share the password, which goes with the instance.
    }

    fn generate_plan_schemas(&self, _: GeneratePlanSchemas) -> Result<PlanSchemas, AdapterError> {
        Ok(PlanSchemas::of_parameters::<Parameters>())
    }
}

fn main() -> std::process::ExitCode {
    run(&Cache, version!())
}
