use proptest::strategy::BoxedStrategy;
use serde_json::{Map, Value, json};

use crate::executable::{Executable, Run};

/// An adapter and what it is asked with.
pub(crate) struct Service {
    pub(crate) executable: Executable,
    /// The release, with the jobs to take from it.
    pub(crate) release: &'static str,
    pub(crate) jobs: &'static [&'static str],
    /// The versions that operators upgrade to one after the other.
    pub(crate) versions: &'static [&'static str],
    /// Plans that operators may offer.
    pub(crate) plans: BoxedStrategy<Value>,
    /// Parameters that users may choose at create and update.
    pub(crate) parameters: BoxedStrategy<Map<String, Value>>,
    /// Parameters that are refused, with what must be in the text for the user.
    pub(crate) wrong_parameters: BoxedStrategy<(Map<String, Value>, String)>,
    /// Properties that no plan may have.
    pub(crate) wrong_properties: BoxedStrategy<(String, Value)>,
    /// For each name of a parameter, a plan property or another member of the plan: a part of the manifest's paths (see
    /// `manifest::leaves`) that may change with it.
    pub(crate) influences: &'static [(&'static str, &'static str)],
    /// Plan properties that are secrets. An upgrade keeps their deployed values, because the adapter cannot see a
    /// change.
    pub(crate) not_upgraded: &'static [&'static str],
    /// Whether an instance of the one plan cannot become one of the other.
    pub(crate) refuses: fn(from: &Value, to: &Value) -> bool,
}

pub(crate) const DEPLOYMENT: &str = "service-instance_c0ffee00-1111-4222-8333-444455556666";

impl Service {
    /// The service deployment of an instance at a version.
    pub(crate) fn deployment(&self, version: usize) -> Value {
        json!({
            "deployment_name": DEPLOYMENT,
            "releases": [{"name": self.release, "version": self.versions[version], "jobs": self.jobs}],
            "stemcells": [{"stemcell_os": "ubuntu-jammy", "stemcell_version": format!("1.{version}")}],
        })
    }

    /// Asks for a new instance.
    pub(crate) fn create(&self, plan: &Value, parameters: &Map<String, Value>) -> Run {
        let input = json!({
            "service_deployment": self.deployment(0).to_string(),
            "plan": plan.to_string(),
            "previous_plan": "null",
            "previous_manifest": "",
            "request_parameters": json!({ "parameters": parameters }).to_string(),
            "previous_secrets": "null",
            "previous_configs": "null",
            "uaa_client": "null",
        });
        self.executable.ask("generate-manifest", &input)
    }

    /// Whether the changed names may change the value at a path of the manifest.
    pub(crate) fn may_change<'n>(
        &self,
        path: &str,
        changed: impl IntoIterator<Item = &'n str>,
    ) -> bool {
        changed.into_iter().any(|changed| {
            self.influences
                .iter()
                .any(|(name, part)| *name == changed && path.contains(part))
        })
    }
}
