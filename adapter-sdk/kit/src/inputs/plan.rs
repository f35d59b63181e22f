use anyhow::anyhow;
use odb_adapter_sdk::protocol::{Plan, PlanInstanceGroup};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A plan, as adapters get it, and its name, which they do not get.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names say it")]
pub struct NamedPlan {
    pub name: String,
    pub plan: Plan,
}

/// A plan in a catalog. Keys that adapters never see are ignored in a broker's configuration, and rejected in the
/// check's own file.
#[derive(Deserialize)]
pub(super) struct CatalogPlan {
    pub(super) name: String,
    #[serde(default)]
    properties: Option<Map<String, Value>>,
    #[serde(default)]
    lifecycle_errands: Option<Map<String, Value>>,
    /// Read with explicit types: as a value of any shape, the network `n` of YAML 1.1 is a boolean.
    #[serde(default)]
    instance_groups: Option<Vec<PlanInstanceGroup>>,
    #[serde(default)]
    update: Value,
    #[serde(flatten)]
    pub(super) other: Map<String, Value>,
}

impl NamedPlan {
    pub(super) fn of_document(name: String, document: &Value) -> anyhow::Result<Self> {
        match serde_path_to_error::deserialize(document) {
            Ok(plan) => Ok(Self { name, plan }),
            Err(error) => {
                let location = at(error.path());
                // Without values: properties may be secret.
                let error = odb_adapter_sdk::json::Error::from(error.into_inner());
                Err(anyhow!(
                    "plan `{name}` is not one that a broker passes to adapters: {error}{location}"
                ))
            }
        }
    }
}

impl CatalogPlan {
    /// The plan in the shape that adapters get: the offering's properties are those of the plan that
    /// does not have them, disabled errands are left out.
    pub(super) fn for_adapters(
        self,
        global_properties: &Map<String, Value>,
    ) -> anyhow::Result<NamedPlan> {
        let mut properties = global_properties.clone();
        properties.extend(self.properties.unwrap_or_default());
        let errands = enabled_errands(self.lifecycle_errands.unwrap_or_default());
        let mut document = json!({"properties": properties, "lifecycle_errands": errands});
        if let Some(groups) = self.instance_groups {
            document["instance_groups"] = json!(groups);
        }
        if !self.update.is_null() {
            document["update"] = self.update;
        }
        NamedPlan::of_document(self.name, &document)
    }
}

/// The location of an error, for the end of a sentence; empty for the complete document.
pub(super) fn at(path: &serde_path_to_error::Path) -> String {
    match path.iter().next() {
        Some(_) => format!(", at `{path}`"),
        None => String::new(),
    }
}

fn enabled_errands(mut errands: Map<String, Value>) -> Map<String, Value> {
    for errands in errands.values_mut().filter_map(Value::as_array_mut) {
        errands.retain(|errand| errand["disabled"] != true);
        for errand in errands.iter_mut().filter_map(Value::as_object_mut) {
            errand.shift_remove("disabled");
        }
    }
    errands
}
