//! The inputs of an adapter: plans, parameters and the rest, from `adapter-check.yml` and from a broker's
//! configuration.
//!
//! | file | contents |
//! | --- | --- |
//! | `file` | the form of these files |
//! | `plan` | a plan in the form for adapters |
//! | `read` | from files to [`Inputs`] |

mod file;
mod plan;
mod read;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use odb_adapter_sdk::protocol::{ServiceDeployment, ServiceRelease, Stemcell};
use serde_json::{Map, Value};

pub use self::file::{
    BindingCase, BindingOutcome, ParameterCase, PlanChange, PlanChangeOutcome, RefusedOn,
    RefusedParameters, UnbindingCase, UnbindingOutcome, UnknownParameters,
};
pub use self::plan::NamedPlan;
pub use self::read::Sources;
pub(crate) use self::read::near;

/// Name of the file with the inputs: in the adapter's folder, beside the adapter or in one of the folders above it.
pub const FILE_NAME: &str = "adapter-check.yml";

/// The inputs of an adapter.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(missing_docs, reason = "`docs/authors/check.md` explains the keys")]
pub struct Inputs {
    /// The file that these come from, if there is one.
    pub file: Option<PathBuf>,
    pub releases: Vec<ServiceRelease>,
    pub stemcells: Vec<Stemcell>,
    /// The plans; there is at least one.
    pub plans: Vec<NamedPlan>,
    pub environment: BTreeMap<String, OsString>,
    pub forms: Forms,
    pub secure_manifests: bool,
    pub deadline: Duration,
    pub unknown_parameters: UnknownParameters,
    pub untyped_parameters: Vec<String>,
    pub plain_secrets: Vec<String>,
    pub required_parameters: Map<String, Value>,
    pub parameters: Vec<ParameterCase>,
    pub refused_parameters: Vec<RefusedParameters>,
    pub plan_changes: Vec<PlanChange>,
    /// Bindings to try; `None` is one without parameters.
    pub bindings: Option<Vec<BindingCase>>,
    pub unbindings: Vec<UnbindingCase>,
}

/// The forms in which an adapter accepts requests (`spec/contracts/adapter-protocol.md`, "The process").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forms {
    /// One JSON document on stdin.
    pub stdin: bool,
    /// JSON and YAML in arguments.
    pub arguments: bool,
}

impl Inputs {
    /// The plan of that name.
    pub fn plan(&self, name: &str) -> Option<&NamedPlan> {
        self.plans.iter().find(|plan| plan.name == name)
    }

    /// The plan that counts where none is named.
    pub fn first_plan(&self) -> &NamedPlan {
        self.plans.first().expect("inputs have at least one plan")
    }

    pub(crate) fn service_deployment(&self, instance_id: &str) -> ServiceDeployment {
        ServiceDeployment::new(
            format!("service-instance_{instance_id}"),
            self.releases.clone(),
            self.stemcells.clone(),
        )
    }

    /// For a sentence.
    pub(crate) fn plan_names(&self) -> String {
        let names = self.plans.iter().map(|plan| format!("`{}`", plan.name));
        names.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn valid_parameters(&self) -> impl Iterator<Item = &Map<String, Value>> {
        let cases = self.parameters.iter();
        cases.flat_map(|case| [&case.create].into_iter().chain(&case.update))
    }
}
