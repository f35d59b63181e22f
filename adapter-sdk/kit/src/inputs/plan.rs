use odb_adapter_sdk::protocol::{Plan, PlanInstanceGroup};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A plan, as adapters get it, and its name, which they do not get.
#[derive(Debug, Clone)]
pub struct NamedPlan {
    /// The plan's name in the catalog.
    pub name: String,
    /// The plan as a JSON object (`spec/contracts/adapter-protocol.md`, "Plan").
    pub document: Value,
}

/// A plan in a catalog. Keys that adapters never see are ignored in a broker's configuration, and rejected in the
/// check's own file.
#[derive(Debug, Deserialize)]
pub(super) struct CatalogPlan {
    name: String,
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

/// Why a broker would not pass this plan.
#[derive(Debug, thiserror::Error)]
#[error("plan `{name}` is not one that a broker hands to adapters: {error}")]
pub struct PlanError {
    name: String,
    error: String,
}

impl NamedPlan {
    /// A plan in the shape that adapters get.
    pub(super) fn of_document(name: String, document: Value) -> Result<Self, PlanError> {
        match serde_path_to_error::deserialize::<_, Plan>(&document) {
            Ok(_) => Ok(Self { name, document }),
            Err(error) => {
                let location = at(error.path());
                // Without values: properties may be secret.
                let error = odb_adapter_sdk::json::Error::from(error.into_inner());
                let error = format!("{error}{location}");
                Err(PlanError { name, error })
            }
        }
    }
}

impl CatalogPlan {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The plan in the shape that adapters get: the offering's properties are those of the plan that
    /// does not have them, disabled errands are left out.
    pub(super) fn for_adapters(
        self,
        global_properties: &Map<String, Value>,
    ) -> Result<NamedPlan, PlanError> {
        let mut properties = global_properties.clone();
        properties.extend(self.properties.unwrap_or_default());
        let mut document = Map::new();
        document.insert("properties".to_owned(), properties.into());
        let errands = enabled_errands(self.lifecycle_errands.unwrap_or_default());
        document.insert("lifecycle_errands".to_owned(), errands.into());
        if let Some(groups) = self.instance_groups {
            document.insert("instance_groups".to_owned(), groups_for_adapters(&groups));
        }
        if !self.update.is_null() {
            document.insert("update".to_owned(), self.update);
        }
        NamedPlan::of_document(self.name, document.into())
    }
}

/// The location of an error, for the end of a sentence; empty for the complete document.
pub(super) fn at(path: &serde_path_to_error::Path) -> String {
    match path.iter().next() {
        Some(_) => format!(", at `{path}`"),
        None => String::new(),
    }
}

fn groups_for_adapters(groups: &[PlanInstanceGroup]) -> Value {
    serde_json::to_value(groups).expect("texts, numbers and lists of them can be written as JSON")
}

fn enabled_errands(errands: Map<String, Value>) -> Map<String, Value> {
    let enabled = |errands: Value| match errands {
        Value::Array(errands) => errands
            .into_iter()
            .filter(|errand| errand["disabled"] != true)
            .map(without_disabled)
            .collect(),
        other => other,
    };
    errands
        .into_iter()
        .map(|(kind, errands)| (kind, enabled(errands)))
        .collect()
}

fn without_disabled(mut errand: Value) -> Value {
    if let Some(errand) = errand.as_object_mut() {
        errand.shift_remove("disabled");
    }
    errand
}
