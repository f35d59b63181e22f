//! The imports of every adapter: `use odb_adapter_sdk::prelude::*;`

pub use crate::manifest::{JobBuilder, JobProperty, ManifestBuilder};
pub use crate::protocol::{
    Binding, CreateBinding, DashboardUrl, DeleteBinding, GenerateDashboardUrl, GenerateManifest,
    GeneratePlanSchemas, GeneratedManifest, PlanSchemas,
};
/// To show the parameters of an author's own type, with the crate that its derive looks for.
pub use crate::schemars::{self, JsonSchema};
pub use crate::secrets::{ManagedSecrets, new_password};
pub use crate::{Adapter, AdapterError, first_of, run, version};

/// To read a secret where it has to be written.
pub use secrecy::ExposeSecret;
/// To write credentials and properties down.
pub use serde_json::json;
