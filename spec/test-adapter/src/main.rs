//! Test double: the Redis adapter that the Go broker is tested with (`spec/contracts/adapter-protocol.md`, "Redis"). Its
//! parameters and plan properties reach every part of the protocol. `adapters/redis` is the example for authors.
//!
//! | file | holds |
//! | --- | --- |
//! | `configuration` | the adapter's own file |
//! | `parameters` | what operators and users may choose |
//! | `deployed` | what is found again in a deployed manifest |
//! | `manifest`, `redis_properties` | the manifest and the properties of Redis |
//! | `binding` | credentials |

mod binding;
mod configuration;
mod deployed;
mod manifest;
mod parameters;
mod redis_properties;

use std::io::Write;
use std::process::ExitCode;

use odb_adapter_sdk::protocol::{
    Binding, CreateBinding, DashboardUrl, DeleteBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratePlanSchemas, GeneratedManifest, PlanSchemas,
};
use odb_adapter_sdk::{Adapter, AdapterError, run, version};

use crate::configuration::Configuration;
use crate::parameters::{BindingParameters, Parameters};

fn main() -> ExitCode {
    match Configuration::load() {
        Ok(configuration) => run(&RedisAdapter { configuration }, version!()),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "[go-test-adapter] {error:#}");
            ExitCode::FAILURE
        }
    }
}

struct RedisAdapter {
    configuration: Configuration,
}

impl Adapter for RedisAdapter {
    fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
        manifest::generate(&self.configuration, &call)
    }

    fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
        binding::create(&self.configuration, &call)
    }

    fn delete_binding(&self, call: DeleteBinding) -> Result<(), AdapterError> {
        binding::delete(&call);
        Ok(())
    }

    fn dashboard_url(&self, call: GenerateDashboardUrl) -> Result<DashboardUrl, AdapterError> {
        Ok(DashboardUrl::new(format!(
            "https://example.com/dashboard/{}",
            call.instance_id
        )))
    }

    /// Beyond the example, which does not describe its parameters.
    fn generate_plan_schemas(
        &self,
        _call: GeneratePlanSchemas,
    ) -> Result<PlanSchemas, AdapterError> {
        Ok(PlanSchemas::of::<Parameters, Parameters, BindingParameters>())
    }
}
