//! Service adapter that deploys Kafka with ZooKeeper, one cluster per service instance
//! (`spec/contracts/adapter-protocol.md`, "Kafka").
//!
//! | file | holds |
//! | --- | --- |
//! | `parameters`, `topic_name` | what operators and users may choose |
//! | `manifest` | the manifest, and what is refused |
//! | `binding` | topics and credentials |
//! | `topic_commands` | the programs that create and delete topics |

mod binding;
mod manifest;
mod parameters;
mod topic_commands;
mod topic_name;

use std::io::Write;
use std::process::ExitCode;

use odb_adapter_sdk::protocol::{
    Binding, CreateBinding, DashboardUrl, DeleteBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratePlanSchemas, GeneratedManifest, PlanSchemas,
};
use odb_adapter_sdk::{Adapter, AdapterError, run, version};

use crate::topic_commands::TopicCommands;

fn main() -> ExitCode {
    run(&KafkaAdapter, version!())
}

struct KafkaAdapter;

impl Adapter for KafkaAdapter {
    fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
        manifest::generate(&call)
    }

    fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
        binding::create(&TopicCommands::from_environment()?, call)
    }

    fn delete_binding(&self, call: DeleteBinding) -> Result<(), AdapterError> {
        binding::delete(&TopicCommands::from_environment()?, call)
    }

    fn dashboard_url(&self, call: GenerateDashboardUrl) -> Result<DashboardUrl, AdapterError> {
        Ok(DashboardUrl::new(format!(
            "http://example_dashboard.com/{}",
            call.instance_id
        )))
    }

    fn generate_plan_schemas(
        &self,
        call: GeneratePlanSchemas,
    ) -> Result<PlanSchemas, AdapterError> {
        parameters::plan_schemas(&call)
    }
}

/// Writes a message to the operator that does not end the call. A failure to write is ignored.
fn note(message: &anyhow::Error) {
    let _ = writeln!(std::io::stderr(), "[kafka-service-adapter] {message:#}");
}
