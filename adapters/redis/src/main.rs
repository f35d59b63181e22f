//! Service adapter that deploys Redis, one process per service instance
//! (`spec/contracts/adapter-protocol.md`, "Redis").
//!
//! | file | holds |
//! | --- | --- |
//! | `configuration` | the adapter's own file |
//! | `plan_properties`, `parameters` | what operators and users may choose |
//! | `previous` | what is kept of the manifest deployed last |
//! | `upgrade` | which releases an instance may move to |
//! | `manifest`, `redis_properties`, `instance_groups` | the manifest and its parts |
//! | `binding` | credentials |

mod binding;
mod configuration;
mod instance_groups;
mod manifest;
mod parameters;
mod plan_properties;
mod previous;
mod redis_properties;
mod upgrade;

use std::io::Write;
use std::process::ExitCode;

use odb_adapter_sdk::protocol::{
    Binding, CreateBinding, DashboardUrl, DeleteBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratedManifest, Subcommand,
};
use odb_adapter_sdk::{Adapter, AdapterError, run};

use crate::configuration::Configuration;

fn main() -> ExitCode {
    match Configuration::load() {
        Ok(configuration) => run(&RedisAdapter { configuration }),
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            let _ = writeln!(
                std::io::stderr(),
                "[redis-service-adapter] {error}{}",
                cause.unwrap_or_default()
            );
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
        Ok(binding::delete(&self.configuration, &call)?)
    }

    fn dashboard_url(&self, call: GenerateDashboardUrl) -> Result<DashboardUrl, AdapterError> {
        Ok(DashboardUrl::new(format!(
            "https://example.com/dashboard/{}",
            call.instance_id
        )))
    }

    fn subcommands(&self) -> &[Subcommand] {
        &[
            Subcommand::GenerateManifest,
            Subcommand::CreateBinding,
            Subcommand::DeleteBinding,
            Subcommand::DashboardUrl,
        ]
    }
}

/// A fault that only the operator can mend, in the words that users know from the example adapter.
fn misconfigured(cause: impl std::error::Error + Send + Sync + 'static) -> AdapterError {
    AdapterError::for_user("Contact your operator, service configuration issue occurred")
        .caused_by(cause)
}
