use crate::AdapterError;
use crate::protocol::{
    Binding, CreateBinding, DashboardUrl, DeleteBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratePlanSchemas, GeneratedManifest, PlanSchemas, Subcommand,
};

/// A service adapter: one method per subcommand, of which only the first is required
/// (`spec/contracts/adapter-protocol.md`, "Subcommands").
///
/// A method is called in a process of its own and keeps no state. Its output goes to the operator's log.
pub trait Adapter {
    /// Writes the BOSH manifest of a service instance.
    ///
    /// With a previous manifest the same inputs must give the same manifest, or the broker takes
    /// the instance for one with pending changes and refuses updates.
    fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError>;

    /// Makes a service binding.
    fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
        drop(call);
        Err(AdapterError::not_implemented())
    }

    /// Removes a service binding.
    fn delete_binding(&self, call: DeleteBinding) -> Result<(), AdapterError> {
        drop(call);
        Err(AdapterError::not_implemented())
    }

    /// Names the dashboard of a service instance.
    fn dashboard_url(&self, call: GenerateDashboardUrl) -> Result<DashboardUrl, AdapterError> {
        drop(call);
        Err(AdapterError::not_implemented())
    }

    /// Describes the parameters that a plan accepts.
    fn generate_plan_schemas(
        &self,
        call: GeneratePlanSchemas,
    ) -> Result<PlanSchemas, AdapterError> {
        drop(call);
        Err(AdapterError::not_implemented())
    }

    /// The subcommands that this adapter implements.
    ///
    /// With this list the adapter prints its subcommands when it is called wrongly, and answers "not implemented" to
    /// the others without reading the input. Without it, every subcommand is tried.
    fn subcommands(&self) -> &[Subcommand] {
        Subcommand::ALL
    }
}
