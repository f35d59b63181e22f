//! Service adapter that deploys Redis, one process per service instance.
//!
//! | file | holds |
//! | --- | --- |
//! | here | the subcommands |
//! | `settings` | what the operator sets for all plans |
//! | `parameters` | what plans set, and what users choose |
//! | `manifest` | the manifest of an instance |
//! | `binding` | the credentials of applications |

mod binding;
mod manifest;
mod parameters;
mod settings;

use odb_adapter_sdk::parameters::NoParameters;
use odb_adapter_sdk::prelude::*;

use crate::parameters::Parameters;
use crate::settings::Settings;

struct RedisAdapter;

impl Adapter for RedisAdapter {
    fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
        let settings = Settings::load().map_err(AdapterError::misconfigured)?;
        manifest::generate(settings, &call)
    }

    fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
        let NoParameters {} = call.request_parameters.parameters()?;
        binding::create(&call)
    }

    /// All bindings share the password, which goes with the instance.
    fn delete_binding(&self, _: DeleteBinding) -> Result<(), AdapterError> {
        Ok(())
    }

    fn generate_plan_schemas(&self, _: GeneratePlanSchemas) -> Result<PlanSchemas, AdapterError> {
        Ok(PlanSchemas::of_parameters::<Parameters>())
    }
}

fn main() -> std::process::ExitCode {
    run(&RedisAdapter, version!())
}
