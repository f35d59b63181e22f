use odb_adapter_sdk::protocol::{
    Binding, CreateBinding, DashboardUrl, DeleteBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratePlanSchemas, GeneratedManifest, ParametersSchema, PlanSchemas, Subcommand,
};
use odb_adapter_sdk::{Adapter, AdapterError};

use crate::folder::{BINDING, DASHBOARD, Folder};
use crate::{binding, manifest, needs};

pub(crate) struct TemplateAdapter {
    folder: Folder,
    subcommands: Vec<Subcommand>,
}

impl TemplateAdapter {
    pub(crate) fn new(folder: Folder) -> Self {
        let subcommands = Subcommand::ALL.iter().copied();
        let subcommands = subcommands
            .filter(|subcommand| match subcommand {
                Subcommand::GenerateManifest => true,
                Subcommand::CreateBinding | Subcommand::DeleteBinding => folder.engine.has(BINDING),
                Subcommand::DashboardUrl => folder.engine.has(DASHBOARD),
                Subcommand::GeneratePlanSchemas => {
                    folder.schemas.is_for_users && folder.description.parameters.publish_schemas
                }
            })
            .collect();
        Self {
            folder,
            subcommands,
        }
    }
}

impl Adapter for TemplateAdapter {
    fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
        manifest::generate(&self.folder, &call)
    }

    fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
        binding::create(&self.folder, &call)
    }

    fn delete_binding(&self, call: DeleteBinding) -> Result<(), AdapterError> {
        binding::delete(&self.folder, &call)
    }

    fn dashboard_url(&self, call: GenerateDashboardUrl) -> Result<DashboardUrl, AdapterError> {
        binding::dashboard_url(&self.folder, &call)
    }

    fn generate_plan_schemas(
        &self,
        call: GeneratePlanSchemas,
    ) -> Result<PlanSchemas, AdapterError> {
        needs::plan_properties(&self.folder, &call.plan.properties)?;
        let schemas = &self.folder.schemas;
        let mut answer = PlanSchemas::default();
        answer.service_instance.create = ParametersSchema::new(schemas.create.document().clone());
        answer.service_instance.update = ParametersSchema::new(schemas.update.document().clone());
        answer.service_binding.create = ParametersSchema::new(schemas.bind.document().clone());
        Ok(answer)
    }

    fn subcommands(&self) -> &[Subcommand] {
        &self.subcommands
    }
}
